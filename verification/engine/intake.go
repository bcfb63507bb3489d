// Intake: how much queued work this host takes, in all and for each tenant.

package engine

import (
	"context"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// The measures of taking work.
const (
	maxTaken       = 256 // pieces in one call of the queue
	maxTenantTaken = 64  // of one tenant
	// againAfter is the wait before the queue is called again when there is more
	// work than this host has capacity for.
	againAfter = 50 * time.Millisecond
)

// intake counts the work of one kind that this host has on its hands. The
// runner's lock guards it.
type intake struct {
	kind           verification.WorkKind
	max, perTenant int

	total   int
	tenants map[verification.TenantID]int
	last    verification.TenantID // served last by the queue
	limited bool                  // the queue may hold due work that did not fit
}

func newIntake(kind verification.WorkKind, max, perTenant int) intake {
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

// again returns when to call the queue again after a piece of a tenant was
// removed; zero when there is no need.
func (i *intake) again(t verification.TenantID, now time.Time) time.Time {
	switch {
	case !i.limited:
		return time.Time{}
	case i.total <= i.max/2 && i.tenants[t] <= i.perTenant/2:
		return now
	}
	return now.Add(againAfter)
}

// request is what to ask of the queue, and false when there is no capacity.
func (i *intake) request(now time.Time, lease time.Duration) (verification.TakeRequest, bool) {
	req := verification.TakeRequest{
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

// take leases due work of one kind and hands it to the pool. It returns when to
// call the queue again.
func (r *runner) take(ctx context.Context, i *intake, now time.Time) (next time.Time, err error) {
	r.mu.Lock()
	req, ok := i.request(now, r.e.opt.Lease)
	ok = ok && !r.closing
	r.mu.Unlock()
	if !ok {
		return time.Time{}, nil
	}
	work, next, err := r.e.ports.Queue.Take(ctx, req)
	if err != nil {
		return time.Time{}, err
	}
	if len(work) > 0 {
		r.mu.Lock()
		i.last = work[len(work)-1].Tenant
		r.mu.Unlock()
	} else if !next.IsZero() && !next.After(now) {
		next = now.Add(againAfter) // another host is taking it
	}
	if i.kind == verification.WorkAnnounce {
		r.announce(work)
		return next, nil
	}
	return next, r.accept(ctx, work)
}

// removed counts a piece as done, and has the queue called for the next one.
// The caller holds the lock.
func (r *runner) removed(i *intake, t verification.TenantID) {
	i.remove(t)
	r.nudge(i.again(t, r.e.now()))
}
