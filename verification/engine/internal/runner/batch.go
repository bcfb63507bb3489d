// Batches: completed runs are screened again, one batch at a time.

package runner

import "time"

// batch is the batch under way, or the next one. The lock of the runner guards it.
type batch struct {
	busy bool      // one is under way
	at   time.Time // of the next one
}

// rescreen begins a batch in a goroutine if that is due, and returns the time of the next
// one.
func (r *Runner) rescreen(now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.cfg.Rescreens || r.batch.busy || r.closing {
		return time.Time{}
	}
	if now.Before(r.batch.at) {
		return r.batch.at
	}
	r.batch.busy = true
	r.beginLocked()
	go func() {
		next := r.cfg.Handler.Rescreen(now)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.batch.busy, r.batch.at = false, next
		r.Nudge(next)
		r.endLocked()
	}()
	return time.Time{}
}
