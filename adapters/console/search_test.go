// Tests of the search for people, and of the runs that are related to a run.

package console_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// searching gives an engine a search key.
func searching(_ *engine.Ports, o *engine.Options) { o.SearchKey = []byte(strings.Repeat("k", 32)) }

// people starts runs of a workflow whose form is searched, which need a verdict: of Asha Rao,
// of Ravi Rao, and one with the reference "rao-7".
func people(d *desk) (asha, ravi, other verification.RunID) {
	d.t.Helper()
	w := d.Apply(workflow.Definition{
		Workflow: "people", Name: "People", Start: "form",
		Nodes: map[verification.NodeID]workflow.Node{
			"form": {Type: workflow.NodeCustomerInput, Next: "review", Fields: workflow.InputFields{
				{Name: "name", Type: workflow.FieldText, Search: true},
				{Name: "phone", Type: workflow.FieldPhone, Search: true},
			}},
			"review": {Type: workflow.NodeReview, Next: "done"},
			"done":   {Type: workflow.NodeEnd},
		},
	})
	start := func(reference, name, phone string) verification.RunID {
		run := d.Start(w.ID, engine.StartRequest{ReferenceID: reference})
		d.Submit(run.ID, "form_submitted", map[string]any{"name": name, "phone": phone})
		return run.ID
	}
	return start("case-1", "Asha Rao", "+91 98123 45678"), start("case-2", "Ravi Rao", "+91 98123 00000"), start("rao-7", "Meera", "0091 98123 45678")
}

func TestTheQueueFindsAPerson(t *testing.T) {
	d := serve(t, searching)
	people(d)
	p := d.as(reviewer(verification.RoleViewer))
	wants(t, p.get("/queue"), http.StatusOK, "run ID or person", "Name, number, mail, phone", "3 runs wait")
	for text, want := range map[string]struct {
		words bool // the text is not in the URL
		texts []string
	}{
		"rao asha":        {true, []string{"1 run waits", "case-1", "!case-2", "the person you searched for"}},
		"+91 98123 45678": {true, []string{"2 runs wait", "case-1", "rao-7"}},
		"nobody":          {true, []string{"0 runs wait", "No run matches"}},
		"rao":             {false, []string{"1 run waits", "rao-7", "These words also find 2 runs of a person"}},
		"case":            {false, []string{"2 runs wait", "!also find"}},
		"":                {false, []string{"3 runs wait"}},
	} {
		a := p.post("/queue/search", "search", text, "order", "due")
		to, err := url.Parse(a.header.Get("Location"))
		if err != nil || a.status != http.StatusSeeOther || to.Path != "/console/queue" || to.Query().Get("order") != "due" {
			t.Fatalf("a search for %q = %d %v, want the queue in its order", text, a.status, to)
		}
		if to.Query().Has("words") != want.words || !want.words && to.Query().Get("search") != text {
			t.Errorf("a search for %q leads to %s", text, to)
		}
		wants(t, p.get("/queue?"+to.RawQuery), http.StatusOK, want.texts...)
	}
	a := p.post("/queue/search", "search", "ravi")
	words := a.header.Get("Location")
	a = p.post("/queue/search", "search", "", "words", strings.TrimPrefix(words, "/console/queue?words="), "whose", "mine")
	wants(t, p.get(strings.TrimPrefix(a.header.Get("Location"), "/console")), http.StatusOK, "0 runs wait", "the person you searched for")
	wants(t, p.get(strings.TrimPrefix(words, "/console")), http.StatusOK, "1 run waits", "case-2")
	wants(t, p.get("/queue?words=nonsense"), http.StatusOK, "3 runs wait")
}

func TestTheListOfRunsFindsAPerson(t *testing.T) {
	d := serve(t, searching)
	people(d)
	p := d.as(reviewer(verification.RoleViewer))
	for text, want := range map[string][]string{
		"rao asha": {"1 run<", "case-1", "!case-2", "the person you searched for"},
		"rao":      {"1 run<", "rao-7", "also find 2 runs of a person"},
		"nobody":   {"0 runs", "No run matches"},
	} {
		a := p.post("/runs/search", "reference", text, "status", "in_progress")
		to := a.header.Get("Location")
		if a.status != http.StatusSeeOther || !strings.HasPrefix(to, "/console/runs?") || !strings.Contains(to, "status=in_progress") {
			t.Fatalf("a search for %q = %d %s", text, a.status, to)
		}
		wants(t, p.get(strings.TrimPrefix(to, "/console")), http.StatusOK, want...)
	}
	if a := p.post("/runs/search"); a.header.Get("Location") != "/console/runs" {
		t.Errorf("an empty form leads to %s, want the whole list", a.header.Get("Location"))
	}
}

