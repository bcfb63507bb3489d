// The clock on the wall.

package clock

import (
	"context"
	"time"
)

// Wall is the clock of this machine. It implements verification.Clock.
type Wall struct{}

// System returns the clock of this machine.
func System() Wall { return Wall{} }

// Now is the present moment.
func (Wall) Now() time.Time { return time.Now() }

// AfterFunc calls f in a goroutine of its own once d has passed; stop tells
// whether it was in time.
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
