// Package graph draws a workflow definition as text that other tools lay out:
// Mermaid for pages and documents, DOT for Graphviz.
//
// Nodes come breadth first from the start, then those that no path leads to, by
// name. A route to fail is not drawn: a check without an edge for a failure ends
// the run. The same definition always gives the same text. An invalid definition
// is drawn as far as possible.
package graph
