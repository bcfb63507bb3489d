// What is drawn: the nodes in their order, and the arrows between them.

package graph

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/verifyd/verifyd/verification"
)

// vertex is one node of the drawing.
type vertex struct {
	id      verification.NodeID
	node    verification.Node
	missing bool // an arrow leads here, but there is no such node
}

// arrow leads from one vertex to another, by their numbers.
type arrow struct {
	from, to int
	label    string
}

// layout numbers the nodes, breadth first, and lists the arrows of each in
// turn.
func layout(d verification.Definition) ([]vertex, []arrow) {
	var vertices []vertex
	numbers := map[verification.NodeID]int{}
	number := func(id verification.NodeID) int {
		n, ok := numbers[id]
		if !ok {
			n = len(vertices)
			numbers[id] = n
			node, there := d.Nodes[id]
			vertices = append(vertices, vertex{id: id, node: node, missing: !there})
		}
		return n
	}
	var arrows []arrow
	done := 0
	spread := func() {
		for ; done < len(vertices); done++ {
			for _, r := range routes(vertices[done].node) {
				arrows = append(arrows, arrow{from: done, to: number(r.to), label: r.label})
			}
		}
	}
	if d.Start != "" {
		number(d.Start)
	}
	spread()
	for _, id := range slices.Sorted(maps.Keys(d.Nodes)) {
		number(id)
		spread()
	}
	return vertices, arrows
}

// route is one way out of a node, and when it is taken.
type route struct {
	to    verification.NodeID
	label string
}

// routes lists the ways out of a node in the order of Targets. Ways of a step
// that lead to one node are drawn as one.
func routes(n verification.Node) []route {
	var all []route
	add := func(to verification.NodeID, label string) {
		if to == verification.RouteNext {
			to = n.Next
		}
		if to != "" && to != verification.RouteFail {
			all = append(all, route{to: to, label: label})
		}
	}
	for _, r := range n.Rules {
		add(r.Next, r.When)
	}
	add(n.Else, "else")
	add(n.Next, onward(n))
	add(n.OnDeclined, "declined")
	add(n.OnFailed, "failed")
	add(n.OnUnavailable, "unavailable")
	add(n.OnReject, "reject")
	if n.Type == verification.NodeBranch {
		return all // every rule has its own arrow
	}
	merged := merge(all)
	if len(merged) == 1 && merged[0].label == onward(n) && n.Type != verification.NodeReview {
		merged[0].label = "" // there is no other way
	}
	return merged
}

// onward says when a node goes on to its next one.
func onward(n verification.Node) string {
	switch n.Type {
	case verification.NodeCheck:
		return "passed"
	case verification.NodeConsent:
		return "agreed"
	case verification.NodeReview:
		if n.OnReject == "" {
			return "approve or reject"
		}
		return "approve"
	case verification.NodeCustomerInput, verification.NodeBranch, verification.NodeEnd:
	}
	return ""
}

func merge(all []route) []route {
	var merged []route
	for _, r := range all {
		i := slices.IndexFunc(merged, func(m route) bool { return m.to == r.to })
		switch {
		case i < 0:
			merged = append(merged, r)
		case merged[i].label == "":
			merged[i].label = r.label
		case r.label != "":
			merged[i].label += " or " + r.label
		}
	}
	return merged
}

// lines are what stands on a node: its label, and its name where that differs.
func (v vertex) lines() []string {
	if v.missing {
		return []string{string(v.id), "there is no such node"}
	}
	if label := v.node.Label; label != "" && label != string(v.id) {
		return []string{label, string(v.id)}
	}
	return []string{string(v.id)}
}

// oneLine makes any text one line of printable characters.
func oneLine(text string) string {
	printable := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return strings.Join(strings.Fields(printable), " ")
}
