// Package graph draws a workflow definition as text that other tools lay out:
// Mermaid for pages and documents, DOT for Graphviz.
//
// The drawing begins at the start and goes on breadth first; nodes that no path
// leads to come last, by name. A route to fail is not drawn: a check without an
// arrow for a failure ends the run there. The same definition always gives the
// same text, and a definition with faults is drawn as far as it goes.
package graph
