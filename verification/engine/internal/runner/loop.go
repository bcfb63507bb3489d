// The loop takes due work from the queue and renews leases.

package runner

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// The limits of the loop.
const (
	renewals   = 3           // a lease is renewed after a third of its time
	retryAfter = time.Second // the wait after a failure of the store
)

// timer begins a round when the earliest work is due.
type timer struct {
	clock verification.Clock
	round func() (next time.Time)

	mu      sync.Mutex
	serving bool
	running bool
	pending bool      // the timer fired while a round was running
	at      time.Time // when the timer fires; zero when it is not set
	stop    func() bool
}

func (l *timer) isServing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.serving
}

// start lets rounds begin. Before, nudge has no effect.
func (l *timer) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serving = true
}

// end begins no more rounds.
func (l *timer) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serving = false
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
}

// nudge makes a round begin at a time, unless one begins sooner.
func (l *timer) nudge(at time.Time) {
	if at.IsZero() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.serving || (!l.at.IsZero() && !at.Before(l.at)) {
		return
	}
	if l.stop != nil {
		l.stop()
	}
	l.at = at
	l.stop = l.clock.AfterFunc(at.Sub(l.clock.Now()), l.runRounds)
}

// runRounds runs a round, and another one whenever the timer fired during it.
func (l *timer) runRounds() {
	l.mu.Lock()
	l.at, l.stop = time.Time{}, nil
	if !l.serving || l.running {
		l.pending = l.running
		l.mu.Unlock()
		return
	}
	l.running = true
	l.mu.Unlock()
	for more := true; more; {
		next := l.round()
		l.mu.Lock()
		more = l.pending && l.serving
		l.pending, l.running = false, more
		l.mu.Unlock()
		l.nudge(next)
	}
}

// Serve carries out work until ctx ends. It calls begun once it takes work.
func (r *Runner) Serve(ctx context.Context, begun func()) {
	r.mu.Lock()
	r.trials.begun = r.now()
	r.mu.Unlock()
	r.timer.start()
	r.Nudge(r.now())
	begun()
	<-ctx.Done()
	r.timer.end()
}

// Nudge makes the queue be queried at a time, unless it is sooner. A zero time has no effect.
func (r *Runner) Nudge(at time.Time) {
	if r != nil {
		r.timer.nudge(at)
	}
}

// round does what is due, and returns the time of the next round.
func (r *Runner) round() (next time.Time) {
	r.mu.Lock()
	r.rounds++
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.rounds--
		r.idle.Broadcast()
	}()
	ctx, now := r.base, r.now()
	do := func(what string, f func() (time.Time, error)) {
		at, err := f()
		if err != nil && !errors.Is(err, context.Canceled) {
			r.cfg.Log.Error("the queue cannot be served", "step", what, "error", err)
			at = now.Add(retryAfter)
		}
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	do("take runs", func() (time.Time, error) { return r.take(ctx, &r.advances, now) })
	do("take notices", func() (time.Time, error) { return r.take(ctx, &r.notices, now) })
	do("take expiries", func() (time.Time, error) { return r.take(ctx, &r.expiries, now) })
	do("take rechecks", func() (time.Time, error) { return r.take(ctx, &r.rechecks, now) })
	do("take erasures", func() (time.Time, error) { return r.lazily(ctx, &r.erasures, now) })
	if r.cfg.QueueInterval != 0 {
		do("poll", func() (time.Time, error) { return now.Add(r.cfg.QueueInterval), nil })
	}
	do("screen runs again", func() (time.Time, error) { return r.rescreen(now), nil })
	do("renew leases", func() (time.Time, error) { return r.renewLeases(ctx, now) })
	return next
}
