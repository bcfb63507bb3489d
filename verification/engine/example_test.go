// Executed examples of the use cases. The first one is in README.md.

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/definition"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/adapters/provider/sandbox"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

const acme = verification.TenantID("0191f3c0-0000-7000-8000-00000000000a")

const passport = `
workflow: passport
name: Passport
start: check
nodes:
  check: {type: check, key: passport, label: Passport, provider: registry, next: done}
  done: {type: end}
`

// registry is a provider of your own: any code that can perform a check.
type registry struct{}

func (registry) Check(_ context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	data := map[string]any{"number": "L898902C", "holder": r.ReferenceID}
	return verification.CheckResult{Outcome: verification.OutcomePassed, Data: data}, nil
}

func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	e := must(engine.New(engine.Ports{
		Store: memory.New(), Providers: map[string]verification.Provider{"registry": registry{}},
		Expressions: expression.New(), Links: token.NewLinks(must(token.NewKeys())),
		Clock: clock.System{}, NewID: func() string { return uuid.Must(uuid.NewV7()).String() },
	}, engine.Options{PublicURL: "https://verify.example"}))
	go e.Serve(ctx) // runs retries, polls and deadlines

	file := must(definition.ReadWorkflow("passport.yaml", []byte(passport)))
	applied, wait := must(e.Apply(ctx, acme, file.Definition)), time.Second
	run := must(e.Start(ctx, acme, applied.Workflow.ID, engine.StartRequest{ReferenceID: "person-1", Wait: &wait}))
	read := must(e.Run(ctx, acme, run.ID))
	fmt.Println(read.Status, read.Checks[0].Key, read.Checks[0].Status, read.Checks[0].Data)
	// Output: completed passport passed {"holder":"person-1","number":"L898902C"}
}

func ExampleEngine_Apply() {
	s, ctx := open(), context.Background()
	defer s.close()

	file := must(definition.ReadWorkflow("journey.yaml", []byte(journey)))
	first := must(s.Apply(ctx, acme, file.Definition))
	again := must(s.Apply(ctx, acme, file.Definition))
	fmt.Println(first.Workflow.Name, first.Changed, again.Changed)

	// A change makes a new version; earlier runs keep theirs.
	changed := file.Definition
	changed.Description = "Now with a description."
	second := must(s.Apply(ctx, acme, changed))
	fmt.Println(second.Workflow.Versions, second.Workflow.PublishedHash == second.Workflow.LatestHash)

	// Publish goes back to an earlier one.
	back := must(s.Publish(ctx, acme, first.Workflow.ID, first.Workflow.LatestHash))
	fmt.Println(back.PublishedHash == first.Workflow.LatestHash, back.LatestHash == second.Workflow.LatestHash)

	// A definition with problems changes nothing. The error lists all of them, each with its position.
	broken := must(definition.ReadWorkflow("broken.yaml", []byte(strings.Replace(journey, "next: pan", "next: pam", 1))))
	_, err := s.Apply(ctx, acme, broken.Definition)
	fmt.Println(broken.Explain(err))
	// Output:
	// Onboarding true false
	// 2 true
	// true true
	// broken.yaml:7:73: nodes.consent.next: there is no node "pam"; did you mean pan?
}

func ExampleEngine_Workflows() {
	s, ctx := open(), context.Background()
	defer s.close()
	workflow := s.apply(journey)

	page := must(s.Workflows(ctx, acme, store.PageQuery{Limit: store.DefaultLimit}))
	for _, w := range page.Data {
		fmt.Println(w.Name, w.RunTTLSeconds)
	}
	detail := must(s.Workflow(ctx, acme, workflow))
	fmt.Println(page.Total, detail.Checks)
	// Output:
	// Onboarding 3600
	// 1 [{pan_verification PAN verification}]
}

