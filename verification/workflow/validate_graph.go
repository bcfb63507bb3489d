// Validation of definitions: the graph.

package workflow

import (
	"slices"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/internal/texts"
)

// graph checks that every node is reachable from the start and can reach an end, and
// that every loop has a customer or review step. The caller has checked that every
// edge leads to a known node.
func (v *validator) graph() {
	reached := setOf(v.def.Reach(v.def.Start, nil), v.def.Start)
	var ends []verification.NodeID
	for id, n := range v.def.Nodes {
		if n.Type == NodeEnd {
			ends = append(ends, id)
		}
	}
	ending := setOf(v.ancestors(ends...), ends...)
	for _, id := range v.names() {
		if !reached[id] {
			v.problem(nodePath(id), "no path leads here from the start")
			continue
		}
		v.check(nodePath(id), ending[id], "no path leads from here to an end")
	}
	v.loops()
	v.rounds()
}

func setOf(nodes []verification.NodeID, more ...verification.NodeID) map[verification.NodeID]bool {
	set := make(map[verification.NodeID]bool, len(nodes)+len(more))
	for _, id := range slices.Concat(nodes, more) {
		set[id] = true
	}
	return set
}

// ancestors returns the nodes from which a path of at least one edge leads to one of
// the targets.
func (v *validator) ancestors(targets ...verification.NodeID) []verification.NodeID {
	if v.back == nil {
		v.back = map[verification.NodeID][]verification.NodeID{}
		for id, n := range v.def.Nodes {
			for _, next := range n.Targets() {
				v.back[next] = append(v.back[next], id)
			}
		}
	}
	return walk(targets, func(id verification.NodeID) []verification.NodeID { return v.back[id] }, nil)
}

// loops finds loops without a customer or review step: a run could stay in such a
// loop for ever.
func (v *validator) loops() {
	onward := map[verification.NodeID][]verification.NodeID{} // the edges between nodes at which no run waits
	for id, n := range v.def.Nodes {
		switch n.Type {
		case NodeBranch:
			onward[id] = n.withoutRounds().Targets() // what is asked for again waits, always
		case NodeCheck, NodeChecks, NodeEnd:
			onward[id] = n.Targets()
		case NodeConsent, NodeCustomerInput, NodeReview:
			if n.When != "" || n.repeats() { // the run may pass it without waiting
				onward[id] = []verification.NodeID{n.Next}
			}
		}
	}
	for _, group := range components(v.names(), onward) {
		if id := group[0]; len(group) > 1 || slices.Contains(onward[id], id) {
			slices.Sort(group)
			v.problem(nodePath(group[0]), "a loop must have a customer or review step on it: %s", texts.Join(group))
		}
	}
}

// components returns the strongly connected components of the graph of the nodes that
// have an entry in next, by Tarjan's algorithm. It does not recurse: a path may be as long
// as the definition.
func components(nodes []verification.NodeID, next map[verification.NodeID][]verification.NodeID) (found [][]verification.NodeID) {
	type visit struct {
		node verification.NodeID
		edge int // the next edge to follow
	}
	index, low, open := map[verification.NodeID]int{}, map[verification.NodeID]int{}, map[verification.NodeID]bool{}
	var stack []verification.NodeID
	var path []visit
	enter := func(id verification.NodeID) {
		index[id] = len(index)
		low[id], open[id] = index[id], true
		stack, path = append(stack, id), append(path, visit{node: id})
	}
	for _, root := range nodes {
		if _, seen := index[root]; seen || next[root] == nil {
			continue
		}
		for enter(root); len(path) > 0; {
			at := &path[len(path)-1]
			if id := at.node; at.edge < len(next[id]) {
				to := next[id][at.edge]
				at.edge++
				switch _, seen := index[to]; {
				case !seen && next[to] != nil:
					enter(to)
				case open[to]:
					low[id] = min(low[id], index[to])
				}
				continue
			}
			id := at.node
			if path = path[:len(path)-1]; len(path) > 0 {
				above := path[len(path)-1].node
				low[above] = min(low[above], low[id])
			}
			if low[id] != index[id] {
				continue
			}
			first := len(stack) - 1
			for stack[first] != id {
				first--
			}
			group := slices.Clone(stack[first:])
			for _, member := range group {
				open[member] = false
			}
			stack, found = stack[:first], append(found, group)
		}
	}
	return found
}

