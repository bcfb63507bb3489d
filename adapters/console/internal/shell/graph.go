// The graph of a workflow.

package shell

import (
	"html/template"

	"github.com/verifyd/verifyd/internal/drawing"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Graph is the data of the template graph.
type Graph struct {
	Session

	Picture template.HTML // empty if the graph is too large for one
	Nodes   []drawing.ListedNode
	Counted bool // the routes have the numbers of runs
	Path    bool // one run is highlighted
	Changed bool // two versions are compared
	// Stopped counts the runs that ended at a node before they reached an end.
	Stopped map[verification.NodeID]int
}

// Graph draws a definition in the language of the person.
func (s Session) Graph(d workflow.Definition, o drawing.Options) *Graph {
	o.Inline, o.Number = true, s.Number
	o.Title = s.Message("graph.title")
	o.Word = func(english string) string { return s.Message("graph." + english) }
	v := &Graph{Session: s, Nodes: drawing.List(d, o), Counted: o.Counts != nil, Path: o.Path != nil, Changed: o.Before != nil}
	if picture, err := drawing.SVG(d, o); err == nil { // or it is too large
		v.Picture = template.HTML(picture) //nolint:gosec // G203: package graph escapes every text
	}
	return v
}
