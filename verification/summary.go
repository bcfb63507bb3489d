// What lists and filters need of a run, as moments and facts.

package verification

import "time"

// Summary is replaced with every append. A query compares its moments with
// the moment it is asked for; no store decides anything.
type Summary struct {
	ID          RunID
	Workflow    WorkflowID
	ReferenceID string
	StartedAt   time.Time
	// ExpiresAt is the deadline; zero for never. A live run reads expired
	// after it.
	ExpiresAt time.Time
	// AbandonAt is when the customer has been idle for as long as allowed;
	// zero unless the run waits on one. A live run reads abandoned after it.
	AbandonAt time.Time
	// Waiting is whom a live run is parked on; empty for nobody.
	Waiting ActionType
	Signal  string // of a wait on the customer
	Wait    int    // the number of the wait

	Ended       Status    // the terminal status of the history; empty while live
	CompletedAt time.Time // zero while live
	Error       *RunError

	Verdict Decision // the newest; empty for none
	Open    bool     // some step left something open
}

// Summary is what lists and filters need of the run.
func (r Run) Summary() Summary {
	s := Summary{
		ID: r.ID, Workflow: r.Started.Workflow, ReferenceID: r.Started.ReferenceID,
		StartedAt: r.StartedAt, ExpiresAt: r.Deadline(),
		Ended: r.Ended, CompletedAt: r.CompletedAt, Error: r.Error,
		Verdict: r.Verdict.Decision, Open: r.open(),
	}
	switch r.Wait.Kind {
	case WaitCustomer:
		s.Waiting, s.Signal, s.Wait = ActionCustomerInput, r.Wait.Signal, r.Wait.Number
		if timeout := r.Started.AbandonTimeoutSeconds; timeout > 0 {
			s.AbandonAt = r.Wait.Since.Add(time.Duration(timeout) * time.Second)
		}
	case WaitReview:
		s.Waiting, s.Signal, s.Wait = ActionReview, ReviewSignal, r.Wait.Number
	case WaitNothing, WaitAnswer, WaitPoll, WaitRetry:
	}
	return s
}

// StatusAt is the status as of a moment.
func (s Summary) StatusAt(now time.Time) Status {
	switch {
	case s.Ended != "":
		return s.Ended
	case s.expired(now):
		return StatusExpired
	case !s.AbandonAt.IsZero() && now.After(s.AbandonAt):
		return StatusAbandoned
	}
	return StatusInProgress
}

// DecisionAt is the decision as of a moment.
func (s Summary) DecisionAt(now time.Time) Decision { return s.decision(s.expired(now)) }

func (s Summary) decision(expired bool) Decision {
	switch {
	case s.Ended == "" && s.Waiting == ActionReview && !expired:
		return DecisionReview
	case s.Verdict != DecisionNone:
		return s.Verdict
	case s.Ended == StatusCompleted && s.Open:
		return DecisionReview
	}
	return DecisionNone
}

// expired tells whether the deadline passed before the history ended.
func (s Summary) expired(now time.Time) bool {
	return s.Ended == "" && !s.ExpiresAt.IsZero() && now.After(s.ExpiresAt)
}
