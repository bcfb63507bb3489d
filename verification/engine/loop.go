// The loop that takes due work from the queue, sweeps overdue runs, and keeps leases.

package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// The measures of one turn of the loop.
const (
	sweepMost   = 200         // overdue runs written down at a time
	renewals    = 3           // how often a lease is renewed while it lasts
	troubleWait = time.Second // before the store is asked again after a failure
)

// loop is an alarm clock: it turns when the earliest thing falls due.
type loop struct {
	mu      sync.Mutex
	serving bool
	turning bool
	again   bool
	at      time.Time // when it is set for; zero when it is not
	stop    func() bool
}

// Serve carries out queued work until ctx ends: it drives runs whose moment
// has come, writes down deadlines that have passed, and tells clients. Runs
// that change on this host are driven without it, but nothing that waits is.
func (e *Engine) Serve(ctx context.Context) {
	e.loop.mu.Lock()
	e.loop.serving = true
	e.loop.mu.Unlock()
	e.nudge(e.now())
	e.begun.Do(func() { close(e.serving) })
	<-ctx.Done()
	e.loop.mu.Lock()
	defer e.loop.mu.Unlock()
	e.loop.serving = false
	if e.loop.stop != nil {
		e.loop.stop()
		e.loop.stop = nil
	}
}

// Serving is closed once Serve has begun.
func (e *Engine) Serving() <-chan struct{} { return e.serving }

// Close lets the runs that are driven here come to their next wait, or to the
// end of ctx if that is sooner, and hands over what is left. The engine
// starts nothing after it.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closing = true
	e.mu.Unlock()
	stop := context.AfterFunc(ctx, func() {
		e.halt()
		e.mu.Lock()
		defer e.mu.Unlock()
		e.idle.Broadcast()
	})
	defer stop()
	e.mu.Lock()
	for (e.running > 0 || e.announcing > 0 || e.rounds > 0) && ctx.Err() == nil {
		e.idle.Wait()
	}
	left := e.cut
	for ref := range e.jobs {
		left = append(left, ref)
	}
	e.mu.Unlock()
	e.halt()
	if len(left) == 0 {
		return nil
	}
	return e.ports.Queue.Renew(context.WithoutCancel(ctx), left, e.now())
}

// nudge has the loop turn at a moment, unless it does so sooner anyway.
func (e *Engine) nudge(at time.Time) {
	l := &e.loop
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.serving || at.IsZero() || (!l.at.IsZero() && !at.Before(l.at)) {
		return
	}
	if l.stop != nil {
		l.stop()
	}
	l.at = at
	l.stop = e.ports.Clock.AfterFunc(at.Sub(e.ports.Clock.Now()), e.turn)
}

// turn does one round, and another for as long as it was nudged meanwhile.
func (e *Engine) turn() {
	l := &e.loop
	l.mu.Lock()
	l.at, l.stop = time.Time{}, nil
	if !l.serving || l.turning {
		l.again = l.turning
		l.mu.Unlock()
		return
	}
	l.turning = true
	l.mu.Unlock()
	for {
		next := e.round()
		l.mu.Lock()
		again := l.again && l.serving
		l.again = false
		if !again {
			l.turning = false
			l.mu.Unlock()
			e.nudge(next)
			return
		}
		l.mu.Unlock()
	}
}

// round does all that is due, and tells when there is more.
func (e *Engine) round() (next time.Time) {
	e.mu.Lock()
	e.rounds++
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.rounds--
		e.idle.Broadcast()
	}()
	ctx, now := e.base, e.now()
	sooner := func(at time.Time) {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	trouble := func(what string, err error) {
		if err != nil && !errors.Is(err, context.Canceled) {
			e.log.Error("the queue cannot be served", "do", what, "error", err)
			sooner(now.Add(troubleWait))
		}
	}
	at, err := e.takeWork(ctx, now)
	trouble("take", err)
	sooner(at)
	if e.opt.Poll == 0 {
		at, err = e.sweep(ctx, now)
		trouble("sweep", err)
		sooner(at)
	} else if e.opt.Workers >= 0 {
		sooner(now.Add(e.opt.Poll))
	}
	at, err = e.keepLeases(ctx, now)
	trouble("renew", err)
	sooner(at)
	return next
}

func (e *Engine) takeWork(ctx context.Context, now time.Time) (next time.Time, err error) {
	e.mu.Lock()
	room := e.room()
	e.starving = room <= 0
	e.mu.Unlock()
	if room <= 0 {
		return time.Time{}, nil
	}
	work, next, err := e.ports.Queue.Take(ctx, now, e.opt.Lease, room)
	if err != nil {
		return time.Time{}, err
	}
	var ours []verification.RunRef
	for _, w := range work {
		switch w.Kind {
		case verification.WorkAdvance:
			if !e.taken(w) {
				ours = append(ours, w.RunRef)
			}
		case verification.WorkAnnounce:
			e.announce(w)
		}
	}
	if len(work) == room {
		next = now
	}
	if len(ours) > 0 {
		err = e.ports.Queue.Renew(ctx, ours, now.Add(e.opt.Lease))
	}
	return next, err
}

// Wake has the queue asked now, because another host may have left something
// in it. It tells whether this host has room for work.
func (e *Engine) Wake() bool {
	e.mu.Lock()
	room := e.room() > 0
	e.mu.Unlock()
	if room {
		e.nudge(e.now())
	}
	return room
}

// Sweep writes down the deadlines that have passed and tells the clients. It
// is for hosts that share a store, see Options.Poll; one at a time is enough.
func (e *Engine) Sweep(ctx context.Context) error {
	_, err := e.sweep(ctx, e.now())
	return err
}

// sweep writes down the deadlines that have passed. A run that cannot be
// written down holds up no other.
func (e *Engine) sweep(ctx context.Context, now time.Time) (next time.Time, err error) {
	for ctx.Err() == nil {
		overdue, next, err := e.ports.Runs.Overdue(ctx, now, sweepMost)
		if err != nil {
			return time.Time{}, err
		}
		var failures []error
		for _, ref := range overdue {
			if _, err := e.command(ctx, ref, verification.Expire{}); err != nil {
				failures = append(failures, fmt.Errorf("expire run %s: %w", ref.Run, err))
			}
		}
		if len(overdue) < sweepMost || len(failures) > 0 {
			return next, errors.Join(failures...)
		}
	}
	return time.Time{}, ctx.Err()
}

// keepLeases renews the leases of runs whose providers take long to answer.
func (e *Engine) keepLeases(ctx context.Context, now time.Time) (next time.Time, err error) {
	every := e.opt.Lease / renewals
	e.mu.Lock()
	jobs := make([]*job, 0, len(e.jobs))
	for _, j := range e.jobs {
		jobs = append(jobs, j)
	}
	e.mu.Unlock()
	if len(jobs) == 0 {
		return time.Time{}, nil
	}
	var held []verification.RunRef
	for _, j := range jobs {
		if !j.saving.TryLock() {
			continue // it is renewing its lease by itself
		}
		defer j.saving.Unlock()
		if since := j.leased.Load(); since != 0 && now.UnixNano()-since >= int64(every) {
			held = append(held, j.ref)
			j.leased.Store(now.UnixNano())
		}
	}
	if len(held) > 0 {
		err = e.ports.Queue.Renew(ctx, held, now.Add(e.opt.Lease))
	}
	return now.Add(every), err
}