func ExampleEngine_Start() {
	s, ctx := open(), context.Background()
	defer s.close()
	workflow := s.apply(journey)

	started := must(s.Start(ctx, acme, workflow, engine.StartRequest{
		ReferenceID:    "person-1",
		Input:          verification.Data(`{"channel":"branch"}`),
		IdempotencyKey: "order-8841", // a second start with it is the same run
	}))
	again := must(s.Start(ctx, acme, workflow, engine.StartRequest{
		ReferenceID: "person-1", Input: verification.Data(`{"channel":"branch"}`), IdempotencyKey: "order-8841",
	}))
	fmt.Println(started.ID == again.ID)

	run := must(s.Run(ctx, acme, started.ID))
	fmt.Println(run.Status, run.Action.Type, run.Action.SignalName)
	fmt.Println(strings.HasPrefix(run.Action.URL, "https://verify.example/journey/"))
	// Output:
	// true
	// in_progress customer_input consent_submitted
	// true
}

func ExampleEngine_Submit() {
	s, ctx := open(), context.Background()
	defer s.close()
	run := s.start(s.apply(journey), "")

	// An invalid payload is refused, and the run still waits.
	_, err := s.Submit(ctx, acme, run, engine.SubmitRequest{Signal: "consent_submitted", Payload: verification.Data(`{"consent_status":"perhaps"}`)})
	var refused *verification.Error
	if errors.As(err, &refused) {
		fmt.Println(errors.Is(err, verification.ErrInvalid), refused.Fields[0].Name, refused.Fields[0].Message)
	}
	// So is a signal that the run does not wait for.
	_, err = s.Submit(ctx, acme, run, engine.SubmitRequest{Signal: "details_submitted"})
	fmt.Println(errors.Is(err, verification.ErrNotOpen))

	delivery := must(s.Submit(ctx, acme, run, engine.SubmitRequest{Signal: "consent_submitted", Payload: verification.Data(`{"consent_status":"success"}`)}))
	s.settle()
	fmt.Println(delivery.Result, must(s.Run(ctx, acme, run)).Status)
	// Output:
	// true payload.consent_status must be "success" or "declined"
	// true
	// signal_delivered completed
}

func ExampleEngine_GiveVerdict() {
	s, ctx := open(), context.Background()
	defer s.close()
	run := s.start(s.apply(journey), `{"sandbox":{"pan_verification":"fail"}}`)
	s.consent(run)

	parked := must(s.Run(ctx, acme, run))
	fmt.Println(parked.Status, parked.Decision, parked.Action.SignalName)
	delivery := must(s.GiveVerdict(ctx, acme, run, rules.GiveVerdict{
		Decision: rules.DecisionApprove, Notes: "Seen on the phone.", By: "ravi",
	}, ""))
	s.settle()
	settled := must(s.Run(ctx, acme, run))
	fmt.Println(delivery.Result, settled.Status, settled.Decision, settled.Notes)

	// The newest verdict counts. The status of a run that is over does not change.
	delivery = must(s.GiveVerdict(ctx, acme, run, rules.GiveVerdict{Decision: rules.DecisionReject}, ""))
	settled = must(s.Run(ctx, acme, run))
	fmt.Printf("%s %s %s %q\n", delivery.Result, settled.Status, settled.Decision, settled.Notes)
	// Output:
	// in_progress review human_review_decision
	// signal_delivered completed approve Seen on the phone.
	// review_recorded completed reject ""
}

