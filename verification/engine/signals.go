// Signals: a reviewer's verdict, a customer's answer.

package engine

import (
	"context"
	"errors"

	"github.com/verifyd/verifyd/verification"
)

// VerdictRequest is a reviewer's word on a whole run.
type VerdictRequest struct {
	Decision verification.Decision // approve or reject
	Notes    string
	// By is who gave it; it is kept in the history and shown nowhere.
	By string
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
// or settles one that is over. ErrNotOpen when the run is neither.
func (e *Engine) GiveVerdict(ctx context.Context, t verification.TenantID, id verification.RunID, v VerdictRequest) (SignalResult, error) {
	c, err := e.command(ctx, verification.RunRef{Tenant: t, Run: id},
		verification.GiveVerdict{Decision: v.Decision, Notes: v.Notes, By: v.By})
	if err != nil {
		return SignalResult{}, err
	}
	d := SignalResult{Result: ResultRecorded, Decision: v.Decision}
	for _, event := range c.events {
		if given, ok := event.Fact.(verification.VerdictRecorded); ok && given.Node != "" {
			d.Result = ResultDelivered
		}
	}
	return d, nil
}

// Submit delivers the customer's answer to the step that the run is parked on.
// ErrNotOpen when no signal of that name is open; ErrInvalid naming the fields
// of a payload that will not do.
func (e *Engine) Submit(ctx context.Context, t verification.TenantID, id verification.RunID, signal string, payload verification.Data) (SignalResult, error) {
	ref := verification.RunRef{Tenant: t, Run: id}
	run, err := e.load(ctx, ref)
	if err != nil {
		return SignalResult{}, err
	}
	documents, err := e.documents(ctx, ref, run, payload)
	if err != nil {
		return SignalResult{}, err
	}
	_, err = e.command(ctx, ref, verification.Submit{Signal: signal, Payload: payload, Documents: documents})
	if err != nil {
		return SignalResult{}, err
	}
	return SignalResult{Result: ResultDelivered}, nil
}

// documents finds the uploads that a payload names; nil where none are kept.
func (e *Engine) documents(
	ctx context.Context, ref verification.RunRef, run verification.Run, payload verification.Data,
) (map[string]verification.Document, error) {
	if e.ports.Documents == nil || run.Wait.Kind != verification.WaitCustomer {
		return nil, nil //nolint:nilnil // nil is the word for no store of documents
	}
	program, err := e.programOf(ctx, ref.Tenant, run)
	if err != nil {
		return nil, err
	}
	n, _ := program.Node(run.Wait.Node)
	found := map[string]verification.Document{}
	for field, id := range n.Fields.Uploads(payload) {
		d, err := e.ports.Documents.Document(ctx, ref, id)
		switch {
		case err == nil && d.Field == field:
			found[field] = d
		case err != nil && !errors.Is(err, verification.ErrNotFound) && !errors.Is(err, verification.ErrInvalid):
			return nil, err
		}
	}
	return found, nil
}
