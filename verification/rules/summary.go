// The summary of a run: what lists and filters need.

package rules

import (
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Summary is what lists and filters need of a run. Each append replaces it. It
// holds times instead of a status that depends on time, so that a query computes the
// status for its time, and no store contains a rule about statuses.
type Summary struct {
	ID          verification.RunID
	Workflow    verification.WorkflowID
	ReferenceID string
	StartedAt   time.Time
	// ExpiresAt is the deadline; zero for never. A live run is
	// reported as expired after it.
	ExpiresAt time.Time
	// AbandonAt is when the customer has been idle for as long as the workflow
	// allows; zero unless the run waits on a customer. A live run is
	// reported as abandoned after it.
	AbandonAt time.Time
	// Waiting says whom a live run is parked on; empty if it is not parked.
	Waiting    ActionType
	Signal     string // that the run is parked on; empty if it is not parked
	WaitNumber int    // the number of the wait; 0 if the run is not parked

	Ended       Status    // the terminal status of the history; empty while live
	CompletedAt time.Time // zero while live
	// Outcome is the outcome of the end node of a completed run. It is empty if there is none, while the
	// run needs a verdict, and after a rejection that was recorded on the finished run: what
	// the workflow found does not hold then. See docs/api.md, R8.6.
	Outcome string
	// Data is what the end node of a completed run computed, as JSON. It is empty if there is none, and where Outcome is
	// withheld.
	Data  string `json:",omitempty"`
	Error *RunError

	Verdict      Decision  // the newest; empty for none
	Flagged      bool      // some step is flagged
	RedactedAt   time.Time `json:",omitzero"` // when personal data was last removed; zero for never
	RestrictedAt time.Time `json:",omitzero"` // since when it is restricted; zero if it is not

	// Review is what the review queue shows of the run. It is nil unless the decision is
	// review before the deadline.
	Review *Review
}

// Summary returns what lists and filters need of the run.
func (r Run) Summary() Summary {
	s := r.summary()
	if v, due := r.Review(); due {
		shown := v // else every summary allocates v
		s.Review = &shown
	}
	return s
}

// summary returns the summary without Review.
func (r Run) summary() Summary {
	s := r.outline()
	s.Flagged = slices.ContainsFunc(r.Steps, Step.flagged)
	if s.decision(false) == DecisionReview || r.rejectedAfterEnd() {
		s.Outcome, s.Data = "", ""
	}
	return s
}

// rejectedAfterEnd reports whether the newest verdict is a rejection that was recorded on
// the finished run. A rejection at a review step led to the end itself.
func (r *Run) rejectedAfterEnd() bool {
	return r.Verdict.Node == "" && r.Verdict.Decision == DecisionReject
}

// outline returns the summary without Flagged, which takes a pass over the steps, and with
// the outcome of the end node.
func (r *Run) outline() Summary {
	s := Summary{
		ID: r.ID, Workflow: r.Started.Workflow, ReferenceID: r.Started.ReferenceID,
		StartedAt: r.StartedAt, ExpiresAt: r.Deadline(),
		Ended: r.Ended, CompletedAt: r.CompletedAt, Outcome: r.Outcome, Data: string(r.Data), Error: r.Error,
		Verdict: r.Verdict.Decision, RedactedAt: r.RedactedAt, RestrictedAt: r.RestrictedAt,
	}
	switch w := r.Wait(); w.Kind {
	case WaitCustomer:
		s.Waiting, s.Signal, s.WaitNumber = ActionCustomerInput, w.Signal, w.Number
		if timeout := r.Started.AbandonTimeoutSeconds; timeout > 0 {
			s.AbandonAt = w.Since.Add(time.Duration(timeout) * time.Second)
		}
	case WaitReview:
		s.Waiting, s.Signal, s.WaitNumber = ActionReview, workflow.ReviewSignal, w.Number
	case WaitNothing, WaitResult, WaitPoll, WaitRetry:
	}
	return s
}

// StatusAt returns the status at a given time.
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

// DecisionAt returns the decision at a given time.
func (s Summary) DecisionAt(now time.Time) Decision { return s.decision(s.expired(now)) }

func (s Summary) decision(expired bool) Decision {
	switch {
	case s.Ended == "" && s.Waiting == ActionReview && !expired:
		return DecisionReview
	case s.Verdict != DecisionNone:
		return s.Verdict
	case s.Ended == StatusCompleted && s.Flagged:
		return DecisionReview
	}
	return DecisionNone
}

// StatusInterval is a status and a decision, and when a run has them: after
// From, up to and including Until. A zero time is no bound.
type StatusInterval struct {
	Status      Status
	Decision    Decision
	From, Until time.Time
}

// ReviewUntil returns the deadline of a run that is parked on review: after it the run has
// expired and needs no verdict. It is zero for never.
func (s Summary) ReviewUntil() time.Time {
	if s.Ended != "" {
		return time.Time{}
	}
	return s.ExpiresAt
}

// IntervalAt returns the status and the decision at now, and the longest interval
// around now in which neither changes unless something is appended.
func (s Summary) IntervalAt(now time.Time) StatusInterval {
	in := StatusInterval{Status: s.StatusAt(now), Decision: s.DecisionAt(now)}
	if s.Ended != "" {
		return in
	}
	for _, at := range [...]time.Time{s.AbandonAt, s.ExpiresAt} {
		switch {
		case at.IsZero() || s.expired(at): // nothing changes after the deadline
		case now.After(at):
			in.From = at
		case in.Until.IsZero():
			in.Until = at
		}
	}
	return in
}

// expired reports whether the deadline passed while the run was live. At the
// deadline itself the run is not yet expired.
func (s Summary) expired(now time.Time) bool {
	return s.Ended == "" && !s.ExpiresAt.IsZero() && now.After(s.ExpiresAt)
}

// expiry returns the event that a passed deadline leads to, and whether there is
// one. Its time is ExpiresAt.
func (s Summary) expiry(now time.Time) (Expired, bool) {
	switch {
	case !s.expired(now):
		return Expired{}, false
	case s.Waiting == ActionCustomerInput:
		return Expired{Error: RunError{
			Code: CodeLinkExpired, Message: Sentence{Key: string(CodeLinkExpired)}.String(),
		}}, true
	}
	return Expired{Error: RunError{Code: CodeRunExpired, Message: Sentence{Key: string(CodeRunExpired)}.String()}}, true
}
