// Requests to check providers, and their results.

package verification

import "time"

// CheckRequest is the request for one check.
type CheckRequest struct {
	Tenant      TenantID
	Run         RunID
	ReferenceID string
	StartedAt   time.Time // when the run started
	Node        NodeID
	Key         string // the check's key
	Dispatch    int    // 1 for the first call for this step
	// IdempotencyKey is the same at every call for this dispatch.
	IdempotencyKey string
	With           map[string]any // the node's with, rendered
	Input          Data           // the run's input
	// CallbackURL is where the vendor may report the result of this dispatch. It is
	// empty unless the provider is a CallbackReceiver.
	CallbackURL string
}

// ProviderDescription describes the checks of a provider.
type ProviderDescription struct {
	// Summary says in one sentence what the provider checks.
	Summary string
	// With is the JSON Schema of a check's with. It is nil if any with is accepted.
	With Data
	// Data is the JSON Schema of the step's data: an object that lists every field
	// a result may have, those it always has as required. A field's title is its
	// label on reports, and its x-unit the unit of its value. Data is nil if the
	// fields are not known.
	Data Data
}

// PollRequest is the request for a pending result.
type PollRequest struct {
	CheckRequest
	Handle string // of the last result
}

// Callback is a request that a vendor sent to the CallbackURL of a dispatch.
type Callback struct {
	Header map[string][]string // by canonical name, such as "Content-Type"
	Body   []byte
}

// Outcome is the outcome of a check.
type Outcome string

// The outcomes.
const (
	OutcomePassed  Outcome = "passed"
	OutcomeFailed  Outcome = "failed"
	OutcomePending Outcome = "pending" // poll later
)

// CheckResult is the result of a check.
type CheckResult struct {
	Outcome Outcome
	// Data becomes the step's data; it must encode to a JSON object.
	Data map[string]any
	// Handle identifies a pending result to Poll.
	Handle string
	// PollAfter is the wait before the next poll; 0 means the node's poll
	// interval.
	PollAfter time.Duration
}

// Permanent marks an error of a provider as one that another attempt will not
// fix. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

type permanentError struct{ err error }

func (e *permanentError) Error() string   { return e.err.Error() }
func (e *permanentError) Unwrap() error   { return e.err }
func (e *permanentError) Permanent() bool { return true }