// A workflow with four_eyes needs two people for a verdict.
func ExampleEngine_GiveVerdict_fourEyes() {
	s, ctx := open(), context.Background()
	defer s.close()
	run := s.start(s.apply(strings.Replace(journey, "start:", "four_eyes: true\nstart:", 1)), `{"sandbox":{"pan_verification":"fail"}}`)
	s.consent(run)
	give := func(decision rules.Decision, identity string) {
		delivery, err := s.GiveVerdict(ctx, acme, run, rules.GiveVerdict{Decision: decision, By: identity, Identity: identity}, "")
		var refused *verification.Error
		if errors.As(err, &refused) {
			fmt.Println(refused.Message)
			return
		}
		s.settle()
		read := must(s.Run(ctx, acme, run))
		fmt.Printf("%s: %s %s, proposed %q\n", delivery.Result, read.Status, read.Decision, read.Proposal.Decision)
	}
	give(rules.DecisionApprove, "") // a program
	give(rules.DecisionApprove, "asha")
	give(rules.DecisionApprove, "asha")
	give(rules.DecisionReject, "ravi")
	give(rules.DecisionReject, "asha")
	give(rules.DecisionReject, "ravi")
	// Output:
	// the verdict needs two reviewers; each of them must send the access token of a person
	// verdict_proposed: in_progress review, proposed "approve"
	// you have proposed a verdict; another reviewer must confirm it or send it back
	// proposal_returned: in_progress review, proposed ""
	// verdict_proposed: in_progress review, proposed "reject"
	// signal_delivered: completed reject, proposed ""
}

// A later version of a list has a hit for a person who was approved.
func ExampleEngine_RecordHits() {
	s, ctx := open(), context.Background()
	defer s.close()
	run := s.start(s.apply(journey), "")
	s.consent(run)
	fmt.Printf("%q\n", must(s.Run(ctx, acme, run)).Decision)

	hits := rules.RecordHits{
		Node: "pan", List: "sanctions", ListVersion: "2026-11-22",
		Hits: []verification.Hit{{ID: "e-1", Name: "Ivan Testov", Score: 0.93}},
	}
	fmt.Println(must(s.RecordHits(ctx, acme, run, hits)))
	read := must(s.Run(ctx, acme, run))
	fmt.Println(read.Status, read.Decision, read.Flags[0].Reason)
	fmt.Println(must(s.RecordHits(ctx, acme, run, hits))) // the run knows it
	// Output:
	// ""
	// true
	// completed review A later version of the list has a new hit.
	// false
}

// A reviewer clears a hit. The run still needs its verdict.
func ExampleEngine_DecideHit() {
	s, ctx := open(), context.Background()
	defer s.close()
	run := s.start(s.apply(journey), "")
	s.consent(run)
	must(s.RecordHits(ctx, acme, run, rules.RecordHits{
		Node: "pan", List: "sanctions", ListVersion: "2026-11-22",
		Hits: []verification.Hit{{ID: "e-1", Name: "Ivan Testov", Score: 0.93}},
	}))
	decision := rules.DecideHit{
		Node: "pan", List: "sanctions", Entry: "e-1", Match: rules.MatchOther, Reason: "Born in 1961.", By: "asha", Identity: "asha",
	}
	if err := s.DecideHit(ctx, acme, run, decision); err != nil {
		panic(err)
	}
	hit := must(s.History(ctx, acme, run)).Report.Concerns[0]
	fmt.Println(hit.Hit.Name, hit.OpenHits(), must(s.Run(ctx, acme, run)).Decision)
	// Output:
	// Ivan Testov 0 review
}

func ExampleEngine_ReturnProposal() {
	s, ctx := open(), context.Background()
	defer s.close()
	run := s.start(s.apply(strings.Replace(journey, "start:", "four_eyes: true\nstart:", 1)), `{"sandbox":{"pan_verification":"fail"}}`)
	s.consent(run)
	proposal := rules.GiveVerdict{Decision: rules.DecisionApprove, By: "asha", Identity: "asha"}
	fmt.Println(must(s.GiveVerdict(ctx, acme, run, proposal, "")).Result)

	back := rules.ReturnProposal{Notes: "Which document did you see?", By: "ravi", Identity: "ravi"}
	if err := s.ReturnProposal(ctx, acme, run, back); err != nil {
		panic(err)
	}
	fmt.Printf("%q\n", must(s.Run(ctx, acme, run)).Proposal.Decision)
	fmt.Println(errors.Is(s.ReturnProposal(ctx, acme, run, back), verification.ErrConflict))
	// Output:
	// verdict_proposed
	// ""
	// true
}

