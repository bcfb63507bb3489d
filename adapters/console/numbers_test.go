// Tests of the numbers page: its counts, days, tables and pictures.

package console_test

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// work makes runs on several days: most are completed, some wait for a reviewer or get
// a verdict, or expire at the consent. The last one waits. It returns the workflow.
func (d *desk) work(days int) verification.WorkflowID {
	d.t.Helper()
	id := d.Apply(measured()).ID
	for day := range days {
		for n := range 3 + day%4 {
			d.Provider.On("pan", enginetest.Slow(time.Duration(200+90*n)*time.Millisecond, enginetest.Pass(nil)))
			reviewed := n == 1 || n == 4
			if reviewed {
				d.Provider.On("pan", enginetest.Flake(), enginetest.Slow(time.Second, enginetest.Fail(nil)))
			}
			run := d.Start(id, engine.StartRequest{ReferenceID: fmt.Sprintf("person-%d-%d", day, n)})
			if n == 2 {
				continue // expires
			}
			d.Submit(run.ID, "consent_submitted", map[string]any{"consent_status": "success"})
			d.Advance(time.Duration(10+7*day) * time.Minute)
			if reviewed && day%3 > 0 {
				d.GiveVerdict(run.ID, rules.DecisionApprove)
			}
		}
		d.Advance(20 * time.Hour)
	}
	d.Provider.On("pan", enginetest.Flake(), enginetest.Fail(nil))
	run := d.Start(id, engine.StartRequest{ReferenceID: "waiting"})
	d.Submit(run.ID, "consent_submitted", map[string]any{"consent_status": "success"})
	d.Advance(time.Minute)
	return id
}

