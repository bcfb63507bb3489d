// Queries: pages, filters and orders.

package verification

import (
	"strings"
	"time"
)

// The bounds of a page.
const (
	MaxLimit     = 200
	DefaultLimit = 50
)

// PageQuery selects one page of a list.
type PageQuery struct {
	Limit  int // 1 to MaxLimit
	Offset int // number of records to skip, at least 0
}

// Validate returns ErrInvalid with the subject "limit" or "offset" if the page is
// out of bounds.
func (p PageQuery) Validate() error {
	switch {
	case p.Limit < 1 || p.Limit > MaxLimit:
		return Invalid("limit", "limit must be 1 to 200")
	case p.Offset < 0:
		return Invalid("offset", "offset must be at least 0")
	}
	return nil
}

// Page is one page of a list and the total number of records that match.
type Page[T any] struct {
	Data  []T
	Total int
	PageQuery
}

// RunQuery selects runs of a tenant. A run must match every filter; the zero
// value of a filter matches every run.
type RunQuery struct {
	PageQuery
	Workflow WorkflowID
	Status   Status
	Decision Decision
	// ReferenceID selects the runs with this reference id, and ReferencePrefix those
	// whose reference id begins with it.
	ReferenceID, ReferencePrefix string
	// StartedAfter selects the runs that started later, and StartedBefore those that
	// started earlier.
	StartedAfter, StartedBefore time.Time
	// Now is the time at which status and decision are compared.
	Now time.Time
}

// Matches reports whether the query selects the run.
func (q RunQuery) Matches(s Summary) bool {
	return (q.Workflow == "" || q.Workflow == s.Workflow) &&
		(q.Status == "" || q.Status == s.StatusAt(q.Now)) &&
		(q.Decision == DecisionNone || q.Decision == s.DecisionAt(q.Now)) &&
		(q.ReferenceID == "" || q.ReferenceID == s.ReferenceID) && strings.HasPrefix(s.ReferenceID, q.ReferencePrefix) &&
		(q.StartedAfter.IsZero() || s.StartedAt.After(q.StartedAfter)) &&
		(q.StartedBefore.IsZero() || s.StartedAt.Before(q.StartedBefore))
}

// Newer reports whether a comes before b in a list of runs: by descending start
// time, then by descending id.
func Newer(a, b Summary) bool {
	if !a.StartedAt.Equal(b.StartedAt) {
		return a.StartedAt.After(b.StartedAt)
	}
	return a.ID > b.ID
}
