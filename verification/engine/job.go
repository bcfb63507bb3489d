// Jobs: the runs that this host drives, or is about to.

package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// The leases that a run may lose in a row, each without an append.
const (
	// maxLost is when the run is ended: it is taken to be the cause.
	maxLost = 5
	// maxLostEnding is when even ending it is given up for a while.
	maxLostEnding = 2 * maxLost
	setAside      = time.Hour
)

// job is a run that is driven on this host, or reserved to be. The runner's lock
// guards it, but for run, program and work, which belong to the goroutine that
// drives it.
type job struct {
	ref     verification.RunRef
	run     verification.Run // without history when it is to be read first
	program verification.Program
	work    *verification.Work // what the queue handed out, until the first append

	active bool // it has its goroutine
	queued bool // it waits for a call
	again  bool // the run changed while it was driven
	left   bool // it is to be handed over
	ctx    context.Context
	cancel context.CancelFunc
	held   int // how often the clock is held for it besides

	saving sync.Mutex   // held while it saves, and while its lease is renewed
	leased atomic.Int64 // the start of its lease, in Unix nanoseconds; 0 for none
}

// reserve keeps capacity for a run that is about to need driving; nil when this
// host has none. A run that has a job already shares it.
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
	return r.add(&job{ref: ref})
}

// add makes a job known; the caller holds the lock.
func (r *runner) add(j *job) *job {
	r.jobs[j.ref] = j
	r.advances.add(j.ref.Tenant)
	return j
}

// drop forgets a job; the caller holds the lock.
func (r *runner) drop(j *job) {
	delete(r.jobs, j.ref)
	r.removed(&r.advances, j.ref.Tenant)
}

// cancelReservation frees capacity that was reserved and not needed.
func (r *runner) cancelReservation(j *job) {
	if j == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case j.active || r.jobs[j.ref] != j:
	case j.again && !r.closing: // the queue has handed it out meanwhile
		j.again = false
		r.activate(j)
	default:
		r.drop(j)
	}
}

// submit has a run driven that was reserved, or has the goroutine that drives it
// look at it once more.
func (r *runner) submit(j *job, run verification.Run, program verification.Program) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.jobs[j.ref] != j { // it was dropped meanwhile
		if there := r.jobs[j.ref]; there != nil {
			j = there
		} else {
			j = r.add(&job{ref: j.ref})
		}
	}
	if j.active {
		j.again = true
		return
	}
	if run.Size() <= maxCachedRun { // a larger one is read again when it is its turn
		j.run, j.program = run, program
	}
	r.activate(j)
}

// activate starts the goroutine of a job; the caller holds the lock.
func (r *runner) activate(j *job) {
	j.active = true
	j.leased.Store(r.e.ports.Clock.Now().UnixNano())
	j.ctx, j.cancel = context.WithCancel(r.base)
	r.begin()
	go func() {
		for again := true; again; again = r.driven(j) {
			r.drive(j)
		}
	}()
}

// driven ends one pass over a run. It reports whether the run changed meanwhile
// and needs another one; otherwise the job is over.
func (r *runner) driven(j *job) (again bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ; j.held > 0; j.held-- {
		r.clock.Leave()
	}
	j.cancel()
	if j.again && !j.left && r.base.Err() == nil {
		j.again, j.run = false, verification.Run{}
		j.ctx, j.cancel = context.WithCancel(r.base)
		return true
	}
	if j.left || r.base.Err() != nil {
		r.handover = append(r.handover, j.ref)
	}
	r.drop(j)
	r.end()
	return false
}

// interrupt ends the call that is under way for a run that has ended.
func (r *runner) interrupt(ref verification.RunRef) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if j := r.jobs[ref]; j != nil && j.active && j.ctx.Err() == nil {
		r.clock.Enter()
		j.held++
		j.again = true
		j.cancel()
	}
}

// accept has the runs driven that the queue handed out. One that has a job is
// driven already: its lease is renewed, and it is looked at once more.
func (r *runner) accept(ctx context.Context, work []verification.Work) error {
	var ours []verification.RunRef
	var aside []verification.Work
	r.mu.Lock()
	for _, w := range work {
		switch j := r.jobs[w.RunRef]; {
		case j != nil:
			j.again = true
			ours = append(ours, w.RunRef)
		case w.Lost >= maxLostEnding:
			aside = append(aside, w)
		default:
			r.activate(r.add(&job{ref: w.RunRef, work: &w}))
		}
	}
	r.mu.Unlock()
	now := r.e.now()
	for _, w := range aside {
		r.e.log.Error("run set aside: no host could drive or end it", "run", w.Run, "tenant", w.Tenant, "lost_leases", w.Lost)
	}
	if len(aside) > 0 {
		if err := r.e.ports.Queue.Release(ctx, aside, now.Add(setAside)); err != nil {
			return err
		}
	}
	if len(ours) == 0 {
		return nil
	}
	return r.e.ports.Queue.Renew(ctx, ours, now.Add(r.e.opt.Lease))
}
