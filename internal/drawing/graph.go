// The parts of a drawing: vertices and edges.

package drawing

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

type vertex struct {
	id      verification.NodeID
	node    workflow.Node
	missing bool // an edge leads here, but there is no such node
}

// shape is how a vertex looks: its name in DOT, and the brackets around its text in
// Mermaid.
type shape struct{ dot, left, right string }

func (v vertex) shape() shape {
	switch v.node.Type {
	case workflow.NodeConsent:
		return shape{"note", "([", "])"}
	case workflow.NodeCustomerInput:
		return shape{"parallelogram", "[/", "/]"}
	case workflow.NodeCheck:
		return shape{"component", "[[", "]]"}
	case workflow.NodeChecks:
		return shape{"box3d", "[/", "\\]"}
	case workflow.NodeBranch:
		return shape{"diamond", "{", "}"}
	case workflow.NodeReview:
		return shape{"hexagon", "{{", "}}"}
	case workflow.NodeEnd:
		return shape{"doublecircle", "(((", ")))"}
	}
	if v.missing {
		return shape{"plaintext", "[", "]"}
	}
	return shape{"box", "[", "]"}
}

// edge leads from one vertex to another, by their numbers.
type edge struct {
	from, to int
	route
	change Change // in a comparison
}

// vertices numbers the nodes breadth first, and returns the edges of each in order.
func vertices(d workflow.Definition) ([]vertex, []edge) {
	var all []vertex
	numbers := map[verification.NodeID]int{}
	number := func(id verification.NodeID) int {
		n, ok := numbers[id]
		if !ok {
			n = len(all)
			numbers[id] = n
			node, found := d.Nodes[id]
			all = append(all, vertex{id: id, node: node, missing: !found})
		}
		return n
	}
	var edges []edge
	done := 0
	expand := func() {
		for ; done < len(all); done++ {
			for _, r := range routes(all[done].node) {
				edges = append(edges, edge{from: done, to: number(r.to), route: r})
			}
		}
	}
	if d.Start != "" {
		number(d.Start)
	}
	expand()
	for _, id := range slices.Sorted(maps.Keys(d.Nodes)) {
		number(id)
		expand()
	}
	return all, edges
}

// route is one way out of a node, with the conditions under which it is taken.
type route struct {
	to verification.NodeID
	on []string // as in workflow.Route
	// labels name the conditions. They are the conditions of a branch, otherwise keys of
	// words.
	labels []string
	code   bool // the label is the condition of a rule
	again  bool // it asks the customer again
}

func (r route) label() string { return strings.Join(r.labels, " or ") }

// routes returns the ways out of a node in the order of Node.Routes. The routes of a
// step that lead to the same node are merged.
func routes(n workflow.Node) []route {
	var all []route
	for _, r := range n.Routes() {
		next := route{to: r.To, on: []string{r.On}, labels: []string{r.On}}
		switch {
		case n.Type == workflow.NodeBranch:
			next.code = r.On != "else"
			next.again = slices.ContainsFunc(n.Rules, func(rule workflow.Rule) bool {
				return rule.AskAgain != nil && rule.When == r.On && rule.AskAgain.Step == r.To
			})
		case r.On == "next":
			next.labels = nextLabels(n)
		}
		all = append(all, next)
	}
	if n.Type == workflow.NodeBranch {
		return all // every rule has its own edge
	}
	merged := merge(all)
	if len(merged) == 1 && len(merged[0].on) == 1 && n.Type != workflow.NodeReview {
		merged[0].labels = nil // there is no other route
	}
	return merged
}

// nextLabels returns the conditions under which a node leads to its next.
func nextLabels(n workflow.Node) []string {
	switch n.Type {
	case workflow.NodeCheck:
		return []string{"passed"}
	case workflow.NodeChecks:
		return []string{"met"}
	case workflow.NodeConsent:
		return []string{"agreed"}
	case workflow.NodeReview:
		if n.OnReject == "" {
			return []string{"approve", "reject"}
		}
		return []string{"approve"}
	case workflow.NodeCustomerInput, workflow.NodeBranch, workflow.NodeEnd:
	}
	return nil
}

func merge(all []route) []route {
	var merged []route
	for _, r := range all {
		if i := slices.IndexFunc(merged, func(m route) bool { return m.to == r.to }); i >= 0 {
			merged[i].on = append(merged[i].on, r.on...)
			merged[i].labels = append(merged[i].labels, r.labels...)
		} else {
			merged = append(merged, r)
		}
	}
	return merged
}

// lines returns the text on a vertex: its label, its name if that differs, and its marks.
func (v vertex) lines() []string {
	if v.missing {
		return []string{string(v.id), "there is no such node"}
	}
	all := []string{string(v.id)}
	if label := v.node.Label; label != "" && label != string(v.id) {
		all = []string{label, string(v.id)}
	}
	for _, m := range marks(v.node) {
		all = append(all, m.text(func(english string) string { return english }))
	}
	return all
}

// oneLine returns the text as one line of printable characters.
func oneLine(text string) string {
	printable := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return strings.Join(strings.Fields(printable), " ")
}
