// The port of retention, and the values that cross it.

package store

import (
	"context"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// RetentionStore keeps how far retention has come, and forgets what is old. See Engine.Retain.
type RetentionStore interface {
	// StartedRuns returns the runs of a workflow that follow a position and started before a time, in the order of
	// their start, ties by id; at most limit. The summaries have no Review. It costs as much for many runs as for few.
	StartedRuns(
		ctx context.Context, t verification.TenantID, w verification.WorkflowID, after StartedPosition, before time.Time, limit int,
	) ([]rules.Summary, error)
	// RetentionMark returns how far retention has come with the runs of a workflow; one without positions if
	// none was saved.
	RetentionMark(ctx context.Context, t verification.TenantID, w verification.WorkflowID) (RetentionMark, error)
	// SaveRetentionMark creates or replaces a mark.
	SaveRetentionMark(ctx context.Context, m RetentionMark) error
	// Forget removes what is older than the ages, of all tenants. It removes at most limit records at once, and returns how
	// many it removed: fewer than limit if nothing is left to remove.
	Forget(ctx context.Context, before Ages, limit int) (n int, err error)
}

// StartedPosition is a place in the order of the starts of runs. The zero value is before all runs.
type StartedPosition struct {
	StartedAt time.Time
	Run       verification.RunID
}

// RetentionMark says up to which run each action of retention has come. A run that an action has passed is done, or
// has work of the kind WorkRetain.
type RetentionMark struct {
	Tenant   verification.TenantID
	Workflow verification.WorkflowID
	// Policy is the policy by which the positions were reached. They are worth nothing under another one.
	Policy                       verification.Retention
	Redacted, Documents, Deleted StartedPosition
}

// Ages are the times before which things are forgotten; zero for never.
type Ages struct {
	Deliveries time.Time // whose last attempt was earlier, unless another attempt is pending
	Measures   time.Time // of the days before the day of this time, which is taken in UTC
	Audit      time.Time // entries that are older
	Keys       time.Time // idempotency keys that were claimed earlier
}