func ExampleEngine_Runs() {
	s, ctx := open(), context.Background()
	defer s.close()
	workflow := s.apply(journey)
	for _, input := range []string{`{"sandbox":{"pan_verification":"fail"}}`, `{}`} {
		s.consent(s.start(workflow, input))
	}

	// The filter finds the runs whose decision is review: the review queue.
	queue := must(s.Runs(ctx, acme, store.RunQuery{
		PageQuery: store.PageQuery{Limit: store.DefaultLimit},
		Decision:  rules.DecisionReview,
	}))
	all := must(s.Runs(ctx, acme, store.RunQuery{PageQuery: store.PageQuery{Limit: 1}}))
	fmt.Println(queue.Total, queue.Data[0].Status, queue.Data[0].Action.Type)
	fmt.Println(all.Total, len(all.Data))
	// Output:
	// 1 in_progress review
	// 2 1
}

func ExampleEngine_Cancel() {
	s, ctx := open(), context.Background()
	defer s.close()
	workflow := s.apply(journey)
	run := s.start(workflow, "")

	fmt.Println(must(s.Cancel(ctx, acme, run)).Status)
	fmt.Println(must(s.Cancel(ctx, acme, run)).Status) // again is as good as once

	done := s.start(workflow, "")
	s.consent(done)
	_, err := s.Cancel(ctx, acme, done)
	fmt.Println(err, errors.Is(err, verification.ErrConflict))
	// Output:
	// cancelled
	// cancelled
	// run: the run is completed and can no longer be cancelled true
}

func ExampleEngine_Report() {
	s, ctx := open(), context.Background()
	defer s.close()
	run := s.start(s.apply(journey), `{"sandbox":{"pan_verification":{"outcome":"pass","data":{"source_ok":false}}}}`)
	s.consent(run)

	report := must(s.Report(ctx, acme, run))
	for _, c := range report.Cards {
		fmt.Printf("%s: %s %q\n", c.NodeID, c.Status, c.Reason)
	}
	fmt.Println(report.Run.Status, report.Decision, report.Summary)
	fmt.Println(report.Digest == must(s.Report(ctx, acme, run)).Digest)
	// Output:
	// consent: ok ""
	// pan: needs_review "The source could not vouch for the answer."
	// completed review {1 0 1}
	// true
}

func ExampleEngine_History() {
	s, ctx := open(), context.Background()
	defer s.close()
	run := s.start(s.apply(journey), `{"sandbox":{"pan_verification":{"outcome":"pass","data":{"source_ok":false}}}}`)
	s.consent(run)

	history := must(s.History(ctx, acme, run))
	for _, e := range history.Events {
		fmt.Printf("%T\n", e.Fact)
	}
	// The verdict is refused if the run has changed since its history was read.
	approval := rules.GiveVerdict{Decision: rules.DecisionApprove, By: "asha", Seq: history.Run.Seq}
	fmt.Println(must(s.GiveVerdict(ctx, acme, run, approval, "")).Result)
	_, err := s.GiveVerdict(ctx, acme, run, approval, "")
	fmt.Println(errors.Is(err, verification.ErrConflict))
	// Output:
	// rules.Started
	// rules.CustomerAwaited
	// rules.CustomerSubmitted
	// rules.Dispatched
	// rules.ResultRecorded
	// rules.Completed
	// review_recorded
	// true
}

