// A clock that stands still until somebody turns it.

package clock

import (
	"context"
	"sync"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Manual is a clock whose time stands still until Advance is called. Then it
// fires exactly what falls due, in order, and waits after each firing until
// nothing moves any more, so that the same calls have the same effect at every
// try. Make one with NewManual; it may be used by many goroutines.
//
// What moves is the work that said Enter and has not yet said Leave, less what
// is asleep in Sleep. Work that waits in any other way counts as moving.
//
// It implements verification.Clock.
type Manual struct {
	turn chan struct{} // holds a token while somebody turns the clock

	mu       sync.Mutex
	now      time.Time
	timers   timers
	set      uint64 // timers set so far
	entered  int    // pieces of work under way, asleep or not
	sleepers map[*timer]struct{}
	calm     chan struct{} // closed when nothing moves; nil when nobody waits for that
}

// NewManual returns a clock that stands at start.
func NewManual(start time.Time) *Manual {
	return &Manual{
		turn:     make(chan struct{}, 1),
		now:      start.Round(0), // without the reading of the wall clock's stopwatch
		sleepers: map[*timer]struct{}{},
	}
}

// Now is the moment at which the clock stands.
func (c *Manual) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Enter says that a piece of work begins. It must come before the end of
// whatever caused the work, so that the clock sees no gap between the two.
func (c *Manual) Enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entered++
}

// Leave says that a piece of work has ended. It panics without an Enter.
func (c *Manual) Leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entered == 0 {
		panic("clock: Leave without Enter")
	}
	c.entered--
	c.tell()
}

// AfterFunc calls f when the clock reaches the moment d from now, in the
// goroutine that turns the clock: f must neither sleep nor turn it. With
// nothing left to wait for (d <= 0), f is called at once, in a goroutine of its
// own, and counts as work under way until it returns. stop works like that of a
// time.Timer: it tells whether it kept f from being called.
func (c *Manual) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.timer(d)
	t.call = f
	if d > 0 {
		c.timers.add(t)
	} else {
		t.place = starting
		c.entered++
		go c.start(t)
	}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		if t.place == starting {
			t.place = over
			return true
		}
		return c.timers.remove(t)
	}
}

// Sleep returns nil when the clock reaches the moment d from now, or the error
// of ctx when ctx is done first. It is for work that has entered: the work does
// not count as moving while it sleeps, and does again from the instant it is
// woken. A sleeper that never entered harms no count, but the clock then may
// take one piece of moving work for the sleeping one and go on too early.
func (c *Manual) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	c.mu.Lock()
	t := c.timer(d)
	t.ctx, t.woken = ctx, make(chan struct{})
	c.timers.add(t)
	c.sleepers[t] = struct{}{}
	c.tell()
	c.mu.Unlock()

	select {
	case <-t.woken:
		return nil
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.timers.remove(t) {
		return nil // its moment came first
	}
	delete(c.sleepers, t)
	return ctx.Err()
}

// Advance waits until nothing moves, then turns the clock by d. On the way it
// fires what falls due, what was set on the way included: in order of moment,
// and in order of registration within one moment. The clock stands at that
// moment until nothing moves any more. One caller turns the clock at a time, the
// next one waits.
//
// It fails with ErrInvalid when d is negative, and with the error of ctx when
// ctx is done first; the clock then stands where it got to, and what was not
// fired is fired by the next Advance.
func (c *Manual) Advance(ctx context.Context, d time.Duration) error {
	if d < 0 {
		return &verification.Error{Kind: verification.ErrInvalid, Subject: "clock", Message: "it cannot be turned back"}
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for target := c.Now().Add(d); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		fired, calm := c.step(target)
		switch {
		case calm != nil:
			select {
			case <-calm:
			case <-ctx.Done():
			}
		case fired == nil:
			return nil
		case fired.call != nil:
			c.run(fired.call)
		}
	}
}

// Settle waits until nothing moves, without turning the clock. It fails with
// the error of ctx when ctx is done first.
func (c *Manual) Settle(ctx context.Context) error {
	for {
		c.mu.Lock()
		calm := c.unrest()
		c.mu.Unlock()
		if calm == nil {
			return nil
		}
		select {
		case <-calm:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// step goes to the next timer that is due by target and takes it out, or to
// target when there is none. While something moves it does neither, and returns
// what is closed when it may be tried again.
func (c *Manual) step(target time.Time) (fired *timer, calm <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if calm := c.unrest(); calm != nil {
		return nil, calm
	}
	if len(c.timers) == 0 || c.timers[0].at.After(target) {
		c.now = target
		return nil, nil
	}
	t := c.timers[0]
	c.timers.remove(t)
	c.now = t.at
	if t.call == nil {
		delete(c.sleepers, t)
		close(t.woken)
	} else {
		c.entered++ // until run gives it back
	}
	return t, nil
}

// run calls f, for which a place was entered.
func (c *Manual) run(f func()) {
	defer c.Leave()
	f()
}

// start runs a timer that was due when it was set, unless it was stopped.
func (c *Manual) start(t *timer) {
	c.mu.Lock()
	stopped := t.place == over
	t.place = over
	c.mu.Unlock()
	if stopped {
		c.Leave()
		return
	}
	c.run(t.call)
}

// timer makes one that is due d from now. The caller holds the lock.
func (c *Manual) timer(d time.Duration) *timer {
	c.set++
	return &timer{at: c.now.Add(d), order: c.set, place: over}
}

// unrest returns what is closed when nothing moves any more; nil when nothing
// moves now. The caller holds the lock.
func (c *Manual) unrest() <-chan struct{} {
	if c.quiet() {
		return nil
	}
	if c.calm == nil {
		c.calm = make(chan struct{})
	}
	return c.calm
}

// tell lets those go on who wait until nothing moves. The caller holds the lock.
func (c *Manual) tell() {
	if c.calm != nil && c.quiet() {
		close(c.calm)
		c.calm = nil
	}
}

// quiet tells whether all work under way is asleep. A sleeper whose context is
// done is awake, even if it has not noticed yet. The caller holds the lock.
func (c *Manual) quiet() bool {
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
