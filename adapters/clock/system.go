// System: the clock of the machine.

package clock

import (
	"context"
	"time"
)

// System is the clock of the machine. It implements verification.Clock.
type System struct{}

// Now returns the current time.
func (System) Now() time.Time { return time.Now() }

// AfterFunc calls f in its own goroutine once d has passed. stop reports whether
// it kept f from being called.
func (System) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	return time.AfterFunc(d, f).Stop
}

// Sleep returns nil once d has passed, or the error of ctx as soon as ctx is
// done.
func (System) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
