// Tests of the audit trail: what is in it, and what costs nothing.

package engine_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// useCases says of each exported method of the engine what it adds to the audit trail, or why it adds nothing.
func useCases() map[string]string {
	const (
		customer = "a customer's step is in the history of the run"
		history  = "the history of the run says who"
		list     = "lists show no more than the reference id"
		host     = "it is work of the host"
		program  = "it reads no data of a person"
		shown    = "the reading of the run whose page shows it is recorded; a list shows no more than its reference id"
	)
	return map[string]string{
		"Run": "run.read", "History": "run.read", "HistoryInFull": "run.read", "Report": "report.read",
		"PrintReport": "report.printed", "PrintFile": "report.printed", "OpenDocument": "document.read", "OpenDocumentInFull": "document.read",
		"Runs": "person.searched", "RunSummaries": "person.searched",
		"GiveVerdict": "verdict.given, verdict.proposed", "ReturnProposal": "verdict.proposed", "DecideHit": "hit.decided",
		"AskAgain": "customer.asked", "Correct": "value.corrected", "Cancel": "run.cancelled", "HoldRun": "run.held", "EndHold": "hold.ended",
		"Redact": "run.redacted", "Restrict": "run.restricted", "LiftRestriction": "restriction.lifted",
		"RedactRuns": "person.searched, run.redacted", "Retain": "run.redacted, run.deleted",
		"Apply": "workflow.saved", "SetWebhook": "workflow.saved", "ClearWebhook": "workflow.saved",
		"Publish": "workflow.published", "Retire": "workflow.retired",
		"AddNote": history, "Assign": history, "Claim": history, "ReleaseClaim": history, "Start": history,
		"UploadDocument": customer, "UploadForSignal": customer, "ReadJourney": customer, "ReadStep": customer, "OpenJourney": customer,
		"JourneyLogo": customer, "AnswerJourney": customer, "CheckAnswer": customer, "Submit": customer,
		"Queue": list, "Review": list, "QueueStats": list, "Deliveries": list, "Rejection": program, "EarlierRun": shown,
		"Redeliver": program, "Workflows": program, "Workflow": program, "Versions": program, "Version": program,
		"Authenticate": program, "UseSignInLink": program, "TenantName": program, "Describer": program, "Searches": program, "SearchKeys": program, "RescreenPasses": program,
		"Serve": host, "Serving": host, "Close": host, "Wake": host, "Leaves": host, "ForgetRuns": host, "Within": host, "On": host, "ReceiveCallback": host, "ReceiveReturn": customer, "OpenReturn": customer, "RecordHits": host,
		"ApplyErasures": host, "NoteErasures": host, "RemoveDocuments": host, "PendingRedactions": host, "UnkeyedWorkflows": host, "RetentionDue": host, "RetentionPlan": program, "RetentionChanges": program, "NoteRetention": host, "RetentionNext": host, "KeptUntil": program,
	}
}

func TestEachUseCaseIsAuditedOrSaysWhyNot(t *testing.T) {
	known := useCases()
	for m := range reflect.TypeFor[*engine.Engine]().Methods() {
		if known[m.Name] == "" {
			t.Errorf("Engine.%s is not in the table: say what it adds to the audit trail, or why it adds nothing", m.Name)
		}
		delete(known, m.Name)
	}
	for name := range known {
		t.Errorf("the table has %s, and the engine does not", name)
	}
}

func asReviewer(t *testing.T) context.Context {
	t.Helper()
	return verification.WithActor(t.Context(), verification.ReviewerActor(verification.Person{Identity: "Asha@example.com", Name: "Asha"}))
}

func asAccount(t *testing.T) context.Context {
	t.Helper()
	return verification.WithActor(t.Context(), verification.Actor{Kind: verification.ActorAccount, ID: "acme"})
}

// trailOf returns actions, actors and counts of the audit trail, newest first.
func trailOf(t *testing.T, s store.Store) (all []string) {
	t.Helper()
	entries, err := s.AuditEntries(t.Context(), enginetest.Tenant, store.AuditQuery{Limit: store.MaxAuditLimit})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, string(e.Action)+" by "+string(e.Actor.Kind)+" "+e.Actor.ID)
	}
	return all
}

