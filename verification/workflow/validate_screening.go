// Validation of definitions: members of groups that screen, and that a run may come to and never call.

package workflow

import (
	"fmt"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/verification"
)

// uncalledScreenings warns of each member of a group, asked one by one, that screens and that a run may leave without its answer
// on the way to an end, without a review. Called members are always awaited, and one without an answer flags the run.
func (v *validator) uncalledScreenings(p *Program) {
	for _, id := range v.names() {
		if n := v.def.Nodes[id]; n.Called() == OrderOneByOne {
			v.uncalledAt(p, id, n)
		}
	}
}

func (v *validator) uncalledAt(p *Program, id verification.NodeID, n Node) {
	others := 0 // the members so far that do not screen
	for i, m := range n.Members {
		if !v.screens(m.Provider) {
			others++
			continue
		}
		for _, way := range n.without(i, others) {
			end, leads := v.endWithoutReview(p, id, way.to)
			if !leads {
				continue
			}
			v.warnings = append(v.warnings, verification.FieldError{
				Name: nodePath(id.Member(m.Name)) + ".provider",
				Message: fmt.Sprintf(
					"a run may reach the end %s without this screening: %s may lead there before it is called; let %s lead to a review, ask the screening first, or use order: together",
					end, way.name, way.name),
			})
			break
		}
	}
}

// way is a way out of a group.
type way struct {
	name string
	to   verification.NodeID
}

// without returns the ways by which a run may leave a group that asks one by one before it calls member i. others are the members
// before it that do not screen: if a screening is among those that met the group, member i is spare.
func (n Node) without(i, others int) (ways []way) {
	members := len(n.Members)
	for k, m := range n.Members {
		if k != i && m.When != "" { // it may be left out
			members--
		}
	}
	need := int(n.Need)
	if n.Need == NeedAll {
		need = members
	}
	add := func(possible bool, name string, to verification.NodeID, ok bool) {
		if possible && ok {
			ways = append(ways, way{name, to})
		}
	}
	add(n.Need != NeedAll && others >= need, "next", n.Next, true)
	short := i > 0 && i > members-need // so many before it may fail that too few are left
	to, ok := n.Leads(n.OnNotMet)
	add(short, "on_not_met", to, ok)
	to, ok = n.Leads(n.OnUnavailable)
	add(short && n.Need != NeedAll && i >= need, "on_unavailable", to, ok)
	return ways
}

// endWithoutReview returns an end to which a run may go from a node without a review, and without coming back to the group. A branch
// that reads whether the group is clear is taken to look after it.
func (v *validator) endWithoutReview(p *Program, group, from verification.NodeID) (end verification.NodeID, leads bool) {
	clear := func(c Condition) bool {
		r, ok := c.(Reader)
		return ok && slices.ContainsFunc(r.ReadPaths(), func(path string) bool {
			step, _ := StepOf(path)
			read, _, _ := step.Parts()
			return read == group && strings.HasSuffix(path, ".clear")
		})
	}
	onward := func(at verification.NodeID) []verification.NodeID {
		n := v.def.Nodes[at]
		switch {
		case at == group, n.Type == NodeReview && n.When == "", n.Type == NodeReview && clear(p.whens[at]):
			return nil
		case n.Type == NodeReview:
			return []verification.NodeID{n.Next}
		case n.Type == NodeBranch && slices.ContainsFunc(p.conditions[at], clear):
			return nil
		}
		return n.Targets()
	}
	for _, at := range append([]verification.NodeID{from}, walk([]verification.NodeID{from}, onward, nil)...) {
		if v.def.Nodes[at].Type == NodeEnd {
			return at, true
		}
	}
	return "", false
}
