// Tests of the pages of workflows, and of the graph.

package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/drawing"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// onboarding is a workflow with nodes of every type and a loop.
func onboarding() workflow.Definition {
	return workflow.Definition{
		Workflow: "onboarding", Name: "Open an account", Description: "Consent, details, two checks and a review.",
		Start: "consent", RunTTLSeconds: 86400, AbandonTimeoutSeconds: 900,
		Nodes: map[verification.NodeID]workflow.Node{
			"consent": {Type: workflow.NodeConsent, Label: "Consent", Text: "We check who you are.", OnDeclined: "declined", Next: "details"},
			"details": {Type: workflow.NodeCustomerInput, Label: "Your details", Next: "records", Fields: workflow.InputFields{
				{Name: "name", Type: workflow.FieldText, Label: "Full name", Required: true},
			}},
			"records": {Type: workflow.NodeCheck, Label: "Court records", Provider: "script", OnFailed: "details", OnUnavailable: "review", Next: "risk"},
			"risk": {Type: workflow.NodeBranch, Label: "Risk", Else: "done", Rules: []workflow.Rule{
				{When: "steps.records.?data.?score.orValue(1.0) < 0.8 && steps.details.data.name != 'Asha Rao'", Next: "review"},
			}},
			"review":   {Type: workflow.NodeReview, Label: "Manual review", Next: "done", OnReject: "refused"},
			"done":     {Type: workflow.NodeEnd, Label: "Account opened", Outcome: "approved"},
			"refused":  {Type: workflow.NodeEnd, Outcome: "refused"},
			"declined": {Type: workflow.NodeEnd, Outcome: "declined"},
		},
	}
}

// edited is the next version of onboarding.
func edited() workflow.Definition {
	d := onboarding()
	d.RunTTLSeconds = 7200
	records := d.Nodes["records"]
	records.OnUnavailable, records.Retry = "bureau", &workflow.Retry{MaxDispatches: 7}
	d.Nodes["records"] = records
	d.Nodes["bureau"] = workflow.Node{Type: workflow.NodeCheck, Label: "Credit bureau", Provider: "script", OnFailed: "review", Next: "risk"}
	consent := d.Nodes["consent"]
	consent.OnDeclined = "refused"
	d.Nodes["consent"] = consent
	delete(d.Nodes, "declined")
	return d
}

// run starts a run of a workflow and answers its first steps.
func (d *desk) run(w verification.WorkflowID, reference string) rules.RunDetail {
	d.t.Helper()
	r := d.Start(w, engine.StartRequest{ReferenceID: reference})
	d.Submit(r.ID, "consent_submitted", map[string]any{"consent_status": "success"})
	return d.Submit(r.ID, "details_submitted", map[string]any{"name": "Asha Rao"})
}

func TestTheWorkflowPageShowsItsGraphWithCounts(t *testing.T) {
	d := serve(t)
	p := d.as(reviewer(verification.RoleViewer))
	wants(t, p.get("/workflows"), http.StatusOK, "There are no workflows yet")

	w := d.Apply(onboarding())
	d.run(w.ID, "one")
	d.run(w.ID, "two")
	stopped := d.Start(w.ID, engine.StartRequest{ReferenceID: "three"})
	if _, err := d.Engine.Cancel(t.Context(), enginetest.Tenant, stopped.ID); err != nil {
		t.Fatal(err)
	}
	wants(t, p.get("/workflows"), http.StatusOK, ">Open an account<", "Published", `href="/console/workflows/`+string(w.ID)+`"`)
	a := p.get("/workflows/" + string(w.ID))
	wants(t, a, http.StatusOK, "<h1><bdi>Open an account</bdi></h1>", "1 day", "15 minutes", "3 runs started on this version.",
		`<svg xmlns="http://www.w3.org/2000/svg" class="graph" role="img" aria-label="Graph of the workflow"`,
		"agreed <span aria-hidden=\"true\">→</span> <bdi>Your details</bdi> <span class=\"badge\">2 runs</span>", "ended here: 1", "!compared with")
	wants(t, p.get("/workflows/"+string(w.ID), "Accept-Language", "hi"), http.StatusOK, "सहमति", "3 सत्यापन शुरू हुए")
	wants(t, p.get("/workflows/0191f3c0-0000-7000-8000-000000000bad"), http.StatusNotFound)
	wants(t, p.get("/workflows/nothing"), http.StatusNotFound)
	wants(t, p.get("/workflows/"+string(w.ID)+"?version=00"), http.StatusNotFound)
}

