// The loop takes due work from the queue and renews leases.

package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// The limits of the loop.
const (
	renewals   = 3           // a lease is renewed after a third of its time
	retryAfter = time.Second // the wait after a failure of the store
)

// loop is a timer that begins a round when the earliest work is due.
type loop struct {
	mu      sync.Mutex
	serving bool
	running bool
	pending bool      // the timer fired while a round was running
	at      time.Time // when the timer fires; zero when it is not set
	stop    func() bool
}

func (l *loop) isServing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.serving
}

// serve runs the loop until ctx ends.
func (r *runner) serve(ctx context.Context) {
	l := &r.loop
	l.mu.Lock()
	l.serving = true
	l.mu.Unlock()
	r.nudge(r.e.now())
	r.e.begun()
	<-ctx.Done()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serving = false
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
}

// nudge makes a round begin at a time, unless one begins sooner.
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
	l.stop = r.e.ports.Clock.AfterFunc(at.Sub(r.e.ports.Clock.Now()), r.runRounds)
}

// runRounds runs a round, and another one whenever the timer fired during it.
func (r *runner) runRounds() {
	l := &r.loop
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
		next := r.round()
		l.mu.Lock()
		more = l.pending && l.serving
		l.pending, l.running = false, more
		l.mu.Unlock()
		r.nudge(next)
	}
}

// round does what is due, and returns the time of the next round.
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
			r.e.log.Error("the queue cannot be served", "step", what, "error", err)
			at = now.Add(retryAfter)
		}
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	do("take runs", func() (time.Time, error) { return r.take(ctx, &r.advances, now) })
	do("take notices", func() (time.Time, error) { return r.take(ctx, &r.notices, now) })
	do("take expiries", func() (time.Time, error) { return r.take(ctx, &r.expiries, now) })
	if r.e.opt.QueueInterval != 0 {
		do("poll", func() (time.Time, error) { return now.Add(r.e.opt.QueueInterval), nil })
	}
	do("screen runs again", func() (time.Time, error) { return r.rescreen(now), nil })
	do("renew leases", func() (time.Time, error) { return r.renewLeases(ctx, now) })
	return next
}

// renewLeases renews the leases of the runs that are driven here, and returns the time to
// do so again.
func (r *runner) renewLeases(ctx context.Context, now time.Time) (next time.Time, err error) {
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
		err = r.e.ports.Store.Renew(ctx, held, now.Add(r.e.opt.Lease))
	}
	return now.Add(every), err
}

// The limits of taking work.
const (
	maxTaken       = 256 // pieces in one call of the queue
	maxTenantTaken = 64  // of one tenant
	// fullWait is the wait before the queue is called again when it has more due work
	// than this host has capacity for.
	fullWait = 50 * time.Millisecond
)

// intake counts the work of one kind that this host has taken, in all and for each
// tenant. The runner's lock guards it.
type intake struct {
	kind           store.WorkKind
	max, perTenant int

	total   int
	tenants map[verification.TenantID]int
	last    verification.TenantID // of the last piece taken
	limited bool                  // the queue may hold due work that did not fit
}

func newIntake(kind store.WorkKind, max, perTenant int) intake {
	return intake{kind: kind, max: max, perTenant: perTenant, tenants: map[verification.TenantID]int{}}
}

// accepts reports whether there is capacity for one more piece of a tenant.
func (i *intake) accepts(t verification.TenantID) bool {
	return i.total < i.max && i.tenants[t] < i.perTenant
}

func (i *intake) add(t verification.TenantID) {
	i.total++
	i.tenants[t]++
}

func (i *intake) remove(t verification.TenantID) {
	i.total--
	if i.tenants[t]--; i.tenants[t] == 0 {
		delete(i.tenants, t)
	}
}

// next returns the time to take from the queue again after a piece of a tenant was removed, or zero
// when that is not needed.
func (i *intake) next(t verification.TenantID, now time.Time) time.Time {
	switch {
	case !i.limited:
		return time.Time{}
	case i.total <= i.max/2 && i.tenants[t] <= i.perTenant/2:
		return now
	}
	return now.Add(fullWait)
}

// request returns the next request to the queue; ok is false when there is no
// capacity. A tenant that holds less than its share may get as much again.
func (i *intake) request(now time.Time, lease time.Duration) (req store.TakeRequest, ok bool) {
	req = store.TakeRequest{
		Kind: i.kind, Now: now, Lease: lease, After: i.last,
		Max: min(maxTaken, i.max-i.total), MaxPerTenant: min(maxTenantTaken, i.perTenant),
	}
	for t, n := range i.tenants {
		if n >= i.perTenant {
			req.Except = append(req.Except, t)
		}
	}
	i.limited = req.Max <= 0 || len(req.Except) > 0
	return req, req.Max > 0
}

// take leases due work of one kind and starts it. It returns the time to take from the queue
// again.
func (r *runner) take(ctx context.Context, i *intake, now time.Time) (next time.Time, err error) {
	r.mu.Lock()
	req, ok := i.request(now, r.e.opt.Lease)
	ok = ok && !r.closing
	if i.kind == store.WorkAdvance {
		req.ExceptRuns = r.left.current(now)
	}
	r.mu.Unlock()
	if !ok {
		return time.Time{}, nil
	}
	work, next, err := r.e.ports.Store.Take(ctx, req)
	if err != nil {
		return time.Time{}, err
	}
	if len(work) > 0 {
		r.mu.Lock()
		i.last = work[len(work)-1].Tenant
		r.mu.Unlock()
	} else if !next.IsZero() && !next.After(now) {
		next = now.Add(fullWait) // another host is taking it
	}
	switch i.kind {
	case store.WorkAnnounce:
		r.announce(work)
		return next, nil
	case store.WorkExpire:
		r.expire(work)
		return next, nil
	case store.WorkAdvance:
	}
	r.mu.Lock()
	if at := r.left.next(); next.IsZero() || !at.IsZero() && at.Before(next) {
		next = at
	}
	r.mu.Unlock()
	return next, r.accept(ctx, work)
}

// removed counts a piece as done, and schedules a round if the queue may hold more. The
// caller holds the lock.
func (r *runner) removed(i *intake, t verification.TenantID) {
	i.remove(t)
	r.nudge(i.next(t, r.e.now()))
}
