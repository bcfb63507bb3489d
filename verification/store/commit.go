// Commits and the work that they enqueue.

package store

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// Commit is what one append adds to a run: events, the summary they lead
// to, and the effects to be carried out once all of it is saved.
type Commit struct {
	// Events may be empty: then only the effects change.
	Events  []rules.Event
	Summary rules.Summary
	// Work has the due times of the run's pieces of work: a time replaces the piece, zero
	// removes it, and a piece without a time stays as it is. If Work is nil, Summary is
	// the summary of the last append: such an append adds only Events and Measures, and a store
	// must leave summary and queue as they are.
	Work DueWork
	// Hold says what the caller does about Work itself.
	Hold Hold
	// WorkflowRevision is the revision of the run's workflow that the commit was
	// decided on: Append returns ErrConflict if it is not the stored one. 0 is any
	// revision.
	WorkflowRevision int
	// Screened are the lists whose changes lead to the re-screening of the run, see
	// RescreenStore. They are set by the commit that completes the run.
	Screened []rules.ScreenedList
	// Measures are added to the sums of the workflow and the tenant.
	Measures []Measure
	// Rewrite says that Events are the whole history: they replace the seq events of the run, of which
	// nothing is kept. What the store keeps of the run besides is replaced, too: its summary with the
	// reference id and the time of its restriction, its search keys, and the lists that it was screened against.
	// Only the redaction of a run, and its restriction and the end of it, rewrite it. No other commit changes
	// Summary.RestrictedAt. A commit with Rewrite has Work, and more than seq Events.
	Rewrite bool
	// Delete removes the run with all that the store keeps of it, so that it is not found any more: its
	// history, summary and claim, its search keys and lists, its work, and its deliveries. Its measures
	// stay. A commit with Delete has nothing else but Audit and Erasure, and seq is at least 1.
	Delete bool
	// Keys replace the search keys of the run; nil leaves them as they are. A commit with Keys
	// has Work.
	Keys []SearchKey
	// Audit is added to the audit trail. The entries are of the tenant.
	Audit []AuditEntry
	// Erasure is owed to the ledger of erasures, with the number after LedgerMark.Last and with LedgerMark.ID; nil for
	// none. Without a mark nothing is owed.
	Erasure *verification.Erasure
}

// DueWork has due times by piece of work, see Commit.Work.
type DueWork map[WorkKey]time.Time

// WorkKey names a piece of work of a run.
type WorkKey struct {
	Kind WorkKind
	List string // of a WorkRescreen; empty for other work
	Seq  int    // of a notice, see NoticeRef; 0 for other work
}

// ParseWorkKey returns the key with a KindText and a number.
func ParseWorkKey(kindText string, seq int) WorkKey {
	kind, list, _ := strings.Cut(kindText, ":")
	return WorkKey{WorkKind(kind), list, seq}
}

// KindText returns the kind as stores keep it: that of a WorkRescreen with its list, as in
// rescreen:sanctions.
func (k WorkKey) KindText() string {
	if k.Kind == WorkRescreen {
		return string(k.Kind) + ":" + k.List
	}
	return string(k.Kind)
}

// Keys returns the pieces in order.
func (d DueWork) Keys() []WorkKey {
	return slices.SortedFunc(maps.Keys(d), WorkKey.Compare)
}

// Compare orders the pieces of a run: by kind, then by list and number.
func (k WorkKey) Compare(l WorkKey) int {
	return cmp.Or(cmp.Compare(k.Kind, l.Kind), cmp.Compare(k.List, l.List), cmp.Compare(k.Seq, l.Seq))
}

// AdvanceAt returns the work of a run that must be driven at a time and needs nothing
// else; zero for a run that need not be driven.
func AdvanceAt(at time.Time) DueWork { return DueWork{{Kind: WorkAdvance}: at} }

// Hold is what the caller of an append does about the work that it queues.
type Hold int

// The holds.
const (
	// NotHeld leaves the work to any host: a store wakes the other hosts.
	NotHeld Hold = iota
	// Kept says that the caller carries out the work in time, so that other hosts need no
	// wake-up unless it dies first.
	Kept
	// Leased says that the caller drives the run: the advance is due at the end of its
	// lease. If a host takes the advance then, that counts as one lost lease (Work.Lost).
	// Other hosts need no wake-up.
	Leased
)