func TestNoAddressNamesAPerson(t *testing.T) {
	d := serve(t, searching)
	asha, _, _ := people(d)
	p := d.as(reviewer(verification.RoleReviewer))
	for _, text := range []string{"Asha Rao", "asha", "98123", "+91 98123 45678", "asha@example.com", "Unknown Person"} {
		for path, field := range map[string]string{"/queue/search": "search", "/runs/search": "reference"} {
			a := p.post(path, field, text)
			to := a.header.Get("Location")
			page := p.get(strings.TrimPrefix(to, "/console"))
			for _, word := range strings.Fields(strings.ToLower(text)) {
				if strings.Contains(strings.ToLower(to), word) || strings.Contains(strings.ToLower(page.body), `value="`+word) {
					t.Errorf("a search for %q leads to %s, or its page has %q", text, to, word)
				}
			}
		}
	}
	if got := d.log.String(); strings.Contains(got, "asha@") || strings.Contains(got, "98123") || strings.Contains(got, "Unknown") {
		t.Errorf("the log has what was searched for:\n%s", got)
	}
	wants(t, p.get("/runs/"+string(asha)), http.StatusOK, "case-1")
}

func TestWithoutASearchKeyOnlyReferencesAreFound(t *testing.T) {
	d := serve(t)
	people(d)
	p := d.as(reviewer(verification.RoleViewer))
	wants(t, p.get("/queue"), http.StatusOK, "Reference or run ID", "!or person", "!Name, number")
	a := p.post("/queue/search", "search", "asha")
	if to := a.header.Get("Location"); to != "/console/queue?search=asha" {
		t.Errorf("a search without a key leads to %s", to)
	}
}

func TestTheRunPageShowsRelatedRuns(t *testing.T) {
	d := serve(t, searching)
	asha, ravi, _ := people(d)
	p := d.as(reviewer(verification.RoleViewer))
	wants(t, p.get("/runs/"+string(asha)), http.StatusOK, "Other runs that may be of this person", "rao-7", "same phone number", "Needs a verdict", "!case-2",
		`<a href="#related">1 run has only a phone number or mail address in common</a>`, "!Also in:")
	wants(t, p.get("/runs/"+string(ravi)), http.StatusOK, "!Other runs that may be of this person")
	d.Advance(time.Minute)
	w := d.Apply(onboarding())
	d.Start(w.ID, engine.StartRequest{ReferenceID: "case-2"})
	wants(t, p.get("/runs/"+string(ravi)), http.StatusOK, "Other runs that may be of this person", "1 run<", "same reference", "In progress", "Also in: <a href", "!in common")
	stranger := reviewer(verification.RoleViewer)
	stranger.Tenant = otherTenant
	wants(t, d.as(stranger).get("/runs/"+string(asha)), http.StatusNotFound)
}

// slowLists is a store whose searches by reference fail once it is slow.
type slowLists struct {
	store.Store
	slow *bool
}

func (s slowLists) List(ctx context.Context, t verification.TenantID, q store.RunQuery) (store.Page[rules.Summary], error) {
	if *s.slow && q.ReferenceID != "" {
		return store.Page[rules.Summary]{}, verification.Unavailable("list", "the list takes too long")
	}
	return s.Store.List(ctx, t, q)
}

func TestARunIsShownWithoutItsRelatedRuns(t *testing.T) {
	slow := false
	d := serve(t, searching, func(p *engine.Ports, _ *engine.Options) { p.Store = slowLists{p.Store, &slow} })
	asha, _, _ := people(d)
	slow = true
	wants(t, d.as(reviewer(verification.RoleViewer)).get("/runs/"+string(asha)), http.StatusOK, "Asha Rao", "They cannot be listed now")
}

func TestAReviewerFindsAPersonInABrowser(t *testing.T) {
	d := serve(t, searching)
	people(d)
	tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console/queue")
	tab.Fill("#search", "+91 98123 45678")
	tab.Press(".toolbar > button")
	tab.See(".words")
	tab.Wait(`location.search.startsWith("?words=") && document.body.innerText.includes("2 runs wait")`)
	if text := tab.Text(); !strings.Contains(text, "case-1") || strings.Contains(text, "case-2") || !strings.Contains(text, "the person you searched for") {
		t.Errorf("the queue does not show the runs of the person:\n%s", text)
	}
	inspect(t, tab, "search")
	tab.Press("a.reference")
	tab.See("#related")
	inspect(t, tab, "related")
	if text := tab.Text(); !strings.Contains(text, "same phone number") {
		t.Errorf("the run page does not say what is the same:\n%s", text)
	}
	tab.Press(".back a")
	tab.See(".words")
	tab.Wait(`location.search.startsWith("?words=")`)
	tab.Press(".words a")
	tab.See("#search")
	tab.Wait(`location.search === "" && document.body.innerText.includes("3 runs wait")`)
}
