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
// completed runs again. It sets CheckResult.Screening: without it, the version that a run
// was screened against is not known, and every hit counts as new.
type Rescreener interface {
	Provider
	// ListVersions returns the version in use of each list, by name; empty for a list
	// that is not loaded, and nil if the lists are not known. The names are the same at
	// every call, and each belongs to one provider. A tenant's own providers do not screen
	// completed runs again.
	ListVersions() map[string]string
	// Rescreen screens the person or company of a check request again, against the
	// version in use of a list. It changes nothing.
	Rescreen(ctx context.Context, list string, r CheckRequest) (ScreeningResult, error)
}

// ExpressionCompiler compiles the texts inside a definition. The text of an error
// is one plain sentence. An error of Condition, Template, Values and Schema may be a *TextError,
// which has the position of the problem, or join several errors (errors.Join).
type ExpressionCompiler interface {
	// Condition compiles a branch condition, which must be a boolean or of a type
	// that is known only at run time.
	Condition(text string, d Declarations) (Condition, error)
	// Template compiles an object whose strings may hold ${...}. Where its values, or
	// the types of their expressions, are known, they must be valid against d.With.
	Template(object Data, d Declarations) (Template, error)
	// Values compiles expressions of any type. problems[i] is what is wrong with texts[i],
	// or nil; the value of such an expression is nil.
	Values(texts []string, d Declarations) (v Values, problems []error)
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

// ReportPrinter renders a report as a document. The same print, with documents of the same
// content, always gives the same bytes. Flags, Decision, Notes, ResolvedAt, Proposal and the
// outcome are left out unless the print is for the file.
type ReportPrinter interface {
	// PrintReport prints a report of a tenant. One tenant must not delay another
	// by more than one report. It returns ErrUnavailable if the report would take
	// too long.
	//
	// A print ForFile with text that the printer cannot print is an ErrConflict whose subject is
	// the report, unless AllowMissing is set.
	PrintReport(ctx context.Context, t TenantID, p Print) ([]byte, error)
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
