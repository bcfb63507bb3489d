// Runs whose next step this host cannot carry out: it leaves them to other hosts.

package engine

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// The limits of leaving runs to other hosts.
const (
	// A run is left for as long as it has waited, within these bounds, so that the waits
	// grow. Other hosts may take it at once.
	minLeft = 2 * time.Second
	maxLeft = time.Minute
	// maxLeftRuns bounds the runs that this host remembers. Further ones are due for every host
	// only after maxLeft.
	maxLeftRuns = 1000
)

// leftRuns has the times until which this host takes runs no more from the queue.
type leftRuns map[verification.RunRef]time.Time

// add reports whether there was room for the run.
func (l leftRuns) add(ref verification.RunRef, until time.Time) bool {
	if _, known := l[ref]; !known && len(l) >= maxLeftRuns {
		return false
	}
	l[ref] = until
	return true
}

// current returns the runs that are left at a time, and forgets all others.
func (l leftRuns) current(now time.Time) (runs []verification.RunRef) {
	for ref, until := range l {
		if until.After(now) {
			runs = append(runs, ref)
		} else {
			delete(l, ref)
		}
	}
	return runs
}

// next returns when the first of the runs is no longer left; zero for no run.
func (l leftRuns) next() (at time.Time) {
	for _, until := range l {
		if at.IsZero() || until.Before(at) {
			at = until
		}
	}
	return at
}

// lacks returns what this host lacks for the call of the provider of a wait, marked with
// verification.Lacking; nil if it has the provider.
func (e *Engine) lacks(t verification.TenantID, w verification.Wait) error {
	if w.Kind != verification.WaitResult && w.Kind != verification.WaitPoll {
		return nil
	}
	p, _ := e.provider(t, w.Provider)
	if p == nil {
		return verification.Lacking(fmt.Errorf("there is no provider %q", w.Provider))
	}
	if _, ok := p.(verification.Poller); !ok && w.Kind == verification.WaitPoll {
		return verification.Lacking(fmt.Errorf("the provider %q cannot be polled", w.Provider))
	}
	return nil
}

// leftAt returns since when hosts have left the run to others: since now if this host is the
// first. The queue keeps the time.
func (j *job) leftAt(now time.Time) time.Time {
	if j.work != nil && !j.work.LeftAt.IsZero() {
		return j.work.LeftAt
	}
	return now
}

// leaves reports whether a run whose next step this host cannot carry out still waits for
// another host.
func (r *runner) leaves(j *job) bool {
	now := r.e.now()
	return now.Sub(j.leftAt(now)) < r.e.opt.ProviderWait
}

// leaveNext reports whether this host lacks what the next step of a run needs. The run
// is about to be saved without a lease: this host does not take it before other hosts
// could.
func (r *runner) leaveNext(ref verification.RunRef, after verification.Run) bool {
	if r == nil {
		return false
	}
	now := r.e.now()
	lacking := r.e.lacks(ref.Tenant, after.Wait)
	r.mu.Lock()
	defer r.mu.Unlock()
	if lacking == nil || !drivable(after.Task(now)) || r.e.opt.ProviderWait == 0 {
		delete(r.left, ref)
		return false
	}
	if r.left.add(ref, now.Add(minLeft)) {
		r.nudge(now.Add(minLeft))
	}
	r.reportLeft(ref, after.Wait, lacking, now)
	return true
}

// leave returns a run to the queue for other hosts, because of an error that
// verification.Lacking has marked.
func (r *runner) leave(j *job, lacking error) {
	if j.work == nil && j.leased.Load() == 0 {
		return // it was saved without a lease
	}
	now := r.e.now()
	w := store.Work{Kind: store.WorkAdvance, RunRef: j.ref}
	if j.work != nil {
		w = *j.work
	}
	w.LeftAt = j.leftAt(now)
	due, until := now, now.Add(min(max(now.Sub(w.LeftAt), minLeft), maxLeft))
	if end := w.LeftAt.Add(r.e.opt.ProviderWait); end.After(now) && end.Before(until) {
		until = end
	}
	r.mu.Lock()
	if r.left.add(j.ref, until) {
		r.nudge(until)
	} else {
		due = now.Add(maxLeft)
	}
	r.mu.Unlock()
	j.work = nil
	j.leased.Store(0) // a renewal would keep the run from other hosts
	if err := r.e.ports.Store.Release(r.base, []store.Work{w}, due); err != nil {
		r.e.log.Error("run not left to other hosts", "run", j.ref.Run, "tenant", j.ref.Tenant, "error", err)
	}
	r.reportLeft(j.ref, j.run.Wait, lacking, w.LeftAt)
}

// reportLeft counts and logs that this host leaves a run to other hosts.
func (r *runner) reportLeft(ref verification.RunRef, w verification.Wait, lacking error, since time.Time) {
	r.e.opt.Observer.RunLeft()
	r.e.lines.write(slog.LevelError, "run left to other hosts: this host lacks what its next step needs", "", lacking.Error(),
		"run", ref.Run, "tenant", ref.Tenant, "node", w.Node, "cause", lacking, "since", since, "at_most", r.e.opt.ProviderWait)
}

// Leaves reports whether this host leaves a run to other hosts, because it lacks what the
// next step needs. A wake-up for the run is of no use here.
func (e *Engine) Leaves(ref verification.RunRef) bool {
	if e.runner == nil {
		return false
	}
	r := e.runner
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.left[ref].After(e.now())
}
