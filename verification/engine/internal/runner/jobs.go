// Jobs: the runs that this host drives, or has reserved capacity for.

package runner

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// How many leases may end in a row without an append.
const (
	// MaxLost is the number after which short work and notices are given up: they probably stop
	// their hosts. Runs are tried instead, see trials.go.
	MaxLost = 5
	// maxLostEnding is the number after which ending a run that was tried is attempted only once in
	// each endingLease: that seems to stop hosts, too.
	maxLostEnding = 2 * MaxLost
	endingLease   = time.Hour
)

// Job is a run that is driven on this host, or will be.
type Job struct {
	// Ref identifies the run. Work is what was taken from the queue; nil if the run was
	// submitted. Neither changes.
	Ref  verification.RunRef
	Work *store.Work
	lease

	// The lock of the runner guards these; the goroutine that drives the run also reads ctx
	// without it.
	active      bool // it has its goroutine
	queued      bool // it waits for a call slot
	changed     bool // the run changed while it was driven
	ctx         context.Context
	cancel      context.CancelFunc
	interrupted *Entry      // of the interruption of this pass; nil for none
	woken       chan *Entry // see Woken; nil until it is needed
}

// Context returns the context of provider calls of this pass, for the goroutine that
// drives the run. It ends when the run ends.
func (j *Job) Context() context.Context { return j.ctx }

// Reserve reserves capacity for a run that is about to be driven, and returns nil
// when this host has none. A run that has a job already shares it.
func (r *Runner) Reserve(ref verification.RunRef) *Job {
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
	return r.addLocked(ref, nil)
}

// addLocked adds a job.
func (r *Runner) addLocked(ref verification.RunRef, w *store.Work) *Job {
	j := &Job{Ref: ref, Work: w, lease: lease{every: r.cfg.Lease / renewals}}
	r.jobs[ref] = j
	r.advances.add(ref.Tenant)
	return j
}

// dropLocked removes a job.
func (r *Runner) dropLocked(j *Job) {
	delete(r.jobs, j.Ref)
	r.removedLocked(&r.advances, j.Ref.Tenant)
}

// CancelReservation frees reserved capacity that is not needed.
func (r *Runner) CancelReservation(j *Job) {
	if j == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case j.active || r.jobs[j.Ref] != j:
	case j.changed && !r.closing: // it was taken from the queue since
		j.changed = false
		r.activateLocked(j, r.cfg.Handler.Drive)
	default:
		if j.changed {
			r.handover = append(r.handover, j.Ref)
		}
		r.dropLocked(j)
	}
}

// Submit calls drive in a goroutine for a run that capacity was reserved for. If the run is
// driven already, its goroutine makes another pass instead.
func (r *Runner) Submit(j *Job, drive func(*Job)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.jobs[j.Ref] != j { // it was dropped since
		if current := r.jobs[j.Ref]; current != nil {
			j = current
		} else {
			j = r.addLocked(j.Ref, nil)
		}
	}
	if j.active {
		j.changed = true
		return
	}
	r.activateLocked(j, drive)
}

// activateLocked starts the goroutine of a job, and has its lease renewed before it ends.
func (r *Runner) activateLocked(j *Job, drive func(*Job)) {
	j.active = true
	now := r.now()
	j.LeaseBegan(now)
	r.Nudge(now.Add(r.cfg.Lease / renewals))
	j.ctx, j.cancel = context.WithCancel(r.base)
	r.beginLocked()
	go drive(j)
}

// Driven ends one pass over a run; released says that another host will continue it. more
// reports whether the run changed during the pass and needs another one; otherwise the job
// is over.
func (r *Runner) Driven(j *Job, released bool) (more bool) {
	r.EndTrial(j)
	r.mu.Lock()
	defer r.mu.Unlock()
	j.interrupted.Leave()
	j.cancel()
	if j.changed && !released && r.base.Err() == nil {
		j.changed = false
		j.LeaseBegan(r.cfg.Clock.Now().Add(-r.cfg.Lease / renewals)) // the next append renews the lease
		j.ctx, j.cancel = context.WithCancel(r.base)
		return true
	}
	if released || r.base.Err() != nil {
		r.handover = append(r.handover, j.Ref)
	}
	r.dropLocked(j)
	r.endLocked()
	return false
}

// Interrupt cancels the provider call of a run that has ended.
func (r *Runner) Interrupt(ref verification.RunRef) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if j := r.jobs[ref]; j != nil && j.active && j.ctx.Err() == nil {
		j.interrupted = Enter(r.cfg.Activity)
		j.changed = true
		j.cancel()
	}
}

// Woken returns a channel of a job that waits for several calls: it has an entry after LookAgain.
func (r *Runner) Woken(j *Job) <-chan *Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	if j.woken == nil {
		j.woken = make(chan *Entry, 1)
	}
	return j.woken
}

// LookAgain has the goroutine that drives a run look at it again, if it waits for several calls.
func (r *Runner) LookAgain(ref verification.RunRef) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	j := r.jobs[ref]
	if j == nil || j.woken == nil || len(j.woken) > 0 { // only LookAgain sends, under the lock
		return
	}
	j.woken <- Enter(r.cfg.Activity)
}

// accept drives the runs that were taken from the queue. A run that has a job is
// driven already: its goroutine makes another pass. A suspect is tried, see suspect. The leases
// of runs that could not even be ended are extended first, so that the next attempt to end them comes
// later.
func (r *Runner) accept(ctx context.Context, work []store.Work) error {
	var extended []verification.RunRef
	var suspects, rest []store.Work
	for _, w := range work {
		switch {
		case w.Lost > 0 && r.has(w.RunRef):
			r.cfg.Log.Warn("the lease of a run ended while this host drives it: it was not renewed in time",
				"run", w.Run, "tenant", w.Tenant, "lost_leases", w.Lost)
		case isSuspect(w):
			suspects = append(suspects, w)
			continue
		case w.Lost > 0:
			r.cfg.Log.Warn("run taken over: its host stopped, or could not save it; a provider may be called twice for one dispatch",
				"run", w.Run, "tenant", w.Tenant, "lost_leases", w.Lost)
		}
		rest = append(rest, w)
		if w.Lost >= maxLostEnding && !isSuspect(w) {
			extended = append(extended, w.RunRef)
			r.cfg.Log.Error("run could not be driven or ended", "run", w.Run, "tenant", w.Tenant, "lost_leases", w.Lost)
		}
	}
	return errors.Join(r.suspect(ctx, suspects), r.driveAll(ctx, rest, extended))
}

// has reports whether a run has a job.
func (r *Runner) has(ref verification.RunRef) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.jobs[ref] != nil
}

// driveAll drives runs, after it has extended the leases of some of them.
func (r *Runner) driveAll(ctx context.Context, work []store.Work, extended []verification.RunRef) error {
	until := r.now().Add(endingLease)
	var err error
	if len(extended) > 0 {
		err = r.cfg.Queue.Renew(ctx, extended, until, true)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range work {
		j, late := r.jobs[w.RunRef], slices.Contains(extended, w.RunRef)
		switch {
		case j != nil:
			j.changed = true
			continue
		case err != nil && late:
			continue
		}
		j = r.addLocked(w.RunRef, &w)
		r.activateLocked(j, r.cfg.Handler.Drive)
		if late {
			j.LeaseBegan(until.Add(-r.cfg.Lease)) // a renewal would shorten the lease
		}
	}
	return err
}
