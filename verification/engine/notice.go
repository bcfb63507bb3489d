// Clients are told that a run is over.

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

// announce tells the client in a goroutine of its own.
func (e *Engine) announce(w verification.Work) {
	e.mu.Lock()
	e.announcing++
	e.mu.Unlock()
	e.quiet.Enter()
	go func() {
		defer e.quiet.Leave()
		defer func() {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.announcing--
			e.feed()
			e.idle.Broadcast()
		}()
		if err := e.notify(e.base, w); err != nil && e.base.Err() == nil {
			e.log.Error("notice not sent", "run", w.Run, "tenant", w.Tenant, "error", err)
		}
	}()
}

// notify makes one try, and plans the next if it was not taken.
func (e *Engine) notify(ctx context.Context, w verification.Work) error {
	run, err := e.load(ctx, w.RunRef)
	if err != nil {
		return err
	}
	workflow, err := e.ports.Workflows.Workflow(ctx, w.Tenant, run.Started.Workflow)
	if err != nil {
		return err
	}
	if workflow.LifecycleWebhookURL == "" || e.ports.Notifier == nil {
		return e.ports.Queue.Finish(ctx, w)
	}
	now := e.now()
	notice := verification.Notice{
		ID: "run_" + string(w.Run), Tenant: w.Tenant, URL: workflow.LifecycleWebhookURL,
		Attempt: w.Attempt, At: now, Run: run.Summary().View(now),
	}
	err = e.ports.Notifier.Notify(ctx, notice)
	if err == nil {
		e.tried(ctx, notice, nil, time.Time{})
		e.opt.Observer.NoticeSent("delivered")
		return e.ports.Queue.Finish(ctx, w)
	}
	if errors.Is(err, verification.ErrUnavailable) {
		return err // our own store was away: the lease runs out, and no try is counted
	}
	if e.base.Err() != nil {
		return err // cut off by the host: the lease runs out, and it is tried again
	}
	at, more := nextTry(err, w, e.now())
	e.tried(ctx, notice, err, at)
	if !more {
		e.opt.Observer.NoticeSent("dropped")
		e.log.Warn("notice given up", "run", w.Run, "tenant", w.Tenant, "attempts", w.Attempt+1)
		return e.ports.Queue.Finish(ctx, w)
	}
	e.opt.Observer.NoticeSent("retried")
	if err := e.ports.Queue.Postpone(ctx, w, at); err != nil {
		return err
	}
	e.nudge(at)
	return nil
}

// nextTry is when a notice that was not taken is tried again.
func nextTry(err error, w verification.Work, now time.Time) (at time.Time, more bool) {
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
// failed together are not all tried together. The share follows from run and
// attempt.
func jittered(wait time.Duration, w verification.Work) time.Duration {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", w.Run, w.Attempt))
	share := float64(binary.BigEndian.Uint32(sum[:4])) / (1 << 32)
	return wait - time.Duration(share*float64(wait)/10)
}
