// Groups: checks that belong together, and a step for each element of a list.

package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/internal/jsontext"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Group is a group of checks, or a node with for_each, that a run has come to. It has no step of its own: its members
// and elements have.
type Group struct {
	Node verification.NodeID // of an element, if the elements are groups
	// Type is that of the node. Key is that of a check.
	Type   workflow.NodeType
	Key    string
	Label  string
	Visits int
	// Each says that the node has for_each. Elements is the length of its list, and Items has the list of the last visit.
	Each     bool
	Elements int
	Items    verification.Data
	// Status is StepRunning until the last visit is decided. Unavailable says that only checks without an answer kept it
	// from passing.
	Status               StepStatus
	Unavailable          bool
	StartedAt, DecidedAt time.Time // of the last visit

	skipped []verification.NodeID // members that the last visit left out
	began   int                   // the length of the history when the last visit began
}

// itemsField is the field of GroupBegan.Items that has the list.
const itemsField = "list"

// Group returns the group of a node, and whether the run has come to it.
func (r Run) Group(id verification.NodeID) (Group, bool) {
	if i := r.groupIndex(id); i >= 0 {
		return r.Groups[i], true
	}
	return Group{}, false
}

func (r *Run) groupIndex(id verification.NodeID) int {
	return slices.IndexFunc(r.Groups, func(g Group) bool { return g.Node == id })
}

// withGroup changes a copy of the group of a node, if the run has come to it.
func (r *Run) withGroup(id verification.NodeID, change func(*Group)) {
	if i := r.groupIndex(id); i >= 0 {
		r.Groups = slices.Clone(r.Groups)
		change(&r.Groups[i])
	}
}

func (r *Run) groupBegan(f GroupBegan, at time.Time) {
	g := Group{
		Node: f.Node, Type: f.Type, Key: f.Key, Label: f.Label, Visits: f.Visit, Each: f.Each, Elements: f.Elements, Items: f.Items,
		Status: StepRunning, StartedAt: at, began: r.Seq,
	}
	if r.groupIndex(f.Node) < 0 {
		r.Groups = append(slices.Clip(r.Groups), g)
		return
	}
	r.withGroup(f.Node, func(old *Group) { *old = g })
}

func (r *Run) groupDecided(f GroupDecided, at time.Time) {
	status := StepFailed
	if f.Passed {
		status = StepPassed
	}
	r.withGroup(f.Node, func(g *Group) { g.Status, g.Unavailable, g.DecidedAt = status, f.Unavailable, at })
	for _, w := range r.Waits() {
		if within(f.Node, w.Node) {
			r.waitOver(w.Node)
			r.withStep(w.Node, func(s *Step) {
				s.finish(StepFailed, nil, at)
				s.cancelled = true
				if s.Visits == 1 { // nothing was searched for that a later list could change
					s.Rescreen = ""
				}
			})
		}
	}
	for _, id := range f.Lacking {
		r.withStep(id, func(s *Step) {
			s.Data = withFalse(s.Data, "source_ok")
			s.flags = flagReasonsOf(s.Data)
		})
	}
	if f.Data != nil { // the list is too long: the node itself has a card
		g, _ := r.Group(f.Node)
		r.reach(Step{Node: f.Node, Type: workflow.NodeCheck, Key: g.Key, Label: g.Label, StartedAt: at})
		r.withStep(f.Node, func(s *Step) { s.finish(status, f.Data, at) })
	}
}

// within reports whether a step is a member of a group, or belongs to an element of it.
func within(group, step verification.NodeID) bool {
	n := len(group)
	return len(step) > n && step[:n] == group && (step[n] == '.' || step[n] == '[')
}

// groupOf returns the group that a step is a member of; empty if it is none.
func groupOf(step verification.NodeID) verification.NodeID {
	node, element, member := step.Parts()
	switch {
	case member == "":
		return ""
	case element == 0:
		return node
	}
	return node.Element(element)
}

// onVisit reports whether a step was reached on the last visit of its group.
func (g Group) onVisit(s *Step) bool { return s != nil && s.reached > g.began }

// Waits returns all that the run waits for: Wait and Beside; none once it is over.
func (r Run) Waits() []Wait {
	if r.Wait.Kind == WaitNothing {
		return nil
	}
	return append([]Wait{r.Wait}, r.Beside...)
}

// Facing returns the run with the wait of a step as its Wait, and whether it waits there.
func (r Run) Facing(step verification.NodeID) (Run, bool) {
	return r.facing(func(w Wait) bool { return w.Node == step })
}

// FacingNumber returns the run with the wait that has a number as its Wait, and whether it has one.
func (r Run) FacingNumber(number int) (Run, bool) {
	return r.facing(func(w Wait) bool { return w.Number == number })
}

func (r Run) facing(is func(Wait) bool) (Run, bool) {
	if r.Wait.Kind != WaitNothing && is(r.Wait) {
		return r, true
	}
	i := slices.IndexFunc(r.Beside, is)
	if i < 0 {
		return r, false
	}
	others := slices.Clone(r.Beside)
	others[i], r.Wait = r.Wait, r.Beside[i]
	r.Beside = others
	return r, true
}

