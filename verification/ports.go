// Everything the engine needs from outside, on one screen.

package verification

import (
	"context"
	"time"
)

// Clock tells the time and calls back later. Nothing else in the engine knows
// what time it is.
type Clock interface {
	// Now is the present moment.
	Now() time.Time
	// AfterFunc calls f once d has passed, in a goroutine of its own or in
	// the one that turns the clock; stop tells whether it was in time.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// NewID makes a fresh UUID in its lower-case 36-character form. Ids made later
// should sort later.
type NewID func() string

// RunStore keeps the histories of runs. The package storetest holds its
// contract.
type RunStore interface {
	// Load returns the events after the first `after` ones, oldest first;
	// none when the history ends there. ErrNotFound when the tenant has no
	// such run.
	Load(ctx context.Context, t TenantID, id RunID, after int) ([]Event, error)
	// Append adds events to the history of a run that has seq of them (0
	// creates the run), replaces its summary and enqueues effects, all or
	// nothing. ErrConflict when the history no longer ends at seq; the caller
	// decides again on the fresh one.
	Append(ctx context.Context, t TenantID, id RunID, seq int, a Commit) error
	// List returns one page of the runs that match the query at its moment,
	// newest first, and how many match in all.
	List(ctx context.Context, t TenantID, q RunQuery) (Page[Summary], error)
	// Overdue returns up to most runs of any tenant whose deadline has passed
	// and whose history does not say so yet, and the moment to ask again if
	// nothing is appended meanwhile (zero for never).
	Overdue(ctx context.Context, now time.Time, most int) (runs []RunRef, next time.Time, err error)
}

// WorkQueue keeps the effects that wait to be carried out. A run has at most
// one advance in the queue: a new one replaces it, an Commit without one
// removes it. Work is handed out at least once, and fairly: tenants take turns,
// however much work one of them has.
type WorkQueue interface {
	// Take leases due work, see TakeRequest, and returns the time at which to
	// ask again if nothing is appended meanwhile: r.Now when more was due than
	// was taken, zero for never.
	Take(ctx context.Context, r TakeRequest) (work []Work, next time.Time, err error)
	// Renew moves the lease of runs that are being driven to until. A run
	// without an advance in the queue is left alone.
	Renew(ctx context.Context, runs []RunRef, until time.Time) error
	// Finish removes a piece of work, unless it was replaced since it was
	// taken.
	Finish(ctx context.Context, w Work) error
	// Postpone makes a piece of work due again at a time, with one more
	// attempt counted, unless it was replaced since it was taken.
	Postpone(ctx context.Context, w Work, at time.Time) error
	// Release gives leases up: the pieces are due again at a time, with no
	// attempt and no lost lease counted, unless they were replaced since they
	// were taken. Work whose Until is zero is released whoever leased it.
	Release(ctx context.Context, work []Work, at time.Time) error
}

// WorkflowStore keeps workflows and their immutable versions.
type WorkflowStore interface {
	// Workflow returns one workflow, or ErrNotFound.
	Workflow(ctx context.Context, t TenantID, id WorkflowID) (Workflow, error)
	// Workflows returns one page, newest first by creation, ties by id from
	// the highest.
	Workflows(ctx context.Context, t TenantID, p PageQuery) (Page[Workflow], error)
	// Version returns one version by its hash, or ErrNotFound.
	Version(ctx context.Context, t TenantID, id WorkflowID, hash string) (Version, error)
	// Versions returns one page of the versions of a workflow, without their
	// definitions, the highest number first; none when the tenant has no such
	// workflow.
	Versions(ctx context.Context, t TenantID, id WorkflowID, p PageQuery) (Page[VersionInfo], error)
	// SaveWorkflow creates the workflow (Revision 1) or replaces it (the
	// stored Revision is one less), together with a new version if there is
	// one, all or nothing. ErrConflict when another came first.
	SaveWorkflow(ctx context.Context, t TenantID, w Workflow, added *Version) error
}

// TenantStore keeps tenants and the accounts that act for them.
type TenantStore interface {
	// Tenant returns one tenant, or ErrNotFound.
	Tenant(ctx context.Context, id TenantID) (Tenant, error)
	// SaveTenant creates or replaces a tenant.
	SaveTenant(ctx context.Context, t Tenant) error
	// Account returns the account of a client identifier, or ErrNotFound.
	Account(ctx context.Context, clientID string) (Account, error)
	// SaveAccount creates or replaces an account; ErrConflict when another
	// tenant has that client identifier.
	SaveAccount(ctx context.Context, a Account) error
}

// IdempotencyStore remembers which request an idempotency key stands for, for
// IdempotencyKeyLife.
type IdempotencyStore interface {
	// IdempotencyRecord returns the record under a key at a time, or
	// ErrNotFound when there is none younger than IdempotencyKeyLife.
	IdempotencyRecord(ctx context.Context, t TenantID, k IdempotencyKey, now time.Time) (IdempotencyRecord, error)
	// ClaimIdempotencyKey keeps the record under its key unless one younger
	// than IdempotencyKeyLife is there, and returns the one that is kept.
	ClaimIdempotencyKey(ctx context.Context, t TenantID, r IdempotencyRecord) (IdempotencyRecord, error)
	// SettleIdempotencyKey marks the record with this ID as settled, and keeps
	// its Result and Decision.
	SettleIdempotencyKey(ctx context.Context, t TenantID, r IdempotencyRecord) error
	// ReleaseIdempotencyKey removes the record with this ID unless it is
	// settled.
	ReleaseIdempotencyKey(ctx context.Context, t TenantID, r IdempotencyRecord) error
}

// DeliveryStore is the delivery ledger: how the notices of runs fared, one
// delivery a run.
type DeliveryStore interface {
	// SaveDelivery creates or replaces the delivery of a run.
	SaveDelivery(ctx context.Context, t TenantID, d Delivery) error
	// Delivery returns the delivery of a run, or ErrNotFound.
	Delivery(ctx context.Context, t TenantID, run RunID) (Delivery, error)
	// Deliveries returns one page of the deliveries in a state (empty for
	// every state), newest LastAt first, ties by run id from the highest, and
	// how many there are in all. NewerDelivery is the order.
	Deliveries(ctx context.Context, t TenantID, state DeliveryState, p PageQuery) (Page[Delivery], error)
}

// Provider answers checks. It is called again with the same IdempotencyKey
// when a host died before its answer was kept. An error is transient unless it
// was made by Permanent.
type Provider interface {
	Check(ctx context.Context, r CheckRequest) (CheckResult, error)
}

// Poller is a Provider that may answer OutcomePending.
type Poller interface {
	Provider
	Poll(ctx context.Context, r PollRequest) (CheckResult, error)
}

// ExpressionCompiler compiles the texts inside a definition. Its errors are one plain
// sentence each.
type ExpressionCompiler interface {
	// Condition compiles a branch condition, which must be a boolean.
	Condition(text string, d Declarations) (Condition, error)
	// Template compiles an object whose strings may hold ${...}.
	Template(object Data, d Declarations) (Template, error)
	// Pattern compiles an RE2 expression.
	Pattern(text string) (Pattern, error)
	// Schema compiles a JSON Schema. It opens no references to files or hosts.
	Schema(schema Data) (Schema, error)
}

// LinkSigner makes and checks the token of a hosted-journey link. The same
// Link has the same token at every call, as long as the key is the same.
type LinkSigner interface {
	// SignLink makes the token.
	SignLink(l Link) (token string, err error)
	// OpenLink returns what the token names, or ErrInvalid when it was not
	// signed here. It does not look at the link's ExpiresAt.
	OpenLink(token string) (Link, error)
}

// ReportPrinter renders a report for people: the same bytes for the same
// report, without its notes, reviews and decision.
type ReportPrinter interface {
	// PrintReport prints a report of a tenant. The reports of one tenant must
	// not delay those of another by more than one report; ErrUnavailable when
	// it would take too long.
	PrintReport(ctx context.Context, t TenantID, r Report) ([]byte, error)
}

// Notifier tells the client that a run is over. A nil error ends the notice; a
// RetryError says when to try again; any other error is retried as planned. The
// error may say the class of the try for the ledger: see ClassOf.
type Notifier interface {
	Notify(ctx context.Context, n Notice) error
}
