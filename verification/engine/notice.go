// Notices: clients are told that a run is over.

package engine

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// errStopped stands for attempts whose hosts stopped before they ended.
var errStopped = errors.New("the hosts that sent the notice kept stopping")

// announce sends the notices that the queue handed out, in goroutines: one for
// each workflow looks at the receiver, and one for each notice sends it.
func (r *runner) announce(work []verification.Work) {
	type key struct {
		tenant   verification.TenantID
		workflow verification.WorkflowID
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	batches := map[key][]verification.Work{}
	for _, w := range work {
		r.notices.add(w.Tenant)
		k := key{w.Tenant, w.Workflow}
		batches[k] = append(batches[k], w)
	}
	for k, batch := range batches {
		r.begin()
		go r.sendBatch(k.tenant, k.workflow, batch)
	}
}

// sendBatch sends the notices of one workflow. Those whose receiver is paused or
// busy go back to the queue.
func (r *runner) sendBatch(t verification.TenantID, id verification.WorkflowID, batch []verification.Work) {
	back, at, err := r.dispatch(t, id, batch)
	if len(back) > 0 {
		r.e.opt.Observer.NoticeSent("deferred")
		err = errors.Join(err, r.e.ports.Queue.Release(r.base, back, at))
	}
	if err != nil && r.base.Err() == nil {
		r.e.log.Error("notices not sent", "tenant", t, "workflow", id, "notices", len(batch), "error", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for range back {
		r.removed(&r.notices, t)
	}
	r.nudge(at)
	r.end()
}

// dispatch starts a goroutine for each notice that its receiver may be sent now,
// and returns the others with the time to try them.
func (r *runner) dispatch(t verification.TenantID, id verification.WorkflowID, batch []verification.Work) (back []verification.Work, at time.Time, err error) {
	now := r.e.now()
	workflow, err := r.e.ports.Workflows.Workflow(r.base, t, id)
	if err != nil {
		return batch, now.Add(retryAfter), err
	}
	host := receiverOf(workflow.LifecycleWebhookURL)
	r.mu.Lock()
	defer r.mu.Unlock()
	for n, w := range batch {
		if !r.receivers.admit(host, now) {
			back = batch[n:]
			return back, r.receivers.deferUntil(host, now, len(back)), nil
		}
		r.begin()
		go func() {
			err := r.e.notify(r.base, w, workflow.LifecycleWebhookURL)
			r.mu.Lock()
			defer r.mu.Unlock()
			r.receivers.ended(host, err, r.e.now())
			r.removed(&r.notices, t)
			r.end()
		}()
	}
	return nil, time.Time{}, nil
}

// notify makes one attempt, and plans the next if it failed. It returns the
// error of the attempt.
func (e *Engine) notify(ctx context.Context, w verification.Work, url string) error {
	answer, err := e.attempt(ctx, w, url)
	if err != nil && e.runner.base.Err() == nil {
		e.log.Error("notice not sent", "run", w.Run, "tenant", w.Tenant, "error", err)
	}
	return answer
}

// attempt returns what the Notifier answered; err says that the attempt could
// not be made or not be written down: it is made again when its lease runs out.
func (e *Engine) attempt(ctx context.Context, w verification.Work, url string) (answer, err error) {
	if url == "" || e.ports.Notifier == nil {
		return nil, e.ports.Queue.Finish(ctx, w)
	}
	run, err := e.load(ctx, w.RunRef)
	if err != nil {
		return nil, err
	}
	now := e.now()
	notice := verification.Notice{
		ID: "run_" + string(w.Run), Tenant: w.Tenant, URL: url,
		Attempt: w.Attempt, At: now, Run: run.Summary().View(now),
	}
	answer = errStopped
	if w.Lost < maxLost {
		answer = e.ports.Notifier.Notify(ctx, notice)
	}
	switch {
	case answer == nil:
		e.tried(ctx, notice, nil, time.Time{})
		e.opt.Observer.NoticeSent("delivered")
		return nil, e.ports.Queue.Finish(ctx, w)
	case errors.Is(answer, verification.ErrUnavailable):
		return nil, answer // our own store was away: no attempt is counted
	case e.runner.base.Err() != nil:
		return nil, answer // the host stops: no attempt is counted
	}
	at, more := nextAttempt(answer, w, e.now())
	e.tried(ctx, notice, answer, at)
	if !more {
		e.opt.Observer.NoticeSent("dropped")
		e.log.Warn("notice given up", "run", w.Run, "tenant", w.Tenant, "attempts", w.Attempt+1)
		return answer, e.ports.Queue.Finish(ctx, w)
	}
	e.opt.Observer.NoticeSent("retried")
	if err := e.ports.Queue.Postpone(ctx, w, at); err != nil {
		return answer, err
	}
	e.runner.nudge(at)
	return answer, nil
}

// nextAttempt returns when a notice that was not taken is sent again.
func nextAttempt(err error, w verification.Work, now time.Time) (at time.Time, more bool) {
	wait, more := verification.NoticeRetry(w.Attempt)
	if !more {
		return time.Time{}, false
	}
	at = now.Add(jittered(wait, w)).Truncate(time.Microsecond)
	var wish *verification.RetryError
	if !errors.As(err, &wish) {
		return at, true
	}
	if wish.At.IsZero() {
		return time.Time{}, false
	}
	if wish.At.After(at) {
		at = wish.At
	}
	return at, true
}

// jittered is between nine tenths of wait and all of it, so that notices that
// failed together are not all sent again together. The share follows from run
// and attempt.
func jittered(wait time.Duration, w verification.Work) time.Duration {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", w.Run, w.Attempt))
	share := float64(binary.BigEndian.Uint32(sum[:4])) / (1 << 32)
	return wait - time.Duration(share*float64(wait)/10)
}
