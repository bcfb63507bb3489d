// The loop takes due work from the queue, writes deadlines down and keeps leases.

package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// The measures of the loop.
const (
	sweepBatch  = 200         // overdue runs written down at a time
	sweepRounds = 500         // batches of one sweep
	renewals    = 3           // how often a lease is renewed while it lasts
	retryAfter  = time.Second // the wait before the store is called again after a failure
)

// loop is a timer: a round begins when the earliest thing falls due.
type loop struct {
	mu      sync.Mutex
	serving bool
	running bool
	again   bool
	at      time.Time // when the timer fires; zero when it is not set
	stop    func() bool
}

func (l *loop) isServing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.serving
}

// serve runs the loop until ctx ends.
func (r *runner) serve(ctx context.Context, begun func()) {
	l := &r.loop
	l.mu.Lock()
	l.serving = true
	l.mu.Unlock()
	r.nudge(r.e.now())
	begun()
	<-ctx.Done()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serving = false
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
}

// nudge has a round begin at a time, unless one begins sooner anyway.
func (r *runner) nudge(at time.Time) {
	if r == nil || at.IsZero() {
		return
	}
	l := &r.loop
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.serving || (!l.at.IsZero() && !at.Before(l.at)) {
		return
	}
	if l.stop != nil {
		l.stop()
	}
	l.at = at
	l.stop = r.e.ports.Clock.AfterFunc(at.Sub(r.e.ports.Clock.Now()), r.turn)
}

// turn runs a round, and others as long as one was asked for meanwhile.
func (r *runner) turn() {
	l := &r.loop
	l.mu.Lock()
	l.at, l.stop = time.Time{}, nil
	if !l.serving || l.running {
		l.again = l.running
		l.mu.Unlock()
		return
	}
	l.running = true
	l.mu.Unlock()
	for again := true; again; {
		next := r.round()
		l.mu.Lock()
		again = l.again && l.serving
		l.again, l.running = false, again
		l.mu.Unlock()
		r.nudge(next)
	}
}

// round does all that is due, and returns when more falls due.
func (r *runner) round() (next time.Time) {
	r.mu.Lock()
	r.rounds++
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.rounds--
		r.idle.Broadcast()
	}()
	ctx, now := r.base, r.e.now()
	do := func(what string, f func() (time.Time, error)) {
		at, err := f()
		if err != nil && !errors.Is(err, context.Canceled) {
			r.e.log.Error("the queue cannot be served", "do", what, "error", err)
			at = now.Add(retryAfter)
		}
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	do("take runs", func() (time.Time, error) { return r.take(ctx, &r.advances, now) })
	do("take notices", func() (time.Time, error) { return r.take(ctx, &r.notices, now) })
	if r.e.opt.Poll == 0 {
		do("sweep", func() (time.Time, error) { return r.e.sweep(ctx, now) })
	} else {
		do("poll", func() (time.Time, error) { return now.Add(r.e.opt.Poll), nil })
	}
	do("renew leases", func() (time.Time, error) { return r.keepLeases(ctx, now) })
	return next
}

// sweep writes down the deadlines that have passed, and returns when the next
// one will have. A run that cannot be written down holds up no other.
func (e *Engine) sweep(ctx context.Context, now time.Time) (next time.Time, err error) {
	var failures []error
	done := map[verification.RunRef]bool{} // runs that would be listed again
	for range sweepRounds {
		overdue, next, err := e.ports.Runs.Overdue(ctx, now, sweepBatch+len(done))
		if err != nil {
			return time.Time{}, err
		}
		n := 0
		for _, ref := range overdue {
			if done[ref] {
				continue
			}
			n++
			c, err := e.command(ctx, ref, verification.Expire{})
			if err != nil {
				failures = append(failures, fmt.Errorf("expire run %s: %w", ref.Run, err))
			}
			if err != nil || len(c.events) == 0 {
				done[ref] = true
			}
		}
		if n < sweepBatch || ctx.Err() != nil {
			return next, errors.Join(append(failures, ctx.Err())...)
		}
	}
	return now, errors.Join(failures...)
}

// keepLeases renews the leases of the runs that are driven here, and returns
// when to do so again.
func (r *runner) keepLeases(ctx context.Context, now time.Time) (next time.Time, err error) {
	every := r.e.opt.Lease / renewals
	r.mu.Lock()
	jobs := make([]*job, 0, len(r.jobs))
	for _, j := range r.jobs {
		jobs = append(jobs, j)
	}
	r.mu.Unlock()
	if len(jobs) == 0 {
		return time.Time{}, nil
	}
	var held []verification.RunRef
	for _, j := range jobs {
		if !j.saving.TryLock() {
			continue // its append renews the lease
		}
		defer j.saving.Unlock()
		if since := j.leased.Load(); since != 0 && now.UnixNano()-since >= int64(every) {
			held = append(held, j.ref)
			j.leased.Store(now.UnixNano())
		}
	}
	if len(held) > 0 {
		err = r.e.ports.Queue.Renew(ctx, held, now.Add(r.e.opt.Lease))
	}
	return now.Add(every), err
}
