// Tests of the page of all runs.

package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// runsOf are runs in several states: waiting, in review, approved, cancelled.
func runsOf(d *desk) workflow.Workflow {
	d.t.Helper()
	w := d.Apply(onboarding())
	other := onboarding()
	other.Workflow, other.Name = "other", "Another workflow"
	d.Apply(other)
	d.Start(w.ID, engine.StartRequest{ReferenceID: "waiting-1"})
	d.Provider.On("records", enginetest.Pass(map[string]any{"source_ok": false}))
	d.run(w.ID, "flagged-1")
	approved := d.run(w.ID, "approved-1")
	d.GiveVerdict(approved.ID, rules.DecisionApprove)
	gone := d.Start(w.ID, engine.StartRequest{ReferenceID: "gone-1"})
	if _, err := d.Engine.Cancel(d.t.Context(), enginetest.Tenant, gone.ID); err != nil {
		d.t.Fatal(err)
	}
	return w
}

func TestRunsAreFilteredAndFound(t *testing.T) {
	d := serve(t)
	p := d.as(reviewer(verification.RoleViewer))
	wants(t, p.get("/runs"), http.StatusOK, "There are no runs yet", "0 runs")
	w := runsOf(d)
	for _, tt := range []struct {
		query string
		want  []string
	}{
		{"", []string{"4 runs", "waiting-1", "flagged-1", "approved-1", "gone-1", "!Clear"}},
		{"status=completed", []string{"2 runs", "flagged-1", "approved-1", "!waiting-1", "!gone-1", "Clear"}},
		{"status=cancelled", []string{"1 run<", "gone-1", "Cancelled"}},
		{"decision=review", []string{"1 run<", "flagged-1", "Needs a verdict", "!approved-1"}},
		{"decision=approve&status=completed", []string{"1 run<", "approved-1", "Approved"}},
		{"workflow=" + string(w.ID), []string{"4 runs"}},
		{"workflow=0191f3c0-0000-7000-8000-000000000bad", []string{"0 runs", "No run matches"}},
		{"reference=approved", []string{"1 run<", "approved-1", "!flagged-1", `value="approved"`}},
		{"reference=pproved", []string{"0 runs", "No run matches"}},
		{"from=2026-01-05&to=2026-01-05", []string{"4 runs", `value="2026-01-05"`}},
		{"from=2026-01-06", []string{"0 runs"}},
		{"to=2026-01-04", []string{"0 runs"}},
	} {
		a := p.get("/runs?" + tt.query)
		wants(t, a, http.StatusOK, tt.want...)
	}
	wants(t, p.get("/runs?from=yesterday&to=2026-13-01"), http.StatusBadRequest, "Started from: write a date", "Started until: write a date", `value="yesterday"`)
	for _, wrong := range []string{"status=done", "decision=maybe", "workflow=x"} {
		wants(t, p.get("/runs?"+wrong), http.StatusBadRequest)
	}
	for _, page := range []string{"0", "-1", "x", "99999999999999999999"} {
		wants(t, p.get("/runs?page="+page), http.StatusOK)
	}
}

