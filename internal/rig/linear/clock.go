// The clock of the hosts: it runs in real time and can be advanced.

package linear

import (
	"sync"
	"time"
)

// Clock is shared by all hosts. It implements verification.Clock.
type Clock struct {
	began time.Time

	mu     sync.Mutex
	ahead  time.Duration
	timers map[*timer]bool
}

type timer struct {
	due  time.Duration // since the clock began, on the clock
	fire func()
	real *time.Timer
}

// NewClock returns a clock that starts at the current time.
func NewClock() *Clock { return &Clock{began: time.Now(), timers: map[*timer]bool{}} }

// Now returns the current time. It never goes back.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.began.Round(0).Add(c.passed())
}

// AfterFunc calls f in its own goroutine after d; stop reports whether it prevented
// the call.
func (c *Clock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{due: c.passed() + d}
	t.fire = func() {
		if c.drop(t) {
			f()
		}
	}
	t.real = time.AfterFunc(d, t.fire)
	c.timers[t] = true
	return func() bool {
		t.real.Stop()
		return c.drop(t)
	}
}

// Advance advances the clock by d and fires the timers that become due.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
	passed := c.passed()
	for t := range c.timers {
		t.real.Reset(max(0, t.due-passed))
	}
}

// passed returns the time since the clock began; the caller holds the lock.
func (c *Clock) passed() time.Duration { return time.Since(c.began) + c.ahead }

// drop removes a timer and reports whether it was still set.
func (c *Clock) drop(t *timer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	set := c.timers[t]
	delete(c.timers, t)
	return set
}
