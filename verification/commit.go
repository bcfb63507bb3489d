// Commits and the work that they enqueue.

package verification

import "time"

// Commit is what one append adds to a run: events, the summary they lead
// to, and the effects to be carried out once all of it is saved.
type Commit struct {
	// Events may be empty: then only the effects change.
	Events  []Event
	Summary Summary
	// AdvanceAt is when the run must be driven next. It replaces the time that
	// was queued before; zero removes the run from the queue.
	AdvanceAt time.Time
	// Leased says that AdvanceAt is the end of a lease of the caller, which drives
	// the run. If a host takes the work then, that counts as one lost lease
	// (Work.Lost).
	Leased bool
	// AnnounceAt is when the notice that the run is over is due; zero for no
	// notice.
	AnnounceAt time.Time
	// Notices are the further notices that are due: each is a piece of work of its own,
	// which replaces one with the same Seq.
	Notices []NoticeDue
	// WorkflowRevision is the revision of the run's workflow that the commit was
	// decided on: Append returns ErrConflict if it is not the stored one. 0 is any
	// revision.
	WorkflowRevision int
	// Screened are the lists whose changes lead to the re-screening of the run. They are
	// set by the commit that completes the run.
	Screened []ScreenedList
	// Measures are added to those of the workflow and the tenant.
	Measures []Measure
	// HistoryOnly says that the events change neither the summary nor the queue: the
	// store must leave both as they are and append only Events. The other fields are
	// set all the same, but Measures are not.
	HistoryOnly bool
	// NoWakeup says that the caller carries out the effects itself, so that other
	// hosts need no wake-up unless the caller dies first. A store that serves
	// one host ignores it.
	NoWakeup bool
}

// NoticeDue is when the notice of an event is due, see Definition.Notify.
type NoticeDue struct {
	Seq int // of the NoticeRef; not 0
	At  time.Time
}

// NewCommit returns the commit of the events that lead from one state of a run to
// another, without effects.
func NewCommit(before, after Run, events []Event) Commit {
	c := Commit{Events: events, Summary: after.Summary(), Measures: Measures(before, after, events)}
	if after.Ended == StatusCompleted && before.Ended == "" {
		c.Screened = after.screenedLists()
	}
	return c
}

// HistoryChanged returns the ErrConflict of a RunStore for an append to a history that
// does not have the given length. A store that refuses an append and cannot tell whether
// the history or the workflow has changed returns it, too.
func HistoryChanged() error { return Conflict("run", "another request has changed the run") }

// WorkflowChanged returns the ErrConflict of a store for a workflow that does not have
// the given revision: see Commit.WorkflowRevision and WorkflowStore.SaveWorkflow.
func WorkflowChanged() error { return Conflict("workflow", "another request has changed the workflow") }

// WorkKind is the kind of a piece of work.
type WorkKind string

// The kinds of work.
const (
	WorkAdvance  WorkKind = "advance"  // drive the run
	WorkAnnounce WorkKind = "announce" // send a notice of the run, see Work.Seq
)

// TakeRequest is a request for due work of one kind. Tenants take turns: each is given
// its first piece before any is given its second.
type TakeRequest struct {
	Kind  WorkKind
	Now   time.Time
	Lease time.Duration // the work is leased until Now+Lease
	// Max bounds the pieces of all tenants, MaxPerTenant those of each tenant.
	Max, MaxPerTenant int
	// Except lists tenants that are given nothing, and ExceptRuns runs whose work stays in
	// the queue. Neither counts toward the limits.
	Except     []TenantID
	ExceptRuns []RunRef
	// After is the tenant that was served last: tenants with higher ids come
	// first, then the order starts again at the lowest id. Empty starts at the
	// lowest id.
	After TenantID
}

// LeaseID identifies one lease of one piece of work. The store that takes the work
// chooses it; a piece never has the same one twice.
type LeaseID string

// Work is one effect that is due and leased to the host that took it.
type Work struct {
	Kind WorkKind
	RunRef
	// Seq says which notice is sent, see NoticeRef; 0 for other work.
	Seq int
	// Workflow is the workflow of the run.
	Workflow WorkflowID
	// Attempt counts how often it was postponed, 0 at first.
	Attempt int
	// Lost counts the leases that ended since the last append or postponement, except
	// those that were released: the host died, or could not save its result.
	Lost int
	// LeftAt is when a host first left the run to other hosts since the last append,
	// because it lacked what the next step needs: what the last Release gave. Zero for none.
	LeftAt time.Time
	// Lease distinguishes this lease from every other of the same piece.
	Lease LeaseID
}
