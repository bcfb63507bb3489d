// The hosted journey: what a link leads to, and what the customer answers there.

package engine

import (
	"context"
	"errors"
	"io"

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
	_, err = e.command(ctx, link.RunRef, verification.CustomerArrives{})
	if err != nil && !errors.Is(err, verification.ErrNotOpen) {
		return Journey{}, err
	}
	return e.journey(ctx, link.RunRef)
}

// AnswerJourney delivers what the customer answered to the wait of that
// number, and returns where the journey stands then. ErrNotOpen when that wait
// is over; ErrInvalid naming the fields below "payload" that will not do.
func (e *Engine) AnswerJourney(ctx context.Context, token string, wait int, payload verification.Data) (Journey, error) {
	link, err := e.openLink(token)
	if err != nil {
		return Journey{}, err
	}
	run, err := e.load(ctx, link.RunRef)
	if err != nil {
		return Journey{}, err
	}
	if wait <= 0 {
		return Journey{}, &verification.Error{Kind: verification.ErrNotOpen, Subject: "signal", Message: run.Wait.Signal}
	}
	documents, err := e.documents(ctx, link.RunRef, run, payload)
	if err != nil {
		return Journey{}, err
	}
	woken, unwatch := e.watch.add(link.RunRef)
	defer unwatch()
	c, err := e.command(context.WithoutCancel(ctx), link.RunRef,
		verification.Submit{Signal: run.Wait.Signal, Payload: payload, Wait: wait, Documents: documents})
	if err != nil {
		return Journey{}, err
	}
	// As long as a start waits, so that the customer seldom sees the page in between.
	e.awaitRest(ctx, link.RunRef, woken, c.after, e.opt.StartWait)
	return e.journey(context.WithoutCancel(ctx), link.RunRef)
}

// UploadDocument keeps a file for one field of the wait of that number. The
// answer then names it: {"document_id": Document.ID}. ErrNotOpen when that wait
// is over; ErrInvalid naming the field when the file will not do.
func (e *Engine) UploadDocument(ctx context.Context, token string, wait int, field string, content io.Reader) (verification.Document, error) {
	link, err := e.openLink(token)
	if err != nil {
		return verification.Document{}, err
	}
	if e.ports.Documents == nil {
		return verification.Document{}, &verification.Error{
			Kind: verification.ErrUnavailable, Subject: "document", Message: "files are not taken here",
		}
	}
	j, err := e.journey(ctx, link.RunRef)
	if err != nil {
		return verification.Document{}, err
	}
	if j.Step == nil || j.Step.Wait != wait {
		return verification.Document{}, &verification.Error{Kind: verification.ErrNotOpen, Subject: "signal", Message: "upload"}
	}
	f, ok := j.Step.Fields.ByName(field)
	if !ok || !f.Upload() {
		return verification.Document{}, &verification.Error{
			Kind: verification.ErrInvalid, Subject: "document",
			Fields: []verification.Field{{Name: "payload." + field, Message: "does not take a file"}},
		}
	}
	accept := f.Accept
	if len(accept) == 0 && f.Type == verification.FieldImage {
		accept = []string{"image/*"}
	}
	d, err := e.ports.Documents.SaveDocument(ctx, link.RunRef,
		verification.Document{ID: e.ports.NewID(), Field: field, CreatedAt: e.now()}, accept, content)
	return d, belowPayload(err)
}

// belowPayload names the fields of a refusal as those of a payload are named.
func belowPayload(err error) error {
	var refused *verification.Error
	if !errors.As(err, &refused) || len(refused.Fields) == 0 {
		return err
	}
	below := *refused
	below.Fields = make([]verification.Field, len(refused.Fields))
	for i, f := range refused.Fields {
		below.Fields[i] = verification.Field{Name: "payload." + f.Name, Message: f.Message}
	}
	return &below
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
