// Journeys: what a link leads to, and the answers of customers.

package engine

import (
	"context"
	"errors"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Journey is what a link leads to. UploadDocument and AnswerJourney take it, so that they
// do not read the run again. It is not safe for concurrent use.
type Journey struct {
	Tenant   verification.Tenant
	Workflow string // its name
	Run      rules.RunView
	// Step is the step that waits for the customer; nil when there is none.
	Step *JourneyStep
	// Intro is what the workflow says before the first step, and Needed are the fields of the
	// files that the customer may have to send; nil once a step is over, or without one.
	Intro  *workflow.Intro
	Needed workflow.InputFields
	// Total counts the customer's steps, and Done those that are over.
	Done, Total int
	// Declined reports whether the run completed on a declined consent, and
	// Checked whether a provider was called for the run.
	Declined, Checked bool
	// EndText is what the workflow says to the customer at the end of a completed run;
	// empty for nothing. EndTextIn is EndText by language.
	EndText   string
	EndTextIn workflow.Translations
	// RejectText is what the workflow says to the customer about the rejection of the run;
	// empty for nothing. RejectTextIn is RejectText by language.
	RejectText   string
	RejectTextIn workflow.Translations
	// ReviewDue is when the verdict that the run waits for is due; zero without
	// review_due_minutes. ReviewLate reports whether that time has passed.
	ReviewDue  time.Time
	ReviewLate bool
	// Consents are the consents that the customer has given.
	Consents []JourneyConsent
	// Redirect is the URL to send the customer to once the run is over, with run_id
	// and status appended; empty for none.
	Redirect string
	// Language is the language of the page that shows the step. Whoever shows it may set it,
	// so that an answer is recorded with it.
	Language string

	session *session
}

// JourneyStep is one step that is open for the customer.
type JourneyStep struct {
	// WaitNumber numbers the wait; an answer names it, so that a stale page cannot
	// answer another step.
	WaitNumber int
	Node       verification.NodeID
	Type       workflow.NodeType // consent or customer_input
	Label      string
	Text       string
	LabelIn    workflow.Translations
	TextIn     workflow.Translations
	Optional   bool
	Fields     workflow.InputFields
	Groups     []workflow.Screen // the screens of the fields; none means one screen
	// Element is the number of the element of a form with for_each, from 1, of Elements; both are 0 for any other step.
	Element, Elements int
	// Name says who or what the element is; empty if the workflow does not say.
	Name  string
	Again *JourneyRound // the customer is asked again; nil for the first time
	Away  *JourneyAway  // a check leads the customer away; nil for any other step
}

// JourneyRound says why a customer is asked again for a step.
type JourneyRound struct {
	Round   int                     // 1 for the first
	Reasons []workflow.RejectReason // their labels are for the customer
	Fields  []string                // of the form that it is about; none for all
	Note    string                  // of a reviewer; empty for none
	Earlier verification.Data       // the answer of before
}

// JourneyConsent is a consent that the customer has given.
type JourneyConsent struct {
	Label   string
	Text    string
	LabelIn workflow.Translations
	TextIn  workflow.Translations
	At      time.Time
}

// ReadJourney returns the journey of a link. Every link of a run leads to the step that is open
// now, whichever step it was made for. It does not record that the customer opened the journey,
// because programs open links too: see OpenJourney. ErrNotFound is returned for a token that
// Ports.Links did not sign, and for a run that is gone: then the journey has the tenant of the
// link. With any other error, the journey has only the id of its run.
func (e *Engine) ReadJourney(ctx context.Context, token string) (Journey, error) {
	return e.journeyOf(ctx, token, func(s *session) error { return s.readJourney(ctx) })
}

// ReadStep returns the journey of a run whose step is open for the customer, for programs that ask
// the customer themselves. ErrNotFound is returned for a run that the tenant does not have,
// ErrNotOpen if the run does not wait for the customer.
func (e *Engine) ReadStep(ctx context.Context, t verification.TenantID, id verification.RunID) (Journey, error) {
	s := &session{Engine: e, ref: verification.RunRef{Tenant: t, Run: id}}
	err := s.readJourney(ctx)
	if err == nil && s.run.Wait().Kind != rules.WaitCustomer {
		err = &verification.Error{Kind: verification.ErrNotOpen, Subject: "step"}
	}
	if err != nil {
		return Journey{}, err
	}
	tenant, err := e.store.Tenant(ctx, t)
	if err != nil {
		return Journey{}, err
	}
	return s.journey(tenant)
}

// round returns why the customer is asked again for an open step; nil if that is not so.
func (s *session) round(step rules.Step) *JourneyRound {
	if len(step.Rounds) == 0 {
		return nil
	}
	last := step.Rounds[len(step.Rounds)-1]
	if last.Visit+1 != step.Visits {
		return nil // a later visit
	}
	again := &JourneyRound{Round: last.Round, Fields: last.Fields, Note: last.Note, Earlier: last.Earlier}
	for _, code := range last.Reasons {
		if reason, ok := s.program.Version.Definition.ResubmitReason(code); ok {
			again.Reasons = append(again.Reasons, reason)
		}
	}
	return again
}

// readJourney reads the run of s and its version.
func (s *session) readJourney(ctx context.Context) error {
	err := s.reload(ctx)
	if err == nil {
		err = s.expireIfOverdue(ctx)
	}
	if err == nil {
		err = s.loadProgram(ctx)
	}
	return err
}

// OpenJourney is ReadJourney, and records that the customer has opened the journey. Call it once
// something shows that a person is there, such as a form or a script of the page.
func (e *Engine) OpenJourney(ctx context.Context, token string) (Journey, error) {
	return e.journeyOf(ctx, token, func(s *session) error {
		_, err := s.command(ctx, rules.OpenJourney{})
		if errors.Is(err, verification.ErrNotOpen) {
			return nil
		}
		return err
	})
}

// journeyOf returns the journey of a link, with the run and the program that read gives its session.
func (e *Engine) journeyOf(ctx context.Context, token string, read func(*session) error) (Journey, error) {
	link, err := e.ports.Links.OpenLink(token)
	if err != nil {
		return Journey{}, &verification.Error{Kind: verification.ErrNotFound, Subject: "journey", Cause: err}
	}
	s := &session{Engine: e, ref: link.RunRef}
	err = read(s)
	var tenant verification.Tenant
	if err == nil {
		tenant, err = e.store.Tenant(ctx, s.ref.Tenant)
	}
	var j Journey
	if err == nil {
		j, err = s.journey(tenant)
	}
	if errors.Is(err, verification.ErrNotFound) {
		// The page of a link whose run is gone says whom to ask; without the tenant it is plain.
		tenant, _ = e.store.Tenant(ctx, link.Tenant)
	}
	if err != nil {
		return Journey{Run: rules.RunView{ID: link.Run}, Tenant: tenant}, err
	}
	return j, nil
}

// JourneyLogo returns the logo of the tenant of a link. ErrNotFound is returned for a token that
// Ports.Links did not sign, and if the tenant has no logo.
func (e *Engine) JourneyLogo(ctx context.Context, token string) (verification.Logo, error) {
	link, err := e.ports.Links.OpenLink(token)
	if err != nil {
		return verification.Logo{}, &verification.Error{Kind: verification.ErrNotFound, Subject: "journey", Cause: err}
	}
	return tablesOf(e).Logo(ctx, link.Tenant)
}

// AnswerJourney delivers the customer's answer to the wait of this number, with the language of
// the page (Journey.Language), and returns the journey after it. ErrNotOpen is returned when that wait is over,
// ErrInvalid, with fields such as payload.name, when the answer is invalid.
func (e *Engine) AnswerJourney(ctx context.Context, j Journey, wait int, payload verification.Data) (Journey, error) {
	if wait <= 0 {
		return Journey{}, &verification.Error{Kind: verification.ErrNotOpen, Subject: "signal"}
	}
	s := j.of(e)
	s.fresh = false
	woken, unwatch := e.watch.add(s.ref)
	defer unwatch()
	ctx = context.WithoutCancel(ctx)
	if err := s.submit(ctx, rules.Submit{Payload: payload, WaitNumber: wait, Language: j.Language}); err != nil {
		return Journey{}, err
	}
	// As long as a start waits, so that the customer seldom sees the page in between.
	s.run = e.awaitRest(ctx, s.ref, woken, s.run, e.opt.StartWait)
	if err := s.expireIfOverdue(ctx); err != nil {
		return Journey{}, err
	}
	return s.journey(j.Tenant)
}

// CheckAnswer returns the error that AnswerJourney would return, and delivers nothing.
func (e *Engine) CheckAnswer(ctx context.Context, j Journey, wait int, payload verification.Data) error {
	if wait <= 0 {
		return &verification.Error{Kind: verification.ErrNotOpen, Subject: "signal"}
	}
	c := rules.Submit{Payload: payload, WaitNumber: wait, CheckDocuments: e.ports.Documents != nil}
	s := j.of(e)
	_, _, err := s.decide(ctx, c, s.at)
	return err
}

// of returns the session of the journey for an engine: another one may have read the journey.
func (j Journey) of(e *Engine) *session {
	j.session.Engine = e
	return j.session
}

// journey returns the journey of s, whose version is compiled.
func (s *session) journey(tenant verification.Tenant) (Journey, error) {
	run := s.run
	j := Journey{
		Tenant: tenant, Workflow: run.Started.WorkflowName,
		Declined: run.Declined(), Checked: run.Checked(), session: s,
	}
	j.Done, j.Total = run.Progress(s.program)
	var err error
	if j.Run, err = s.view(); err != nil {
		return Journey{}, err
	}
	if j.Run.Status.Terminal() {
		j.Redirect = rules.RedirectTarget(run.Started.RedirectURI, run.ID, j.Run.Status)
	}
	if run.EndNode != "" {
		n, _ := s.program.Node(run.EndNode)
		j.EndText, j.EndTextIn = n.Text, n.TextIn
	}
	if reason, rejected := run.Rejection(s.program.Version.Definition); rejected && reason.CustomerText != "" {
		j.RejectText, j.RejectTextIn = reason.CustomerText, reason.CustomerTextIn
		if run.Verdict.Node == "" { // the end was reached before, and its text does not hold
			j.EndText, j.EndTextIn = "", nil
		}
	}
	w := run.Wait()
	if review, ok := run.Review(); ok && w.Kind == rules.WaitReview {
		j.ReviewDue, j.ReviewLate = review.DueAt, review.Overdue(s.at)
	}
	for _, step := range run.Steps {
		if step.Type == workflow.NodeConsent && step.Status == rules.StepPassed {
			n, _ := s.program.Node(step.Node)
			j.Consents = append(j.Consents, JourneyConsent{
				Label: step.Label, Text: n.Text, LabelIn: n.LabelIn, TextIn: n.TextIn, At: step.CompletedAt,
			})
		}
	}
	if def := s.program.Version.Definition; w.Kind == rules.WaitCustomer && j.Done == 0 && def.Intro != nil {
		j.Intro, j.Needed = def.Intro, def.Needed()
	}
	if w.Kind == rules.WaitCustomer {
		n, _ := s.program.Node(w.Node)
		step, _ := run.Step(w.Node)
		label, node, element := step.Label, w.Node.InDefinition(), 0
		group, each := run.Group(node)
		if _, number, _ := w.Node.Parts(); each {
			label, element = group.Label, number
		}
		named, _ := facts.ElementsOf(s.program, run).Of(w.Node)
		j.Step = &JourneyStep{
			WaitNumber: w.Number, Node: w.Node, Type: n.Type, Label: label, Element: element, Elements: group.Elements, Name: named.Name,
			Text: n.Text, LabelIn: n.LabelIn, TextIn: n.TextIn, Optional: n.Optional, Fields: n.Fields.On(s.at.In(s.location(run.Started.Zone))),
			Groups: n.Groups, Again: s.round(step), Away: awayOf(w),
		}
	}
	return j, nil
}
