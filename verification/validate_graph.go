// Validation of definitions: the graph.

package verification

import (
	"slices"
	"strings"
)

// graph checks that every node is reachable from the start and can reach an end, and
// that loops wait for a person. Every edge must lead to a known node.
func (v *validator) graph() {
	reached := v.reach(v.def.Start, nil)
	reached[v.def.Start] = true
	var ends []NodeID
	for id, n := range v.def.Nodes {
		if n.Type == NodeEnd {
			ends = append(ends, id)
		}
	}
	reachesEnd := v.predecessors(ends...)
	for _, id := range v.names() {
		if !reached[id] {
			v.problem(nodePath(id), "no path leads here from the start")
			continue
		}
		v.check(nodePath(id), reachesEnd[id] || slices.Contains(ends, id), "no path leads from here to an end")
	}
	v.loops()
}

// reach returns the nodes that one or more edges from a node lead to. The paths
// do not enter a node for which stop, if not nil, returns true.
func (v *validator) reach(from NodeID, stop func(NodeID) bool) map[NodeID]bool {
	reached := map[NodeID]bool{}
	queue := v.def.Nodes[from].Targets()
	for len(queue) > 0 {
		id := queue[0]
		queue = queue[1:]
		if reached[id] || (stop != nil && stop(id)) {
			continue
		}
		reached[id] = true
		queue = append(queue, v.def.Nodes[id].Targets()...)
	}
	return reached
}

// predecessors returns the nodes from which one or more edges lead to a node of to.
func (v *validator) predecessors(to ...NodeID) map[NodeID]bool {
	if v.back == nil {
		v.back = map[NodeID][]NodeID{}
		for id, n := range v.def.Nodes {
			for _, next := range n.Targets() {
				v.back[next] = append(v.back[next], id)
			}
		}
	}
	found := map[NodeID]bool{}
	for queue := slices.Clone(to); len(queue) > 0; {
		id := queue[0]
		queue = queue[1:]
		for _, from := range v.back[id] {
			if !found[from] {
				found[from] = true
				queue = append(queue, from)
			}
		}
	}
	return found
}

// loops finds loops without a step that waits on a human: a run could stay in
// such a loop for ever.
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
		onward := v.reach(id, waits)
		if !onward[id] {
			continue
		}
		loop := []string{string(id)}
		for _, other := range v.names() {
			if other != id && onward[other] && v.reach(other, waits)[id] {
				reported[other] = true
				loop = append(loop, string(other))
			}
		}
		v.problem(nodePath(id), "a loop must have a customer or review step on it: %s", strings.Join(loop, ", "))
	}
}

// declarations returns what expressions at a node may read: the steps on some
// path from the start to it. If the graph is incomplete, all steps count, so that
// no false problem is reported.
func (v *validator) declarations(at NodeID) Declarations {
	d := Declarations{Input: v.def.InputSchema, Steps: map[NodeID]StepDeclaration{}}
	before := v.predecessors(at)
	for id, n := range v.def.Nodes {
		if n.IsStep() {
			d.Steps[id] = StepDeclaration{
				Type: n.Type, Fields: n.Fields, Optional: n.Optional, CanHaveRun: v.incomplete || before[id],
			}
		}
	}
	return d
}
