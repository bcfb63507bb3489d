// Checks that screen, and those of them that a run came to and never called.

package rules

import (
	"cmp"
	"slices"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Unscreened is a check that screens, and that a run came to and has not called. It is no flag. There is none of a check that its
// own condition leaves out, of a spare member of a group that another screening has met, and of a check that a later visit has
// called and that has its answer.
type Unscreened struct {
	// NodeID and Label are those that the step would have. If the list of for_each is too long, they have no element.
	NodeID verification.NodeID `json:"node_id"`
	Label  string              `json:"label"`
	Why    UnscreenedWhy       `json:"why"`
}

// UnscreenedWhy says why a check that screens was not called.
type UnscreenedWhy string

// Why a check was not called.
const (
	unscreenedDecided   UnscreenedWhy = "decided"   // its group was decided before
	unscreenedCancelled UnscreenedWhy = "cancelled" // its group was decided before it answered; only in histories of before
	unscreenedTooLong   UnscreenedWhy = "too_long"  // the list of for_each has too many elements
	unscreenedEnded     UnscreenedWhy = "ended"     // the run ended before
)

// unscreenedPrefix begins the key of a Sentence of an Unscreened.
const unscreenedPrefix = "unscreened."

// concern returns what a reviewer should look at.
func (u Unscreened) concern() Concern {
	return Concern{NodeID: u.NodeID, Label: u.Label, Kind: ConcernUnscreened, Sentences: []Sentence{{Key: unscreenedPrefix + string(u.Why)}}}
}

// Reason returns the sentence that says why, in English.
func (u Unscreened) Reason() string { return english(u.concern().Sentences) }

// of returns the step of a member in a group or an element, and its label.
func (m ScreeningMember) of(group verification.NodeID, label string) (verification.NodeID, string) {
	if m.Name == "" {
		return group, label
	}
	return group.Member(m.Name), label + ": " + m.Label
}

// screening returns GroupBegan.Screens of a node.
func screening(p *workflow.Program, n workflow.Node) (all []ScreeningMember) {
	if n.Type == workflow.NodeCheck && p.Screens(n.Provider) {
		return []ScreeningMember{{}}
	}
	for _, m := range n.Members {
		if p.Screens(m.Provider) {
			all = append(all, ScreeningMember{m.Name, m.Check().Label})
		}
	}
	return all
}

// leaveOutScreenings records which members of a group that is decided their conditions would have left out, of those that screen
// and were not called: they are not told.
func leaveOutScreenings(d *decision, id verification.NodeID, n workflow.Node) {
	g, _ := d.run.Group(id)
	for _, m := range n.Members {
		member := id.Member(m.Name)
		condition := d.program.When(member)
		if condition == nil || !d.program.Screens(m.Provider) || g.has(d.run, member) {
			continue
		}
		if holds, seen, err := condition.Holds(d.run.scopeAt(member)); err == nil && !holds {
			d.skip(member, "", seen)
		}
	}
}

// screens reports whether a step that was called screens. A dispatch of before does not say so.
func screens(d *decision, id verification.NodeID, n workflow.Node) bool {
	s := d.run.step(id)
	return s != nil && s.Screens || d.program.Screens(n.Provider)
}

// tellAll adds members of a group, or an element that is a check.
func tellAll(r *Run, all []ScreeningMember, group verification.NodeID, label string, why UnscreenedWhy) {
	for _, m := range all {
		step, label := m.of(group, label)
		tell(r, Unscreened{step, label, why})
	}
}

// tell adds a check. The order does not depend on which group was decided first.
func tell(r *Run, u Unscreened) {
	tellNoMore(r, u.NodeID)
	r.Unscreened = append(slices.Clip(r.Unscreened), u)
	slices.SortStableFunc(r.Unscreened, func(a, b Unscreened) int {
		left, first, _ := a.NodeID.Parts()
		right, second, _ := b.NodeID.Parts()
		return cmp.Or(cmp.Compare(r.groupIndex(left), r.groupIndex(right)), cmp.Compare(first, second))
	})
}

// tellNoMore takes a step out of the unscreened ones.
func tellNoMore(r *Run, step verification.NodeID) {
	if is := func(u Unscreened) bool { return u.NodeID == step }; slices.ContainsFunc(r.Unscreened, is) {
		r.Unscreened = slices.DeleteFunc(slices.Clone(r.Unscreened), is)
	}
}

// tellUncalled adds the members of a group, or of its elements, that screen and that its last visit has not called. A group that is
// decided has ended, for each of its elements.
func (g Group) tellUncalled(r *Run, why UnscreenedWhy) {
	if g.Each {
		for i := range g.Elements * min(1, len(g.screens)) {
			element := g.Node.Element(i + 1)
			if sub, _ := r.Group(element); sub.began <= g.began && !g.onVisit(r.step(element)) && !slices.Contains(g.skipped, element) {
				tellAll(r, g.screens, element, workflow.ElementLabel(g.Label, i+1, g.Elements), why)
			}
		}
		return
	}
	var members []*Step
	for i := range r.Steps {
		if s := &r.Steps[i]; groupOf(s.Node) == g.Node && g.onVisit(s) {
			members = append(members, s)
		}
	}
	if g.Status == StepPassed && slices.ContainsFunc(members, func(s *Step) bool { return s.Screens && s.Confirms != nil && *s.Confirms }) {
		for _, m := range g.screens { // the others are spare
			step, _ := m.of(g.Node, "")
			tellNoMore(r, step)
		}
		return
	}
	for _, s := range members {
		if s.Screens && s.cancelled {
			tell(r, Unscreened{s.Node, s.Label, unscreenedCancelled})
		}
	}
	for _, m := range g.screens {
		if step, _ := m.of(g.Node, ""); !slices.Contains(g.skipped, step) && !g.onVisit(r.step(step)) {
			tellAll(r, []ScreeningMember{m}, g.Node, g.Label, why)
		}
	}
}
