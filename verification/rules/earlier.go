// Earlier runs: which runs of the same person or company are found, and what the queue keeps of them.

package rules

import (
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// MatchesEarlier reports whether the run is one that a query asks for, whatever it has in common
// with another run. A run whose personal data was removed or is hidden never is.
func (s Summary) MatchesEarlier(q verification.EarlierQuery, now time.Time) bool {
	switch {
	case !s.RedactedAt.IsZero() || !s.RestrictedAt.IsZero():
		return false
	case q.Within > 0 && s.Ended != "" && s.CompletedAt.Before(now.Add(-q.Within)):
		return false
	}
	return q.Rejected && s.Verdict == DecisionReject ||
		q.Failed && s.Ended == StatusFailed ||
		s.Outcome != "" && slices.Contains(q.Outcomes, s.Outcome)
}

// maxRejectedBefore is how many rejected runs of the same person or company a run keeps.
const maxRejectedBefore = 10

// RejectedRun is another run of the person or company, which is rejected, and what it has in common with the run.
type RejectedRun struct {
	Run verification.RunID       `json:"run"`
	By  []verification.EarlierBy `json:"by"`
}

// IsZero reports whether nothing was found, and everything was looked at.
func (f RejectedBefore) IsZero() bool { return len(f.Runs) == 0 && !f.Unknown }

func (f RejectedBefore) equal(g RejectedBefore) bool {
	return f.Unknown == g.Unknown && slices.EqualFunc(f.Runs, g.Runs, func(a, b RejectedRun) bool { return a.Run == b.Run && slices.Equal(a.By, b.By) })
}

func (f RejectedBefore) fold(r *Run, _ time.Time) { r.rejectedBefore = f }

// RecordRejectedBefore returns the events that record the rejections of other runs, beside those that lead to the
// run, and the run after them. Only the newest 10 are recorded, and nothing if the run has them.
func (r Run) RecordRejectedBefore(events []Event, f RejectedBefore, now time.Time) ([]Event, Run) {
	f.Runs = f.Runs[:min(len(f.Runs), maxRejectedBefore)]
	if f.equal(r.rejectedBefore) {
		return events, r
	}
	events = with(events, now, f)
	return events, r.Evolve(events[len(events)-1])
}