func ExampleEngine_OpenJourney() {
	s, ctx := open(func(p *engine.Ports) { p.Documents, p.Sanitize = newDocuments(), unchanged }), context.Background()
	defer s.close()
	run := s.start(s.apply(`
workflow: portrait
name: Portrait
start: photo
nodes:
  photo: {type: customer_input, next: done, fields: {face: {type: image, required: true}}}
  done: {type: end}
`), "")
	link := must(s.Run(ctx, acme, run)).Action.URL
	token := strings.TrimPrefix(link, "https://verify.example/journey/")

	// For each request of the customer's browser, open the journey.
	j := must(s.OpenJourney(ctx, token))
	fmt.Println(j.Workflow, j.Run.Status, j.Step.Node, j.Step.Fields[0].Name)

	// The post of the form: the journey that was opened takes the file and the answer.
	wait := j.Step.WaitNumber
	d := must(s.UploadDocument(ctx, j, wait, "face", strings.NewReader("the bytes of a picture")))
	j = must(s.AnswerJourney(ctx, j, wait, verification.Data(`{"face":{"document_id":"`+d.ID+`"}}`)))
	fmt.Println(d.Field, d.Size, j.Run.Status, j.Step)

	// A page that was left open cannot answer another step.
	_, err := s.AnswerJourney(ctx, must(s.OpenJourney(ctx, token)), wait, nil)
	fmt.Println(errors.Is(err, verification.ErrNotOpen))
	// Output:
	// Portrait in_progress photo face
	// face 22 completed <nil>
	// true
}

func ExampleEngine_OpenDocument() {
	s, ctx := open(func(p *engine.Ports) { p.Documents, p.Sanitize = newDocuments(), unchanged }), context.Background()
	defer s.close()
	run := s.start(s.apply(`
workflow: portrait
name: Portrait
start: photo
nodes:
  photo: {type: customer_input, next: done, fields: {face: {type: image, required: true}}}
  done: {type: end}
`), "")
	j := must(s.OpenJourney(ctx, strings.TrimPrefix(must(s.Run(ctx, acme, run)).Action.URL, "https://verify.example/journey/")))
	d := must(s.UploadDocument(ctx, j, j.Step.WaitNumber, "face", strings.NewReader("the bytes of a picture")))
	_, _, err := s.Engine.OpenDocument(ctx, acme, run, d.ID)
	fmt.Println(errors.Is(err, verification.ErrNotFound)) // until an answer names it
	must(s.AnswerJourney(ctx, j, j.Step.WaitNumber, verification.Data(`{"face":{"document_id":"`+d.ID+`"}}`)))

	document, content, err := s.Engine.OpenDocument(ctx, acme, run, d.ID)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = content.Close() }()
	fmt.Println(document.MediaType, string(must(io.ReadAll(content))))
	// Output:
	// true
	// image/png the bytes of a picture
}

func ExampleEngine_JourneyLogo() {
	ctx := context.Background()
	s := open(func(p *engine.Ports) {
		tenant := verification.Tenant{ID: acme, Name: "Acme", Logo: verification.NewLogo("image/png", []byte("the bytes of a PNG"))}
		if err := (store.Tables{RowStore: p.Store}).SaveTenant(ctx, tenant); err != nil {
			panic(err)
		}
	})
	defer s.close()
	run := s.start(s.apply(`
workflow: portrait
name: Portrait
start: photo
nodes:
  photo: {type: customer_input, next: done, fields: {face: {type: image}}}
  done: {type: end}
`), "")
	token := strings.TrimPrefix(must(s.Run(ctx, acme, run)).Action.URL, "https://verify.example/journey/")

	logo := must(s.JourneyLogo(ctx, token))
	fmt.Println(logo.Name, logo.MediaType(), len(logo.Content))
	// Output: 6b6f2bdf268e8167.png image/png 18
}

// text is a printer of your own; adapters/pdf is one that prints PDF files.
type text struct{}

func (text) PrintReport(_ context.Context, _ verification.TenantID, r report.Print) ([]byte, error) {
	return fmt.Appendf(nil, "%s: %s", r.Run.ReferenceID, r.Run.Status), nil
}

func ExampleEngine_PrintReport() {
	s, ctx := open(func(p *engine.Ports) { p.Printer = text{} }), context.Background()
	defer s.close()
	run := s.start(s.apply(journey), "")

	_, err := s.PrintReport(ctx, acme, run)
	fmt.Println(err)
	s.consent(run)
	fmt.Printf("%s\n", must(s.PrintReport(ctx, acme, run)))
	// Output:
	// run: the run is in_progress; its report is printed once it is over
	// person-1: completed
}

