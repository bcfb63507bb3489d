// System: the clock of the machine.

package clock

import (
	"context"
	"time"
)

// Wall is the clock of the machine. It implements verification.Clock.
type Wall struct{}

// System returns the clock of the machine.
func System() Wall { return Wall{} }

// Now returns the current time.
func (Wall) Now() time.Time { return time.Now() }

// AfterFunc calls f in its own goroutine once d has passed. stop reports whether
// it kept f from being called.
func (Wall) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	return time.AfterFunc(d, f).Stop
}

// Sleep returns nil once d has passed, or the error of ctx as soon as ctx is
// done.
func (Wall) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
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
