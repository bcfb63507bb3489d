// Expiries: the deadlines of runs that nobody reads are recorded, so that clients are notified.

package engine

import (
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// expire records the deadlines that were taken from the queue, each in its own goroutine.
func (r *runner) expire(work []store.Work) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range work {
		r.expiries.add(w.Tenant)
		r.begin()
		go func() {
			if err := r.expireRun(w); err != nil && r.base.Err() == nil {
				r.e.log.Error("expiry not recorded", "run", w.Run, "tenant", w.Tenant, "error", err)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.removed(&r.expiries, w.Tenant)
			r.end()
		}()
	}
}

// expireRun records an expiry, which removes the work. If that fails, it is repeated when the
// lease of the work ends.
func (r *runner) expireRun(w store.Work) error {
	// A large run does not wait for a slot of its tenant, whose other decisions may take longer
	// than the lease: to record an expiry takes no expression.
	s := &session{ref: w.RunRef, admitted: true}
	before, err := r.e.command(r.base, s, verification.Expire{})
	if err != nil || s.run.Seq > before.Seq {
		return err
	}
	return r.e.ports.Store.Finish(r.base, w) // the run had ended, or its deadline has not passed
}
