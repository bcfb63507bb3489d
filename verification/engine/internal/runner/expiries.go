// Expiries: the deadlines that were taken from the queue, each in its own goroutine.

package runner

import "github.com/verifyd/verifyd/verification/store"

// expire records the deadlines that were taken from the queue.
func (r *Runner) expire(work []store.Work) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range work {
		r.expiries.add(w.Tenant)
		r.beginLocked()
		go func() {
			if err := r.cfg.Handler.Expire(r.base, w); err != nil && r.base.Err() == nil {
				r.cfg.Log.Error("expiry not recorded", "run", w.Run, "tenant", w.Tenant, "error", err)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.removedLocked(&r.expiries, w.Tenant)
			r.endLocked()
		}()
	}
}
