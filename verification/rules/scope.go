// Scopes: what expressions read of a run.

package rules

import (
	"slices"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// scope returns what expressions read from the run.
func (r *Run) scope() workflow.Scope {
	steps := make([]workflow.StepValues, 0, len(r.Steps)+len(r.Groups))
	for i := range r.Steps {
		if s := &r.Steps[i]; len(r.Groups) == 0 || alone(s.Node) && r.groupIndex(s.Node) < 0 {
			steps = append(steps, s.values(s.Node))
		}
	}
	for _, g := range r.Groups {
		if alone(g.Node) {
			steps = append(steps, r.groupValues(g))
		}
	}
	return workflow.Scope{
		Input: r.Started.Input, RunID: r.ID, ReferenceID: r.Started.ReferenceID,
		StartedAt: r.StartedAt, Steps: steps,
	}
}

// values returns what expressions read of a step.
func (s *Step) values(node verification.NodeID) workflow.StepValues {
	passed := s.Status == StepPassed
	return workflow.StepValues{
		Node: node, Status: string(s.Status), Passed: passed, Clear: passed && !s.leavesDoubt(), Data: s.Data, Dispatches: s.Dispatches,
	}
}

// leavesDoubt reports whether the last visit of the step left something open that expressions call not clear: source_ok, analysis_ok or
// geo_ok is false, or a hit is open.
func (s *Step) leavesDoubt() bool {
	if f := s.flags; f.sourceNotOK || f.analysisNotOK || f.geoNotOK || f.hit {
		return true
	}
	if s.Screening == nil && len(s.Rescreened) == 0 {
		return false
	}
	last, _ := s.visit(0)
	return openHits(last.hits()) > 0
}

// groupValues returns what expressions read of a group of checks, or of a node with for_each.
func (r *Run) groupValues(g Group) workflow.StepValues {
	v := r.valuesOf(g)
	if !g.Each {
		for i := range r.Steps {
			s := &r.Steps[i]
			if node, element, member := s.Node.Parts(); member != "" && node == g.Node && element == 0 && g.onVisit(s) {
				v.Members = append(v.Members, s.values(verification.NodeID(member)))
			}
		}
		return v
	}
	items, began := make([]workflow.StepValues, g.Elements), make([]int, g.Elements) // one for each element
	for _, sub := range r.Groups {
		if node, element, _ := sub.Node.Parts(); g.hasElement(node, element) && sub.began > g.began {
			items[element-1], began[element-1] = r.valuesOf(sub), sub.began
		}
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		switch node, element, member := s.Node.Parts(); {
		case !g.hasElement(node, element) || !g.onVisit(s):
		case member == "":
			items[element-1] = s.values(s.Node)
		case s.reached > began[element-1]:
			items[element-1].Members = append(items[element-1].Members, s.values(verification.NodeID(member)))
		}
	}
	v.Items = slices.DeleteFunc(items, func(item workflow.StepValues) bool { return item.Node == "" })
	return v
}

// valuesOf returns what expressions read of a group beside its members and elements.
func (r *Run) valuesOf(g Group) workflow.StepValues {
	passed := g.Status == StepPassed
	return workflow.StepValues{
		Node: g.Node, Status: string(g.Status), Passed: passed, Group: !g.Each, Each: g.Each,
		Clear: passed && !slices.ContainsFunc(r.called(g), (*Step).leavesDoubt) && !slices.ContainsFunc(r.Unscreened, func(u Unscreened) bool {
			return u.NodeID == g.Node || within(g.Node, u.NodeID)
		}),
	}
}

// scopeAt returns what the texts of a step read: with `item` if it belongs to an element.
func (r *Run) scopeAt(step verification.NodeID) workflow.Scope {
	s := r.scope()
	node, element, _ := step.Parts()
	if element == 0 {
		return s
	}
	g, _ := r.Group(node)
	if list := g.list(); element <= len(list) {
		s.Item = list[element-1]
	}
	s.Position = element
	return s
}
