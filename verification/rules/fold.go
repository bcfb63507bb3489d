// The fold: how each event changes a run.

package rules

import (
	"cmp"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Fold returns the run of a history.
func Fold(id verification.RunID, history []Event) Run { return Run{ID: id}.EvolveAll(history) }

// EvolveAll returns the run after the events.
func (r Run) EvolveAll(events []Event) Run {
	r.inPlace(func() {
		for _, e := range events {
			r.evolve(e)
		}
	})
	return r
}

// Evolve returns the run after the event. It never fails: every event of a
// history has happened.
func (r Run) Evolve(e Event) Run {
	r.evolve(e)
	return r
}

// evolve is Evolve in place: a Run is large, and is copied once for an event.
func (r *Run) evolve(e Event) {
	r.Seq++
	r.bytes += bytesOf(e.Fact)
	if !isAnnotation(e.Fact) {
		r.changed, r.lastNote = r.Seq, NoteAdded{}
	}
	switch f := e.Fact.(type) {
	case Started:
		r.Started, r.StartedAt = f, e.At
	case Dispatched:
		r.dispatched(f, e.At)
	case ResultPending:
		w := r.waitAt(f.Node)
		if w.PendingSince.IsZero() {
			w.PendingSince = e.At
		}
		if !w.Away() {
			w.Kind = WaitPoll
		}
		w.Handle, w.At, w.PollFailures = f.Handle, f.PollAt, 0
		w.PollNow = false
	case Redirected:
		w := r.waitAt(f.Node)
		*w = w.redirected(f, e.At)
	case Returned:
		w := r.waitAt(f.Node)
		*w = w.returned(f, e.At)
	case CallbackReceived:
		w := r.waitAt(f.Node)
		*w = w.calledBack(f, e.At)
	case PollFailed:
		w := r.waitAt(f.Node)
		if !w.Away() {
			w.Kind = WaitPoll
		}
		w.At = f.PollAt
		w.PollFailures++
		r.withStep(f.Node, func(s *Step) { s.Failures++ })
	case GroupBegan:
		r.groupBegan(f, e.At)
	case GroupDecided:
		r.groupDecided(f, e.At)
	case Skipped:
		if group := groupOf(f.Node); group != "" {
			r.withGroup(group, func(g *Group) { g.skipped = append(slices.Clip(g.skipped), f.Node) })
		}
	case NoAnswer:
		r.withStep(f.Node, func(s *Step) { s.noAnswer = f.Outcome })
	case ResultRecorded:
		r.waitOver(f.Node)
		r.HadHits = r.HadHits || f.Screening != nil && len(f.Screening.Hits) > 0
		r.withStep(f.Node, func(s *Step) { s.answer(f, e.At) })
	case DispatchFailed:
		w := r.waitAt(f.Node)
		w.Kind, w.At = WaitRetry, f.RetryAt
		r.withStep(f.Node, func(s *Step) { s.Failures++; s.Status = StepPending })
	case ResultUnavailable:
		r.waitOver(f.Node)
		r.withStep(f.Node, func(s *Step) {
			s.finish(StepFailed, f.Data, e.At)
			s.unavailable = true
		})
	case CustomerAwaited:
		r.Wait = Wait{Kind: WaitCustomer, Node: f.Node, Number: r.Seq, Signal: f.Signal, Since: e.At}
		r.reach(Step{Node: f.Node, Type: f.Type, Label: f.Label, StartedAt: e.At})
	case JourneyOpened:
		r.Wait.Since = e.At
		r.opened++
	case DocumentUploaded:
		r.Wait = r.Wait.uploaded(f, e.At)
	case CustomerSubmitted:
		r.Documents = slices.Concat(r.Documents, r.Wait.named(f.Data))
		r.Wait = Wait{}
		r.withStep(f.Node, func(s *Step) {
			s.finish(StepPassed, f.Data, e.At)
			if failing := s.flags.withoutAnalysis(); failing.any() {
				s.Status = StepFailed
			}
			if last := len(s.Rounds) - 1; last >= 0 && s.Rounds[last].AnsweredAt.IsZero() {
				s.Rounds = slices.Clone(s.Rounds)
				s.Rounds[last].AnsweredAt = e.At
			}
		})
		r.received(SignalReceipt{Request: f.Request, Node: f.Node})
	case BranchTaken:
		if f.Node == r.round.from {
			r.round = round{}
		}
	case AskedAgain:
		r.askedAgain(f, e.At)
	case ReviewAsked:
		r.round = round{}
		r.Wait = Wait{Kind: WaitReview, Node: f.Node, Number: r.Seq, Since: e.At}
		r.reach(Step{Node: f.Node, Type: workflow.NodeReview, Label: f.Label, Reason: f.Reason, StartedAt: e.At})
	case VerdictRecorded:
		r.judged(f, e.At)
		r.received(SignalReceipt{Request: f.Request, Node: f.Node, Verdict: f.Decision})
	case VerdictProposed:
		if r.Assignment.To.Person.Is(verification.Person{Identity: f.Identity, Name: f.By}) { // another person must confirm it
			r.Assignment = Assignment{}
		}
		r.Proposal, r.proposalAt = verdictOf(VerdictRecorded(f), e.At), r.Seq
		r.received(SignalReceipt{Request: f.Request, Node: f.Node, Verdict: f.Decision, Proposed: true})
	case ProposalReturned:
		r.Proposal, r.returned = Verdict{}, r.returned.plus(verification.Person{Identity: f.Identity, Name: f.By})
		r.received(SignalReceipt{Request: f.Request, Node: f.Node, Verdict: f.Decision, Returned: true})
	case HitsFound:
		// The verdict was given without the hits, so the run needs another one.
		if r.Decision() != DecisionReview { // else it needed one before
			r.ReopenedAt = e.At
		}
		r.Verdict, r.Proposal, r.HadHits = Verdict{}, Verdict{}, true
		r.withStep(f.Node, func(s *Step) { s.Rescreened = append(slices.Clip(s.Rescreened), f) })
	case HitDecided:
		r.hits = r.hits.plus(verification.Person{Identity: f.Identity, Name: f.By})
		r.withStep(f.Node, func(s *Step) { s.decided(f, e.At, r.Seq) })
	case HitsCleared:
		r.withStep(f.Node, func(s *Step) { s.clear(f.Cleared, cmp.Or(f.Visit, s.Visits)) })
	case NoteAdded:
		r.notes = r.notes.plus(verification.Person{Identity: f.Identity, Name: f.By})
		r.lastNote = f
	case Corrected:
		r.corrected = r.corrected.plus(verification.Person{Identity: f.Identity, Name: f.By})
		r.corrections = append(slices.Clip(r.corrections), correction{f, e.At})
		r.lastNote = NoteAdded{}
	case Assigned:
		if by := (verification.Person{Identity: f.Identity, Name: f.By}); f.Escalated {
			r.escalations = r.escalations.plus(by)
		} else {
			r.assignments = r.assignments.plus(by)
		}
		r.lastNote = NoteAdded{}
		r.assigned(f, e.At)
	case Held:
		r.Hold = Hold{f.Reason, f.By, f.Identity, e.At}
		r.holds++
		r.lastNote = NoteAdded{}
	case HoldEnded:
		r.Hold, r.lastNote = Hold{}, NoteAdded{}
	case Redacted:
		r.RedactedAt, r.ErasedAt, r.RestrictedAt = e.At, time.Time{}, time.Time{}
	case Erased:
		r.ErasedAt = e.At
	case DocumentsRemoved:
		r.Documents, r.DocumentsRemovedAt = nil, e.At
	case Restricted:
		if r.RestrictedAt.IsZero() {
			r.RestrictedAt = e.At
		}
		r.restrictions++
		r.lastNote = NoteAdded{}
	case RestrictionLifted:
		r.RestrictedAt, r.lastNote = time.Time{}, NoteAdded{}
	case ReviewDueSoon:
		r.reminded, _ = r.InReview()
	case Completed:
		r.ended(StatusCompleted, nil, e.At)
		r.Outcome, r.Data, r.EndNode = f.Outcome, f.Data, f.Node
	case Failed:
		r.ended(StatusFailed, &f.Error, e.At)
	case Expired:
		r.ended(StatusExpired, &f.Error, e.At)
	case Cancelled:
		r.ended(StatusCancelled, nil, e.At)
	}
}

// calledBack returns the wait after a callback.
func (w Wait) calledBack(f CallbackReceived, at time.Time) Wait {
	w.Callbacks = append(slices.Clip(w.Callbacks), f.Digest)
	if w.Kind == WaitPoll || w.Away() {
		w.At = at
	} else {
		w.PollNow = true
	}
	return w
}

// askedAgain begins a round: the review step, if the run was at one, is over.
func (r *Run) askedAgain(f AskedAgain, at time.Time) {
	if r.Wait.Kind == WaitReview {
		r.withStep(r.Wait.Node, func(s *Step) { s.finish(StepFailed, nil, at) })
	}
	r.waitsEnd()
	r.Proposal, r.Assignment = Verdict{}, Assignment{}
	r.round = round{step: f.Node, from: f.From, began: r.Seq}
	r.withStep(f.Node, func(s *Step) {
		s.Rounds = append(slices.Clip(s.Rounds), Round{AskedAgain: f, At: at, Visit: s.Visits, Earlier: s.Data})
	})
	r.received(SignalReceipt{Request: f.Request, Node: f.Node})
}

// AsOf returns the run as it is reported at a given time: a deadline that has passed
// counts even if the history does not record it yet.
func (r Run) AsOf(now time.Time) Run {
	if e, overdue := r.expiry(now); overdue {
		return r.Evolve(e)
	}
	return r
}

// Deadline returns the time after which a live run is reported as expired; zero
// for never.
func (r Run) Deadline() time.Time {
	if r.Started.RunTTLSeconds == 0 {
		return time.Time{}
	}
	return r.StartedAt.Add(time.Duration(r.Started.RunTTLSeconds) * time.Second)
}

// expiry returns the event that a passed deadline leads to, and whether there is
// one.
func (r *Run) expiry(now time.Time) (Event, bool) {
	s := r.outline()
	expired, overdue := s.expiry(now)
	if !overdue {
		return Event{}, false
	}
	return Event{At: s.ExpiresAt, Fact: expired}, true
}

// Step returns the step of a node, and whether the run has reached it.
func (r Run) Step(id verification.NodeID) (Step, bool) {
	if s := r.step(id); s != nil {
		return *s, true
	}
	return Step{}, false
}

// step returns the step of a node, to be read; nil if the run has not reached it.
func (r *Run) step(id verification.NodeID) *Step {
	if i := r.index(id); i >= 0 {
		return &r.Steps[i]
	}
	return nil
}

// index returns the position of the step of a node; -1 if the run has not reached it.
func (r *Run) index(id verification.NodeID) int {
	for i := range r.Steps { // a Step is large: slices.IndexFunc would copy each one
		if r.Steps[i].Node == id {
			return i
		}
	}
	return -1
}

// Receipt returns the result of the signal with this request id, and whether it
// was delivered.
func (r Run) Receipt(request string) (SignalReceipt, bool) {
	if i := slices.IndexFunc(r.receipts, func(s SignalReceipt) bool { return s.Request == request }); i >= 0 {
		return r.receipts[i], true
	}
	return SignalReceipt{}, false
}

// received keeps the receipt of a signal with an idempotency key.
func (r *Run) received(s SignalReceipt) {
	if s.Request != "" {
		r.receipts = append(r.receipts[:len(r.receipts):len(r.receipts)], s)
	}
}

func (r *Run) dispatched(f Dispatched, at time.Time) {
	dispatches := 1
	if w := r.waitAt(f.Node); w.Node == f.Node && w.Provider == f.Provider && w.Kind == WaitRetry {
		dispatches = w.ProviderDispatches + 1
	}
	r.setWait(Wait{
		Kind: WaitResult, Node: f.Node, Number: r.Seq, Since: at,
		Provider: f.Provider, DispatchedAt: at, Dispatch: f.Dispatch, ProviderDispatches: dispatches,
	})
	if s := r.step(f.Node); s != nil && s.Visits == f.Visit {
		r.withStep(f.Node, func(s *Step) { s.Status, s.Dispatches, s.noAnswer = StepRunning, f.Dispatch, "" })
		return
	}
	r.reach(Step{Node: f.Node, Type: workflow.NodeCheck, Key: f.Key, Label: f.Label, StartedAt: at, Dispatches: f.Dispatch, Rescreen: f.Rescreen})
}

// verdictOf returns the verdict of an event.
func verdictOf(f VerdictRecorded, at time.Time) Verdict {
	return Verdict{Node: f.Node, Decision: f.Decision, Reason: f.Reason, Notes: f.Notes, By: f.By, Identity: f.Identity, At: at}
}

func (r *Run) judged(f VerdictRecorded, at time.Time) {
	r.Verdict, r.judgedAt, r.proposedAt = verdictOf(f, at), r.Seq, 0
	r.verdicts++
	if r.Proposal.Decision == f.Decision {
		r.proposedAt = r.proposalAt
	}
	r.Proposal, r.Assignment = Verdict{}, Assignment{}
	if f.Node == "" {
		return
	}
	r.Wait = Wait{}
	status := StepPassed
	if f.Decision == DecisionReject {
		status = StepFailed
	}
	r.withStep(f.Node, func(s *Step) {
		s.finish(status, verification.Data(`{"decision":"`+string(f.Decision)+`"}`), at)
	})
}

// ended ends the run. A check whose result is still outstanding fails: no result
// is accepted any more. A proposed verdict is dropped, because it was for the live run.
func (r *Run) ended(s Status, cause *RunError, at time.Time) {
	for _, step := range r.Steps {
		if step.finished() {
			continue
		}
		r.withStep(step.Node, func(s *Step) {
			if s.flag(flagReasons{}); s.Type == workflow.NodeCheck {
				s.Status = StepFailed
			}
		})
	}
	for _, g := range r.Groups {
		if g.Status == StepRunning {
			r.withGroup(g.Node, func(g *Group) { g.Status = StepFailed })
		}
	}
	r.waitsEnd()
	r.Proposal, r.Assignment = Verdict{}, Assignment{}
	r.Ended, r.CompletedAt, r.Error = s, at, cause
	r.endDecision = r.Decision()
}

// reach begins the first or a later visit of a step.
func (r *Run) reach(s Step) {
	if r.step(s.Node) != nil {
		r.withStep(s.Node, func(old *Step) {
			old.failedBefore = old.failedBefore || old.Type == workflow.NodeCheck && old.Status == StepFailed && !old.cancelled
			if f := old.Screening; f != nil && len(f.Hits) > 0 {
				kept := old.EarlierHits[max(0, len(old.EarlierHits)+1-maxCardVisits):]
				old.EarlierHits = append(slices.Clip(kept), VisitScreening{old.Visits, *f})
			}
			old.before = old.ListVersion()
			old.Visits++
			old.Status, old.Data, old.Screening, old.CompletedAt = StepRunning, nil, nil, time.Time{}
			old.Confirms, old.noAnswer, old.cancelled, old.Rescreen = nil, "", false, s.Rescreen
			old.Reason, old.VisitedAt, old.reached, old.Dispatches = s.Reason, s.StartedAt, r.Seq, s.Dispatches
		})
		return
	}
	s.Visits, s.Status, s.VisitedAt, s.reached = 1, StepRunning, s.StartedAt, r.Seq
	r.Steps = append(r.changeable(), s)
}

// withStep changes the step of a node, if the run has reached it.
func (r *Run) withStep(id verification.NodeID, change func(*Step)) {
	if i := r.index(id); i >= 0 {
		change(&r.changeable()[i])
	}
}

func (s *Step) answer(f ResultRecorded, at time.Time) {
	status := StepFailed
	if f.Passed {
		status = StepPassed
	}
	recovered := s.Failures > s.overcome || f.Passed && s.failedBefore
	s.finish(status, f.Data, at)
	if s.Screening = f.Screening; s.Visits > 1 && s.ListVersion() != s.before {
		s.otherVersion = true
	}
	if s.Screening != nil {
		s.clear(s.Screening.Cleared, s.Visits)
	}
	s.Confirms = f.Confirms
	s.flags = reasonsOf(f.Data, f.Screening)
	s.flags.recovered, s.overcome = recovered, s.Failures
	s.Recovered, s.failedBefore = s.Recovered || recovered, s.failedBefore && !f.Passed
}

// finished reports whether the last visit of the step is over.
func (s Step) finished() bool { return !s.CompletedAt.IsZero() }

func (s *Step) finish(status StepStatus, d verification.Data, at time.Time) {
	s.Status, s.Data, s.CompletedAt, s.unavailable = status, d, at, false
	s.flag(flagReasonsOf(d))
}

// flag replaces the flags of the last visit, and keeps the old ones as flags of an earlier
// visit.
func (s *Step) flag(f flagReasons) { s.earlier, s.flags = s.earlier.join(s.flags), f }