func ExampleEngine_Redeliver() {
	notices := &enginetest.Notices{}
	s, ctx := open(func(p *engine.Ports) { p.Notifier = notices }), context.Background()
	defer s.close()
	workflow := s.apply(journey)
	must(s.SetWebhook(ctx, acme, workflow, "https://app.example/hooks"))
	defer s.serve()()
	notices.FailWith(&verification.RetryError{Cause: errors.New("410 Gone")}) // and no retry
	run := s.start(workflow, "")
	s.consent(run)

	show := func() {
		page := must(s.Deliveries(ctx, acme, "", store.PageQuery{Limit: store.DefaultLimit}))
		for _, d := range page.Data {
			fmt.Println(d.State, d.Attempts, d.Class, d.URL)
		}
	}
	show()
	if err := s.Redeliver(ctx, acme, rules.NoticeRef{Run: run}); err != nil {
		fmt.Println(err)
	}
	s.settle()
	show()
	// Output:
	// failed 1 failed https://app.example/hooks
	// delivered 2 delivered https://app.example/hooks
}

func ExampleEngine_RunSummaries() {
	s, ctx := open(), context.Background()
	defer s.close()
	workflow := s.apply(journey)
	s.consent(s.start(workflow, `{"sandbox":{"pan_verification":{"outcome":"pass","data":{"source_ok":false}}}}`))
	s.start(workflow, "")

	page, at, err := s.RunSummaries(ctx, acme, store.RunQuery{PageQuery: store.PageQuery{Limit: 10}})
	for _, run := range page.Data {
		fmt.Printf("%s %q\n", run.StatusAt(at), run.DecisionAt(at))
	}
	fmt.Println(page.Total, err)
	// Output:
	// in_progress ""
	// completed "review"
	// 2 <nil>
}

func ExampleEngine_Versions() {
	s, ctx := open(), context.Background()
	defer s.close()
	workflow := s.apply(journey)
	changed := must(definition.ReadWorkflow("journey.yaml", []byte(journey))).Definition
	changed.Name = "Account opening"
	must(s.Apply(ctx, acme, changed))

	versions := must(s.Versions(ctx, acme, workflow, store.PageQuery{Limit: 2})).Data
	after := must(s.Version(ctx, acme, workflow, versions[0].Hash))
	before := must(s.Version(ctx, acme, workflow, versions[1].Hash))
	fmt.Println(before.Number, before.Definition.Name)
	fmt.Println(after.Number, after.Definition.Name)
	// Output:
	// 1 Onboarding
	// 2 Account opening
}

func ExampleEngine_SetWebhook() {
	s, ctx := open(), context.Background()
	defer s.close()
	workflow := s.apply(journey)

	fmt.Println(must(s.SetWebhook(ctx, acme, workflow, "https://app.example/hooks")).LifecycleWebhookURL)
	_, err := s.SetWebhook(ctx, acme, workflow, "https://app.example/other")
	fmt.Println(errors.Is(err, verification.ErrConflict))

	// An operator clears it, so that the client can set another one.
	fmt.Printf("%q\n", must(s.ClearWebhook(ctx, acme, workflow)).LifecycleWebhookURL)
	fmt.Println(must(s.SetWebhook(ctx, acme, workflow, "https://app.example/other")).LifecycleWebhookURL)
	// Output:
	// https://app.example/hooks
	// true
	// ""
	// https://app.example/other
}

func ExampleEngine_Authenticate() {
	var accounts store.Tables
	s, ctx := open(func(p *engine.Ports) { accounts = store.Tables{RowStore: p.Store} }), context.Background()
	defer s.close()
	const key = "a key of at least twenty characters"
	account := verification.Account{ClientID: "acme-backend", Tenant: acme, KeyHash: verification.HashAPIKey(key)}
	if err := accounts.SaveAccount(ctx, account); err != nil {
		fmt.Println(err)
	}

	fmt.Println(must(s.Authenticate(ctx, "acme-backend", key)).Tenant == acme)
	_, err := s.Authenticate(ctx, "acme-backend", "another key")
	fmt.Println(errors.Is(err, verification.ErrUnauthenticated))
	// Output:
	// true
	// true
}

