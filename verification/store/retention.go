// The port of retention, and the values that cross it.

package store

import (
	"context"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// RetentionStore lists runs by their start, and forgets what is old. See Engine.Retain.
type RetentionStore interface {
	// StartedRuns returns the runs of a workflow that follow a position and started before a time, in the order of
	// their start, ties by id; at most limit. The summaries have no Review. It costs as much for many runs as for few.
	StartedRuns(
		ctx context.Context, t verification.TenantID, w verification.WorkflowID, after StartedPosition, before time.Time, limit int,
	) ([]rules.Summary, error)
	// Forget removes what is older than the ages, of all tenants. It removes at most limit records at once, and returns how
	// many it removed: fewer than limit if nothing is left to remove.
	Forget(ctx context.Context, before Ages, limit int) (n int, err error)
}

// StartedPosition is a place in the order of the starts of runs. The zero value is before all runs.
type StartedPosition struct {
	StartedAt time.Time
	Run       verification.RunID
}

// CountedPolicy is a policy that counts for a workflow, its own and its tenant's together, since a time; zero if since when
// is not known.
type CountedPolicy struct {
	Policy verification.Retention
	Since  time.Time `json:",omitzero"`
}

// RetentionMark says up to which run each action of retention has come, and the work that makes search keys anew. A run that an action has passed is done, or
// has work of the kind WorkRetain.
type RetentionMark struct {
	Tenant   verification.TenantID
	Workflow verification.WorkflowID
	// Policy is the policy by which the positions were reached. They are worth nothing under another one.
	Policy                       verification.Retention
	Redacted, Documents, Deleted StartedPosition
	// Keyed is up to which run the search keys were made anew in the form KeyForm, whatever the policy; KeysDone says
	// that no older run is left.
	Keyed    StartedPosition `json:",omitzero"`
	KeyForm  int             `json:",omitzero"`
	KeysDone bool            `json:",omitzero"`
	// Counted are the policies that counted lately, the one that counts now last: an earlier one is taken back while it
	// still counts. See Engine.Retain.
	Counted []CountedPolicy `json:",omitempty"`
}

// Ages are the times before which things are forgotten; zero for never.
type Ages struct {
	Deliveries time.Time // whose last attempt was earlier, unless another attempt is pending
	Measures   time.Time // of the days before the day of this time, which is taken in UTC
	Audit      time.Time // entries of the audit trail that are older, but those of AuditReads
	Reads      time.Time // entries of AuditReads whose last time was earlier
	Keys       time.Time // idempotency keys that were claimed earlier
}
