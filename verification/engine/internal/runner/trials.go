// Trials: a run whose hosts died twice is driven alone on its host, which shows whether it stops hosts.

package runner

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// The limits of trials. See docs/decisions/0076-a-run-is-blamed-only-alone.md.
const (
	suspectLost = 2 // leases that a run loses in a row before it is tried
	// MaxAlone is the number of trials after which the run is ended, if its host died in each.
	MaxAlone = 2
	// windowShare divides a lease into the window of the first trial: how long the run may wait
	// for its provider before the trial ends. It doubles with each further lost lease, at most
	// maxDoubled times.
	windowShare = 200
	maxDoubled  = 6
	// quietWindows is how many windows a host has run for before it tries a run, once for
	// certain and once more at random. Before the second trial of a run, which may end it, it is
	// againQuiet times as many, but no more than for the longest window.
	quietWindows = 60
	againQuiet   = 8
)

// trials has the run that is driven alone on this host. The lock of the runner guards what
// follows the gate.
type trials struct {
	job    atomic.Pointer[Job] // that is tried; nil between trials
	ending bool                // the last one is over, and its gate is not open yet
	gate   gate                // entered by each run that is driven
	begun  time.Time           // when this host began to take work
	factor float64             // of the time for which this host must have run quietly: 1 to 2
	began  time.Time           // of the trial
	next   time.Time           // of the next one
	stop   func() bool         // stops the timer that ends the trial
}

// window returns how long a run that has lost so many leases is driven alone while it waits for
// its provider.
func (r *Runner) window(lost int) time.Duration {
	return r.cfg.Lease / windowShare << min(max(0, lost-suspectLost), maxDoubled)
}

// isSuspect reports whether a run may only be driven alone.
func isSuspect(w store.Work) bool { return w.Lost >= suspectLost && w.Alone < MaxAlone }

// earliestLocked returns when this host may begin the trial of a run; quiet reports whether the
// host has run for long enough by now.
func (r *Runner) earliestLocked(w store.Work) (at time.Time, quiet bool) {
	calm := r.window(w.Lost)
	if w.Alone > 0 {
		calm = min(calm*againQuiet, r.window(suspectLost+maxDoubled))
	}
	at = r.trials.begun.Add(time.Duration(r.trials.factor * float64(quietWindows*calm)))
	quiet = !at.After(r.now())
	if at.Before(r.trials.next) {
		at = r.trials.next
	}
	at = at.Truncate(time.Microsecond) // as the store keeps it
	if now := r.now(); (r.trials.job.Load() != nil || r.trials.ending) && !at.After(now) {
		at = now.Add(r.window(w.Lost)).Truncate(time.Microsecond)
	}
	return at, quiet
}

// suspect begins the trial of one of the runs that were taken, if this host may begin one, and
// releases all others until it may.
func (r *Runner) suspect(ctx context.Context, work []store.Work) (err error) {
	now, waits := r.now(), 0
	for n, w := range work {
		r.mu.Lock()
		at, quiet := r.earliestLocked(w)
		try := !at.After(now) && !r.closing
		if try {
			r.tryLocked(w)
		}
		r.mu.Unlock()
		if try {
			continue
		}
		if !quiet { // other suspects wait only for their turn
			waits++
		}
		at = at.Add(time.Duration(n) * r.window(w.Lost)) // one after the other
		if failed := r.cfg.Queue.Release(ctx, []store.Work{w}, at); failed != nil {
			err = failed
		}
		r.Nudge(at)
	}
	if waits > 0 {
		last := work[len(work)-1]
		r.cfg.Log.Warn("runs wait until this host drives each of them alone: their leases ended again and again before anything was saved",
			"runs", waits, "one_of_them", last.Run, "tenant", last.Tenant, "lost_leases", last.Lost)
	}
	return err
}

// tryLocked drives a run alone, in a goroutine.
func (r *Runner) tryLocked(w store.Work) {
	j := r.addLocked(w.RunRef, &w)
	r.trials.job.Store(j)
	r.trials.began = r.now()
	r.activateLocked(j, func(j *Job) {
		j.LeaseEnded() // the loop would renew it as if the run were driven beside others
		r.trials.gate.enterAlone()
		if err := r.cfg.Queue.Renew(r.base, []verification.RunRef{w.RunRef}, r.now().Add(r.cfg.Lease), true); err != nil {
			r.cfg.Log.Error("run not driven alone: the trial cannot be saved", "run", w.Run, "tenant", w.Tenant, "error", err)
			r.Driven(j, false)
			return
		}
		r.cfg.Log.Warn("run is driven alone: its leases ended again and again before anything was saved",
			"run", w.Run, "tenant", w.Tenant, "lost_leases", w.Lost, "trial", w.Alone+1)
		r.cfg.Tried()
		r.endTrialIn(j, r.cfg.Lease*3/4)
		r.cfg.Handler.Drive(j)
	})
}

// Enter waits until no other run is driven alone. The run is driven until leave is called, which
// must follow.
func (r *Runner) Enter(j *Job) (leave func()) {
	if r.Tries(j) {
		return func() {}
	}
	r.trials.gate.enter()
	return r.trials.gate.leave
}

// Tries reports whether a run is driven alone now. Such a run waits for no slot for its work:
// the runs that have the slots wait until its trial ends.
func (r *Runner) Tries(j *Job) bool { return j != nil && r.trials.job.Load() == j }

// Calling waits until no other run is driven alone, before a provider is called. The trial of a
// run ends when the run has waited for its provider for some time.
func (r *Runner) Calling(j *Job) {
	if r.Tries(j) {
		r.endTrialIn(j, r.window(j.Work.Lost))
		return
	}
	r.Enter(j)()
}

// endTrialIn ends the trial of a run after some time, unless it ends before.
func (r *Runner) endTrialIn(j *Job, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.Tries(j) {
		return
	}
	if r.trials.stop != nil {
		r.trials.stop()
	}
	r.trials.stop = r.cfg.Clock.AfterFunc(d, func() { r.EndTrial(j) })
}

// EndTrial ends the trial of a run if it is under way: the host has survived it. The lease of the run
// begins again, unless the run was saved meanwhile.
func (r *Runner) EndTrial(j *Job) {
	r.mu.Lock()
	if !r.trials.job.CompareAndSwap(j, nil) {
		r.mu.Unlock()
		return
	}
	now := r.now()
	if r.trials.stop != nil {
		r.trials.stop()
	}
	r.trials.stop, r.trials.next = nil, now.Add(now.Sub(r.trials.began))
	r.trials.ending = true
	r.mu.Unlock()
	defer func() {
		r.trials.gate.leaveAlone()
		r.mu.Lock()
		r.trials.ending = false
		r.mu.Unlock()
	}()
	err := j.survived(func() error {
		j.LeaseBegan(now)
		return r.cfg.Queue.Renew(r.base, []verification.RunRef{j.Ref}, now.Add(r.cfg.Lease), false)
	})
	if err != nil && r.base.Err() == nil {
		r.cfg.Log.Error("the end of a trial cannot be saved", "run", j.Ref.Run, "tenant", j.Ref.Tenant, "error", err)
	}
}
