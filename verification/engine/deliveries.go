// Deliveries: list how notices fared, send one again.

package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// ledgerTimeout bounds how long a notice waits for its ledger.
const ledgerTimeout = 3 * time.Second

// Deliveries returns one page of the deliveries in a state (empty for every
// state), newest try first. Without a ledger it is ErrUnavailable.
func (e *Engine) Deliveries(
	ctx context.Context, t verification.TenantID, state verification.DeliveryState, p verification.PageQuery,
) (verification.Page[verification.Delivery], error) {
	if err := p.Validate(); err != nil {
		return verification.Page[verification.Delivery]{}, err
	}
	if e.ports.Deliveries == nil {
		return verification.Page[verification.Delivery]{}, &verification.Error{
			Kind: verification.ErrUnavailable, Subject: "delivery", Message: "no ledger of deliveries is kept here",
		}
	}
	return e.ports.Deliveries.Deliveries(ctx, t, state, p)
}

// Redeliver queues the notice of a run once more, under the same id and with
// all tries of the plan before it, whatever became of it so far. ErrNotFound
// when there is no such run; ErrConflict when it is not over or its workflow
// has no webhook; ErrUnavailable without a Notifier. It needs no ledger.
func (e *Engine) Redeliver(ctx context.Context, t verification.TenantID, id verification.RunID) error {
	ref := verification.RunRef{Tenant: t, Run: id}
	run, err := e.load(ctx, ref)
	if err != nil {
		return err
	}
	if err := e.redeliverable(ctx, t, run); err != nil {
		return err
	}
	// The ledger comes first: once it is queued, the try may be over before
	// anything else is written.
	unmark := e.markPending(ctx, ref)
	if err := e.announceAgain(ctx, ref, run); err != nil {
		unmark()
		return fmt.Errorf("queue the notice of run %s: %w", id, err)
	}
	e.runner.nudge(e.now())
	return nil
}

func (e *Engine) redeliverable(ctx context.Context, t verification.TenantID, run verification.Run) error {
	refuse := func(kind error, message string) error {
		return &verification.Error{Kind: kind, Subject: "delivery", Message: message}
	}
	if run.Ended == "" {
		return refuse(verification.ErrConflict, "the run is not over, so there is nothing to tell yet")
	}
	workflow, err := e.ports.Workflows.Workflow(ctx, t, run.Started.Workflow)
	if err != nil {
		return fmt.Errorf("read the workflow of run %s: %w", run.ID, err)
	}
	if workflow.LifecycleWebhookURL == "" {
		return refuse(verification.ErrConflict, "the workflow has no lifecycle webhook")
	}
	if e.ports.Notifier == nil {
		return refuse(verification.ErrUnavailable, "notices are not sent here")
	}
	return nil
}

// announceAgain replaces the announcement in the queue, if there is one. A
// verdict that is given meanwhile does not stop it.
func (e *Engine) announceAgain(ctx context.Context, ref verification.RunRef, run verification.Run) error {
	for try := 1; ; try++ { // at most changeTries
		now := e.now()
		a := verification.Commit{Summary: run.Summary(), AnnounceAt: now, NoWakeup: e.runner.keeps(now, now)}
		err := e.ports.Runs.Append(ctx, ref.Tenant, ref.Run, run.Seq, a)
		if err == nil || try == changeTries || !errors.Is(err, verification.ErrConflict) {
			return err
		}
		if run, err = e.load(ctx, ref); err != nil {
			return err
		}
	}
}

// tried writes a try down, with the moment of the next one.
func (e *Engine) tried(ctx context.Context, n verification.Notice, answer error, next time.Time) {
	ref := verification.RunRef{Tenant: n.Tenant, Run: n.Run.ID}
	e.rewrite(ctx, ref, func(old verification.Delivery, _ bool) (verification.Delivery, bool) {
		return old.Attempted(n, answer, next), true
	})
}

// markPending has the ledger say that a notice was queued again, and tells how
// to take that back. A notice that was never tried is not in the ledger yet.
func (e *Engine) markPending(ctx context.Context, ref verification.RunRef) (unmark func()) {
	var before verification.Delivery
	marked := e.rewrite(ctx, ref, func(old verification.Delivery, there bool) (verification.Delivery, bool) {
		before = old
		return old.Requeued(e.now()), there
	})
	return func() {
		if marked {
			e.rewrite(context.WithoutCancel(ctx), ref, func(verification.Delivery, bool) (verification.Delivery, bool) {
				return before, true
			})
		}
	}
}

// rewrite changes the delivery of a run, unless change says not to, and tells
// whether it did. There may be no ledger, and a ledger that fails holds
// nothing up.
func (e *Engine) rewrite(
	ctx context.Context, ref verification.RunRef,
	change func(old verification.Delivery, there bool) (next verification.Delivery, ok bool),
) bool {
	if e.ports.Deliveries == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	fault := func(err error) bool {
		e.log.Error("the ledger of deliveries is not kept", "run", ref.Run, "tenant", ref.Tenant, "error", err)
		return false
	}
	old, err := e.ports.Deliveries.Delivery(ctx, ref.Tenant, ref.Run)
	if err != nil && !errors.Is(err, verification.ErrNotFound) {
		return fault(err)
	}
	next, ok := change(old, err == nil)
	if !ok {
		return false
	}
	if err := e.ports.Deliveries.SaveDelivery(ctx, ref.Tenant, next); err != nil {
		return fault(err)
	}
	return true
}
