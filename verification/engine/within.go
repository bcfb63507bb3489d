// The use cases inside a transaction that the caller has opened.

package engine

import (
	"context"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Within is an engine inside a transaction of its caller. What it changes, the
// run, its events and the work that follows, commits or vanishes with the
// transaction; until then nobody sees it and nothing of it is carried out. It
// is for one goroutine, and of no use once the transaction has ended.
type Within struct{ inner *Engine }

// Within puts the engine inside a transaction: the ports that tx sets replace
// the engine's own. A store says which of its ports work inside one.
//
// Runs are not driven here: once the transaction has committed, whichever host
// hears of the work first takes it up.
func (e *Engine) Within(tx Ports) *Within {
	inner := &Engine{
		ports: e.ports, opt: e.opt, log: e.log, activity: e.activity, programs: e.programs,
		runs: newRunCache(withinBytes), watch: &watchers{}, heavy: e.heavy, large: e.large, external: true,
	}
	inner.opt.Observer = noop{}
	if tx.Runs != nil {
		inner.ports.Runs = tx.Runs
	}
	if tx.Workflows != nil {
		inner.ports.Workflows = tx.Workflows
	}
	if tx.Tenants != nil {
		inner.ports.Tenants = tx.Tenants
	}
	return &Within{inner}
}

// withinBytes bounds the folded runs that are kept inside a transaction.
const withinBytes = 1 << 20

// Start begins a run as Engine.Start does, and does not wait for it. An
// idempotency key is ErrInvalid: the transaction itself happens once.
func (w *Within) Start(ctx context.Context, t verification.TenantID, id verification.WorkflowID, r StartRequest) (verification.RunView, error) {
	if err := keyless(r.IdempotencyKey); err != nil {
		return verification.RunView{}, err
	}
	var none time.Duration // its transaction does not see the run go on
	r.Wait = &none
	return w.inner.Start(ctx, t, id, r)
}

// keyless refuses an idempotency key.
func keyless(key string) error {
	if key == "" {
		return nil
	}
	return &verification.Error{
		Kind: verification.ErrInvalid, Subject: "idempotency key",
		Fields: []verification.FieldError{{Name: "idempotency_key", Message: "is not taken inside a transaction"}},
	}
}

// GiveVerdict records a verdict as Engine.GiveVerdict does. An idempotency key
// is ErrInvalid.
func (w *Within) GiveVerdict(ctx context.Context, t verification.TenantID, id verification.RunID, v VerdictRequest) (SignalResult, error) {
	if err := keyless(v.IdempotencyKey); err != nil {
		return SignalResult{}, err
	}
	return w.inner.GiveVerdict(ctx, t, id, v)
}

// Submit delivers the customer's answer as Engine.Submit does.
func (w *Within) Submit(ctx context.Context, t verification.TenantID, id verification.RunID, signal string, payload verification.Data) (SignalResult, error) {
	return w.inner.Submit(ctx, t, id, signal, payload)
}

// Cancel ends a live run as Engine.Cancel does.
func (w *Within) Cancel(ctx context.Context, t verification.TenantID, id verification.RunID) (verification.RunView, error) {
	return w.inner.Cancel(ctx, t, id)
}
