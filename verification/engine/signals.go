// Signals: a reviewer's verdict, a customer's answer.

package engine

import (
	"context"

	"github.com/verifyd/verifyd/verification"
)

// VerdictRequest is a reviewer's word on a whole run.
type VerdictRequest struct {
	Decision verification.Decision // approve or reject
	Notes    string
	// By is who gave it; it is kept in the history and shown nowhere.
	By string
	// IdempotencyKey makes the same verdict on the same run count once, for 24
	// hours, and answers it as it was answered first; empty for none.
	IdempotencyKey string
}

// The results of a signal.
const (
	// ResultDelivered: the run was parked, and went on.
	ResultDelivered = "signal_delivered"
	// ResultRecorded: the run was over, and nothing but the verdict changed.
	ResultRecorded = "review_recorded"
)

// SignalResult is what a signal came to.
type SignalResult struct {
	Result   string
	Decision verification.Decision // of a verdict
}

// GiveVerdict records a verdict: it lets a run that is parked on review go on,
// or settles one that is over. ErrNotOpen when the run is neither, ErrKeyReused
// and ErrInFlight for the idempotency key.
func (e *Engine) GiveVerdict(ctx context.Context, t verification.TenantID, id verification.RunID, v VerdictRequest) (SignalResult, error) {
	request := signalOf{Run: id, Signal: verification.ReviewSignal, Decision: v.Decision, Notes: v.Notes}
	return e.once(ctx, t, v.IdempotencyKey, request, func(request string) (SignalResult, error) {
		c, err := e.command(ctx, verification.RunRef{Tenant: t, Run: id},
			verification.GiveVerdict{Decision: v.Decision, Notes: v.Notes, By: v.By, Request: request})
		if err != nil {
			return SignalResult{}, err
		}
		node := c.after.Verdict.Node
		if before, again := c.before.Receipt(request); again {
			node = before.Node
		}
		if node == "" {
			return SignalResult{Result: ResultRecorded, Decision: v.Decision}, nil
		}
		return SignalResult{Result: ResultDelivered, Decision: v.Decision}, nil
	})
}

// signalOf is what has to be the same for a signal to be the same request.
type signalOf struct {
	Run      verification.RunID
	Signal   string
	Decision verification.Decision `json:",omitempty"`
	Notes    string                `json:",omitempty"`
	Payload  verification.Data     `json:",omitempty"`
}

// SubmitOption adjusts how a customer's answer is delivered.
type SubmitOption func(*submitOptions)

type submitOptions struct{ idempotencyKey string }

// WithIdempotencyKey makes the same answer to the same signal of a run count
// once, for 24 hours, and answers it as it was answered first.
func WithIdempotencyKey(key string) SubmitOption {
	return func(o *submitOptions) { o.idempotencyKey = key }
}

// Submit delivers the customer's answer to the step that the run is parked on.
// ErrNotOpen when no signal of that name is open; ErrInvalid naming the fields
// of a payload that will not do; ErrKeyReused and ErrInFlight for the
// idempotency key.
func (e *Engine) Submit(
	ctx context.Context, t verification.TenantID, id verification.RunID, signal string, payload verification.Data, opts ...SubmitOption,
) (SignalResult, error) {
	var o submitOptions
	for _, set := range opts {
		set(&o)
	}
	request := signalOf{Run: id, Signal: signal, Payload: payload}
	ref := verification.RunRef{Tenant: t, Run: id}
	return e.once(ctx, t, o.idempotencyKey, request, func(request string) (SignalResult, error) {
		_, err := e.submit(ctx, ref, verification.Submit{Signal: signal, Payload: payload, Request: request})
		if err != nil {
			return SignalResult{}, err
		}
		return SignalResult{Result: ResultDelivered}, nil
	})
}

// submit delivers an answer and removes the documents that it does not name. It
// is decided on the documents in the very history that it is appended to.
func (e *Engine) submit(ctx context.Context, ref verification.RunRef, s verification.Submit) (change, error) {
	s.CheckDocuments = e.ports.Documents != nil
	c, err := e.command(ctx, ref, s)
	if err == nil {
		e.removeDropped(ctx, ref, c)
	}
	return c, err
}
