// What is to be done once events are saved.

package verification

import (
	"fmt"
	"time"
)

// Commit is what one append adds to a run: events, the summary they lead
// to, and the effects to be carried out once all of it is saved.
type Commit struct {
	// Events may be empty: then only the effects change.
	Events  []Event
	Summary Summary
	// AdvanceAt is when the run is to be driven on, replacing what was queued
	// for it before; zero when there is nothing to drive.
	AdvanceAt time.Time
	// Leased says that AdvanceAt is the end of a lease of the caller, which
	// drives the run. Work that falls due at the end of a lease counts as lost.
	Leased bool
	// Announce enqueues the notice that the run is over.
	Announce bool
	// HistoryOnly says that the events change neither the summary nor the queue: the
	// store keeps both as they are, and looks at nothing but Events.
	HistoryOnly bool
	// NoWakeup says that whoever appends sees to the effects by itself, and that
	// others need to be told only if it dies first. A store that nobody else
	// works on has no use for it.
	NoWakeup bool
}

// WorkKind is what a piece of work asks for.
type WorkKind string

// The kinds of work.
const (
	WorkAdvance  WorkKind = "advance"  // drive the run on
	WorkAnnounce WorkKind = "announce" // tell the client that the run is over
)

// TakeRequest asks for due work of one kind. Tenants take turns: each is given
// its first piece before any is given its second.
type TakeRequest struct {
	Kind  WorkKind
	Now   time.Time
	Lease time.Duration // the work is leased until Now+Lease
	// Max bounds the pieces in all, MaxPerTenant those of each tenant.
	Max, MaxPerTenant int
	// Except are tenants that are given nothing.
	Except []TenantID
	// After is the tenant that was served last: the turns go on with the tenants
	// whose ids are higher, and then start again from the lowest. Empty starts
	// there.
	After TenantID
}

// Work is one effect that is due and leased to the host that took it.
type Work struct {
	Kind WorkKind
	RunRef
	// Workflow is the workflow of the run.
	Workflow WorkflowID
	// Attempt counts how often it was postponed, 0 at first.
	Attempt int
	// Lost counts the leases that ended since the last append, postponement or
	// release: the host died, or could not save what it did.
	Lost int
	// Until is the end of the lease; it distinguishes this lease from later ones.
	Until time.Time
}

// Notice is what a client is told when a run is over.
type Notice struct {
	// ID is the same at every try: one a run.
	ID      string
	Tenant  TenantID
	URL     string
	Attempt int // 0 for the first try
	At      time.Time
	Run     RunView
}

// NoticeRetry is the wait after a try number attempt (0 for the first) of a
// notice that was not taken, and false when the plan has no more tries.
func NoticeRetry(attempt int) (wait time.Duration, more bool) {
	plan := [...]time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
		10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
	}
	if attempt < 0 || attempt >= len(plan) {
		return 0, false
	}
	return plan[attempt], true
}

// RetryError is a Notifier's wish: not before At, or never when At is zero.
type RetryError struct {
	At    time.Time
	Cause error
}

// Error is the text of the cause.
func (e *RetryError) Error() string { return fmt.Sprintf("retry: %v", e.Cause) }

// Unwrap gives the cause.
func (e *RetryError) Unwrap() error { return e.Cause }

// Link is what the token of a hosted-journey link says.
type Link struct {
	RunRef
	// Wait numbers the wait on the customer inside the run: the length of the
	// history when the run parked.
	Wait int
	// ExpiresAt is the run's deadline; zero when it has none.
	ExpiresAt time.Time
}
