// What is asked of a check provider, and what it answers.

package verification

import "time"

// CheckRequest asks a provider for one check.
type CheckRequest struct {
	Tenant      TenantID
	Run         RunID
	ReferenceID string
	Node        NodeID
	Key         string // the check's key
	Dispatch    int    // 1 for the first call for this step
	// IdempotencyKey is the same whenever this dispatch is carried out again.
	IdempotencyKey string
	With           map[string]any // the node's with, its templates filled in
	Input          Data           // the run's input
}

// PollRequest asks a provider for the answer it owes.
type PollRequest struct {
	CheckRequest
	Handle string // as the last answer gave it
}

// Outcome is what a provider found.
type Outcome string

// The outcomes.
const (
	OutcomePassed  Outcome = "passed"
	OutcomeFailed  Outcome = "failed"
	OutcomePending Outcome = "pending" // poll later
)

// CheckResult is a provider's answer.
type CheckResult struct {
	Outcome Outcome
	// Data becomes the step's data; it must encode to a JSON object.
	Data map[string]any
	// Handle names a pending answer to Poll.
	Handle string
	// PollAfter is the wait before the next poll; 0 leaves it to the node.
	PollAfter time.Duration
}

// Permanent marks an error of a provider as one that trying again will not
// mend. Permanent(nil) is nil.
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
