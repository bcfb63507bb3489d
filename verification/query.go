// Filters, pages and their limits.

package verification

import "time"

// The bounds of a page.
const (
	MaxLimit     = 200
	DefaultLimit = 50
)

// PageQuery asks for one page of a list.
type PageQuery struct {
	Limit  int // 1 to MaxLimit
	Offset int // records to skip, at least 0
}

// Validate refuses a page outside its bounds, naming "limit" or "offset".
func (p PageQuery) Validate() error {
	switch {
	case p.Limit < 1 || p.Limit > MaxLimit:
		return &Error{Kind: ErrInvalid, Subject: "limit", Message: "limit must be 1 to 200"}
	case p.Offset < 0:
		return &Error{Kind: ErrInvalid, Subject: "offset", Message: "offset must be at least 0"}
	}
	return nil
}

// Page is one page of a list, and how many records match in all.
type Page[T any] struct {
	Data  []T
	Total int
	PageQuery
}

// RunQuery filters the runs of a tenant. The zero value of a filter matches
// every run; filters are AND-ed. DecisionNone is no filter.
type RunQuery struct {
	PageQuery
	Workflow WorkflowID
	Status   Status
	Decision Decision
	// Now is the moment that status and decision are asked for.
	Now time.Time
}

// Matches tells whether a run is one that the query asks for.
func (q RunQuery) Matches(s Summary) bool {
	return (q.Workflow == "" || q.Workflow == s.Workflow) &&
		(q.Status == "" || q.Status == s.StatusAt(q.Now)) &&
		(q.Decision == DecisionNone || q.Decision == s.DecisionAt(q.Now))
}

// Newer tells whether a comes before b in a list of runs: by start, newest
// first, ties by id from the highest.
func Newer(a, b Summary) bool {
	if !a.StartedAt.Equal(b.StartedAt) {
		return a.StartedAt.After(b.StartedAt)
	}
	return a.ID > b.ID
}
