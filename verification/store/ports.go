// Ports of the store: what the engine needs to keep.

package store

import (
	"context"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Store is all store ports over one set of data.
type Store interface { //nolint:interfacebloat // the ports are small; this is all of them
	RunStore
	WorkQueue
	MeasureStore
	RescreenStore
	WorkflowStore
	RowStore
	SetupStore
	RetentionStore
	AuditStore
}

// Removals is a Store that keeps what commits removed for some time, such as in older files or dead rows. A
// Store that is no Removals keeps nothing.
type Removals interface {
	// Removed returns a mark of all that was removed so far, and whether nothing is kept any more of what was removed
	// before it returned the mark before, which may be 0. Later marks are not smaller; they are of one process or of
	// all, but not of an earlier process.
	Removed(ctx context.Context, before int64) (mark int64, gone bool, err error)
}

// RunStore keeps the histories of runs. Package storetest tests its contract.
type RunStore interface {
	// Load returns the events after the first `after` ones, oldest first; none if
	// the history ends there. It returns ErrNotFound if the tenant has no such
	// run.
	Load(ctx context.Context, t verification.TenantID, id verification.RunID, after int) ([]rules.Event, error)
	// Append applies the commit c to a run whose history has seq events (0 creates the
	// run), all or nothing. It returns ErrConflict if the history no longer ends
	// at seq, or the workflow no longer has the commit's revision; the caller then
	// decides again on what is stored. A commit with Rewrite replaces the history, and
	// one with Delete removes the run; both are refused with NoticePending while a notice of the run
	// is in the queue. A notice that a rewrite itself queues does not count.
	Append(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, c Commit) error
	// List returns one page of the runs that match the query, in its order, and the number
	// of all matches. The summaries have a Review if q.OfQueue(), and no Claim that is over
	// at q.Now.
	List(ctx context.Context, t verification.TenantID, q RunQuery) (Page[rules.Summary], error)
	// CountQueues returns how many runs of all tenants need a verdict at a time, and are due before
	// dueBefore unless it is zero.
	CountQueues(ctx context.Context, at, dueBefore time.Time) (int, error)
	// Claim stores a claim of a run in the review queue and returns it, unless another
	// person holds one at c.At: then it returns that claim and ErrConflict. A claim of the
	// same person keeps its earlier At while it is held. A claim ends with the review, also
	// when another review of the run begins. Claim returns ErrNotFound if the last append
	// left the run without a Review.
	Claim(ctx context.Context, t verification.TenantID, id verification.RunID, c rules.Claim) (rules.Claim, error)
}

// WorkQueue keeps the effects that must be carried out. A run has at most one piece of
// each kind in the queue, and one for each of its notices and lists: see WorkKey. Work is handed
// out at least once, and tenants take turns within each kind, however much work one of
// them has.
type WorkQueue interface {
	// Take leases due work, see TakeRequest. It also returns the time at which to call
	// again, unless something is appended earlier: r.Now if more work was due than
	// was taken, zero for never.
	Take(ctx context.Context, r TakeRequest) (work []Work, next time.Time, err error)
	// Renew makes the leases of runs end at the time until. It ignores runs without
	// an advance in the queue. If alone is true, their Work.Alone counts one more trial;
	// otherwise it returns to 0.
	Renew(ctx context.Context, runs []verification.RunRef, until time.Time, alone bool) error
	// Finish removes a piece of work, unless it was replaced, released or taken again
	// since then: w.Lease is no longer its lease.
	Finish(ctx context.Context, w Work) error
	// Postpone makes a piece of work due again at the given time and counts one
	// attempt, unless w.Lease is no longer its lease.
	Postpone(ctx context.Context, w Work, at time.Time) error
	// Release ends leases: the work is due again at the given time, and neither an
	// attempt nor a lost lease is counted. The pieces have the LeftAt of work from then
	// on, until the next append. It ignores a piece whose Lease is no longer
	// its lease. If Lease is empty, the piece is released whichever host holds it.
	Release(ctx context.Context, work []Work, at time.Time) error
}

// MeasureStore adds up the measures of commits.
type MeasureStore interface {
	// Measures returns the sums of the measures of all appends so far, in the order of
	// name, key and version, all as of one time. Measures whose sums are 0 on
	// all days are left out.
	Measures(ctx context.Context, t verification.TenantID, q MeasureQuery) ([]MeasureCounts, error)
}

// RescreenStore screens completed runs again when a list changes. Append keeps the versions
// of the lists that a run was screened against, see Commit.Screened. If the last pass over
// such a list has another version, Append also queues work of the kind WorkRescreen,
// due when the run was completed.
type RescreenStore interface {
	// HoldPass makes p.Holder the only host that begins passes over the list p.List, until
	// p.HeldUntil. If the last pass over the list does not have the version p.Version,
	// HoldPass begins another one: for each run that was screened against another version, it
	// queues work of the kind WorkRescreen, due at now, in place of such work in the
	// queue. A pass of the same version ends at now when no such work is left. HoldPass returns
	// the pass, or ErrConflict if another host holds the list at now.
	HoldPass(ctx context.Context, p RescreenPass, now time.Time) (RescreenPass, error)
}

// WorkflowStore keeps workflows and their immutable versions.
type WorkflowStore interface {
	// Workflow returns a workflow, or ErrNotFound.
	Workflow(ctx context.Context, t verification.TenantID, id verification.WorkflowID) (workflow.Workflow, error)
	// Workflows returns one page, newest first by creation, ties by id from
	// the highest.
	Workflows(ctx context.Context, t verification.TenantID, p PageQuery) (Page[workflow.Workflow], error)
	// Version returns a version by its hash, or ErrNotFound.
	Version(ctx context.Context, t verification.TenantID, id verification.WorkflowID, hash string) (workflow.Version, error)
	// Versions returns one page of the versions of a workflow, without their
	// definitions, highest number first; none if the tenant has no such workflow.
	Versions(ctx context.Context, t verification.TenantID, id verification.WorkflowID, p PageQuery) (Page[workflow.VersionInfo], error)
	// SaveWorkflow creates the workflow (Revision 1) or replaces it (the stored
	// Revision is one less), together with a new version if there is one, all or
	// nothing. It returns ErrConflict if the stored Revision differs. Once it has
	// returned, no Append that names an earlier revision changes what is read: such an
	// Append has been saved, or is refused.
	SaveWorkflow(ctx context.Context, t verification.TenantID, w workflow.Workflow, added *workflow.Version) error
}

// SetupStore saves what a bootstrap file changes.
type SetupStore interface {
	// SaveSetup saves tenants, accounts, workflows and audit entries as SaveTenant, SaveAccount, SaveWorkflow
	// and AppendAudit do, all or nothing. It returns the first of their errors. With s.DryRun it saves nothing.
	SaveSetup(ctx context.Context, s Setup) error
}

// AuditStore keeps the audit trail. Entries are only added.
type AuditStore interface {
	// AppendAudit adds entries, all or nothing, no two of which have the same tenant and ID; an ID is of one action. If there is an entry
	// with that tenant and ID, its Count grows by the Count of the new one, its At is the earlier one and its LastAt
	// the later one, and nothing else changes. The entries of a Commit are added by its append. A store with bounds
	// may refuse entries of which AuditEntry.CanWait, with ErrUnavailable and ErrFull.
	AppendAudit(ctx context.Context, entries []AuditEntry) error
	// AuditEntries returns the entries that the query selects, newest first by ID, at most q.Limit. Entries newer
	// than q.Before cost nothing.
	AuditEntries(ctx context.Context, t verification.TenantID, q AuditQuery) ([]AuditEntry, error)
}