func TestWhatPeopleReadAndDecideIsAudited(t *testing.T) {
	var s store.Store
	k := enginetest.New(t, func(p *engine.Ports, o *engine.Options) { s, o.SearchKey = p.Store, make([]byte, 32) })
	run := k.Start(k.Apply(kept()).ID, engine.StartRequest{ReferenceID: "person-1", Input: verification.Data(`{"name":"Asha"}`)})
	ctx := asReviewer(t)
	for range 6 { // as a page does
		if _, err := k.Engine.History(ctx, enginetest.Tenant, run.ID); err != nil {
			t.Fatal(err)
		}
	}
	k.Advance(time.Second)
	page := store.PageQuery{Limit: 10}
	if _, _, err := k.Engine.RunSummaries(ctx, enginetest.Tenant, store.RunQuery{PageQuery: page, ReferenceID: "person-1"}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.Engine.RunSummaries(ctx, enginetest.Tenant, store.RunQuery{PageQuery: page}); err != nil { // searches for nobody
		t.Fatal(err)
	}
	k.Advance(time.Second)
	if _, err := k.Engine.Cancel(asAccount(t), enginetest.Tenant, run.ID); err != nil {
		t.Fatal(err)
	}
	k.Advance(time.Second)
	by := verification.Person{Identity: "operator#root", Name: "root"}
	if _, err := k.Engine.Redact(t.Context(), enginetest.Tenant, run.ID, "", by); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"run.redacted by reviewer operator#root", "run.cancelled by account acme",
		"person.searched by reviewer asha@example.com", "run.read by reviewer asha@example.com",
	}
	if got := trailOf(t, s); !slices.Equal(got, want) {
		t.Errorf("the audit trail has %q, want %q", got, want)
	}
	entries, _ := s.AuditEntries(t.Context(), enginetest.Tenant, store.AuditQuery{Limit: 1, Action: store.AuditPersonSearched})
	if len(entries) != 1 || len(entries[0].Subject) != 32 {
		t.Errorf("the search is %+v, want a keyed hash of what was asked", entries)
	}
}

// A page that was read is in the trail, or it was not read.
func TestWhatCannotBeRecordedIsNotRead(t *testing.T) {
	down := verification.Unavailable("store", "it is down")
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
		trail := &mock.AuditStoreMock{AppendAuditFunc: func(context.Context, []store.AuditEntry) error { return down }}
		p.Store = replace(p.Store, func(s *ports) { s.AuditStore = trail })
	})
	run := k.Start(k.Apply(kept()).ID, engine.StartRequest{ReferenceID: "person-1"})
	if _, err := k.Engine.Run(asReviewer(t), enginetest.Tenant, run.ID); !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("Run = %v, want ErrUnavailable", err)
	}
	if _, err := k.Engine.Run(asAccount(t), enginetest.Tenant, run.ID); err != nil {
		t.Errorf("Run of an account = %v, want nil", err)
	}
}

func TestPollingCallsNoStoreForTheAuditTrail(t *testing.T) {
	var trail *mock.AuditStoreMock
	var s store.Store
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
		s = p.Store
		trail = &mock.AuditStoreMock{AppendAuditFunc: s.AppendAudit, AuditEntriesFunc: s.AuditEntries}
		p.Store = replace(p.Store, func(s *ports) { s.AuditStore = trail })
	})
	run := k.Start(k.Apply(kept()).ID, engine.StartRequest{ReferenceID: "person-1"})
	poll := func(n int) {
		for range n {
			if _, err := k.Engine.Run(asAccount(t), enginetest.Tenant, run.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, want := range []int{100, 150} {
		poll(want - 100*i)
		if n := len(trail.AppendAuditCalls()); n != i {
			t.Errorf("AppendAudit was called %d times while an account polls, want %d", n, i)
		}
		k.Advance(time.Minute)
		entries, err := s.AuditEntries(t.Context(), enginetest.Tenant, store.AuditQuery{Limit: 10})
		if err != nil || len(entries) != 1 || entries[0].Count != want || entries[0].Run != run.ID || entries[0].Actor.ID != "acme" {
			t.Errorf("the audit trail has %+v, %v, want one count of %d", entries, err, want)
		}
	}
	poll(7)
	if err := k.Engine.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if entries, _ := s.AuditEntries(t.Context(), enginetest.Tenant, store.AuditQuery{Limit: 10}); len(entries) != 1 || entries[0].Count != 157 {
		t.Errorf("after Close the audit trail has %+v, want a count of 157", entries)
	}
}

// An append and its entry are both there, or neither is.
func TestARefusedAppendAuditsNothing(t *testing.T) {
	var s store.Store
	var refuse bool
	k, runs := withRuns(t, func(p *engine.Ports, _ *engine.Options) { s = p.Store })
	onAppend(runs, func(verification.RunID, store.Commit) error {
		if refuse {
			return verification.Unavailable("store", "it is down")
		}
		return nil
	})
	run := k.Start(k.Apply(kept()).ID, engine.StartRequest{ReferenceID: "person-1"})
	refuse = true
	hold := rules.HoldRun{Reason: "court", By: "root", Identity: "operator#root"}
	if err := k.Engine.HoldRun(t.Context(), enginetest.Tenant, run.ID, hold); err == nil {
		t.Fatal("HoldRun = nil, want an error")
	}
	if got := trailOf(t, s); len(got) > 0 {
		t.Errorf("the audit trail has %q, want nothing", got)
	}
	refuse = false
	if err := k.Engine.HoldRun(t.Context(), enginetest.Tenant, run.ID, hold); err != nil {
		t.Fatal(err)
	}
	if got, want := trailOf(t, s), []string{"run.held by reviewer operator#root"}; !slices.Equal(got, want) {
		t.Errorf("the audit trail has %q, want %q", got, want)
	}
}
