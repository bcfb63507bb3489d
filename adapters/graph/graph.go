// Package graph draws a workflow definition: as a picture in SVG, and as text that other
// tools lay out, Mermaid for pages and documents, DOT for Graphviz.
//
// Nodes come breadth first from the start, then those that no path leads to, by
// name. A route to fail is not drawn: if a check has no edge for a failure, the
// failure ends the run. The same definition always gives the same drawing, in which every
// text is escaped. An invalid definition is drawn as far as possible.
package graph

import (
	"github.com/verifyd/verifyd/internal/drawing"
	"github.com/verifyd/verifyd/verification/workflow"
)

// SVG returns a picture of a definition, from top to bottom. It returns an error for a
// graph that no reader could follow.
func SVG(d workflow.Definition) (string, error) { return drawing.SVG(d, drawing.Options{}) }

// Mermaid returns a definition as a Mermaid flowchart.
func Mermaid(d workflow.Definition) string { return drawing.Mermaid(d) }

// DOT returns a definition in the language of Graphviz.
func DOT(d workflow.Definition) string { return drawing.DOT(d) }