// rows parses a table that was downloaded.
func rows(t *testing.T, a response) [][]string {
	t.Helper()
	text, ok := strings.CutPrefix(a.body, "\ufeff")
	if a.status != http.StatusOK || !ok {
		t.Fatalf("table = %d %q", a.status, a.body)
	}
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestTheNumbersAreThoseOfTheRuns(t *testing.T) {
	d := serve(t)
	id := d.work(2)
	p := d.as(reviewer(verification.RoleViewer))
	query := "?from=2026-01-04&to=2026-01-07&workflow=" + string(id)
	for name, want := range map[string][][]string{
		"runs": {
			{"day", "started", "completed", "unaided", "unaided_refused", "approved", "rejected", "failed", "expired", "cancelled"},
			{"2026-01-04", "0", "0", "0", "0", "0", "0", "0", "0", "0"},
			{"2026-01-05", "3", "1", "1", "0", "0", "0", "0", "0", "0"},
			{"2026-01-06", "4", "3", "2", "0", "1", "0", "0", "2", "0"},
			{"2026-01-07", "1", "0", "0", "0", "0", "0", "0", "0", "0"},
		},
		"steps": {
			{"step", "reached", "left", "stopped"},
			{"Consent", "8", "6", "1"},
			{"'=PAN verification", "6", "6", "0"},
			{"Manual review", "3", "1", "1"},
		},
		"queue": {
			{"age", "waiting"},
			{"0 to 3600 s", "1"},
			{"3600 to 14400 s", "0"},
			{"14400 to 86400 s", "0"},
			{"86400 to 259200 s", "0"},
			{"259200 to 604800 s", "0"},
			{"604800 s or more", "0"},
		},
		"failures": {{"provider", "calls", "failed"}, {"script", "9", "3"}},
	} {
		a := p.get("/numbers/" + name + ".csv" + query)
		if diff := gocmp.Diff(want, rows(t, a)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for header, want := range map[string]string{
			"Content-Type":        "text/csv; charset=utf-8",
			"Content-Disposition": `attachment; filename="` + name + `-2026-01-04-2026-01-07.csv"`,
			"Cache-Control":       "no-store",
		} {
			if got := a.header.Get(header); got != want {
				t.Errorf("%s: %s = %q, want %q", name, header, got, want)
			}
		}
	}
	page := p.get("/numbers" + query)
	wants(t, page, http.StatusOK,
		"<b>8</b> <span>runs started</span>", `<b>3</b> <span>completed without a person</span> <span class="share">75% of the runs that were decided</span>`,
		"<b>1</b> <span>approved by a reviewer</span>", "!<title>2026-01-04", "<title>2026-01-05",
		"6 reached, 100% went on, 0 ended here", "3 of 9 calls failed, 33.3%", "!Choose a workflow",
		`<option value="`+string(id)+`" selected>Open an account</option>`)
	wants(t, p.get("/numbers?from=2026-01-04&to=2026-01-07"), http.StatusOK, "Choose a workflow above to see its steps.")
	wants(t, p.get("/numbers"), http.StatusOK, "2025-12-09 to 2026-01-07, days in the time zone UTC")
	wants(t, p.get("/numbers/secrets.csv"), http.StatusNotFound)
}

func TestADayBeginsAtMidnightOfTheTenant(t *testing.T) {
	for zone, want := range map[string]string{"": "2026-01-05", "Asia/Kolkata": "2026-01-06", "America/New_York": "2026-01-05"} {
		d := serve(t)
		tenant, err := d.Store.Tenant(t.Context(), enginetest.Tenant)
		if err != nil {
			t.Fatal(err)
		}
		tenant.Zone = zone
		if err := d.Store.SaveTenant(t.Context(), tenant); err != nil {
			t.Fatal(err)
		}
		d.Advance(11 * time.Hour) // 20:00 in UTC, 01:30 of the next day in India
		d.Start(d.Apply(measured()).ID, engine.StartRequest{ReferenceID: "late"})
		p := d.as(reviewer(verification.RoleViewer))
		site, err := url.Parse(d.server.URL)
		if err != nil {
			t.Fatal(err)
		}
		p.client.Jar.SetCookies(site, []*http.Cookie{{Name: "tz", Value: "Pacific/Kiritimati", Path: "/"}}) // of the reader
		all := rows(t, p.get("/numbers/runs.csv?days=7"))
		i := slices.IndexFunc(all, func(row []string) bool { return row[1] == "1" })
		if len(all) != 8 || i < 0 || all[i][0] != want {
			t.Errorf("%q: %v, want the run on %s", zone, all, want)
		}
		wants(t, p.get("/numbers?from=2026-01-01&to=2026-01-07"), http.StatusOK, "days in the time zone "+cmp.Or(zone, "UTC"))
	}
}

func TestAFilterThatCannotBeReadIsExplained(t *testing.T) {
	d := serve(t)
	p := d.as(reviewer(verification.RoleViewer))
	for query, want := range map[string]string{
		"from=yesterday&to=2026-01-05":                  `<a href="#from"`,
		"from=2026-01-05":                               `<a href="#to"`,
		"from=2026-01-05&to=2026-01-04":                 `<a href="#to"`,
		"from=2024-01-05&to=2026-01-04":                 `<a href="#to"`,
		"workflow=all":                                  `<a href="#workflow"`,
		"from=<script>alert(1)</script>&to=&workflow=x": `<a href="#workflow"`,
	} {
		wants(t, p.get("/numbers?"+strings.ReplaceAll(query, " ", "%20")), http.StatusBadRequest, want, "The last 30 days are shown.", "!<script>alert")
		if a := p.get("/numbers/runs.csv?" + query); a.status != http.StatusBadRequest {
			t.Errorf("the table of %s = %d, want 400", query, a.status)
		}
	}
	wants(t, p.get("/numbers?from=2025-01-06&to=2026-01-05"), http.StatusOK, "2025-01-06 to 2026-01-05")
	wants(t, p.get("/numbers?days=1000"), http.StatusOK, "2025-12-07 to 2026-01-05")
}

func TestThePagesOfNumbersAndDeliveriesAreAccessible(t *testing.T) {
	busy, idle := serve(t), serve(t)
	id := busy.work(12)
	busy.Notices.FailWith(&verification.RetryError{Cause: fmt.Errorf("410")}, fmt.Errorf("down"))
	for n := range 2 {
		d := measured()
		d.Workflow, d.Start = "short", "pan"
		delete(d.Nodes, "consent")
		busy.Provider.On("pan", enginetest.Pass(nil))
		busy.Start(busy.Apply(d).ID, engine.StartRequest{ReferenceID: fmt.Sprint("notice-", n)})
	}
	tab := busy.tab(reviewer(verification.RoleAdmin), browser.Options{})
	for page, path := range map[string]string{
		"numbers": "/numbers?days=30", "numbers-workflow": "/numbers?days=7&workflow=" + string(id), "deliveries": "/deliveries",
	} {
		busy.inspectAll(tab, page, path, nil)
	}
	empty := idle.tab(reviewer(verification.RoleAdmin), looks()[0].Options)
	for page, path := range map[string]string{"numbers-empty": "/numbers?days=7", "numbers-problem": "/numbers?from=x", "deliveries-empty": "/deliveries?state=failed"} {
		empty.Emulate(looks()[0].Options)
		empty.Go(idle.server.URL + "/console" + path)
		inspectIn(t, empty, page, looks())
	}
	empty.Go(idle.server.URL + "/console/numbers?days=90") // axe would find nothing new; the width may differ
	for _, look := range looks() {
		empty.Emulate(look.Options)
		if wide := empty.TooWide(); wide > 0 {
			t.Errorf("in %s, 90 days are %d pixels too wide", look.name, wide)
		}
	}
}

func TestTheTableOfAChartOpensWithoutAMouse(t *testing.T) {
	d := serve(t)
	id := d.work(1)
	for _, noScript := range []bool{false, true} {
		tab := d.tab(reviewer(verification.RoleViewer), browser.Options{Wide: true, NoScript: noScript})
		tab.Go(d.server.URL + "/console/numbers?days=7&workflow=" + string(id))
		if strings.Contains(tab.Text(), "PAN verification\t") {
			t.Error("the table is open at once")
		}
		tab.Fill("section[aria-labelledby=steps] summary", "\r")
		tab.See("section[aria-labelledby=steps] table")
		if !noScript { // axe needs it
			inspect(t, tab, "numbers-table")
		}
	}
}

// Due times that were kept, rounds, and runs that were not screened in full are numbers of their own.
func TestTheNumbersCountDueTimesRoundsAndUnscreenedRuns(t *testing.T) {
	d := serve(t, func(p *engine.Ports, _ *engine.Options) {
		p.Providers["lists"], p.Providers["identity"] = list{}, refuses("Kabir Bose")
	})
	w := waiting("Limit", "Look.")
	w.ReviewDueMinutes = 60
	due := d.Apply(w)
	for i, after := range []time.Duration{time.Minute, 30 * time.Minute, 2 * time.Hour} {
		run := d.begin(due, fmt.Sprint("case-", i))
		d.Advance(after)
		d.GiveVerdict(run, rules.DecisionApprove)
	}
	asked := d.begin(d.Apply(workflow.Definition{
		Workflow: "name", Name: "Name", Start: "details", Nodes: map[verification.NodeID]workflow.Node{
			"details": {Type: workflow.NodeCustomerInput, Next: "look", Fields: workflow.InputFields{{Name: "name", Type: workflow.FieldText, Label: "Full name"}}},
			"look":    {Type: workflow.NodeReview, Next: "done"}, "done": {Type: workflow.NodeEnd},
		},
	}), "case-asked")
	for range 2 {
		d.Submit(asked, "details_submitted", map[string]any{"name": "Asha Rao"})
		d.AskAgain(asked, rules.AskAgain{Reasons: []string{"other"}, By: "asha", Identity: "asha"})
	}
	d.GiveVerdict(d.own("BIZ-1", [2]string{"Kabir Bose", "1970-04-01"}), rules.DecisionApprove)
	d.GiveVerdict(d.own("BIZ-2", [2]string{"Asha Rao", "1970-04-01"}), rules.DecisionApprove)
	page := d.as(reviewer(verification.RoleViewer)).get("/numbers")
	wants(t, page, http.StatusOK, "<b>2</b> <span>verdicts in time</span> <span class=\"share\">66.7% of those with a due time</span>",
		"<b>2</b> <span>times a customer was asked again</span>", "<b>1</b> <span>completed runs not screened in full</span>")
}