// journey asks for consent, checks a number, and asks for a review if the check
// fails. The sandbox does what the input of the run says.
const journey = `
workflow: onboarding
name: Onboarding
run_ttl_seconds: 3600
start: consent
nodes:
  consent: {type: consent, text: We check your PAN., on_declined: done, next: pan}
  pan:
    type: check
    key: pan_verification
    label: PAN verification
    provider: sandbox
    on_failed: review
    next: done
  review: {type: review, next: done}
  done: {type: end}
`

// stage is an engine on a store in memory with a manual clock.
type stage struct {
	*engine.Engine
	clock *clock.Manual
}

func open(changes ...func(*engine.Ports)) stage {
	store, still := memory.New(), clock.NewManual(enginetest.Began())
	p := engine.Ports{
		Store:       store,
		Providers:   map[string]verification.Provider{"sandbox": sandbox.New(still.Sleep)},
		Expressions: expression.New(), Links: enginetest.Links(), Clock: still, NewID: enginetest.SeededIDs(1),
	}
	if err := store.SaveTenant(context.Background(), verification.Tenant{ID: acme, Name: "Acme"}); err != nil {
		panic(err)
	}
	for _, change := range changes {
		change(&p)
	}
	return stage{must(engine.New(p, engine.Options{PublicURL: "https://verify.example"})), still}
}

// serve serves the engine until stop is called.
func (s stage) serve() (stop func()) {
	ctx, stop := context.WithCancel(context.Background())
	go s.Serve(ctx)
	<-s.Serving()
	return stop
}

func (s stage) close() {
	if err := s.Close(context.Background()); err != nil {
		panic(err)
	}
}

// settle waits until the engine is idle.
func (s stage) settle() {
	if err := s.clock.Settle(context.Background()); err != nil {
		panic(err)
	}
}

func (s stage) apply(file string) verification.WorkflowID {
	doc := must(definition.ReadWorkflow("journey.yaml", []byte(file)))
	return must(s.Apply(context.Background(), acme, doc.Definition)).Workflow.ID
}

func (s stage) start(w verification.WorkflowID, input string) verification.RunID {
	r := engine.StartRequest{ReferenceID: "person-1", Input: verification.Data(input)}
	id := must(s.Start(context.Background(), acme, w, r)).ID
	s.settle()
	return id
}

func (s stage) consent(run verification.RunID) {
	must(s.Submit(context.Background(), acme, run, engine.SubmitRequest{Signal: "consent_submitted", Payload: verification.Data(`{"consent_status":"success"}`)}))
	s.settle()
}

// must panics on an error, which examples do not handle.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestTheREADMEShowsTheExampleAsItRuns(t *testing.T) {
	here, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for language, part := range map[string]string{"yaml": "workflow: passport\n", "go": "\nfunc Example() {\n"} {
		_, block, _ := strings.Cut(string(readme), "```"+language+"\n")
		block, _, _ = strings.Cut(block, "```\n")
		if !strings.Contains(block, part) || !strings.Contains(string(here), block) {
			t.Errorf("the %s of README.md does not stand in example_test.go word for word:\n%s", language, block)
		}
	}
}

func ExampleEngine_UseSignInLink() {
	s, ctx := open(), context.Background()
	defer s.close()
	link := verification.SignInLink{
		Reviewer: verification.Reviewer{Tenant: acme, Name: "asha", Role: verification.RoleReviewer},
		ID:       "a random text", ExpiresAt: enginetest.Began().Add(verification.SignInLinkTTL), Session: 8 * time.Hour,
	}

	fmt.Println(s.UseSignInLink(ctx, link))
	fmt.Println(s.UseSignInLink(ctx, link))
	// Output:
	// <nil>
	// sign-in link: it was used before
}

