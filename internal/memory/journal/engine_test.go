package journal_test

import (
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// An engine starts a run, and its host loses power while the run waits for a retry. The
// engine of the next host finishes the run.
func TestRunsGoOnAfterALossOfPower(t *testing.T) {
	host := func(d *fakeDisk) *enginetest.Kit {
		s, err := journal.OpenDisk(t.Context(), d, journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closed(t, s) }) // after the engine, which releases its work
		return enginetest.New(t, func(p *engine.Ports, _ *engine.Options) { p.Store = s })
	}
	d := newFakeDisk()
	before := host(d)
	before.Provider.On("pan", enginetest.Flake())
	workflow := before.Apply(workflow.Definition{
		Workflow: "onboarding", Name: "Onboarding", Start: "consent", LifecycleWebhookURL: "https://client.example/hook",
		Nodes: map[verification.NodeID]workflow.Node{
			"consent": {Type: workflow.NodeConsent, Label: "Consent", Text: "We check your PAN.", Next: "pan", OnDeclined: "next"},
			"pan":     {Type: workflow.NodeCheck, Label: "PAN", Provider: "script", Next: "done"},
			"done":    {Type: workflow.NodeEnd},
		},
	})
	run := before.Start(workflow.ID, engine.StartRequest{ReferenceID: "customer-1"})
	before.Submit(run.ID, "consent_submitted", map[string]any{"consent_status": "success"})

	after := host(d.afterPowerLoss())
	if got, want := after.Run(run.ID), before.Run(run.ID); got.Status != rules.StatusInProgress || got.StartedAt != want.StartedAt {
		t.Errorf("after the loss of power the run is %+v, want %+v", got, want)
	}
	after.Advance(time.Hour)
	if got := after.Run(run.ID); got.Status != rules.StatusCompleted {
		t.Errorf("the run is %s, want completed", got.Status)
	}
	if calls := after.Provider.Calls("pan"); len(calls) != 1 {
		t.Errorf("%d calls of the provider after the loss of power, want 1", len(calls))
	}
	notices := after.Notices.All()
	if len(notices) != 1 || notices[0].Run.ID != run.ID {
		t.Errorf("notices %+v, want one", notices)
	}
}
