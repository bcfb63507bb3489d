// How a run is filed: what it reads as, and until when.

package postgres

import (
	"time"

	"github.com/verifyd/verifyd/verification"
)

// filing is how a run reads strictly after since and until `until`; a zero
// moment is for ever. The rules are the domain's: the database only compares
// moments.
type filing struct {
	status       verification.Status
	decision     verification.Decision
	since, until time.Time
}

// firstFiling is how a run reads before any of its moments has passed.
func firstFiling(s verification.Summary) filing { return filingAt(s, time.Time{}) }

// filingAt is how a run reads at a moment.
func filingAt(s verification.Summary, now time.Time) filing {
	f := filing{status: s.StatusAt(now), decision: s.DecisionAt(now)}
	if s.Ended != "" {
		return f
	}
	for _, at := range []time.Time{s.AbandonAt, s.ExpiresAt} {
		switch {
		case at.IsZero():
		case now.After(at):
			if at.After(f.since) {
				f.since = at
			}
		case f.until.IsZero() || at.Before(f.until):
			f.until = at
		}
	}
	return f
}
