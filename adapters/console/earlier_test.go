// Tests of earlier rejections in the queue and on the page of a run.

package console_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/provider/offline"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// rejectedBefore has a run that needs a verdict, and two rejected runs of the same person.
func rejectedBefore(t *testing.T) (d *desk, forged, again, now verification.RunID) {
	d = serve(t, searching, func(p *engine.Ports, _ *engine.Options) {
		for name, provider := range offline.Checks() {
			p.Providers[name] = provider
		}
	})
	w := d.Apply(workflow.Definition{
		Workflow: "account", Name: "Account", Start: "form",
		RejectReasons: []workflow.RejectReason{{Code: "forged", Label: "Forged document"}},
		Nodes: map[verification.NodeID]workflow.Node{
			"form": {Type: workflow.NodeCustomerInput, Next: "before", Fields: workflow.InputFields{
				{Name: "name", Type: workflow.FieldText, Search: true},
				{Name: "document", Type: workflow.FieldText, Search: true},
			}},
			"before": {
				Type: workflow.NodeCheck, Label: "Earlier runs", Provider: "offline.earlier_runs",
				With: verification.Data(`{"by":["reference","number"]}`), OnFailed: "review", OnUnavailable: "review", Next: "review",
			},
			"review": {Type: workflow.NodeReview, Label: "Review", Reason: "Every account is reviewed.", Next: "done"},
			"done":   {Type: workflow.NodeEnd},
		},
	})
	start := func(reference, document string) verification.RunID {
		run := d.Start(w.ID, engine.StartRequest{ReferenceID: reference})
		d.Submit(run.ID, "form_submitted", map[string]any{"name": "Meera Iyer", "document": document})
		d.Advance(time.Minute)
		return run.ID
	}
	reject := func(id verification.RunID, reason string) {
		c := rules.GiveVerdict{Decision: rules.DecisionReject, Reason: reason, Notes: "secret notes"}
		if _, err := d.Engine.GiveVerdict(t.Context(), enginetest.Tenant, id, c, ""); err != nil {
			t.Fatal(err)
		}
	}
	again = start("acct-7", "Q7654321")
	reject(again, "")
	forged = start("acct-1", "P1234567")
	reject(forged, "forged")
	return d, forged, again, start("acct-7", "P 1234567")
}

func TestTheQueueSaysWhoWasRejectedBefore(t *testing.T) {
	d, forged, again, now := rejectedBefore(t)
	p := d.as(reviewer(verification.RoleReviewer))
	queue, run := "/queue", "/runs/"+string(now)
	wants(t, p.get(queue), http.StatusOK, "Rejected before:</b> <bdi>acct-1</bdi>, same number, \u2068Forged document\u2069", "!secret notes")
	wants(t, p.get(run), http.StatusOK, `Rejected before:</b> <a href="/console/runs/`+string(forged)+`"><bdi>acct-1</bdi></a>, same number, `,
		`<a href="/console/runs/`+string(again)+`"><bdi>acct-7</bdi></a>, same reference, by `+"\u2068A program\u2069, ", "!secret notes")
	page := p.get(run).body
	if before, why := strings.Index(page, "Rejected before:"), strings.Index(page, "Every account is reviewed."); before < 0 || before > why {
		t.Errorf("the earlier rejection stands at %d, behind the reasons at %d", before, why)
	}
	for _, tt := range []struct {
		name   string
		change func() error
	}{
		{"approved since", func() error {
			_, err := d.Engine.GiveVerdict(t.Context(), enginetest.Tenant, forged, rules.GiveVerdict{Decision: rules.DecisionApprove}, "")
			return err
		}},
		{"restricted", func() error {
			_, err := d.Engine.Restrict(t.Context(), enginetest.Tenant, again, "asked for", verification.Person{Name: "Ops", Identity: "ops"})
			return err
		}},
	} {
		if err := tt.change(); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
	}
	wants(t, p.get(queue), http.StatusOK, "!Rejected before:")
	wants(t, p.get(run), http.StatusOK, "!Rejected before:")
}

