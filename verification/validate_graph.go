// Validation of definitions: the graph.

package verification

import (
	"slices"
	"strings"
)

// graph checks that every node is reachable from the start and can reach an end, and
// that every loop has a customer or review step. The caller has checked that every
// edge leads to a known node.
func (v *validator) graph() {
	reached := append(v.def.reach(v.def.Start, nil), v.def.Start)
	var ends []NodeID
	for id, n := range v.def.Nodes {
		if n.Type == NodeEnd {
			ends = append(ends, id)
		}
	}
	ending := append(v.ancestors(ends...), ends...)
	for _, id := range v.names() {
		if !slices.Contains(reached, id) {
			v.problem(nodePath(id), "no path leads here from the start")
			continue
		}
		v.check(nodePath(id), slices.Contains(ending, id), "no path leads from here to an end")
	}
	v.loops()
}

// ancestors returns the nodes from which a path of at least one edge leads to one of
// the targets.
func (v *validator) ancestors(targets ...NodeID) []NodeID {
	if v.back == nil {
		v.back = map[NodeID][]NodeID{}
		for id, n := range v.def.Nodes {
			for _, next := range n.Targets() {
				v.back[next] = append(v.back[next], id)
			}
		}
	}
	return walk(targets, func(id NodeID) []NodeID { return v.back[id] }, nil)
}

// loops finds loops without a customer or review step: a run could stay in such a
// loop for ever.
func (v *validator) loops() {
	waits := func(id NodeID) bool {
		switch v.def.Nodes[id].Type {
		case NodeConsent, NodeCustomerInput, NodeReview:
			return true
		case NodeCheck, NodeBranch, NodeEnd:
		}
		return false
	}
	reported := map[NodeID]bool{}
	for _, id := range v.names() {
		if waits(id) || reported[id] {
			continue
		}
		onward := v.def.reach(id, waits)
		if !slices.Contains(onward, id) {
			continue
		}
		loop := []string{string(id)}
		for _, other := range v.names() {
			if other != id && slices.Contains(onward, other) && slices.Contains(v.def.reach(other, waits), id) {
				reported[other] = true
				loop = append(loop, string(other))
			}
		}
		v.problem(nodePath(id), "a loop must have a customer or review step on it: %s", strings.Join(loop, ", "))
	}
}

// declarations returns what expressions at a node may read: the steps on some
// path from the start to it. If some edge leads nowhere, all steps count, so that
// no false problem is reported. The first declarations do without the descriptions of
// providers; others follow if there are any.
func (v *validator) declarations(at NodeID) []Declarations {
	d := Declarations{Input: v.def.InputSchema, Steps: map[NodeID]StepDeclaration{}}
	before := map[NodeID]bool{}
	for _, id := range v.ancestors(at) {
		before[id] = true
	}
	for id, n := range v.def.Nodes {
		if n.IsStep() {
			d.Steps[id] = StepDeclaration{
				Type: n.Type, Fields: n.Fields, Optional: n.Optional, MayPrecede: v.incomplete || before[id],
			}
		}
	}
	all := []Declarations{d}
	for _, fallbacks := range []bool{false, true} {
		if described, ok := v.describe(d, at, fallbacks); ok {
			all = append(all, described)
		}
	}
	return all
}
