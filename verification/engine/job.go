// Jobs: the runs that this host drives, or has reserved capacity for.

package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// How many leases of a run may end in a row without an append.
const (
	// maxLost is the number after which the run is ended: it probably stops its hosts.
	maxLost = 5
	// maxLostEnding is the number after which ending it is attempted only once in each
	// endingLease: that seems to stop hosts, too.
	maxLostEnding = 2 * maxLost
	endingLease   = time.Hour
)

// job is a run that is driven on this host, or will be. The runner's lock guards it,
// except session and work, which belong to the goroutine that drives it.
type job struct {
	session
	work *store.Work // taken from the queue, until the first append

	active   bool // it has its goroutine
	queued   bool // it waits for a call slot
	changed  bool // the run changed while it was driven
	released bool // to be handed over to another host
	ctx      context.Context
	cancel   context.CancelFunc
	entered  int // calls of Enter for interruptions

	saving sync.Mutex   // held while it saves, and while its lease is renewed
	leased atomic.Int64 // the start of its lease, in Unix nanoseconds; 0 for none
}

// reserve reserves capacity for a run that is about to be driven, and returns nil
// when this host has none. A run that has a job already shares it.
func (r *runner) reserve(ref verification.RunRef) *job {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if j := r.jobs[ref]; j != nil {
		return j
	}
	if r.closing || !r.advances.accepts(ref.Tenant) {
		return nil
	}
	return r.add(&job{session: session{ref: ref}})
}

// add adds a job. The caller holds the lock.
func (r *runner) add(j *job) *job {
	r.jobs[j.ref] = j
	r.advances.add(j.ref.Tenant)
	return j
}

// drop removes a job. The caller holds the lock.
func (r *runner) drop(j *job) {
	delete(r.jobs, j.ref)
	r.removed(&r.advances, j.ref.Tenant)
}

// cancelReservation frees reserved capacity that is not needed.
func (r *runner) cancelReservation(j *job) {
	if j == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case j.active || r.jobs[j.ref] != j:
	case j.changed && !r.closing: // it was taken from the queue since
		j.changed = false
		r.activate(j)
	default:
		if j.changed {
			r.handover = append(r.handover, j.ref)
		}
		r.drop(j)
	}
}

// submit starts to drive a run that capacity was reserved for. If it is driven
// already, its goroutine makes another pass.
func (r *runner) submit(j *job, run verification.Run, program verification.Program) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.jobs[j.ref] != j { // it was dropped since
		if current := r.jobs[j.ref]; current != nil {
			j = current
		} else {
			j = r.add(&job{session: session{ref: j.ref}})
		}
	}
	if j.active {
		j.changed = true
		return
	}
	if run.Size() <= maxCachedRun { // a larger one is read again when a worker is free
		j.run, j.program = run, program
	}
	r.activate(j)
}

// activate starts the goroutine of a job, and has its lease renewed before it ends. The
// caller holds the lock.
func (r *runner) activate(j *job) {
	j.active = true
	now := r.e.now()
	j.leased.Store(now.UnixNano())
	r.nudge(now.Add(r.e.opt.Lease / renewals))
	j.ctx, j.cancel = context.WithCancel(r.base)
	r.begin()
	go r.run(j, callResult{})
}

// driven ends one pass over a run. more reports whether the run changed during the
// pass and needs another one; otherwise the job is over.
func (r *runner) driven(j *job) (more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ; j.entered > 0; j.entered-- {
		r.clock.Leave()
	}
	j.cancel()
	if j.changed && !j.released && r.base.Err() == nil {
		j.changed, j.run = false, verification.Run{}
		j.leased.Store(r.e.ports.Clock.Now().Add(-r.e.opt.Lease / renewals).UnixNano()) // the next append renews the lease
		j.ctx, j.cancel = context.WithCancel(r.base)
		return true
	}
	if j.released || r.base.Err() != nil {
		r.handover = append(r.handover, j.ref)
	}
	r.drop(j)
	r.end()
	return false
}

// interrupt cancels the provider call of a run that has ended.
func (r *runner) interrupt(ref verification.RunRef) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if j := r.jobs[ref]; j != nil && j.active && j.ctx.Err() == nil {
		r.clock.Enter()
		j.entered++
		j.changed = true
		j.cancel()
	}
}

// accept drives the runs that were taken from the queue. A run that has a job is
// driven already: its goroutine makes another pass. The leases of runs that could not even
// be ended are extended first, so that the next attempt to end them comes later.
func (r *runner) accept(ctx context.Context, work []store.Work) error {
	var extended []verification.RunRef
	for _, w := range work {
		if w.Lost > 0 {
			r.e.log.Warn("run taken over from a host that stopped; a provider may be called twice for one dispatch",
				"run", w.Run, "tenant", w.Tenant, "lost_leases", w.Lost)
		}
		if w.Lost >= maxLostEnding {
			extended = append(extended, w.RunRef)
			r.e.log.Error("run could not be driven or ended", "run", w.Run, "tenant", w.Tenant, "lost_leases", w.Lost)
		}
	}
	until := r.e.now().Add(endingLease)
	var err error
	if len(extended) > 0 {
		err = r.e.ports.Store.Renew(ctx, extended, until)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range work {
		j := r.jobs[w.RunRef]
		switch {
		case j != nil:
			j.changed = true
			continue
		case err != nil && w.Lost >= maxLostEnding:
			continue
		}
		j = r.add(&job{session: session{ref: w.RunRef}, work: &w})
		r.activate(j)
		if w.Lost >= maxLostEnding {
			j.leased.Store(until.Add(-r.e.opt.Lease).UnixNano()) // a renewal would shorten the lease
		}
	}
	return err
}
