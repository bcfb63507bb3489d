// List: a definition as text, for readers who do not see its picture.

package drawing

import (
	"cmp"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// ListedNode is a node of a list.
type ListedNode struct {
	ID    verification.NodeID
	Label string // its label, or else its name
	Type  string // in the language of the list
	// Marks are the condition and the list of a step, how a group is decided, and its members.
	Marks  []string
	Change Change
	Routes []ListedRoute
	// Visits counts how often the run of Options.Path was at the node.
	Visits int
}

// ListedRoute is a route from a node to another.
type ListedRoute struct {
	// Condition says when a run takes it; empty if it always does.
	Condition string
	Code      bool // the condition is an expression
	To        verification.NodeID
	ToLabel   string
	Change    Change
	Count     int // how often runs went along it, from Options.Counts
	Taken     int // how often the run of Options.Path went along it
}

// List returns the nodes and edges that SVG draws, in the same order.
func List(d workflow.Definition, o Options) []ListedNode {
	w := &writer{Options: o}
	all, edges, comparison := union(o.Before, d)
	w.vertices = all
	label := func(v vertex) string {
		return cmp.Or(v.node.Label, string(v.id))
	}
	var list []ListedNode
	for i, v := range all {
		n := ListedNode{ID: v.id, Label: label(v), Type: w.kind(v), Change: comparison.Of(v.id)}
		for _, m := range marks(v.node) {
			n.Marks = append(n.Marks, oneLine(m.text(w.word)))
		}
		for _, t := range o.Path {
			if t.To == v.id {
				n.Visits++
			}
		}
		for _, e := range edges {
			if e.from == i {
				n.Routes = append(n.Routes, w.listed(e, label(all[e.to])))
			}
		}
		list = append(list, n)
	}
	return list
}

func (w *writer) listed(e edge, toLabel string) ListedRoute {
	from, to := w.vertices[e.from], w.vertices[e.to].id
	r := ListedRoute{To: to, ToLabel: toLabel, Change: e.change, Code: e.code}
	if e.code {
		r.Condition = oneLine(w.condition(e))
	} else {
		r.Condition = w.sentence(e)
	}
	along := func(t rules.Transition) bool {
		return t.From == from.id && t.To == to && (from.node.Type != workflow.NodeBranch || slices.Contains(e.on, t.On))
	}
	for t, n := range w.Counts {
		if along(t) {
			r.Count += n
		}
	}
	for _, t := range w.Path {
		if along(t) {
			r.Taken++
		}
	}
	return r
}

func (w *writer) kind(v vertex) string {
	name, known := typeNames()[v.node.Type]
	switch {
	case v.missing:
		return w.word("there is no such node")
	case known:
		return w.word(name)
	}
	return oneLine(string(v.node.Type))
}

// condition returns the condition of a rule, and that the rule asks the customer again.
func (w *writer) condition(e edge) string {
	if e.again {
		return e.label() + ": " + w.word("ask again")
	}
	return e.label()
}

// sentence returns the conditions of an edge in the language of the picture.
func (w *writer) sentence(e edge) string {
	var texts []string
	for _, l := range e.labels {
		texts = append(texts, w.word(l))
	}
	return strings.Join(texts, " "+w.word("or")+" ")
}