// declarations returns what expressions at a node may read: the steps on some
// path from the start to it. If some edge leads nowhere, all steps count, so that
// no false problem is reported. Without a node, an expression may read all steps. The first declarations do without the descriptions of
// providers; others follow if there are any.
func (v *validator) declarations(at verification.NodeID) []Declarations {
	of, _, _ := at.Parts()
	if s := &v.seen; !s.made || s.node != of || s.inside != (of != at) { // the members of a group follow each other
		*s = declared{made: true, node: of, inside: of != at, plain: v.undescribed(at)}
		s.providers, s.known[0] = v.describe(s.plain, of, false)
		s.fallbacks, s.known[1] = v.describe(s.plain, of, true)
	}
	n, _ := v.def.Node(at)
	all := []Declarations{v.seen.plain}
	add := func(d Declarations, known bool, provider string) {
		if d.With = v.described[provider].With; known || d.With != nil {
			all = append(all, d)
		}
	}
	add(v.seen.providers, v.seen.known[0], n.Provider)
	add(v.seen.fallbacks, v.seen.known[1], n.Fallback)
	return all
}

// declared are the declarations at a node or inside it, without With. known says whether descriptions add anything.
type declared struct {
	made, inside                bool
	node                        verification.NodeID
	plain, providers, fallbacks Declarations
	known                       [2]bool
}

// undescribed returns the declarations that do without the descriptions of providers.
func (v *validator) undescribed(at verification.NodeID) Declarations {
	d := Declarations{Input: v.def.InputSchema, Steps: map[verification.NodeID]StepDeclaration{}, Inspect: v.inspects}
	of, _, _ := at.Parts()
	before := setOf(v.ancestors(of))
	if of != at {
		before[of] = true // so that readsOwn says what is wrong
	}
	differs := v.flagsDifferences()
	for id, n := range v.def.Nodes {
		if n.IsStep() {
			d.Steps[id] = StepDeclaration{
				Type: n.Type, Key: n.Key, Fields: n.Fields, Optional: n.Optional, MayPrecede: at == "" || v.incomplete || before[id],
				Differs: differs && (n.Type == NodeCheck || n.Type == NodeCustomerInput),
				Each:    n.repeats(), Members: v.declaredMembers(id, n, undescribed),
			}
		}
	}
	if n := v.def.Nodes[of]; n.repeats() {
		d.Each, d.Item = true, v.elements(n, func(Node) verification.Data { return nil })
	}
	return d
}

// declaredMembers returns what is known about the members of a group; nil for any other node. It makes it once, because every
// text of the definition may read it. extent says what of the descriptions of providers it has.
func (v *validator) declaredMembers(id verification.NodeID, n Node, extent extent) map[string]StepDeclaration {
	if n.Type != NodeChecks {
		return nil
	}
	key := groupExtent{id, extent}
	if members, ok := v.members[key]; ok {
		return members
	}
	members := make(map[string]StepDeclaration, len(n.Members))
	for _, m := range n.Members {
		d := StepDeclaration{Type: NodeCheck, Key: m.Key, Differs: v.flagsDifferences()}
		if extent != undescribed {
			d.Data = v.data(m.Check(), extent == ofFallbacks)
		}
		members[m.Name] = d
	}
	v.members[key] = members
	return members
}

// flagsDifferences reports whether any difference flags a step.
func (v *validator) flagsDifferences() bool {
	return slices.ContainsFunc(v.def.Compare, Comparison.Flags)
}

// extent says what declarations have of the descriptions of providers.
type extent int

const (
	undescribed extent = iota
	ofProviders
	ofFallbacks // of fallbacks where checks have one
)

type groupExtent struct {
	group verification.NodeID
	extent
}