// NewCommit returns the commit of the events that lead from one state of a run to
// another, with measures by the days of a zone. Its work is the next time that
// must be recorded, see Run.NextDue: the run need not be driven.
func NewCommit(before, after rules.Run, events []rules.Event, zone *time.Location) Commit {
	c := Commit{Events: events, Summary: after.Summary(), Measures: measures(before, after, events, zone), Work: AdvanceAt(time.Time{})}
	if at := after.NextDue(); !at.Equal(before.NextDue()) {
		c.Work[WorkKey{Kind: WorkExpire}] = at
	}
	if after.Ended == rules.StatusCompleted && before.Ended == "" {
		c.Screened = after.ScreenedLists()
	}
	return c
}

// ErrFull is the cause of the ErrUnavailable of a store that has no room: nothing was saved.
var ErrFull = errors.New("the store is full")

// HistoryChanged returns the ErrConflict of a RunStore for an append to a history that
// does not have the given length. A store that refuses an append and cannot tell whether
// the history or the workflow has changed returns it, too.
func HistoryChanged() error {
	return verification.ConflictFor("run_changed", "run", "another request has changed the run")
}

// WorkflowChanged returns the ErrConflict of a store for a workflow that does not have
// the given revision: see Commit.WorkflowRevision and WorkflowStore.SaveWorkflow.
func WorkflowChanged() error {
	return verification.ConflictFor("workflow_changed", "workflow", "another request has changed the workflow")
}

// WorkKind is the kind of a piece of work.
type WorkKind string

// The kinds of work.
const (
	WorkAdvance  WorkKind = "advance"  // drive the run
	WorkAnnounce WorkKind = "announce" // send a notice of the run, see WorkKey.Seq
	WorkExpire   WorkKind = "expire"   // record that a time has come, see Run.NextDue
	WorkRecheck  WorkKind = "recheck"  // check whether the decisions still count by which hits were cleared
	WorkErase    WorkKind = "erase"    // of a redacted run, remove what is beside the store; of another, uploads that no answer names
	WorkRescreen WorkKind = "rescreen" // screen the completed run again against a list, see WorkKey.List
	// WorkRetain carries out the retention of a run that retention has passed, see RetentionMark: it was not due
	// yet, or something kept it.
	WorkRetain WorkKind = "retain"
)

// WorkKinds returns all kinds of work.
func WorkKinds() []WorkKind {
	return []WorkKind{WorkAdvance, WorkAnnounce, WorkExpire, WorkRecheck, WorkRescreen, WorkErase, WorkRetain}
}

// TakeRequest is a request for due work of one kind and, of WorkRescreen, of one list. Tenants take
// turns: each is given its first piece before any is given its second.
type TakeRequest struct {
	Kind  WorkKind
	List  string // of WorkRescreen
	Now   time.Time
	Lease time.Duration // the work is leased until Now+Lease
	// Max bounds the pieces of all tenants, MaxPerTenant the pieces of each tenant.
	Max, MaxPerTenant int
	// Except lists tenants that are given nothing, and ExceptRuns runs whose work stays in
	// the queue. Neither counts toward the limits.
	Except     []verification.TenantID
	ExceptRuns []verification.RunRef
	// After is the tenant that was served last: tenants with higher ids come
	// first, then the order starts again at the lowest id. Empty starts at the
	// lowest id.
	After verification.TenantID
}

// LeaseID identifies one lease of one piece of work. The store that takes the work
// chooses it; a piece never has the same one twice.
type LeaseID string

// Work is one effect that is due and leased to the host that took it.
type Work struct {
	WorkKey
	verification.RunRef
	// Workflow is the workflow of the run.
	Workflow verification.WorkflowID
	// Attempt counts how often it was postponed, 0 at first.
	Attempt int
	// Lost counts the leases that ended since the last append or postponement, except
	// those that were released: the host died, or could not save its result.
	Lost int
	// Alone counts the trials of the run since the last append, and since its lease was last
	// renewed otherwise: how often a host began to drive it and nothing else, see Renew.
	Alone int
	// LeftAt is when a host first left the run to other hosts since the last append,
	// because it lacked what the next step needs: what the last Release gave. Zero for none.
	LeftAt time.Time
	// Lease distinguishes this lease from every other of the same piece.
	Lease LeaseID
}

// NoticePending returns the ErrConflict of a RunStore for a commit with Rewrite or Delete while a notice of
// the run is in the queue.
func NoticePending() error {
	return verification.ConflictFor("notice_pending", "run", "a notice of the run is neither delivered nor given up")
}