func TestTwoVersionsAreCompared(t *testing.T) {
	d := serve(t)
	first, second := d.Apply(onboarding()), d.Apply(edited())
	p := d.as(reviewer(verification.RoleViewer))
	path := "/workflows/" + string(first.ID)
	wants(t, p.get(path), http.StatusOK, "Version 2", "what changed", "before="+first.LatestHash)
	a := p.get(path + "?before=" + first.LatestHash + "&version=" + second.LatestHash)
	wants(t, a, http.StatusOK, "Version 2 compared with version 1", "run_ttl_seconds", ">86400<", ">7200<", "retry",
		`{&#34;max_dispatches&#34;:7}`, `g-node g-check g-added`, `g-node g-end g-removed`, `g-node g-check g-changed`)
	wants(t, p.get(path+"?before="+second.LatestHash+"&version="+second.LatestHash), http.StatusOK, "!compared with", "0 runs started")
	for _, wrong := range []string{"00", strings.Repeat("0", 64), "'"} {
		wants(t, p.get(path+"?before="+wrong+"&version="+second.LatestHash), http.StatusNotFound)
	}
}

// TestWordsOfGraphsAndSentencesOfFlagsHaveMessages also covers the Hindi, which has every
// message of the English.
func TestWordsOfGraphsAndSentencesOfFlagsHaveMessages(t *testing.T) {
	raw, err := os.ReadFile("messages/en.json")
	if err != nil {
		t.Fatal(err)
	}
	var messages map[string]string
	if err := json.Unmarshal(raw, &messages); err != nil {
		t.Fatal(err)
	}
	for _, word := range drawing.Words() {
		if text := messages["graph."+word]; text != word {
			t.Errorf("the message of %q is %q", word, text)
		}
	}
	for _, key := range rules.SentenceKeys() {
		if s := (rules.Sentence{Key: key}).Words(); s == "" || messages["sentence."+key] != s {
			t.Errorf("the message of the sentence %q is %q, want %q", key, messages["sentence."+key], s)
		}
	}
}

func TestALongListOfVersionsHasPages(t *testing.T) {
	d := serve(t)
	definition := onboarding()
	var w workflow.Workflow
	for n := range 60 {
		definition.Description = fmt.Sprintf("Version %d of many.", n)
		w = d.Apply(definition)
	}
	p := d.as(reviewer(verification.RoleViewer))
	wants(t, p.get("/workflows/"+string(w.ID)), http.StatusOK, "1 to 50 of 60", `?page=2"`, "Version 60")
	wants(t, p.get("/workflows/"+string(w.ID)+"?page=2"), http.StatusOK, "51 to 60 of 60", "Version 1<", `rel="prev"`)
	if a := p.get("/workflows/" + string(w.ID) + "?page=9"); a.header.Get("Location") != "/console/workflows/"+string(w.ID)+"?page=2" {
		t.Errorf("a page after the last one = %d %s, want the last one", a.status, a.header.Get("Location"))
	}
}

func TestThePagesOfWorkflowsAreAccessible(t *testing.T) {
	d := serve(t)
	first := d.Apply(onboarding())
	d.run(first.ID, "one")
	second := d.Apply(edited())
	long := onboarding()
	long.Workflow, long.Name = "long", strings.Repeat("अंकित 新規 ", 20)
	long.Nodes["review"] = workflow.Node{Type: workflow.NodeReview, Label: strings.Repeat("محمد ", 40), Next: "done", OnReject: "refused"}
	third := d.Apply(long)
	tab := d.tab(reviewer(verification.RoleViewer), browser.Options{})
	for name, path := range map[string]string{
		"workflows": "", "workflow": "/" + string(first.ID) + "?version=" + first.LatestHash,
		"comparison": "/" + string(first.ID) + "?before=" + first.LatestHash + "&version=" + second.LatestHash, "workflow-long": "/" + string(third.ID),
	} {
		d.inspectAll(tab, name, "/workflows"+path, func() {
			tab.See("main h1")
			if name != "workflows" {
				tab.Press(".listed > summary")
				tab.See(".listed table")
			}
		})
	}
}

func TestAComparisonIsReachedByKeyboard(t *testing.T) {
	d := serve(t)
	w := d.Apply(onboarding())
	d.Apply(edited())
	for _, o := range []browser.Options{{Wide: true, NoScript: true}, {Wide: true}} {
		tab := d.tab(reviewer(verification.RoleViewer), o)
		tab.Go(d.server.URL + "/console/workflows")
		tab.Fill("tbody a", "\r")
		tab.See("#graph svg")
		tab.Fill(".compare button", "\r")
		tab.See("#changes-title")
		if text := tab.Text(); !strings.Contains(text, "Version 2 compared with version 1") {
			t.Errorf("the page of %s says %s", w.Name, text)
		}
	}
}

func TestFactsBesideTheGraphHaveRoomForTheirValues(t *testing.T) {
	d := serve(t)
	w := d.Apply(onboarding())
	tab := d.tab(reviewer(verification.RoleViewer), browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console/workflows/" + string(w.ID))
	const narrowest = `Math.min(...[...document.querySelectorAll(".side .facts dd")].map(dd => dd.getBoundingClientRect().width))`
	if width := browser.Eval[float64](tab, narrowest); width < 200 {
		t.Errorf("the narrowest value is %.0f pixels wide", width)
	}
}
