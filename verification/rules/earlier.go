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

// maxRejections is how many rejected runs of the same person or company a run keeps.
const maxRejections = 10

// RejectedRun is another run of the person or company, which is rejected, and what it has in common with the run.
type RejectedRun struct {
	Run verification.RunID       `json:"run"`
	By  []verification.EarlierBy `json:"by"`
}

// Rejections are the rejected runs of the same person or company, the newest first.
type Rejections struct {
	Runs []RejectedRun `json:"runs,omitempty" fact:"emptied"`
	// Unknown says that not every run was looked at.
	Unknown bool `json:"unknown,omitempty" fact:"emptied"`
}

// IsZero reports whether nothing was found, and everything was looked at.
func (f Rejections) IsZero() bool { return len(f.Runs) == 0 && !f.Unknown }

func (f Rejections) equal(g Rejections) bool {
	return f.Unknown == g.Unknown && slices.EqualFunc(f.Runs, g.Runs, func(a, b RejectedRun) bool { return a.Run == b.Run && slices.Equal(a.By, b.By) })
}

func (f RejectedBefore) fold(r *Run, _ time.Time) { r.rejections = Rejections(f) }

// RecordRejections returns the events that record the rejections of other runs, beside those that lead to the
// run, and the run after them. Only the newest 10 are recorded, and nothing if the run has them.
func (r Run) RecordRejections(events []Event, f Rejections, now time.Time) ([]Event, Run) {
	f.Runs = f.Runs[:min(len(f.Runs), maxRejections)]
	if f.equal(r.rejections) {
		return events, r
	}
	events = with(events, now, RejectedBefore(f))
	return events, r.Evolve(events[len(events)-1])
}