func TestDaysOfTheFilterAreThoseOfTheReader(t *testing.T) {
	d := serve(t) // at 09:00 UTC
	w := d.Apply(onboarding())
	d.Start(w.ID, engine.StartRequest{ReferenceID: "early"})
	d.Advance(10 * time.Hour) // 19:00 UTC is the next day in India
	d.Start(w.ID, engine.StartRequest{ReferenceID: "late"})
	p := d.as(reviewer(verification.RoleViewer))
	wants(t, p.get("/runs?to=2026-01-05"), http.StatusOK, "2 runs", "2026-01-05 19:00")
	u, err := url.Parse(d.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	p.client.Jar.SetCookies(u, []*http.Cookie{{Name: "tz", Value: "Asia/Kolkata", Path: "/"}})
	wants(t, p.get("/runs?to=2026-01-05"), http.StatusOK, "1 run<", "early", "!late", "2026-01-05 14:30")
	wants(t, p.get("/runs?from=2026-01-06"), http.StatusOK, "1 run<", "late", "!early", "2026-01-06 00:30")
}

func TestTheListOfRunsHasPages(t *testing.T) {
	d := serve(t)
	w := d.Apply(onboarding())
	for n := range 120 {
		d.Start(w.ID, engine.StartRequest{ReferenceID: fmt.Sprintf("person-%03d", n)})
	}
	p := d.as(reviewer(verification.RoleViewer))
	wants(t, p.get("/runs?reference=person"), http.StatusOK, "1 to 50 of 120", `href="/console/runs?page=2&amp;reference=person"`, `!rel="prev"`)
	wants(t, p.get("/runs?reference=person&page=3"), http.StatusOK, "101 to 120 of 120", `href="/console/runs?page=2&amp;reference=person"`, `!rel="next"`)
	if a := p.get("/runs?reference=person&page=9"); a.status != http.StatusSeeOther || a.header.Get("Location") != "/console/runs?page=3&reference=person" {
		t.Errorf("a page after the last one = %d %s, want the last one", a.status, a.header.Get("Location"))
	}
}

func TestEveryWorkflowCanBeChosen(t *testing.T) {
	d := serve(t)
	old := runsOf(d)
	for n := range store.MaxLimit {
		w := waiting(fmt.Sprintf("Newer %03d", n), "The limit is high.")
		w.Workflow = fmt.Sprintf("newer-%03d", n)
		d.Advance(time.Second)
		d.Apply(w)
	}
	p := d.as(reviewer(verification.RoleViewer))
	option := `<option value="` + string(old.ID) + `" selected>` + old.Name + `</option>`
	for _, page := range []string{"/runs", "/queue", "/numbers"} {
		wants(t, p.get(page), http.StatusOK, "Newer 000", "!"+string(old.ID), `href="/console/workflows">Older workflows</a>`)
		wants(t, p.get(page+"?workflow="+string(old.ID)), http.StatusOK, option)
		wants(t, p.get("/workflows/"+string(old.ID)), http.StatusOK, `href="/console`+page+`?workflow=`+string(old.ID)+`"`)
	}
	wants(t, p.get("/runs?reference=flagged"), http.StatusOK, "<bdi>"+old.Name+"</bdi>")
}

func TestThePageOfRunsIsUsable(t *testing.T) {
	d := serve(t)
	w := runsOf(d)
	d.Start(w.ID, engine.StartRequest{ReferenceID: strings.Repeat("प्रकाश-محمد-", 18)})
	d.Start(w.ID, engine.StartRequest{ReferenceID: strings.Repeat("x", 255)})
	tab := d.tab(reviewer(verification.RoleViewer), browser.Options{})
	for name, query := range map[string]string{"runs": "", "runs-none": "?reference=nobody", "runs-problem": "?from=yesterday"} {
		d.inspectAll(tab, name, "/runs"+query, func() { tab.See("main h1") })
	}
	tab.Emulate(browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console/runs")
	tab.Fill("#reference", "flagged")
	tab.Press(".toolbar button")
	tab.See(`.toolbar a.button`)
	if text := tab.Text(); !strings.Contains(text, "1 run\n") && !strings.Contains(text, "flagged-1") {
		t.Errorf("the filtered page says %s", text)
	}
}

func TestADayBeforeYearOneIsRefusedNotSentToTheStore(t *testing.T) {
	d := serve(t)
	p := d.as(reviewer(verification.RoleViewer))
	cookies := "tz=Asia/Kolkata" // where year 1 begins in year 0 of UTC
	for _, c := range p.client.Jar.Cookies(d.url()) {
		cookies += "; " + c.String()
	}
	for _, path := range []string{
		"/runs?from=0001-01-01", "/runs?to=0000-12-31",
	} {
		wants(t, p.get(path, "Cookie", cookies), http.StatusBadRequest)
	}
	wants(t, p.get("/runs?from=0001-01-02&to=9999-12-31", "Cookie", cookies), http.StatusOK)
	wants(t, p.get("/numbers?from=0001-01-02&to=0001-01-05", "Cookie", cookies), http.StatusOK)
}

func TestARunLeadsBackToTheListItWasOpenedFrom(t *testing.T) {
	d := serve(t)
	ids := d.fill(3)
	p := d.as(reviewer(verification.RoleReviewer))
	path := "/runs/" + string(ids[0])
	list := p.get("/runs?status=in_progress&reference=&lang=en")
	const query = "?back=%2Fruns%3Fstatus%3Din_progress"
	wants(t, list, http.StatusOK, `href="/console`+path+query+`"`, `id="run-`+string(ids[0])+`"`)
	page := p.get(path + query)
	wants(t, page, http.StatusOK, `href="/console/runs?status=in_progress#run-`+string(ids[0])+`"`, "Back to the runs", `href="/console/runs" aria-current="page"`)
	for n, post := range [][]string{{"/claim"}, {"/release"}, {"/verdict", "decision", "approve"}} {
		a := p.post(path+post[0]+query, append(verdictForm(t, p.get(path+query)), post[1:]...)...)
		want := []string{"/console" + path + query, "/console/runs?status=in_progress", "/console/runs?status=in_progress"}[n]
		if got := a.header.Get("Location"); a.status != http.StatusSeeOther || got != want {
			t.Errorf("%s leads to %d %s, want %s", post[0], a.status, got, want)
		}
	}
	wants(t, p.get("/runs"), http.StatusOK, "was approved.")
	for _, back := range []string{"", "https://evil.example/", "//evil.example", "/sign-out", "/runs/../../v1", "/runsx?a=b"} {
		wants(t, p.get(path+"?back="+escape(back)), http.StatusOK, `href="/console/queue#run-`+string(ids[0])+`"`, "Back to the queue")
	}
	wants(t, p.get(path+"?search=case&page=2"), http.StatusOK, `href="/console/queue?page=2&amp;search=case#run-`)
}
