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
	// RemoveDocuments removes all documents of a run, as RemoveDocument does. It may be called again
	// after an error.
	RemoveDocuments(ctx context.Context, r RunRef) error
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

// ErasureLedger keeps what was redacted, deleted, held and restricted, apart from the store: so a store that is
// restored from a backup can be brought up to date. It must not be restored with the store. The store gives the
// numbers of its entries.
type ErasureLedger interface {
	// NoteErasures adds entries. Once it returns, they survive a loss of power. After an error some of them may
	// have been added. An entry may be added twice. Nothing that the ledger has is changed.
	NoteErasures(ctx context.Context, entries ...Erasure) error
	// EachErasure calls f with everything that the ledger has, until f returns false: first the entries without a
	// number, always in the same order, then the others, roughly in the order of their numbers. What cannot be read
	// comes as an entry with the kind ErasureUnreadable or ErasureUnfinished, and ErasureCounted comes last.
	EachErasure(ctx context.Context, f func(Erasure) (more bool)) error
	// RepairErasures moves aside what cannot be read, and the entries with another Ledger than the given id and with a
	// number. Nobody may add entries meanwhile. Readers find the ledger without them.
	RepairErasures(ctx context.Context, id string) error
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

// ReturnReceiver is a Provider that leads customers away, and reads what the vendor adds to
// CheckRequest.ReturnURL when it sends one back.
type ReturnReceiver interface {
	Provider
	// ReceiveReturn returns the result that the parameters report. OutcomePending is for a Poller, which is then
	// polled at once. OutcomeRedirect leads the customer away again. It returns ErrUnauthenticated if the
	// parameters are not from the vendor, and ErrInvalid if they cannot be read: then nothing changes.
	ReceiveReturn(ctx context.Context, r PollRequest, parameters map[string]string) (CheckResult, error)
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

// EarlierFinder is a Provider whose checks judge other runs of the same person or company. Before
// each Check, the engine finds the runs that Earlier asks for, and sets CheckRequest.Earlier.
type EarlierFinder interface {
	Provider
	// Earlier returns what a check with this `with` asks. Before a workflow is saved, its
	// templates are not rendered yet.
	Earlier(with map[string]any) (EarlierQuery, error)
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

// LinkSigner signs the tokens of hosted-journey links. Under one key, a Link
// always has the same token.
type LinkSigner interface {
	// SignLink returns the token of a link.
	SignLink(l Link) (token string, err error)
	// OpenLink returns the link of a token, or ErrInvalid if this signer did not
	// sign it. It does not check the link's ExpiresAt.
	OpenLink(token string) (Link, error)
}

// CallbackSigner signs the tokens of callback URLs and of return URLs. Under one key, a CallbackTarget
// always has the same token.
type CallbackSigner interface {
	// SignCallback returns the token of a target.
	SignCallback(t CallbackTarget) (token string, err error)
	// OpenCallback returns the target of a token, or ErrInvalid if this signer did not
	// sign it.
	OpenCallback(token string) (CallbackTarget, error)
	// SignReturn returns the token of the return URL of a target, which is no token of a callback.
	SignReturn(t CallbackTarget) (token string, err error)
	// OpenReturn is OpenCallback for a token of SignReturn.
	OpenReturn(token string) (CallbackTarget, error)
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
