// Groups on reports: the headings that cards stand under.

package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// ReportGroup is a group of checks, or a node with for_each, that a run has come to: the heading of the cards of its members
// and elements.
type ReportGroup struct {
	NodeID verification.NodeID // of an element, if the elements are groups
	Type   workflow.NodeType
	Label  string
	Status GroupStatus
	// Order and Need are those of a group of checks.
	Order workflow.Order
	Need  workflow.Need
	// Each says that the node has for_each. Members are then the elements, and else the members in the order of the file.
	Each                 bool
	Members              []GroupMember
	StartedAt, DecidedAt time.Time // of the last visit; DecidedAt is zero until it is decided
}

// GroupMember says what a member or an element of a group answered on the last visit of the group.
type GroupMember struct {
	NodeID verification.NodeID
	Label  string // without the label of the group
	Answer MemberAnswer
	// Hits counts the open hits of that answer: those that no reviewer has decided to be of another person or company. An element
	// that is a group has those of its members.
	Hits int
}

// GroupStatus says how a group was decided.
type GroupStatus string

// The statuses of groups.
const (
	GroupOpen        GroupStatus = "open"        // not decided yet
	GroupMet         GroupStatus = "met"         // enough members confirm, or every element passed
	GroupFlagged     GroupStatus = "flagged"     // it is met, and something is open at a member or an element that was called
	GroupNotMet      GroupStatus = "not_met"     // too few can confirm, or an element did not pass
	GroupUnavailable GroupStatus = "unavailable" // only sources without an answer kept it from being met
	GroupUnfinished  GroupStatus = "unfinished"  // the run ended before it was decided
)

// MemberAnswer says what the answer of a member says, or why it has none.
type MemberAnswer string

// The answers.
const (
	AnswerConfirmed    MemberAnswer = "confirmed"
	AnswerFlagged      MemberAnswer = "flagged" // it confirms, and something is open at it, such as a hit
	AnswerNotConfirmed MemberAnswer = sentenceNotConfirmed
	AnswerNoCoverage   MemberAnswer = sentenceNoCoverage
	AnswerInconclusive MemberAnswer = sentenceInconclusive
	AnswerNone         MemberAnswer = sentenceNoAnswer
	AnswerNotNeeded    MemberAnswer = sentenceNotNeeded  // it was called, and cancelled once the group was decided
	AnswerNotCalled    MemberAnswer = "not_called"       // the group was decided before, or is not there yet
	AnswerLeftOut      MemberAnswer = "left_out"         // its condition did not hold
	AnswerOpen         MemberAnswer = "open"             // it was called, and has no answer yet
	AnswerUnfinished   MemberAnswer = sentenceUnfinished // the run ended first
)

// ReportGroups returns the groups of the run, which has executed the definition, in the order in which it came to them.
func (r Run) ReportGroups(d workflow.Definition) (all []ReportGroup) {
	for _, g := range r.Groups {
		node, _, _ := g.Node.Parts()
		n := d.Nodes[node]
		if g.gone(&r) { // the cards of its members stand under the node
			continue
		}
		out := ReportGroup{
			NodeID: g.Node, Type: g.Type, Label: g.Label, Status: g.status(&r), Each: g.Each, StartedAt: g.StartedAt, DecidedAt: g.DecidedAt,
		}
		if g.Each {
			for i := range g.Elements {
				id := g.Node.Element(i + 1)
				out.Members = append(out.Members, g.member(&r, id, workflow.ElementLabel(g.Label, i+1, g.Elements)))
			}
		} else {
			out.Order, out.Need = n.Called(), n.Need
			for _, m := range n.Members {
				out.Members = append(out.Members, g.member(&r, g.Node.Member(m.Name), m.Check().Label))
			}
		}
		all = append(all, out)
	}
	return all
}

func (g Group) status(r *Run) GroupStatus {
	switch {
	case g.Status == StepRunning:
		return GroupOpen
	case g.Status == StepPassed && r.anyOpen(g):
		return GroupFlagged
	case g.Status == StepPassed:
		return GroupMet
	case g.Unavailable:
		return GroupUnavailable
	case g.DecidedAt.IsZero():
		return GroupUnfinished
	}
	return GroupNotMet
}

// gone reports whether the group is an element that the last visit of its node does not have.
func (g Group) gone(r *Run) bool {
	node, element, _ := g.Node.Parts()
	all, _ := r.Group(node)
	return element > 0 && all.began > g.began && (all.Status != StepRunning || element > all.Elements)
}

func (r *Run) anyOpen(g Group) bool { return slices.ContainsFunc(r.called(g), (*Step).leavesOpen) }