// waitAt returns the wait of a step, to be changed: Wait unless another one is for the step.
func (r *Run) waitAt(step verification.NodeID) *Wait {
	if i := r.beside(step); i >= 0 {
		r.Beside = slices.Clone(r.Beside)
		return &r.Beside[i]
	}
	return &r.Wait
}

// beside returns the index of a step in Beside; -1 if Wait is for it, or none.
func (r *Run) beside(step verification.NodeID) int {
	if r.Wait.Node == step {
		return -1
	}
	return slices.IndexFunc(r.Beside, func(w Wait) bool { return w.Node == step })
}

// setWait sets the wait of a check. Those of other members and elements of the same node stay.
func (r *Run) setWait(w Wait) {
	if i := r.beside(w.Node); i >= 0 {
		r.Beside = slices.Clone(r.Beside)
		r.Beside[i] = w
		return
	}
	node, _, _ := w.Node.Parts()
	if r.Wait.Kind == WaitNothing || r.Wait.Node == w.Node || !within(node, r.Wait.Node) {
		r.Wait = w
		return
	}
	r.Beside = append(slices.Clip(r.Beside), w)
}

// waitOver ends the wait of a step.
func (r *Run) waitOver(step verification.NodeID) {
	if i := r.beside(step); i >= 0 {
		r.Beside = slices.Delete(slices.Clone(r.Beside), i, i+1)
		return
	}
	r.Wait = Wait{}
	if len(r.Beside) > 0 {
		r.Wait, r.Beside = r.Beside[0], slices.Clip(r.Beside[1:])
	}
}

// waitsEnd ends all waits.
func (r *Run) waitsEnd() { r.Wait, r.Beside = Wait{}, nil }

// values returns what expressions read of a step.
func (s *Step) values(node verification.NodeID) workflow.StepValues {
	return workflow.StepValues{Node: node, Status: string(s.Status), Passed: s.Status == StepPassed, Data: s.Data, Dispatches: s.Dispatches}
}

// groupValues returns what expressions read of a group of checks, or of a node with for_each.
func (r *Run) groupValues(g Group) workflow.StepValues {
	v := g.values()
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
			items[element-1], began[element-1] = sub.values(), sub.began
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

// hasElement reports whether parts of the id of a step are those of an element of a node with for_each.
func (g Group) hasElement(node verification.NodeID, element int) bool {
	return node == g.Node && element > 0 && element <= g.Elements
}

func (g Group) values() workflow.StepValues {
	return workflow.StepValues{Node: g.Node, Status: string(g.Status), Passed: g.Status == StepPassed, Group: !g.Each, Each: g.Each}
}

// scopeAt returns what the texts of a step read: with `item` if it belongs to an element.
func (r *Run) scopeAt(step verification.NodeID) workflow.Scope {
	s := r.scope()
	node, element, _ := step.Parts()
	if element == 0 {
		return s
	}
	g, _ := r.Group(node)
	if list, _ := g.Items.Map()[itemsField].([]any); element <= len(list) {
		s.Item = list[element-1]
	}
	s.Position = element
	return s
}

// elementChecks returns the item of `checks` for each key of a node with for_each: the elements are in its data.
func (r *Run) elementChecks(g Group) (checks []Check) {
	type item struct {
		Node   verification.NodeID `json:"node_id"`
		Status StepStatus          `json:"status"`
		Data   verification.Data   `json:"data,omitzero"`
	}
	var items [][]item
	var elements [][]*Step // the steps of each element
	for i := range r.Steps {
		s := &r.Steps[i]
		if node, element, _ := s.Node.Parts(); g.hasElement(node, element) && s.Type == workflow.NodeCheck && g.onVisit(s) {
			if elements == nil {
				elements = make([][]*Step, g.Elements)
			}
			elements[element-1] = append(elements[element-1], s)
		}
	}
	for n, steps := range elements {
		label := workflow.ElementLabel(g.Label, n+1, g.Elements)
		for _, s := range steps {
			k := slices.IndexFunc(checks, func(c Check) bool { return c.Key == s.Key })
			if k < 0 {
				k = len(checks)
				checks = append(checks, Check{Key: s.Key, Label: g.Label + strings.TrimPrefix(s.Label, label), Status: StepPassed})
				items = append(items, nil)
			}
			items[k] = append(items[k], item{s.Node, s.Status, s.Data})
			checks[k].Status = worse(checks[k].Status, s.Status)
		}
	}
	for k := range checks {
		checks[k].Data = verification.Data(`{"items":` + string(jsontext.Text(items[k])) + "}")
	}
	return checks
}

// worse returns the status of elements of which some have one status and some the other: running while one is open, and
// else failed if one failed.
func worse(a, b StepStatus) StepStatus {
	switch {
	case a == StepRunning || b == StepRunning, a == StepPending || b == StepPending:
		return StepRunning
	case a == StepFailed || b == StepFailed:
		return StepFailed
	}
	return StepPassed
}
