// Notices: what a client is sent when a run is over, and when to retry.

package verification

import (
	"fmt"
	"time"
)

// Notice is the message to a client that a run is over.
type Notice struct {
	// ID is the same at every attempt; each run has one.
	ID      string
	Tenant  TenantID
	URL     string    // the lifecycle webhook of the workflow
	Attempt int       // 0 for the first attempt
	At      time.Time // when the attempt began
	Run     RunView
}

// NoticeRetry returns how long to wait after a failed attempt, of which 0 is the first.
// more is false if the schedule has no further attempt.
func NoticeRetry(attempt int) (wait time.Duration, more bool) {
	schedule := [...]time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
		10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
	}
	if attempt < 0 || attempt >= len(schedule) {
		return 0, false
	}
	return schedule[attempt], true
}

// RetryError is returned by a Notifier that sets the time of the next attempt: not
// before At, or never if At is zero. A Provider may return it, too.
type RetryError struct {
	At    time.Time
	Cause error
}

// Error returns "retry: " and the text of the cause.
func (e *RetryError) Error() string { return fmt.Sprintf("retry: %v", e.Cause) }

// Unwrap returns the cause.
func (e *RetryError) Unwrap() error { return e.Cause }
