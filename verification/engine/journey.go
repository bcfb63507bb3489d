// The hosted journey: what a link leads to, and what the customer answers there.

package engine

import (
	"context"
	"errors"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Journey is what a link leads to.
type Journey struct {
	Tenant   verification.Tenant
	Workflow string // its name
	Run      verification.RunView
	// Step is what the customer is asked now; nil while nothing is.
	Step *JourneyStep
	// Done and Total count the steps that ask the customer something.
	Done, Total int
	// Declined reports whether the run completed on a declined consent, and
	// Checked whether a provider was called for it.
	Declined, Checked bool
	// Redirect is where the customer goes once the run is over, with run_id
	// and status appended; empty for nowhere.
	Redirect string
}

// JourneyStep is one step that is open for the customer.
type JourneyStep struct {
	// Wait numbers the wait; an answer names it, so that a stale page cannot
	// answer another step.
	Wait     int
	Node     verification.NodeID
	Type     verification.NodeType // consent or customer_input
	Label    string
	Text     string
	Optional bool
	Fields   verification.InputFields
}

// OpenJourney follows a link, which counts as the customer's coming. Any link
// of a run leads to the step that is open now, whichever it was made for. A
// token that was not made here is ErrNotFound.
func (e *Engine) OpenJourney(ctx context.Context, token string) (Journey, error) {
	link, err := e.openLink(token)
	if err != nil {
		return Journey{}, err
	}
	c, err := e.command(ctx, link.RunRef, verification.CustomerArrives{})
	switch {
	case err == nil:
		return e.journeyOf(ctx, link.RunRef, c.after, c.at)
	case errors.Is(err, verification.ErrNotOpen):
		return e.journey(ctx, link.RunRef)
	}
	return Journey{}, err
}

// AnswerJourney delivers what the customer answered to the wait of that
// number, and returns where the journey stands then. ErrNotOpen when that wait
// is over; ErrInvalid naming the fields below "payload" that will not do.
func (e *Engine) AnswerJourney(ctx context.Context, token string, wait int, payload verification.Data) (Journey, error) {
	link, err := e.openLink(token)
	if err != nil {
		return Journey{}, err
	}
	if wait <= 0 {
		return Journey{}, &verification.Error{Kind: verification.ErrNotOpen, Subject: "signal"}
	}
	woken, unwatch := e.watch.add(link.RunRef)
	defer unwatch()
	c, err := e.submit(context.WithoutCancel(ctx), link.RunRef, verification.Submit{Payload: payload, Wait: wait})
	if err != nil {
		return Journey{}, err
	}
	// As long as a start waits, so that the customer seldom sees the page in between.
	e.awaitRest(ctx, link.RunRef, woken, c.after, e.opt.StartWait)
	return e.journey(context.WithoutCancel(ctx), link.RunRef)
}

func (e *Engine) openLink(token string) (verification.Link, error) {
	link, err := e.ports.Links.OpenLink(token)
	if err != nil {
		return verification.Link{}, &verification.Error{Kind: verification.ErrNotFound, Subject: "journey", Cause: err}
	}
	return link, nil
}

func (e *Engine) journey(ctx context.Context, ref verification.RunRef) (Journey, error) {
	run, now, err := e.seen(ctx, ref)
	if err != nil {
		return Journey{}, err
	}
	return e.journeyOf(ctx, ref, run, now)
}

// journeyOf is the journey of a run as it reads at an instant.
func (e *Engine) journeyOf(ctx context.Context, ref verification.RunRef, run verification.Run, now time.Time) (Journey, error) {
	program, err := e.programOf(ctx, ref.Tenant, run)
	if err != nil {
		return Journey{}, err
	}
	tenant, err := e.ports.Tenants.Tenant(ctx, ref.Tenant)
	if err != nil {
		return Journey{}, err
	}
	run = run.AsOf(now)
	j := Journey{Tenant: tenant, Workflow: run.Started.WorkflowName}
	j.Done, j.Total = program.Progress(run)
	j.Declined, j.Checked = run.Declined(), run.Checked()
	if j.Run, err = e.view(ref.Tenant, run, now); err != nil {
		return Journey{}, err
	}
	if j.Run.Status.Terminal() {
		j.Redirect = verification.RedirectTarget(run.Started.RedirectURI, run.ID, j.Run.Status)
	}
	if run.Wait.Kind == verification.WaitCustomer {
		n, _ := program.Node(run.Wait.Node)
		step, _ := run.Step(run.Wait.Node)
		j.Step = &JourneyStep{
			Wait: run.Wait.Number, Node: run.Wait.Node, Type: n.Type, Label: step.Label,
			Text: n.Text, Optional: n.Optional, Fields: n.Fields,
		}
	}
	return j, nil
}
