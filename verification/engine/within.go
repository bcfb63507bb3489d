// The use cases inside a transaction of the caller.

package engine

import (
	"context"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// TxStore is a store inside a transaction, such as a *postgres.Tx.
type TxStore interface {
	// Load is as in store.RunStore.
	Load(ctx context.Context, t verification.TenantID, id verification.RunID, after int) ([]rules.Event, error)
	// Append is as in store.RunStore.
	Append(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, c store.Commit) error
	// Workflow is as in store.WorkflowStore.
	Workflow(ctx context.Context, t verification.TenantID, id verification.WorkflowID) (workflow.Workflow, error)
	// Version is as in store.WorkflowStore.
	Version(ctx context.Context, t verification.TenantID, id verification.WorkflowID, hash string) (workflow.Version, error)
	// Tenant is as in store.Tables.
	Tenant(ctx context.Context, id verification.TenantID) (verification.Tenant, error)
}

// wholeStore is a store with its small tables, as a TxStore.
type wholeStore struct {
	store.Store
	store.Tables
}

func wholeOf(s store.Store) wholeStore { return wholeStore{s, store.Tables{RowStore: s}} }

// TxEngine is an engine inside a transaction of its caller. Runs, their events and the work that follows are committed or
// rolled back with the transaction; before the commit no other transaction sees them, and no work is carried out. A TxEngine
// is not safe for concurrent use and must not be used once the transaction has ended.
type TxEngine struct{ inner *Engine }

// Within returns an engine that works inside the transaction of tx. It does not drive runs: after the commit, the first
// host that takes the work from the queue does.
func (e *Engine) Within(tx TxStore) *TxEngine {
	inner := *e
	inner.store, inner.runs, inner.workflows, inner.watch = tx, newRunCache(withinBytes, e.lanes), newWorkflowCache(), &watchers{}
	inner.runner, inner.external = nil, true
	inner.opt.Observer = noop{}
	return &TxEngine{&inner}
}

// withinBytes bounds the cached runs of a transaction.
const withinBytes = 1 << 20

// Start begins a run as Engine.Start does, and does not wait for it. It returns ErrInvalid if the request has an
// idempotency key: the caller must make its transaction idempotent.
func (w *TxEngine) Start(ctx context.Context, t verification.TenantID, id verification.WorkflowID, r StartRequest) (rules.RunView, error) {
	if err := refuseKey(r.IdempotencyKey); err != nil {
		return rules.RunView{}, err
	}
	r.Wait = new(time.Duration) // the run is not driven before the commit
	return w.inner.Start(ctx, t, id, r)
}

func refuseKey(key string) error {
	if key == "" {
		return nil
	}
	return verification.InvalidField("idempotency key", "idempotency_key", "is not accepted inside a transaction")
}

// GiveVerdict records a verdict as Engine.GiveVerdict does, without an idempotency key.
func (w *TxEngine) GiveVerdict(ctx context.Context, t verification.TenantID, id verification.RunID, c rules.GiveVerdict) (SignalResult, error) {
	return w.inner.GiveVerdict(ctx, t, id, c, "")
}

// AskAgain sends a run back to its customer as Engine.AskAgain does, without an idempotency key.
func (w *TxEngine) AskAgain(ctx context.Context, t verification.TenantID, id verification.RunID, c rules.AskAgain) (SignalResult, error) {
	return w.inner.AskAgain(ctx, t, id, c, "")
}

// Submit delivers the customer's answer as Engine.Submit does. It returns ErrInvalid if the request has an idempotency key.
func (w *TxEngine) Submit(ctx context.Context, t verification.TenantID, id verification.RunID, r SubmitRequest) (SignalResult, error) {
	if err := refuseKey(r.IdempotencyKey); err != nil {
		return SignalResult{}, err
	}
	return w.inner.Submit(ctx, t, id, r)
}

// Cancel ends a live run as Engine.Cancel does.
func (w *TxEngine) Cancel(ctx context.Context, t verification.TenantID, id verification.RunID) (rules.RunView, error) {
	return w.inner.Cancel(ctx, t, id)
}
