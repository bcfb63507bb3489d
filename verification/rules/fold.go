// The fold: how each event changes a run; the facts with a file of their own have their method fold there.

package rules

import (
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
	about := e.About()
	r.bytes += about.bytes
	if !about.annotation {
		r.changed, r.lastNote = r.Seq, NoteAdded{}
	}
	if e.Fact != nil {
		e.Fact.fold(r, e.At)
	}
}

func (f Started) fold(r *Run, at time.Time) { r.Started, r.StartedAt = f, at }

func (f BranchTaken) fold(r *Run, _ time.Time) {
	if f.Node == r.round.from {
		r.round = round{}
	}
}

func (f Completed) fold(r *Run, at time.Time) {
	r.ended(StatusCompleted, nil, at)
	r.Outcome, r.Data, r.EndNode = f.Outcome, f.Data, f.Node
	r.comesBack(at)
}

func (f Failed) fold(r *Run, at time.Time)  { r.ended(StatusFailed, &f.Error, at) }
func (f Expired) fold(r *Run, at time.Time) { r.ended(StatusExpired, &f.Error, at) }
func (Cancelled) fold(r *Run, at time.Time) { r.ended(StatusCancelled, nil, at) }

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
			g.tellUncalled(r, unscreenedEnded)
			g.Status = StepFailed
			r.leave(g)
		}
	}
	r.Waits = nil
	r.Proposal, r.Assignment = Verdict{}, Assignment{}
	r.Ended, r.CompletedAt, r.Error = s, at, cause
	r.endDecision = r.Decision()
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

// reach begins the first or a later visit of a step.
func (r *Run) reach(s Step) {
	if r.step(s.Node) != nil {
		r.withStep(s.Node, func(old *Step) {
			old.failedBefore = old.failedBefore || old.Type == workflow.NodeCheck && old.Status == StepFailed && !old.cancelled
			if f := old.Screening; f != nil && len(f.Hits) > 0 {
				kept := old.EarlierHits[max(0, len(old.EarlierHits)+1-maxCardVisits):]
				old.EarlierHits = append(slices.Clip(kept), VisitScreening{old.Visits, *f})
			}
			if old.unavailable {
				old.earlierWhy = old.failure().Key
			}
			old.before = old.ListVersion()
			old.Visits++
			old.Label, old.Gone, old.provider = s.Label, false, s.provider
			old.Status, old.Data, old.Screening, old.CompletedAt = StepRunning, nil, nil, time.Time{}
			old.Confirms, old.noAnswer, old.found, old.cancelled, old.Rescreen, old.Screens = nil, "", nil, false, s.Rescreen, s.Screens
			old.Reason, old.VisitedAt, old.reached, old.Dispatches = s.Reason, s.StartedAt, r.Seq, s.Dispatches
		})
		return
	}
	s.Visits, s.Status, s.VisitedAt, s.reached = 1, StepRunning, s.StartedAt, r.Seq
	r.Steps = append(r.changeableSteps(), s)
}

// withStep changes the step of a node, if the run has reached it.
func (r *Run) withStep(id verification.NodeID, change func(*Step)) {
	if i := r.index(id); i >= 0 {
		change(&r.changeableSteps()[i])
	}
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
