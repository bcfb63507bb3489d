// Tests that a use case reads each thing once.

package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func TestAUseCaseReadsEachThingOnce(t *testing.T) {
	payload := verification.Data(`{"consent_status":"success"}`)
	approve := rules.GiveVerdict{Decision: rules.DecisionApprove}
	// One run waits for a consent, one for a file, and one is over.
	type runs struct{ consent, photo, over rules.RunDetail }
	for name, c := range map[string]struct {
		do                                 func(e *engine.Engine, r runs) error
		loads, workflows, versions, tenant int
	}{
		"Run": {func(e *engine.Engine, r runs) error {
			return second(e.Run(t.Context(), enginetest.Tenant, r.consent.ID))
		}, 1, 0, 0, 0},
		"Report": {func(e *engine.Engine, r runs) error {
			return second(e.Report(t.Context(), enginetest.Tenant, r.consent.ID))
		}, 1, 0, 0, 0},
		"Cancel": {func(e *engine.Engine, r runs) error {
			return second(e.Cancel(t.Context(), enginetest.Tenant, r.consent.ID))
		}, 1, 1, 1, 0}, // the workflow has the webhook
		"Submit": {func(e *engine.Engine, r runs) error {
			return second(e.Submit(t.Context(), enginetest.Tenant, r.consent.ID, engine.SubmitRequest{Signal: "consent_submitted", Payload: payload}))
		}, 1, 0, 1, 0},
		"GiveVerdict on a run that is over": {func(e *engine.Engine, r runs) error {
			return second(e.GiveVerdict(t.Context(), enginetest.Tenant, r.over.ID, approve, ""))
		}, 1, 0, 1, 0},
		"Redeliver": {func(e *engine.Engine, r runs) error {
			return e.Redeliver(t.Context(), enginetest.Tenant, rules.NoticeRef{Run: r.over.ID})
		}, 1, 1, 0, 0},
		"Start": {func(e *engine.Engine, r runs) error {
			return second(e.Start(t.Context(), enginetest.Tenant, r.consent.WorkflowID, engine.StartRequest{ReferenceID: "y"}))
		}, 0, 1, 1, 1}, // the tenant has the zone
		"Start with a redirect": {func(e *engine.Engine, r runs) error {
			return second(e.Start(t.Context(), enginetest.Tenant, r.consent.WorkflowID,
				engine.StartRequest{ReferenceID: "y", RedirectURI: "https://app.example/done"}))
		}, 0, 1, 1, 1},
		"OpenJourney": {func(e *engine.Engine, r runs) error {
			return second(e.OpenJourney(t.Context(), linkToken(r.photo)))
		}, 1, 0, 1, 1},
		"a post of a journey with a file": {func(e *engine.Engine, r runs) error {
			j, err := e.OpenJourney(t.Context(), linkToken(r.photo))
			if err != nil {
				return err
			}
			d, err := e.UploadDocument(t.Context(), j, j.Step.WaitNumber, "face", strings.NewReader("pixels"))
			if err != nil {
				return err
			}
			answer := verification.Data(`{"face":{"document_id":"` + d.ID + `"}}`)
			return second(e.AnswerJourney(t.Context(), j, j.Step.WaitNumber, answer))
		}, 1, 1, 1, 1}, // the answer ends the run
	} {
		t.Run(name, func(t *testing.T) {
			k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) { p.Documents, p.Sanitize = newDocuments(), unchanged })
			if err := k.Store.SaveTenant(t.Context(), verification.Tenant{
				ID: enginetest.Tenant, Name: "Test", RedirectAllowlist: []string{"https://app.example/done"},
			}); err != nil {
				t.Fatal(err)
			}
			ended := chain("a")
			ended.LifecycleWebhookURL = hooks
			photo := portrait()
			photo.LifecycleWebhookURL = hooks
			consent := onboarding()
			consent.LifecycleWebhookURL = hooks
			r := runs{consent: start(k, consent), photo: start(k, photo), over: start(k, ended)}
			histories := mockRuns(k.Store)
			flows := &mock.WorkflowStoreMock{WorkflowFunc: k.Store.Workflow, VersionFunc: k.Store.Version}
			rows, tenants := mockRows(k.Store), 0
			rows.RowFunc = func(ctx context.Context, kind store.RecordKind, key string) (store.Record, error) {
				if kind == store.RecordTenant {
					tenants++
				}
				return k.Store.Row(ctx, kind, key)
			}
			e := operator(t, k, func(p *engine.Ports) { // another host, whose caches are empty
				p.Store = replace(p.Store, func(s *ports) { s.RunStore, s.WorkflowStore, s.RowStore = histories, flows, rows })
				p.Documents, p.Sanitize = newDocuments(), unchanged
				p.NewID = enginetest.SeededIDs(3)
			})
			if err := c.do(e, r); err != nil {
				t.Fatal(err)
			}
			for _, calls := range []struct {
				of        string
				got, want int
			}{
				{"RunStore.Load", len(histories.LoadCalls()), c.loads},
				{"WorkflowStore.Workflow", len(flows.WorkflowCalls()), c.workflows},
				{"WorkflowStore.Version", len(flows.VersionCalls()), c.versions},
				{"RowStore.Row of a tenant", tenants, c.tenant},
			} {
				if calls.got != calls.want {
					t.Errorf("%d calls of %s, want %d", calls.got, calls.of, calls.want)
				}
			}
		})
	}
}

func TestAnAnswerIsDecidedOnALaterUpload(t *testing.T) {
	s := openForm(t, portrait())
	j := openJourney(t, s.Kit, s.run)
	s.mustUpload("face", "from another tab")
	id := s.mustUpload("face", "the last one")
	answer := verification.Data(`{"face":{"document_id":"` + id + `"}}`)
	if _, err := s.Engine.AnswerJourney(t.Context(), j, j.Step.WaitNumber, answer); err != nil {
		t.Errorf("an answer with an upload that the journey has not read = %v, want it accepted", err)
	}
}
