// The fold of people: how answers of customers and verdicts of reviewers change a run.

package rules

import (
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

func (f CustomerAwaited) fold(r *Run, at time.Time) {
	r.Waits = []Wait{{Kind: WaitCustomer, Node: f.Node, Number: r.Seq, Signal: f.Signal, Since: at}}
	r.reach(Step{Node: f.Node, Type: f.Type, Label: f.Label, StartedAt: at})
}

func (f JourneyOpened) fold(r *Run, at time.Time) {
	r.at(f.Node).Since = at
	r.opened++
}

func (f CustomerSubmitted) fold(r *Run, at time.Time) {
	w, _ := r.WaitAt(f.Node)
	r.Documents = slices.Concat(r.Documents, w.named(f.Data))
	r.waitOver(f.Node)
	r.withStep(f.Node, func(s *Step) {
		s.finish(StepPassed, f.Data, at)
		if failing := s.flags.withoutAnalysis(); failing.any() {
			s.Status = StepFailed
		}
		if last := len(s.Rounds) - 1; last >= 0 && s.Rounds[last].AnsweredAt.IsZero() {
			s.Rounds = slices.Clone(s.Rounds)
			s.Rounds[last].AnsweredAt = at
		}
	})
	r.received(SignalReceipt{Request: f.Request, Node: f.Node})
}

// fold begins a round: the review step, if the run was at one, is over.
func (f AskedAgain) fold(r *Run, at time.Time) {
	if w := r.Wait(); w.Kind == WaitReview {
		r.withStep(w.Node, func(s *Step) { s.finish(StepFailed, nil, at) })
	}
	r.Waits = nil
	r.Proposal, r.Assignment = Verdict{}, Assignment{}
	switch {
	case !f.Since.IsZero():
		r.turn = turn{since: f.Since, by: verification.Person{Identity: f.Identity, Name: f.By}, round: f.Round, left: at, away: r.turn.away}
	case r.turn.left.IsZero():
		r.turn = turn{}
	}
	r.round = round{step: f.Node, from: f.From, began: r.Seq}
	r.withStep(f.Node, func(s *Step) {
		s.Rounds = append(slices.Clip(s.Rounds), Round{AskedAgain: f, At: at, Visit: s.Visits, Earlier: s.Data})
	})
	r.received(SignalReceipt{Request: f.Request, Node: f.Node})
}

// comesBack ends the time in which the customer was asked again, if the run needs its verdict now: it returns to who asked, in
// its place in the review queue. The microsecond makes it another review, so that no claim of before counts.
func (r *Run) comesBack(at time.Time) {
	if r.turn.left.IsZero() {
		return
	}
	r.turn.away += at.Sub(r.turn.left)
	r.turn.since, r.turn.left = r.turn.since.Add(time.Microsecond), time.Time{}
	if _, needed := r.InReview(); needed && r.turn.by.Key() != "" {
		r.Assignment = Assignment{To: Assignee{Person: r.turn.by}, By: r.turn.by.Name, At: at}
	}
}

func (f ReviewAsked) fold(r *Run, at time.Time) {
	r.round = round{}
	r.Waits = []Wait{{Kind: WaitReview, Node: f.Node, Number: r.Seq, Since: at}}
	r.comesBack(at)
	r.reach(Step{Node: f.Node, Type: workflow.NodeReview, Label: f.Label, Reason: f.Reason, StartedAt: at, fourEyes: f.FourEyes})
}

// verdictOf returns the verdict of an event.
func verdictOf(f VerdictRecorded, at time.Time) Verdict {
	return Verdict{Node: f.Node, Decision: f.Decision, Reason: f.Reason, Notes: f.Notes, By: f.By, Identity: f.Identity, At: at}
}

func (f VerdictRecorded) fold(r *Run, at time.Time) {
	r.received(SignalReceipt{Request: f.Request, Node: f.Node, Verdict: f.Decision})
	r.Verdict, r.judgedAt, r.proposedAt = verdictOf(f, at), r.Seq, 0
	r.verdicts++
	if r.Proposal.Decision == f.Decision {
		r.proposedAt = r.proposalAt
	}
	r.Proposal, r.Assignment, r.turn = Verdict{}, Assignment{}, turn{}
	if f.Node == "" {
		return
	}
	r.waitOver(f.Node)
	status := StepPassed
	if f.Decision == DecisionReject {
		status = StepFailed
	}
	r.withStep(f.Node, func(s *Step) {
		s.finish(status, verification.Data(`{"decision":"`+string(f.Decision)+`"}`), at)
	})
}

func (f VerdictProposed) fold(r *Run, at time.Time) {
	if r.Assignment.To.Person.Is(verification.Person{Identity: f.Identity, Name: f.By}) { // another person must confirm it
		r.Assignment = Assignment{}
	}
	r.Proposal, r.proposalAt = verdictOf(VerdictRecorded(f), at), r.Seq
	r.received(SignalReceipt{Request: f.Request, Node: f.Node, Verdict: f.Decision, Proposed: true})
}

func (f ProposalReturned) fold(r *Run, _ time.Time) {
	r.Proposal, r.returned = Verdict{}, r.returned.plus(verification.Person{Identity: f.Identity, Name: f.By})
	r.received(SignalReceipt{Request: f.Request, Node: f.Node, Verdict: f.Decision, Returned: true})
}
