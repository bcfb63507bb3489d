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

	screens []ScreeningMember
	skipped []verification.NodeID // members, or elements, that the last visit left out
	checks  []workflow.CheckInfo  // GroupDecided.Checks
	began   int                   // the length of the history when the last visit began
}

// itemsField is the field of GroupBegan.Items that has the list.
const itemsField = "list"

// list returns the list of the last visit; nil once it is redacted.
func (g Group) list() []any {
	list, _ := g.Items.Map()[itemsField].([]any)
	return list
}

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

func (f GroupBegan) fold(r *Run, at time.Time) {
	if f.Each { // its elements are told
		for _, m := range f.Screens {
			step, _ := m.of(f.Node, "")
			tellNoMore(r, step)
		}
	}
	g := Group{
		Node: f.Node, Type: f.Type, Key: f.Key, Label: f.Label, Visits: f.Visit, Each: f.Each, Elements: f.Elements, Items: f.Items,
		Status: StepRunning, StartedAt: at, began: r.Seq, screens: f.Screens,
	}
	if node, element, _ := f.Node.Parts(); element > 0 {
		of, _ := r.Group(node)
		g.screens = of.screens
	}
	if r.groupIndex(f.Node) < 0 {
		r.Groups = append(slices.Clip(r.Groups), g)
		return
	}
	r.withGroup(f.Node, func(old *Group) { *old = g })
	r.leave(g)
}

// leave marks the steps that the last visit of a node with for_each does not have: those of elements that its list no longer
// has and, once the node is decided or the run is over, those that it has not come to.
func (r *Run) leave(g Group) {
	for i := range r.Steps {
		s := &r.Steps[i]
		node, element, _ := s.Node.Parts()
		if g.Each && node == g.Node && !g.onVisit(s) && !s.Gone && (g.Status != StepRunning || element > g.Elements || element == 0) {
			r.withStep(s.Node, func(s *Step) { s.Gone = true })
		}
	}
}

func (f GroupDecided) fold(r *Run, at time.Time) {
	status := StepFailed
	if f.Passed {
		status = StepPassed
	}
	r.withGroup(f.Node, func(g *Group) { g.Status, g.Unavailable, g.DecidedAt = status, f.Unavailable, at })
	for _, w := range slices.Clone(r.Waits) {
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
	g, _ := r.Group(f.Node)
	r.leave(g)
	if f.Data != nil { // the list is too long: the node itself has a card
		r.withGroup(f.Node, func(g *Group) { g.checks = f.Checks })
		r.reach(Step{Node: f.Node, Type: workflow.NodeCheck, Key: g.Key, Label: g.Label, StartedAt: at})
		r.withStep(f.Node, func(s *Step) { s.finish(status, f.Data, at) })
		tellAll(r, g.screens, g.Node, g.Label, unscreenedTooLong)
		return
	}
	g.tellUncalled(r, unscreenedDecided)
}

func (f Skipped) fold(r *Run, _ time.Time) {
	group := groupOf(f.Node)
	if node, element, member := f.Node.Parts(); element > 0 && member == "" {
		group = node
	}
	if group != "" {
		r.withGroup(group, func(g *Group) { g.skipped = append(slices.Clip(g.skipped), f.Node) })
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

// called returns the steps of a group that were called on its last visit.
func (r *Run) called(g Group) (all []*Step) {
	for i := range r.Steps {
		if s := &r.Steps[i]; within(g.Node, s.Node) && g.onVisit(s) {
			all = append(all, s)
		}
	}
	return all
}

// hasElement reports whether parts of the id of a step are those of an element of a node with for_each.
func (g Group) hasElement(node verification.NodeID, element int) bool {
	return node == g.Node && element > 0 && element <= g.Elements
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