func ExampleEngine_TenantName() {
	s, ctx := open(), context.Background()
	defer s.close()

	fmt.Println(must(s.TenantName(ctx, acme)))
	// Output: Acme
}

func ExampleEngine_Queue() {
	s, ctx := open(), context.Background()
	defer s.close()
	w := s.apply("review_due_minutes: 240\n" + strings.TrimPrefix(journey, "\n"))
	run := s.start(w, `{"sandbox":{"pan_verification":"fail"}}`)
	s.consent(run)

	queue := must(s.Queue(ctx, acme, store.RunQuery{
		PageQuery: store.PageQuery{Limit: 50}, Order: store.DueFirst, Unclaimed: true,
	}))
	for _, run := range queue.Data {
		v := run.Review
		fmt.Println(run.ReferenceID, v.WorkflowName, v.Causes, v.Concerns[0].Sentences[0], v.DueAt.Sub(v.Since))
	}
	next := store.PositionOf(run, *queue.Data[0].Review)
	rest := must(s.Queue(ctx, acme, store.RunQuery{PageQuery: store.PageQuery{Limit: 1}, After: &next}))
	fmt.Println(rest.Total, len(rest.Data))
	// Output:
	// person-1 Onboarding [review_step] The check did not pass. 4h0m0s
	// 1 0
}

func ExampleEngine_Claim() {
	s, ctx := open(), context.Background()
	defer s.close()
	run := s.start(s.apply(journey), `{"sandbox":{"pan_verification":"fail"}}`)
	s.consent(run)

	must(s.Claim(ctx, acme, run, engine.ClaimRequest{By: "asha@acme.example", Name: "Asha"}))
	held, err := s.Claim(ctx, acme, run, engine.ClaimRequest{By: "ben@acme.example", Name: "Ben"})
	fmt.Println(held.Name, errors.Is(err, verification.ErrConflict))
	must(s.Claim(ctx, acme, run, engine.ClaimRequest{By: "ben@acme.example", Name: "Ben", TakeOver: true}))
	fmt.Println(must(s.Review(ctx, acme, run)).Claim.Name)
	// Output:
	// Asha true
	// Ben
}

func ExampleEngine_ReleaseClaim() {
	s, ctx := open(), context.Background()
	defer s.close()
	run := s.start(s.apply(journey), `{"sandbox":{"pan_verification":"fail"}}`)
	s.consent(run)

	must(s.Claim(ctx, acme, run, engine.ClaimRequest{By: "asha@acme.example", Name: "Asha"}))
	err := s.ReleaseClaim(ctx, acme, run, "asha@acme.example")
	fmt.Println(err, must(s.Review(ctx, acme, run)).Claim.By == "")
	// Output: <nil> true
}

func ExampleEngine_Review() {
	s, ctx := open(), context.Background()
	defer s.close()
	run := s.start(s.apply(journey), `{"sandbox":{"pan_verification":"fail"}}`)
	s.consent(run)

	fmt.Println(must(s.Review(ctx, acme, run)).Concerns[0].NodeID)
	must(s.GiveVerdict(ctx, acme, run, rules.GiveVerdict{Decision: rules.DecisionApprove}, ""))
	_, err := s.Review(ctx, acme, run)
	fmt.Println(errors.Is(err, verification.ErrNotFound))
	// Output:
	// pan
	// true
}

func ExampleEngine_QueueStats() {
	s, ctx := open(), context.Background()
	defer s.close()
	run := s.start(s.apply("review_due_minutes: 60\n"+strings.TrimPrefix(journey, "\n")), `{"sandbox":{"pan_verification":"fail"}}`)
	s.consent(run)
	if err := s.clock.Advance(ctx, 59*time.Minute+59*time.Second); err != nil {
		fmt.Println(err)
	}

	stats := must(s.QueueStats(ctx))
	fmt.Println(stats.Open, stats.Overdue)
	// Output: 1 0
}
