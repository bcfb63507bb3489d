// Short work: the pieces that were taken from the queue, each in its own goroutine.

package runner

import "github.com/verifyd/verifyd/verification/store"

// do carries out short work. If that fails, it is repeated when the lease of the work ends.
func (r *Runner) do(i *intake, work []store.Work, failure string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range work {
		i.add(w.Tenant)
		r.beginLocked()
		go func() {
			if err := r.cfg.Handler.Do(r.base, w); err != nil && r.base.Err() == nil {
				r.cfg.Log.Error(failure, "run", w.Run, "tenant", w.Tenant, "error", err)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.removedLocked(i, w.Tenant)
			r.endLocked()
		}()
	}
}
