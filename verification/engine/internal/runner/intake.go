// Intake: how much work of each kind this host takes from the queue.

package runner

import (
	"context"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// The limits of taking work.
const (
	maxTaken       = 256 // pieces in one call of the queue
	maxTenantTaken = 64  // of one tenant
	// fullWait is the wait before the queue is called again when it has more due work
	// than this host has capacity for.
	fullWait = 50 * time.Millisecond
	// lazyInterval is the longest wait between two queries for work that is not urgent, on hosts that share a
	// store.
	lazyInterval = time.Minute
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

	lookAt time.Time // of lazily: when to take again
	idle   bool      // of lazily: there is no such time
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
func (r *Runner) take(ctx context.Context, i *intake, now time.Time) (next time.Time, err error) {
	r.mu.Lock()
	req, ok := i.request(now, r.cfg.Lease)
	ok = ok && !r.closing
	if i.kind == store.WorkAdvance {
		req.ExceptRuns = r.left.current(now)
	}
	r.mu.Unlock()
	if !ok {
		return time.Time{}, nil
	}
	work, next, err := r.cfg.Queue.Take(ctx, req)
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
		r.do(i, work, "expiry not recorded")
		return next, nil
	case store.WorkRecheck:
		r.do(i, work, "cleared hits not checked again")
		return next, nil
	case store.WorkErase:
		r.do(i, work, "documents not removed")
		return next, nil
	case store.WorkAdvance, store.WorkRescreen, store.WorkRetain: // the engine takes the last two itself
	}
	r.mu.Lock()
	if at := r.left.next(); next.IsZero() || !at.IsZero() && at.Before(next) {
		next = at
	}
	r.mu.Unlock()
	return next, r.accept(ctx, work)
}

// lazily takes work that is not urgent: when this host knows that some is due, and at most once in
// lazyInterval to find what other hosts queued. So a round without such work costs nothing.
func (r *Runner) lazily(ctx context.Context, i *intake, now time.Time) (next time.Time, err error) {
	r.mu.Lock()
	at, idle := i.lookAt, i.idle
	due := !idle && !now.Before(at)
	i.idle = idle || due // until Due says otherwise
	r.mu.Unlock()
	if idle {
		return time.Time{}, nil
	}
	if !due {
		return at, nil
	}
	next, err = r.take(ctx, i, now)
	later := now.Add(lazyInterval)
	switch {
	case err != nil:
		next = now.Add(retryAfter)
	case r.cfg.QueueInterval != 0 && (next.IsZero() || later.Before(next)):
		next = later
	}
	r.Due(i.kind, next)
	return next, err
}

// Due makes the queue be queried for work of a kind at a time, unless it is sooner. A zero time has no effect.
func (r *Runner) Due(k store.WorkKind, at time.Time) {
	if r == nil || at.IsZero() {
		return
	}
	r.mu.Lock()
	for _, i := range r.lazy() {
		if i.kind == k {
			i.look(at)
		}
	}
	r.mu.Unlock()
	r.Nudge(at)
}

// Wake makes the queue be queried now, because somebody else may have added work. Work that is not urgent
// waits for lazyInterval where that happens often.
func (r *Runner) Wake() {
	now := r.now()
	if r.cfg.QueueInterval == 0 {
		for _, i := range r.lazy() {
			r.Due(i.kind, now)
		}
	}
	r.Nudge(now)
}

// lazy returns the intakes of work that is not urgent.
func (r *Runner) lazy() []*intake { return []*intake{&r.erasures} }

// look makes lazily take work at a time, unless it does so sooner.
func (i *intake) look(at time.Time) {
	if i.idle || at.Before(i.lookAt) {
		i.idle, i.lookAt = false, at
	}
}

// removedLocked counts a piece as done, and schedules a round if the queue may hold more.
func (r *Runner) removedLocked(i *intake, t verification.TenantID) {
	i.remove(t)
	if at := i.next(t, r.now()); !at.IsZero() {
		i.look(at)
		r.Nudge(at)
	}
}
