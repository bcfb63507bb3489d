// Deliveries: list the deliveries of notices, and send one again.

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// ledgerTimeout bounds how long a notice waits for the delivery ledger.
const ledgerTimeout = 3 * time.Second

// Deliveries returns one page of the deliveries in a state, or in any state if it is
// empty, the newest attempt first.
func (e *Engine) Deliveries(
	ctx context.Context, t verification.TenantID, state rules.DeliveryState, p store.PageQuery,
) (store.Page[rules.Delivery], error) {
	if err := p.Validate(); err != nil {
		return store.Page[rules.Delivery]{}, err
	}
	return tablesOf(e).Deliveries(ctx, t, state, p)
}

// Redeliver queues a notice of a run again, with the same ID and a new series of
// attempts, whether or not it was delivered before. ErrNotFound is returned when
// there is no such run, ErrConflict when it is not over, its workflow has no webhook, or
// its version does not ask for a notice of the event, and ErrUnavailable without a Notifier.
func (e *Engine) Redeliver(ctx context.Context, t verification.TenantID, n rules.NoticeRef) error {
	ref := verification.RunRef{Tenant: t, Run: n.Run}
	run, err := e.load(ctx, ref)
	if err != nil {
		return err
	}
	sent := notices{e}
	if err := sent.redeliverable(ctx, t, run, n); err != nil {
		return err
	}
	// The ledger is written first: once the notice is queued, its first attempt may
	// be written at any time.
	unmark := sent.markPending(ctx, t, n)
	if err := sent.queueNotice(ctx, ref, run, n); err != nil {
		unmark()
		return fmt.Errorf("queue the notice %s: %w", n.ID(), err)
	}
	e.runner.Nudge(e.now())
	return nil
}

func (e notices) redeliverable(ctx context.Context, t verification.TenantID, run rules.Run, n rules.NoticeRef) error {
	if n.Seq != 0 {
		if err := e.asksFor(ctx, t, run, n); err != nil {
			return err
		}
	} else if run.Ended == "" {
		return verification.Conflict("delivery", "the run is not over, so it has no notice yet")
	}
	workflow, err := e.store.Workflow(ctx, t, run.Started.Workflow)
	if err != nil {
		return fmt.Errorf("read the workflow of run %s: %w", run.ID, err)
	}
	if workflow.LifecycleWebhookURL == "" {
		return verification.Conflict("delivery", "the workflow has no lifecycle webhook")
	}
	if e.ports.Notifier == nil {
		return verification.Unavailable("delivery", "notices are not sent here")
	}
	return nil
}

// asksFor returns ErrConflict unless the version of the run asks for a notice of the event.
func (e notices) asksFor(ctx context.Context, t verification.TenantID, run rules.Run, n rules.NoticeRef) error {
	notice, err := e.noticeAt(ctx, t, n)
	if err != nil {
		return err
	}
	program, err := e.program(ctx, programKey{t, run.Started.Workflow, run.Started.VersionHash})
	if err == nil && !slices.Contains(program.Version.Definition.Notify, notice.Event) {
		err = verification.Conflict("delivery", "the workflow does not ask for notices of "+string(notice.Event))
	}
	return err
}

// queueNotice queues a notice of a run, in place of one that is
// queued already. It repeats the append when a verdict is given at the same time.
func (e notices) queueNotice(ctx context.Context, ref verification.RunRef, run rules.Run, n rules.NoticeRef) error {
	for attempt := 1; ; attempt++ { // at most maxAttempts
		now := e.now()
		c := store.Commit{
			Summary: run.Summary(), Work: store.DueWork{{Kind: store.WorkAnnounce, Seq: n.Seq}: now}, Hold: e.runner.Keeps(now, now),
		}
		err := e.store.Append(ctx, ref.Tenant, ref.Run, run.Seq, c)
		if err == nil || attempt == maxAttempts || !errors.Is(err, verification.ErrConflict) {
			return err
		}
		if run, err = e.load(ctx, ref); err != nil {
			return err
		}
	}
}

// recordAttempt adds an attempt to the ledger. next is the time of the next attempt,
// zero for none.
func (e notices) recordAttempt(ctx context.Context, n rules.Notice, result error, next time.Time) {
	ref := rules.NoticeRef{Run: n.Run.ID, Seq: n.Seq}
	e.rewrite(ctx, n.Tenant, ref, func(old rules.Delivery, _ bool) (rules.Delivery, bool) {
		return old.Attempted(n, result, next), true
	})
}

// dropObsolete records that a notice that was attempted before is not attempted again.
func (e notices) dropObsolete(ctx context.Context, n rules.Notice) {
	ref := rules.NoticeRef{Run: n.Run.ID, Seq: n.Seq}
	e.rewrite(ctx, n.Tenant, ref, func(old rules.Delivery, found bool) (rules.Delivery, bool) {
		old.State, old.NextAt = rules.DeliveryFailed, time.Time{}
		return old, found && old.State != rules.DeliveryDelivered
	})
}

// markPending records that a notice was queued again, and returns a function that
// undoes that. A notice without an attempt is not in the ledger.
func (e notices) markPending(ctx context.Context, t verification.TenantID, n rules.NoticeRef) (unmark func()) {
	var before rules.Delivery
	marked := e.rewrite(ctx, t, n, func(old rules.Delivery, found bool) (rules.Delivery, bool) {
		before = old
		return old.Requeued(e.now()), found
	})
	return func() {
		if marked {
			e.rewrite(context.WithoutCancel(ctx), t, n, func(rules.Delivery, bool) (rules.Delivery, bool) {
				return before, true
			})
		}
	}
}

// rewrite replaces the delivery of a notice by what change returns, unless ok is false.
// It reports whether it did. A failure of the ledger is logged and delays nothing
// else.
func (e notices) rewrite(
	ctx context.Context, t verification.TenantID, n rules.NoticeRef,
	change func(old rules.Delivery, found bool) (next rules.Delivery, ok bool),
) bool {
	ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	failed := func(err error) bool {
		e.log.Error("delivery not recorded", "notice", n.ID(), "run", n.Run, "tenant", t, "error", err)
		return false
	}
	old, err := tablesOf(e.Engine).Delivery(ctx, t, n)
	if err != nil && !errors.Is(err, verification.ErrNotFound) {
		return failed(err)
	}
	next, ok := change(old, err == nil)
	if !ok {
		return false
	}
	if err := tablesOf(e.Engine).SaveDelivery(ctx, t, next); err != nil {
		return failed(err)
	}
	return true
}
