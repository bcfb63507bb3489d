// Signals: a reviewer's verdict, a customer's answer, a customer's coming.

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

// Delivery is what a signal came to.
type Delivery struct {
	Result   string
	Decision verification.Decision // of a verdict
}

// GiveVerdict records a verdict: it lets a run that is parked on review go on,
// or settles one that is over. ErrNotOpen when the run is neither.
func (e *Engine) GiveVerdict(ctx context.Context, t verification.TenantID, id verification.RunID, v VerdictRequest) (Delivery, error) {
	c, err := e.command(ctx, verification.RunRef{Tenant: t, Run: id},
		verification.GiveVerdict{Decision: v.Decision, Notes: v.Notes, By: v.By})
	if err != nil {
		return Delivery{}, err
	}
	d := Delivery{Result: ResultRecorded, Decision: v.Decision}
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
func (e *Engine) Submit(ctx context.Context, t verification.TenantID, id verification.RunID, signal string, payload verification.Data) (Delivery, error) {
	_, err := e.command(ctx, verification.RunRef{Tenant: t, Run: id}, verification.Submit{Signal: signal, Payload: payload})
	if err != nil {
		return Delivery{}, err
	}
	return Delivery{Result: ResultDelivered}, nil
}

// Visit is what a journey link leads to.
type Visit struct {
	Tenant verification.Tenant
	Run    verification.RunView
	// Open says that the step the link was made for still waits on the customer.
	Open bool
}

// Visit opens a journey link, which counts as the customer's coming. A token
// that was not made here is ErrNotFound; a link to a run that is over, or to
// a step that is done, is not open.
func (e *Engine) Visit(ctx context.Context, token string) (Visit, error) {
	link, err := e.ports.Links.OpenLink(token)
	if err != nil {
		return Visit{}, &verification.Error{Kind: verification.ErrNotFound, Subject: "journey", Cause: err}
	}
	tenant, err := e.ports.Tenants.Tenant(ctx, link.Tenant)
	if err != nil {
		return Visit{}, err
	}
	v := Visit{Tenant: tenant, Open: true}
	run, err := e.load(ctx, link.RunRef)
	if err != nil {
		return Visit{}, err
	}
	c, err := e.command(ctx, link.RunRef, verification.CustomerArrives{Wait: link.Wait})
	switch {
	case err == nil:
		run = c.after
	case isNotOpen(err):
		v.Open = false
	default:
		return Visit{}, err
	}
	v.Run, err = e.view(link.Tenant, run, e.now())
	return v, err
}

func isNotOpen(err error) bool { return errors.Is(err, verification.ErrNotOpen) }
