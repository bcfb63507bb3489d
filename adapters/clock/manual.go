// Package clock implements verification.Clock. System is the clock of the
// machine. Manual is a clock that stands still until Advance is called.
package clock

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/tidwall/btree"

	"github.com/verifyd/verifyd/verification"
)

// Manual is a clock that stands still until Advance is called. Advance fires the
// timers that fall due, in order, and after each waits until the clock is idle, so
// that the same calls always have the same effect. Make one with NewManual; several
// goroutines may use it.
//
// The clock is idle if all work between Enter and Leave is asleep in Sleep. Work
// that waits in any other way keeps the clock busy.
//
// It implements verification.Clock.
type Manual struct {
	advancing chan struct{} // holds a token while Advance runs

	mu       sync.Mutex
	now      time.Time
	timers   *btree.BTreeG[*timer]
	set      uint64 // number of timers set so far
	entered  int    // pieces of work between Enter and Leave, asleep or not
	sleepers map[*timer]struct{}
	idle     chan struct{} // closed when the clock becomes idle; nil if nothing waits for that
}

// NewManual returns a clock whose time is start.
func NewManual(start time.Time) *Manual {
	return &Manual{
		advancing: make(chan struct{}, 1),
		now:       start.Round(0), // without the monotonic clock reading
		timers:    newTimers(),
		sleepers:  map[*timer]struct{}{},
	}
}

// Now returns the clock's time.
func (c *Manual) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Enter marks the beginning of a piece of work. If other work starts this work, call
// Enter before the other work leaves, so that the clock does not become idle between
// the two.
func (c *Manual) Enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entered++
}

// Leave marks the end of a piece of work. It panics without an Enter.
func (c *Manual) Leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entered == 0 {
		panic("clock: Leave without Enter")
	}
	c.entered--
	c.notify()
}

// AfterFunc calls f when the clock has advanced by d, in the goroutine that calls
// Advance; f must not call Sleep or Advance. If d <= 0, f is called at once in its
// own goroutine, and counts as work until it returns. stop reports whether it kept
// f from being called.
func (c *Manual) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.timer(d)
	t.call = f
	if d > 0 {
		c.timers.Set(t)
	} else {
		t.starting = true
		c.entered++
		go c.start(t)
	}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		if t.starting {
			t.starting = false
			return true
		}
		_, set := c.timers.Delete(t)
		return set
	}
}

// Sleep returns nil when the clock has advanced by d, or the error of ctx if ctx
// is done first. Only work that has called Enter should call it: while it sleeps,
// it does not keep the clock busy. A call without Enter is counted as if other work were
// asleep, so the clock may advance too early.
func (c *Manual) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	c.mu.Lock()
	t := c.timer(d)
	t.ctx, t.woken = ctx, make(chan struct{})
	c.timers.Set(t)
	c.sleepers[t] = struct{}{}
	c.notify()
	c.mu.Unlock()

	select {
	case <-t.woken:
		return nil
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, set := c.timers.Delete(t); !set {
		return nil // the timer fired first
	}
	delete(c.sleepers, t)
	return ctx.Err()
}

// Advance waits until the clock is idle, then advances it by d. It fires the
// timers that fall due, including those set meanwhile: in order of time, and in
// order of registration at the same time. At each timer the clock stands still
// until it is idle again. Concurrent calls run one after another.
//
// It fails with ErrInvalid if d is negative, and with the error of ctx if ctx is
// done first. Then the clock keeps the time that it reached, and the next Advance
// fires the remaining timers.
func (c *Manual) Advance(ctx context.Context, d time.Duration) error {
	if d < 0 {
		return verification.Invalid("clock", "it cannot go back")
	}
	select {
	case c.advancing <- struct{}{}:
		defer func() { <-c.advancing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for target := c.Now().Add(d); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		fired, idle := c.step(target)
		switch {
		case idle != nil:
			select {
			case <-idle:
			case <-ctx.Done():
			}
		case fired == nil:
			return nil
		case fired.call != nil:
			c.run(fired.call)
		}
	}
}

// Settle waits until the clock is idle, without advancing it. It fails with the
// error of ctx if ctx is done first.
func (c *Manual) Settle(ctx context.Context) error {
	for {
		c.mu.Lock()
		idle := c.whenIdle()
		c.mu.Unlock()
		if idle == nil {
			return nil
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// step advances to the next timer that is due by target and removes it, or to
// target if there is none. If the clock is busy, step does neither and returns the
// channel that is closed when it becomes idle.
func (c *Manual) step(target time.Time) (fired *timer, idle <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if idle := c.whenIdle(); idle != nil {
		return nil, idle
	}
	t, ok := c.timers.Min()
	if !ok || t.at.After(target) {
		c.now = target
		return nil, nil
	}
	c.timers.Delete(t)
	c.now = t.at
	if t.call == nil {
		delete(c.sleepers, t)
		close(t.woken)
	} else {
		c.entered++ // until run calls Leave
	}
	return t, nil
}

// run calls f and then Leave. The caller has called Enter.
func (c *Manual) run(f func()) {
	defer c.Leave()
	f()
}

// start runs a timer that was due when it was set, unless it was stopped.
func (c *Manual) start(t *timer) {
	c.mu.Lock()
	stopped := !t.starting
	t.starting = false
	c.mu.Unlock()
	if stopped {
		c.Leave()
		return
	}
	c.run(t.call)
}

// timer returns a timer that is due in d. The caller holds the lock.
func (c *Manual) timer(d time.Duration) *timer {
	c.set++
	return &timer{at: c.now.Add(d), order: c.set}
}

// whenIdle returns a channel that is closed when the clock becomes idle; nil if it
// is idle now. The caller holds the lock.
func (c *Manual) whenIdle() <-chan struct{} {
	if c.isIdle() {
		return nil
	}
	if c.idle == nil {
		c.idle = make(chan struct{})
	}
	return c.idle
}

// notify wakes the goroutines that wait for an idle clock. The caller holds the
// lock.
func (c *Manual) notify() {
	if c.idle != nil && c.isIdle() {
		close(c.idle)
		c.idle = nil
	}
}

// isIdle reports whether all work is asleep. A sleeper whose context is done is
// awake, even if it has not noticed yet. The caller holds the lock.
func (c *Manual) isIdle() bool {
	if c.entered == 0 {
		return true
	}
	if c.entered > len(c.sleepers) {
		return false
	}
	asleep := 0
	for t := range c.sleepers {
		if t.ctx.Err() == nil {
			asleep++
		}
	}
	return c.entered <= asleep
}

// timer is a function to call or a sleeper to wake at a given time.
type timer struct {
	at    time.Time
	order uint64 // of registration, for timers of the same time

	call     func() // nil for a sleeper
	starting bool   // it was due when it was set, and its goroutine has not begun

	ctx   context.Context // of a sleeper; once it is done, the sleeper counts as awake
	woken chan struct{}   // of a sleeper; closed when the timer fires
}

// newTimers returns an empty set ordered by time, then by registration.
func newTimers() *btree.BTreeG[*timer] {
	return btree.NewBTreeGOptions(func(a, b *timer) bool {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.order, b.order)) < 0
	}, btree.Options{NoLocks: true}) // Manual has a lock
}
