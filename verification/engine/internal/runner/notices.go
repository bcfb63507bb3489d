// Notices: those that were taken from the queue, as fast as their receivers allow.

package runner

import (
	"errors"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// announce sends the notices that were taken from the queue: one goroutine for each
// workflow looks at the receiver and starts one for each notice.
func (r *Runner) announce(work []store.Work) {
	type key struct {
		tenant   verification.TenantID
		workflow verification.WorkflowID
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	batches := map[key][]store.Work{}
	for _, w := range work {
		r.notices.add(w.Tenant)
		k := key{w.Tenant, w.Workflow}
		batches[k] = append(batches[k], w)
	}
	for k, batch := range batches {
		r.beginLocked()
		go r.sendBatch(k.tenant, k.workflow, batch)
	}
}

// sendBatch sends the notices of one workflow. Those whose receiver is paused or
// busy are released to the queue.
func (r *Runner) sendBatch(t verification.TenantID, id verification.WorkflowID, batch []store.Work) {
	deferred, at, err := r.dispatch(t, id, batch)
	if len(deferred) > 0 {
		r.cfg.Deferred()
		err = errors.Join(err, r.cfg.Queue.Release(r.base, deferred, at))
	}
	if err != nil && r.base.Err() == nil {
		r.cfg.Log.Error("notices not sent", "tenant", t, "workflow", id, "notices", len(batch), "error", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for range deferred {
		r.removedLocked(&r.notices, t)
	}
	r.Nudge(at)
	r.endLocked()
}

// dispatch starts a goroutine for each notice that may be sent to the receiver now,
// and returns the others with the time to attempt them.
func (r *Runner) dispatch(
	t verification.TenantID, id verification.WorkflowID, batch []store.Work,
) (deferred []store.Work, at time.Time, err error) {
	now := r.now()
	webhook, err := r.cfg.Handler.Webhook(r.base, t, id)
	if err != nil {
		return batch, now.Add(retryAfter), err
	}
	address := receiverAddress(webhook)
	r.mu.Lock()
	defer r.mu.Unlock()
	for n, w := range batch {
		if !r.receivers.admit(address, t, now) {
			deferred = batch[n:]
			return deferred, r.receivers.deferUntil(address, now, len(deferred)), nil
		}
		r.beginLocked()
		go func() {
			err := r.cfg.Handler.Notify(r.base, w, webhook)
			r.mu.Lock()
			defer r.mu.Unlock()
			r.receivers.ended(address, t, err, r.now())
			r.removedLocked(&r.notices, t)
			r.endLocked()
		}()
	}
	return nil, time.Time{}, nil
}
