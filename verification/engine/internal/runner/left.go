// Left runs: those that this host does not take from the queue for some time.

package runner

import (
	"time"

	"github.com/verifyd/verifyd/verification"
)

// maxLeftRuns bounds the runs that this host remembers.
const maxLeftRuns = 1000

// leftRuns has the times until which this host takes runs no more from the queue. The lock
// of the runner guards it.
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

// Leave makes this host not take a run from the queue until a time. It reports whether
// there was room for the run.
func (r *Runner) Leave(ref verification.RunRef, until time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.left.add(ref, until) {
		return false
	}
	r.Nudge(until)
	return true
}

// LeaveNoMore makes this host take a run from the queue again.
func (r *Runner) LeaveNoMore(ref verification.RunRef) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.left, ref)
}

// Leaves reports whether this host does not take a run from the queue at a time.
func (r *Runner) Leaves(ref verification.RunRef, now time.Time) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.left[ref].After(now)
}
