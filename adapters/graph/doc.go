// Package graph draws a workflow definition: as a picture in SVG, and as text that other
// tools lay out, Mermaid for pages and documents, DOT for Graphviz. List says the same in
// words.
//
// Nodes come breadth first from the start, then those that no path leads to, by
// name. A route to fail is not drawn: a check without an edge for a failure ends
// the run. The same definition always gives the same drawing. An invalid definition
// is drawn as far as possible.
//
// A picture has layers from top to bottom (after Sugiyama, Tagawa and Toda, 1981).
// layer.go puts every node into a layer, order.go orders the layers, place.go computes
// the coordinates, arrow.go the paths between the nodes, and write.go writes all of it. Long arrows to the same node share
// one line, and an arrow back to an earlier node is dashed.
package graph
