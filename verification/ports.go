// Ports: what the engine needs from outside.

package verification

import (
	"context"
	"io"
	"time"
)

// Clock is the engine's only source of time.
type Clock interface {
	// Now returns the current time.
	Now() time.Time
	// AfterFunc calls f once d has passed, in its own goroutine or in the one that
	// advances the clock. stop reports whether it kept f from being called.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// NewID returns a new UUID in its lower-case 36-character form. Ids made later
// should sort later.
type NewID func() string

// Store is all store ports over one set of data.
type Store interface { //nolint:interfacebloat // the ports are small; this is all of them
	RunStore
	WorkQueue
	MeasureStore
	RescreenStore
	WorkflowStore
	TenantStore
	TenantLister
	IdempotencyStore
	DeliveryStore
}

// RunStore keeps the histories of runs. Package storetest tests its contract.
type RunStore interface {
	// Load returns the events after the first `after` ones, oldest first; none if
	// the history ends there. It returns ErrNotFound if the tenant has no such
	// run.
	Load(ctx context.Context, t TenantID, id RunID, after int) ([]Event, error)
	// Append applies the commit c to a run whose history has seq events (0 creates the
	// run), all or nothing. It returns ErrConflict if the history no longer ends
	// at seq, or the workflow no longer has the commit's revision; the caller then
	// decides again on what is stored.
	Append(ctx context.Context, t TenantID, id RunID, seq int, c Commit) error
	// List returns one page of the runs that match the query, in its order, and the number
	// of all matches. The summaries have a Review if q.OfQueue(), and no Claim that is over
	// at q.Now. If t is empty, List only counts runs of all tenants: q.OfQueue() must hold
	// and q.Limit must be 0.
	List(ctx context.Context, t TenantID, q RunQuery) (Page[Summary], error)
	// Claim stores a claim of a run in the review queue and returns it, unless another
	// person holds one at c.At: then it returns that claim and ErrConflict. A claim of the
	// same person keeps its earlier At while it is held. A claim ends with the review, also
	// when another review of the run begins. Claim returns ErrNotFound if the last append
	// left the run without a Review.
	Claim(ctx context.Context, t TenantID, id RunID, c Claim) (Claim, error)
}

// WorkQueue keeps the effects that must be carried out. A run has at most one piece of
// each kind in the queue, and one for each of its notices: see Commit.Work. Work is handed
// out at least once, and tenants take turns within each kind, however much work one of
// them has.
type WorkQueue interface {
	// Take leases due work, see TakeRequest. It also returns the time at which to call
	// again, unless something is appended earlier: r.Now if more work was due than
	// was taken, zero for never.
	Take(ctx context.Context, r TakeRequest) (work []Work, next time.Time, err error)
	// Renew makes the leases of runs end at the time until. It ignores runs without
	// an advance in the queue.
	Renew(ctx context.Context, runs []RunRef, until time.Time) error
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
	// name, key and version, all as of one time. Sums that are 0 between all cuts are left
	// out.
	Measures(ctx context.Context, t TenantID, q MeasureQuery) ([]MeasureCounts, error)
}

// RescreenStore keeps the completed runs that are screened again when a list changes,
// and the last pass over each list. Append adds a run when it completes, see
// Commit.Screened: as screened in the last pass if that has the version that the run was
// screened against, else as screened in no pass.
type RescreenStore interface {
	// HoldList makes a host the only one that screens runs again against a list until the
	// given time. It returns the last pass over the list; its Number is 0 before the
	// first pass. It returns ErrConflict if another host holds the list at now.
	HoldList(ctx context.Context, list, holder string, now, until time.Time) (RescreenPass, error)
	// SavePass replaces the last pass over p.List, and records that runs were screened in
	// it, all or nothing. It returns ErrConflict unless p.Holder was the last to hold the
	// list.
	SavePass(ctx context.Context, p RescreenPass, runs []RunRef) error
	// OutdatedRuns returns runs that were last screened before the pass q.Pass over a list.
	// Tenants take turns: each is given its first run before any is given its second. The
	// runs of a tenant come in the order of the passes in which they were screened last.
	OutdatedRuns(ctx context.Context, q OutdatedQuery) ([]RunRef, error)
	// RescreenPasses returns the last pass over each list, in the order of the lists.
	RescreenPasses(ctx context.Context) ([]RescreenPass, error)
}

// WorkflowStore keeps workflows and their immutable versions.
type WorkflowStore interface {
	// Workflow returns a workflow, or ErrNotFound.
	Workflow(ctx context.Context, t TenantID, id WorkflowID) (Workflow, error)
	// Workflows returns one page, newest first by creation, ties by id from
	// the highest.
	Workflows(ctx context.Context, t TenantID, p PageQuery) (Page[Workflow], error)
	// Version returns a version by its hash, or ErrNotFound.
	Version(ctx context.Context, t TenantID, id WorkflowID, hash string) (Version, error)
	// Versions returns one page of the versions of a workflow, without their
	// definitions, highest number first; none if the tenant has no such workflow.
	Versions(ctx context.Context, t TenantID, id WorkflowID, p PageQuery) (Page[VersionInfo], error)
	// SaveWorkflow creates the workflow (Revision 1) or replaces it (the stored
	// Revision is one less), together with a new version if there is one, all or
	// nothing. It returns ErrConflict if the stored Revision differs. Once it has
	// returned, no Append that names an earlier revision changes what is read: such an
	// Append has been saved, or is refused.
	SaveWorkflow(ctx context.Context, t TenantID, w Workflow, added *Version) error
}

// TenantStore keeps tenants and the accounts that act for them.
type TenantStore interface {
	// Tenant returns a tenant, or ErrNotFound. Its logo has no content.
	Tenant(ctx context.Context, id TenantID) (Tenant, error)
	// Logo returns the logo of a tenant with its content. It returns ErrNotFound if there
	// is no such tenant, or it has no logo.
	Logo(ctx context.Context, id TenantID) (Logo, error)
	// SaveTenant creates or replaces a tenant. If its logo has a name and no content, the
	// stored content stays. It returns ErrInvalid if ValidateTenantID refuses the id.
	SaveTenant(ctx context.Context, t Tenant) error
	// Account returns the account of a client id, or ErrNotFound.
	Account(ctx context.Context, clientID string) (Account, error)
	// SaveAccount creates or replaces an account. It returns ErrConflict if
	// another tenant has that client id.
	SaveAccount(ctx context.Context, a Account) error
}

// TenantLister lists tenants and accounts, for operators and bootstrap files.
type TenantLister interface {
	// Tenants returns all tenants in the order of their ids. Their logos have no content.
	Tenants(ctx context.Context) ([]Tenant, error)
	// Accounts returns the accounts of a tenant in the order of their client ids; none for
	// an unknown tenant.
	Accounts(ctx context.Context, t TenantID) ([]Account, error)
}

// IdempotencyStore keeps idempotency keys and their requests for
// IdempotencyKeyTTL.
type IdempotencyStore interface {
	// IdempotencyRecord returns the record of a key, or ErrNotFound if there is
	// none younger than IdempotencyKeyTTL at now.
	IdempotencyRecord(ctx context.Context, t TenantID, k IdempotencyKey, now time.Time) (IdempotencyRecord, error)
	// ClaimIdempotencyKey stores the record unless its key has one younger than
	// IdempotencyKeyTTL. It returns the stored record.
	ClaimIdempotencyKey(ctx context.Context, t TenantID, r IdempotencyRecord) (IdempotencyRecord, error)
	// SettleIdempotencyKey marks the record with this ID as settled and stores its
	// Result and Decision.
	SettleIdempotencyKey(ctx context.Context, t TenantID, r IdempotencyRecord) error
	// ReleaseIdempotencyKey removes the record with this ID unless it is settled.
	ReleaseIdempotencyKey(ctx context.Context, t TenantID, r IdempotencyRecord) error
}

// DeliveryStore is the delivery ledger: one delivery per run.
type DeliveryStore interface {
	// SaveDelivery creates or replaces the delivery of a notice.
	SaveDelivery(ctx context.Context, t TenantID, d Delivery) error
	// Delivery returns the delivery of a notice, or ErrNotFound.
	Delivery(ctx context.Context, t TenantID, n NoticeRef) (Delivery, error)
	// Deliveries returns one page of the deliveries in a state (empty for every
	// state), in the order of NewerDelivery, and the number of all matches.
	Deliveries(ctx context.Context, t TenantID, state DeliveryState, p PageQuery) (Page[Delivery], error)
}

// Sanitizer recognizes an uploaded file by its content. It returns the media type
// and a reader of the content to store, without what may reveal where an image was
// taken; the caller closes the reader. Memory use does not depend on the size of
// the upload.
//
// A file is ErrInvalid, with a Message for the customer, if it is longer than
// MaxDocumentBytes, if accept does not list its type (an empty accept lists every
// supported type), or if it is an image that cannot be decoded or is too large.
// Either the call or Read of the returned reader returns the error. If content or
// ctx fails, the error wraps the cause.
type Sanitizer func(ctx context.Context, content io.Reader, accept []string) (mediaType string, kept io.ReadCloser, err error)

// DocumentStore keeps uploaded documents. A document of another run or tenant is
// ErrNotFound.
type DocumentStore interface {
	// SaveDocument stores content and returns d with its Size and SHA256 filled in.
	// If reading content fails or ctx ends, it stores nothing and returns an error
	// that wraps the cause. It returns ErrConflict if the run has a document of that
	// id, and ErrUnavailable if the store is full or the tenant has used its share.
	SaveDocument(ctx context.Context, r RunRef, d Document, content io.Reader) (Document, error)
	// Document returns a document without its content.
	Document(ctx context.Context, r RunRef, id string) (Document, error)
	// OpenDocument returns the content of a document; the caller closes it.
	OpenDocument(ctx context.Context, r RunRef, id string) (io.ReadCloser, error)
	// RemoveDocument removes a document and frees its space. After a crash the
	// document is either complete or gone. Removing a document that does not exist
	// is not an error.
	RemoveDocument(ctx context.Context, r RunRef, id string) error
}

// IdentifiedStore is a DocumentStore that hosts can compare.
type IdentifiedStore interface {
	// Identity returns the same text on all hosts that share the documents, and
	// another text for other documents.
	Identity(ctx context.Context) (string, error)
}

// IncompleteRemover is a DocumentStore that keeps part of a document when the process dies
// while it is written, as a folder does.
type IncompleteRemover interface {
	// RemoveIncomplete removes such parts an hour after their last write, and returns
	// how many it removed.
	RemoveIncomplete(ctx context.Context) (removed int, err error)
}

// Provider performs checks. It is called again with the same IdempotencyKey if a
// host died before it saved the result. An error is transient unless it is a
// PermanentError that says otherwise; a RetryError sets the earliest time of the next
// dispatch, within the maximum backoff of the node.
type Provider interface {
	// Check performs a check.
	Check(ctx context.Context, r CheckRequest) (CheckResult, error)
}

// Poller is a Provider that may return OutcomePending.
type Poller interface {
	Provider
	// Poll returns the result of an earlier Check, or OutcomePending.
	Poll(ctx context.Context, r PollRequest) (CheckResult, error)
}

// CallbackReceiver is a Poller whose vendor may report a pending result by a request
// to CheckRequest.CallbackURL.
type CallbackReceiver interface {
	Poller
	// ReceiveCallback returns the result that a callback reports, or OutcomePending:
	// then the provider is polled at once. It returns ErrUnauthenticated if the
	// callback is not from the vendor, and ErrInvalid if it cannot be read. The
	// Handle of r is empty if the callback came before the result of Check.
	ReceiveCallback(ctx context.Context, r PollRequest, c Callback) (CheckResult, error)
}

// CallLimiter is a Provider with limits of its own on each host. The engine waits for
// them before a call. The wait is not part of the call's timeout.
type CallLimiter interface {
	Provider
	// MaxCalls returns the maximum number of calls at once.
	MaxCalls() int
	// WaitTurn waits until the rate of calls allows another one. It returns an error
	// if ctx ends first.
	WaitTurn(ctx context.Context) error
}

// Describer is a Provider that describes itself. A definition is then checked
// against the description before it is saved.
type Describer interface {
	Provider
	// Describe returns the same description at every call.
	Describe() ProviderDescription
}

// Rescreener is a Provider that screens against lists, which change. It can screen
// completed runs again.
type Rescreener interface {
	Provider
	// ListVersions returns the version in use of each list, by name; empty for a list
	// that is not loaded, and nil if the lists are not known. The names are the same at
	// every call, and each belongs to one provider. A tenant's own providers do not screen
	// completed runs again.
	ListVersions() map[string]string
	// Rescreen screens the person or company of a check request again, against the
	// version in use of a list. It changes nothing.
	Rescreen(ctx context.Context, list string, r CheckRequest) (Rescreening, error)
}

// ExpressionCompiler compiles the texts inside a definition. The text of an error
// is one plain sentence. An error of Condition, Template and Schema may be a *TextError,
// which has the position of the problem, or join several errors (errors.Join).
type ExpressionCompiler interface {
	// Condition compiles a branch condition, which must be a boolean or of a type
	// that is known only at run time.
	Condition(text string, d Declarations) (Condition, error)
	// Template compiles an object whose strings may hold ${...}. Where its values, or
	// the types of their expressions, are known, they must be valid against d.With.
	Template(object Data, d Declarations) (Template, error)
	// Pattern compiles an RE2 expression.
	Pattern(text string) (Pattern, error)
	// Schema compiles a JSON Schema. It resolves no references to files or hosts, and
	// refuses a schema with which the work of a check would have no bound.
	Schema(schema Data) (Schema, error)
}

// LinkSigner signs the tokens of hosted-journey links. Under one key, a Link
// always has the same token.
type LinkSigner interface {
	// SignLink returns the token of a link.
	SignLink(l Link) (token string, err error)
	// OpenLink returns the link of a token, or ErrInvalid if this signer did not
	// sign it. It does not check the link's ExpiresAt.
	OpenLink(token string) (Link, error)
}

// CallbackSigner signs the tokens of callback URLs. Under one key, a CallbackTarget
// always has the same token.
type CallbackSigner interface {
	// SignCallback returns the token of a target.
	SignCallback(t CallbackTarget) (token string, err error)
	// OpenCallback returns the target of a token, or ErrInvalid if this signer did not
	// sign it.
	OpenCallback(token string) (CallbackTarget, error)
}

// ReportPrinter renders a report as a document. The same report always gives the
// same bytes. Flags, Decision, Notes, ResolvedAt, Proposal and the outcome are left out.
type ReportPrinter interface {
	// PrintReport prints a report of a tenant. One tenant must not delay another
	// by more than one report. It returns ErrUnavailable if the report would take
	// too long.
	PrintReport(ctx context.Context, t TenantID, r Report) ([]byte, error)
}

// Notifier sends notices. A nil error means that the notice is delivered. After an error
// the next attempt is at the time that NoticeRetry gives, or later if a RetryError says
// so; there is none after a RetryError whose At is zero. An attempt that fails with
// ErrUnavailable does not count: the same attempt is made again when the lease of the work
// ends. The error may have a class, see ClassOf.
type Notifier interface {
	// Notify makes one attempt.
	Notify(ctx context.Context, n Notice) error
}

// ActivityTracker is implemented by a Clock for tests, which advances only while no
// work is under way. The engine calls Enter before it starts work, such as driving a
// run, and Leave when the work is done or only waits for an AfterFunc. Work that
// waits in Sleep of the clock does not leave.
type ActivityTracker interface {
	// Enter counts work that begins.
	Enter()
	// Leave counts work that is done or only waits for an AfterFunc.
	Leave()
}