// leavesOpen reports whether the step has an open hit or is flagged, and not only for hits that reviewers have decided to be of
// another person or company. No verdict changes it, so that a printed report does not show one.
func (s *Step) leavesOpen() bool {
	hits := s.allHits()
	return openHits(hits) > 0 || slices.ContainsFunc(s.causes(), func(c stepCause) bool {
		return len(hits) == 0 || c.Cause != CauseHit && c.Cause != CauseRescreened && c.Cause != CauseOverruled
	})
}

// openHits counts the hits that no reviewer has decided to be of another person or company. Which of several hits a decision was on is
// not known any more in a redacted run: all of them are open.
func openHits(hits []FoundHit) (n int) {
	for _, h := range hits {
		if h.Decision.Match != MatchOther || h.ID == "" && h.Digest == "" && len(hits) > 1 {
			n++
		}
	}
	return n
}

// member returns what a member or an element of the group answered on its last visit.
func (g Group) member(r *Run, id verification.NodeID, label string) GroupMember {
	m := GroupMember{NodeID: id, Label: label, Answer: g.answer(r, id)}
	of := []*Step{r.step(id)}
	if sub, ok := r.Group(id); ok {
		of = r.called(sub)
	}
	for _, s := range of {
		if g.onVisit(s) {
			last, _ := s.visit(0)
			m.Hits += openHits(last.hits())
		}
	}
	return m
}

func (g Group) answer(r *Run, id verification.NodeID) MemberAnswer {
	if sub, ok := r.Group(id); ok && sub.began > g.began {
		return map[GroupStatus]MemberAnswer{
			GroupOpen: AnswerOpen, GroupMet: AnswerConfirmed, GroupFlagged: AnswerFlagged, GroupNotMet: AnswerNotConfirmed,
			GroupUnavailable: AnswerNone, GroupUnfinished: AnswerUnfinished,
		}[sub.status(r)]
	}
	s := r.step(id)
	switch {
	case slices.Contains(g.skipped, id):
		return AnswerLeftOut
	case !g.onVisit(s):
		return AnswerNotCalled
	case !s.finished() && r.Ended != "":
		return AnswerUnfinished
	case !s.finished():
		return AnswerOpen
	case s.unavailable, s.cancelled:
		return MemberAnswer(s.failure().Key)
	case s.Confirms != nil && !*s.Confirms, s.Confirms == nil && s.Status != StepPassed && s.Type != workflow.NodeCustomerInput:
		return AnswerNotConfirmed
	case s.leavesOpen():
		return AnswerFlagged
	}
	return AnswerConfirmed
}

// Count returns how many members, or elements, have an answer.
func (g ReportGroup) Count(a MemberAnswer) (n int) {
	for _, m := range g.Members {
		if m.Answer == a {
			n++
		}
	}
	return n
}

// Asked returns how many members, or elements, were called.
func (g ReportGroup) Asked() (n int) {
	for _, m := range g.Members {
		if m.Called() {
			n++
		}
	}
	return n
}

// Hits returns how many hits are open at the members or elements.
func (g ReportGroup) Hits() (n int) {
	for _, m := range g.Members {
		n += m.Hits
	}
	return n
}

// Under returns the label of a card under the group: without that of the group.
func (g ReportGroup) Under(c Card) string { return strings.TrimPrefix(c.Label, g.Label+": ") }

// Before returns the member that was asked before member i of a group that asks one after the other. ok is false for the first
// one, for one that was not called on the last visit, and for any other group.
func (g ReportGroup) Before(i int) (m GroupMember, ok bool) {
	if g.Order != workflow.OrderOneByOne || !g.Members[i].Called() {
		return m, false
	}
	for _, m := range slices.Backward(g.Members[:i]) {
		if m.Called() {
			return m, true
		}
	}
	return m, false
}

// Called reports whether the member was called on the last visit of its group.
func (m GroupMember) Called() bool { return m.Answer != AnswerLeftOut && m.Answer != AnswerNotCalled }

// Lacks returns why an earlier visit of a member of a group has no answer that counts; empty if it has one, or was flagged, and for
// any other step.
func (c Card) Lacks(v CardVisit) MemberAnswer {
	if _, _, member := c.NodeID.Parts(); member == "" || len(v.Sentences) != 1 {
		return ""
	}
	switch a := MemberAnswer(v.Sentences[0].Key); a { //nolint:exhaustive // no other answer is a sentence of a visit
	case AnswerNoCoverage, AnswerInconclusive, AnswerNone, AnswerNotNeeded:
		return a
	}
	return ""
}
