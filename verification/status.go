// The six statuses, two of them seen only at a moment.

package verification

// Status says how far a run got. Every run reads exactly one.
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

// Statuses lists all six, in the order that the API names them.
func Statuses() []Status {
	return []Status{StatusCompleted, StatusCancelled, StatusExpired, StatusFailed, StatusInProgress, StatusAbandoned}
}

// ParseStatus reads a status; anything else is ErrInvalid.
func ParseStatus(s string) (Status, error) {
	switch st := Status(s); st {
	case StatusInProgress, StatusAbandoned, StatusCompleted, StatusFailed, StatusExpired, StatusCancelled:
		return st, nil
	}
	return "", &Error{Kind: ErrInvalid, Subject: "status", Message: "there is no such status"}
}

// Terminal tells whether a run of this status is over.
func (s Status) Terminal() bool {
	switch s {
	case StatusCompleted, StatusFailed, StatusExpired, StatusCancelled:
		return true
	case StatusInProgress, StatusAbandoned:
	}
	return false
}

// ErrorCode says why a run failed or expired.
type ErrorCode string

// The run error codes. See docs/api.md, "Run error codes".
const (
	CodeCheckFailed      ErrorCode = "CHECK_FAILED"      // a check did not pass
	CodeCheckUnavailable ErrorCode = "CHECK_UNAVAILABLE" // a source gave no answer
	CodeLinkExpired      ErrorCode = "LINK_EXPIRED"      // the deadline passed while waiting on the customer
	CodeRunExpired       ErrorCode = "RUN_EXPIRED"       // the deadline passed while waiting on anything else
	CodeInternalError    ErrorCode = "INTERNAL_ERROR"    // the workflow could not go on
)

// RunError is what a run failed or expired on.
type RunError struct {
	Code    ErrorCode `json:"code"`
	Check   string    `json:"check,omitempty"` // the key of the check, when attributable
	Message string    `json:"message"`         // a plain sentence; safe to log
}
