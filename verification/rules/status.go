// The two axes of a run: its status, and the decision on it.

package rules

import (
	"slices"

	"github.com/verifyd/verifyd/verification"
)

// Status says how far a run got. Every run has exactly one.
type Status string

// The statuses. See docs/api.md, "Run status".
const (
	StatusInProgress Status = "in_progress"
	StatusAbandoned  Status = "abandoned"
	StatusCompleted  Status = "completed"
	StatusFailed     Status = "failed"
	StatusExpired    Status = "expired"
	StatusCancelled  Status = "cancelled"
)

// Statuses returns all six, in the order of the API.
func Statuses() []Status {
	return []Status{StatusCompleted, StatusCancelled, StatusExpired, StatusFailed, StatusInProgress, StatusAbandoned}
}

// ParseStatus parses a status. It returns verification.ErrInvalid for any other text.
func ParseStatus(s string) (Status, error) {
	return parsed(s, Statuses(), verification.Invalid("status", "there is no such status"))
}

// parsed returns s as one of the known values, or err.
func parsed[S ~string](s string, known []S, err error) (S, error) {
	if !slices.Contains(known, S(s)) {
		return "", err
	}
	return S(s), nil
}

// Terminal reports whether a run of this status is over.
func (s Status) Terminal() bool {
	switch s {
	case StatusCompleted, StatusFailed, StatusExpired, StatusCancelled:
		return true
	case StatusInProgress, StatusAbandoned:
	}
	return false
}

// Decision says whether a reviewer must give a verdict, or which one was given.
// The empty Decision is the API's null: the run needs no verdict.
type Decision string

// The decisions. See docs/api.md, "Decision axis".
const (
	DecisionNone    Decision = ""
	DecisionReview  Decision = "review"  // the run needs a verdict
	DecisionApprove Decision = "approve" // a verdict was given
	DecisionReject  Decision = "reject"  // a verdict was given
)

// ParseDecision parses review, approve or reject. It returns verification.ErrInvalid for any other text.
func ParseDecision(s string) (Decision, error) {
	return parsed(s, []Decision{DecisionReview, DecisionApprove, DecisionReject}, verification.Invalid("decision", "there is no such decision"))
}

// Verdict reports whether the decision is a reviewer's verdict: approve or
// reject.
func (d Decision) Verdict() bool { return d == DecisionApprove || d == DecisionReject }

// ErrorCode says why a run failed or expired.
type ErrorCode string

// The run error codes. See docs/api.md, "Run error codes".
const (
	CodeCheckFailed      ErrorCode = "CHECK_FAILED"      // a check did not pass
	CodeCheckUnavailable ErrorCode = "CHECK_UNAVAILABLE" // no provider of a check gave a result
	CodeLinkExpired      ErrorCode = "LINK_EXPIRED"      // the deadline passed while the run waited on the customer
	CodeRunExpired       ErrorCode = "RUN_EXPIRED"       // the deadline passed while the run waited on anything else
	CodeInternalError    ErrorCode = "INTERNAL_ERROR"    // the workflow could not continue
)

// RunError says why a run failed or expired.
type RunError struct {
	Code    ErrorCode `json:"code"`
	Check   string    `json:"check,omitempty"` // the key of the check, if one caused it
	Message string    `json:"message"`         // a plain sentence; safe to log
}