// What retention has deleted since is shown neither in the queue nor on the page.
func TestADeletedRunIsNotRejectedBefore(t *testing.T) {
	d, forged, again, now := rejectedBefore(t)
	p := d.as(reviewer(verification.RoleReviewer))
	queue, run := "/queue", "/runs/"+string(now)
	row, page := p.get(queue).body, p.get(run).body
	for _, shown := range []string{row, page} {
		if !strings.Contains(shown, "Rejected before:") {
			t.Fatal("no page has an earlier rejection")
		}
	}
	tenant, err := d.Store.Tenant(t.Context(), enginetest.Tenant)
	if err != nil {
		t.Fatal(err)
	}
	tenant.Retention = verification.Retention{DeleteAfterDays: 30}
	changes, err := d.Engine.RetentionChanges(t.Context(), enginetest.Tenant, &engine.NextRetention{Tenant: tenant.Retention})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.Store.SaveTenant(t.Context(), tenant), d.Engine.NoteRetention(t.Context(), enginetest.Tenant, changes)); err != nil {
		t.Fatal(err)
	}
	for _, later := range []time.Duration{31 * 24 * time.Hour, 24 * time.Hour} { // redacted first, then deleted
		d.Advance(later)
		for more := true; more; {
			if more, err = d.Engine.Retain(t.Context()); err != nil {
				t.Fatal(err)
			}
			d.Settle()
		}
	}
	for _, id := range []verification.RunID{forged, again} {
		if _, err := d.Engine.Run(t.Context(), enginetest.Tenant, id); !errors.Is(err, verification.ErrNotFound) {
			t.Fatalf("a run that is 32 days old is there: %v", err)
		}
	}
	p = d.as(reviewer(verification.RoleReviewer)) // the session has ended
	const unknown = "!were not looked up, or not all of them."
	wants(t, p.get(queue), http.StatusOK, "acct-7", "!Rejected before:", "!acct-1", "!Forged document", unknown)
	wants(t, p.get(run), http.StatusOK, "acct-7", "!Rejected before:", "!acct-1", "!/runs/"+string(forged), "!/runs/"+string(again), unknown)
}

func TestACheckOfEarlierRunsShowsThem(t *testing.T) {
	d, forged, again, now := rejectedBefore(t)
	p := d.as(reviewer(verification.RoleReviewer))
	shown := []string{
		`<a href="/console/runs/` + string(forged) + `"><bdi>acct-1</bdi></a> <bdi>Meera Iyer</bdi> <b class="small">` + "\u2068Forged document\u2069, by \u2068A program\u2069, ",
		`<a href="/console/runs/` + string(again) + `"><bdi>acct-7</bdi></a> <bdi>Meera Iyer</bdi>`,
	}
	wants(t, p.get("/runs/"+string(now)), http.StatusOK, shown...)
	if _, err := d.Engine.Redact(t.Context(), enginetest.Tenant, forged, "", verification.Person{Name: "Ops", Identity: "ops"}); err != nil {
		t.Fatal(err)
	}
	wants(t, p.get("/runs/"+string(now)), http.StatusOK, "!"+shown[0], string(forged), shown[1])
}

func TestEarlierRejectionsLookRight(t *testing.T) {
	d, _, _, now := rejectedBefore(t)
	tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true})
	d.inspectAll(tab, "queue-rejected-before", "/queue", nil)
	d.inspectAll(tab, "run-rejected-before", "/runs/"+string(now), nil)
}

func TestPagesSayThatNothingWasLookedUp(t *testing.T) {
	slow := true
	d := serve(t, searching, func(p *engine.Ports, _ *engine.Options) { p.Store = slowLists{p.Store, &slow} })
	asha, _, _ := people(d)
	slow = false
	p := d.as(reviewer(verification.RoleReviewer))
	const says = "Earlier rejections were not looked up, or not all of them."
	wants(t, p.get("/queue"), http.StatusOK, says, "!Rejected before:")
	wants(t, p.get("/runs/"+string(asha)), http.StatusOK, says, "!Rejected before:", "were not looked up, or not all of them.</")
}
