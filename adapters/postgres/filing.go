// How a run is indexed: its status and decision, and the interval in which it has them.

package postgres

import (
	"time"

	"github.com/verifyd/verifyd/verification"
)

// filing is how a run reads strictly after since and up to until; a zero time is
// no bound. The rules are the domain's: the database only compares times.
type filing struct {
	status       verification.Status
	decision     verification.Decision
	since, until time.Time
}

// firstFiling is how a run reads before any of its deadlines has passed.
func firstFiling(s verification.Summary) filing { return filingAt(s, time.Time{}) }

// filingAt is how a run reads at now.
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
