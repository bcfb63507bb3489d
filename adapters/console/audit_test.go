// Tests of the page of the audit trail.

package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// trail adds entries to the audit trail of Acme Bank, one second apart, and returns the time of the first one.
func (d *desk) trail(entries ...store.AuditEntry) time.Time {
	d.t.Helper()
	began := d.Clock.Now()
	for i := range entries {
		e := &entries[i]
		e.Tenant, e.At = enginetest.Tenant, began.Add(time.Duration(i)*time.Second)
		e.ID = store.AuditID(e.At, "x")
	}
	if err := d.Store.AppendAudit(d.t.Context(), entries); err != nil {
		d.t.Fatal(err)
	}
	return began
}

// trailRun is a run of the entries in these tests.
const trailRun verification.RunID = "e0000000-0000-7000-8000-000000000007"

// someTrail adds an entry of each kind of actor.
func (d *desk) someTrail() time.Time {
	asha := verification.Actor{Kind: verification.ActorReviewer, ID: "https://id.example#u-1", Name: "Asha " + canary(1)}
	return d.trail(
		store.AuditEntry{Actor: asha, Action: store.AuditPersonSearched, Subject: "3f2a9c0b77aa01de"},
		store.AuditEntry{Actor: asha, Action: store.AuditVerdictGiven, Run: trailRun, Detail: "approve"},
		store.AuditEntry{Actor: verification.Actor{Kind: verification.ActorAccount, ID: "acme-backend"}, Action: store.AuditRunRead, Run: trailRun, Count: 412},
		store.AuditEntry{Actor: verification.Actor{Kind: verification.ActorOperator, ID: "root"}, Action: store.AuditAccountSaved, Subject: "acme-backend"},
		store.AuditEntry{Actor: verification.Actor{Kind: verification.ActorSystem}, Action: store.AuditRunRedacted, Run: trailRun},
		store.AuditEntry{Actor: asha, Action: "of.a.later.version"},
	)
}

func TestTheAuditPageListsAndFilters(t *testing.T) {
	d := serve(t)
	d.someTrail()
	day := d.Clock.Now().UTC().Format(time.DateOnly)
	changes := []string{"Gave a verdict", "Changed an account", "Removed personal data", "of.a.later.version"}
	all := append(changes, "Searched for a person", "412 times on "+day)
	for _, role := range []verification.Role{verification.RoleAuditor, verification.RoleAdmin} {
		p := d.as(reviewer(role))
		wants(t, p.get("/queue"), http.StatusOK, `href="/console/audit"`)
		wants(t, p.get("/audit"), http.StatusOK, append(changes, "!412 times", "!3f2a9c0b77aa01de", "deleted run", `href="/console/audit?all=1"`)...)
		page := p.get("/audit?all=1")
		wants(t, page, http.StatusOK, append(all, "3f2a9c0b77aa01de", "Approved", "service account", "operator", `title="`+string(trailRun)+`"`, `!href="/console/runs/`+string(trailRun)+`"`, "!<canary-1>", "!Newest", "!Older")...)
		if first, last := strings.Index(page.body, "of.a.later.version"), strings.Index(page.body, "Searched for a person</span>"); first > last {
			t.Error("the newest entry is not the first")
		}
	}
	p := d.as(reviewer(verification.RoleAuditor))
	for query, want := range map[string][]string{
		"all=1&who=acme-backend":          {"412 times", "!3f2a9c0b77aa01de"},
		"who=acme-backend":                {"No entry matches"},
		"action=verdict.given":            {">Approved<", "!412 times"},
		"action=run.read":                 {"412 times", "!>Approved<"},
		"all=1&about=" + string(trailRun): {">Approved<", "412 times", "!3f2a9c0b77aa01de"},
		"all=1&about=nothing-begins-so":   {"No entry matches"},
		"all=1&from=" + day:               {">Approved<", "412 times"},
		"all=1&until=" + day:              {">Approved<", "412 times"},
		"from=2099-01-01":                 {"No entry matches"},
		"until=2001-01-01":                {"No entry matches"},
		"who=x&about=&from=":              {"No entry matches", `href="/console/audit.ndjson?who=x"`},
	} {
		wants(t, p.get("/audit?"+query), http.StatusOK, want...)
	}
	for query, want := range map[string]string{"from=yesterday": "Give a day such as", "until=2026-13-01": "Give a day such as"} {
		wants(t, p.get("/audit?"+query), http.StatusBadRequest, want, `aria-invalid="true"`, "!412 times")
		wants(t, p.get("/audit.ndjson?"+query), http.StatusBadRequest)
	}
	wants(t, d.as(reviewer(verification.RoleReviewer)).get("/queue"), http.StatusOK, `!href="/console/audit"`)
	other := reviewer(verification.RoleAuditor)
	other.Tenant = otherTenant
	wants(t, d.as(other).get("/audit"), http.StatusOK, "Nothing was recorded yet", "!412 times")
}

func TestTheAuditTrailHasPagesAndADownload(t *testing.T) {
	d := serve(t)
	var entries []store.AuditEntry
	for n := range 1234 {
		entries = append(entries, store.AuditEntry{Actor: verification.Actor{Kind: verification.ActorOperator, ID: "root"}, Action: store.AuditTenantSaved, Detail: fmt.Sprintf("detail-%04d", n)})
	}
	d.trail(entries...)
	d.Advance(time.Hour)
	p, at, seen := d.as(reviewer(verification.RoleAuditor)), "/audit?who=root", 0
	for at != "" && seen < 4*store.DefaultLimit {
		page := p.get(at)
		seen += strings.Count(page.body, "detail-")
		_, rest, _ := strings.Cut(page.body, `rel="next" href="/console`)
		next, _, _ := strings.Cut(rest, `"`)
		at = strings.ReplaceAll(next, "&amp;", "&")
		if q, err := url.Parse(at); err != nil || q.Query().Get("who") != "root" {
			t.Fatalf("the next page is %q", at)
		}
		if seen == 2*store.DefaultLimit {
			wants(t, page, http.StatusOK, "detail-1183", "detail-1134", "!detail-1184", "Newest", `rel="prev" href="/console/audit?who=root"`)
		}
	}
	if got := p.do(http.MethodHead, "/audit.ndjson", ""); got.status != http.StatusOK || got.body != "" {
		t.Errorf("HEAD = %d %q", got.status, got.body)
	}
	file := p.get("/audit.ndjson?who=root")
	lines := strings.Split(strings.TrimSuffix(file.body, "\n"), "\n")
	var last store.AuditEntry
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || len(lines) != 1234 || last.Detail != "detail-0000" {
		t.Errorf("the download has %d lines, the last is %+v, %v", len(lines), last, err)
	}
	if got := file.header.Get("Content-Type"); got != "application/x-ndjson" {
		t.Errorf("the download is of the type %q", got)
	}
	found, err := d.Store.AuditEntries(t.Context(), enginetest.Tenant, store.AuditQuery{Limit: 9, Action: store.AuditExported})
	if err != nil || len(found) != 1 || found[0].Actor.Name != "asha-auditor" || !found[0].At.Equal(d.Clock.Now()) {
		t.Errorf("recorded: %+v, %v; want one download of asha-auditor", found, err)
	}
}

// A file that would lack entries is refused, and no export is recorded for it.
func TestAnExportOfTooManyRunsIsRefused(t *testing.T) {
	d := serve(t, searching)
	w := d.Apply(workflow.Definition{
		Workflow: "many", Name: "Many", Start: "done", Nodes: map[verification.NodeID]workflow.Node{"done": {Type: workflow.NodeEnd}},
		InputSchema: verification.Data(`{"type":"object","properties":{"name":{"type":"string","x-search":true}}}`),
	})
	var entries []store.AuditEntry
	for n := range 51 { // one more than the page shows
		run := d.Start(w.ID, engine.StartRequest{ReferenceID: fmt.Sprintf("case-%02d", n), Input: verification.Data(`{"name":"Asha Rao"}`)})
		entries = append(entries, store.AuditEntry{Actor: verification.Actor{Kind: verification.ActorOperator, ID: "root"}, Action: store.AuditRunHeld, Run: run.ID})
	}
	d.Settle()
	d.trail(entries...)
	p := d.as(reviewer(verification.RoleAuditor))
	exports := func() int {
		t.Helper()
		found, err := d.Store.AuditEntries(t.Context(), enginetest.Tenant, store.AuditQuery{Limit: 9, Action: store.AuditExported})
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	person, err := url.Parse(p.post("/audit/search", "about", "asha rao").header.Get("Location"))
	if err != nil || !person.Query().Has("words") {
		t.Fatalf("a search for a person leads to %v, %v", person, err)
	}
	for _, query := range []string{"about=case-", person.RawQuery} {
		wants(t, p.get("/audit?"+query), http.StatusOK, "only entries of the newest 50 are shown")
		wants(t, p.get("/audit.ndjson?"+query), http.StatusBadRequest, "!run.held")
		if got := p.do(http.MethodHead, "/audit.ndjson?"+query, ""); got.status != http.StatusBadRequest {
			t.Errorf("HEAD of what is refused = %d", got.status)
		}
	}
	if n := exports(); n != 0 {
		t.Errorf("%d exports are recorded of files that were refused", n)
	}
	for query, want := range map[string]int{"about=case-0": 10, "about=case-50": 1, "who=root": 51} {
		before, file := exports(), p.get("/audit.ndjson?"+query)
		if n := strings.Count(file.body, `"run.held"`); file.status != http.StatusOK || n != want || exports() != before+1 {
			t.Errorf("%s: %d with %d entries, and %d exports are recorded; want %d and one", query, file.status, n, exports()-before, want)
		}
	}
}

func TestTheAuditPageLooksRight(t *testing.T) {
	d := serve(t)
	d.someTrail()
	tab := d.tab(reviewer(verification.RoleAuditor), browser.Options{Wide: true})
	d.inspectAll(tab, "audit", "/audit?all=1", nil)
	d.inspectAll(tab, "audit-none", "/audit?who=nobody", nil)
	d.inspectAll(tab, "audit-bad", "/audit?from=x", nil)
}

func TestEachActionOfTheAuditTrailHasItsWords(t *testing.T) {
	d := serve(t)
	var entries []store.AuditEntry
	for _, a := range store.AuditActions() {
		entries = append(entries, store.AuditEntry{Actor: verification.Actor{Kind: verification.ActorSystem}, Action: a, Run: trailRun})
	}
	d.trail(entries...)
	page := d.as(reviewer(verification.RoleAuditor)).get("/audit?all=1").body
	for _, a := range store.AuditActions() {
		if _, table, _ := strings.Cut(page, "<tbody"); strings.Contains(table, ">"+string(a)+"<") {
			t.Errorf("the page shows %s in place of words", a)
		}
	}
}

func TestReadsOfARunAreOneRowBetweenDecisions(t *testing.T) {
	d := serve(t)
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	asha := d.as(reviewerCalled("asha"))
	read := func(n int) {
		for range n {
			wants(t, asha.get("/runs/"+string(run)), http.StatusOK)
			d.Advance(2 * time.Minute)
		}
	}
	read(6)
	wants(t, asha.post("/runs/"+string(run)+"/verdict", append(verdictForm(t, asha.get("/runs/"+string(run))), "decision", "approve", "notes", "Seen.")...), http.StatusSeeOther)
	read(1)
	d.trail(store.AuditEntry{Actor: verification.Actor{Kind: verification.ActorReviewer, ID: "asha", Name: "asha", Role: verification.RoleReviewer}, Action: store.AuditReportPrinted, Run: run})
	auditor := d.as(reviewer(verification.RoleAuditor))
	if got, want := lines(t, auditor.get("/audit?all=1"), "content", "</table>"), "asha reviewer"; !strings.Contains(got, want) {
		t.Errorf("the page is %s, want %q", got, want)
	}
	wants(t, auditor.get("/audit?all=1"), http.StatusOK, "Read the run 6 times", "Gave a verdict", ">Approved<", ">Seen.<", "Read the data of the run 2 times", "Printed the report 1 time", "case-1")
	page := auditor.get("/audit")
	wants(t, page, http.StatusOK, "Gave a verdict", "!6 times", "case-1")
	if !regexp.MustCompile(`>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d<`).MatchString(page.body) {
		t.Error("the time has no seconds")
	}
}

// Many reads of many runs fill pages without a gap: each entry is in one row of one page.
func TestFoldedPagesHaveEachEntryOnce(t *testing.T) {
	d := serve(t)
	var entries []store.AuditEntry
	for n := range 900 {
		e := store.AuditEntry{Actor: verification.Actor{Kind: verification.ActorReviewer, ID: fmt.Sprint("asha-", n%3)}, Action: store.AuditRunRead}
		if e.Run = verification.RunID(fmt.Sprintf("e0000000-0000-7000-8000-%012d", n%7)); n%60 == 59 {
			e.Action, e.Run = store.AuditTenantSaved, ""
		}
		entries = append(entries, e)
	}
	d.trail(entries...)
	p, at, total := d.as(reviewer(verification.RoleAuditor)), "/audit?all=1", 0
	for pages := 0; at != ""; pages++ {
		if pages > 30 {
			t.Fatal("the list does not end")
		}
		page := p.get(at)
		total += strings.Count(page.body, "Changed the tenant</span>") + strings.Count(page.body, "<span>Read a run</span>")
		for _, times := range regexp.MustCompile(`Read the run (\d+) times`).FindAllStringSubmatch(page.body, -1) {
			n, err := strconv.Atoi(times[1])
			if total += n; err != nil {
				t.Fatal(err)
			}
		}
		_, rest, _ := strings.Cut(page.body, `rel="next" href="/console`)
		next, _, _ := strings.Cut(rest, `"`)
		at = strings.ReplaceAll(next, "&amp;", "&")
	}
	if total != 900 {
		t.Errorf("the pages have %d entries, want 900", total)
	}
}

// Who cleared an entry, when and why is in the trail as long as the run has it.
func TestTheTrailSaysWhoClearedAHitUntilARedaction(t *testing.T) {
	d := serve(t)
	run := d.watched("case-1")
	page, asha := "/runs/"+string(run), d.as(reviewerCalled("asha"))
	forms := hitForms(t, asha.get(page))
	for i, match := range []string{"other", "unsure", "other"} {
		wants(t, asha.post(page+"/hits", append(forms[i][1:], "match", match, "reason", "He was born later. "+canary(9))...), http.StatusSeeOther)
	}
	auditor, admin := d.as(reviewer(verification.RoleAuditor)), d.as(reviewer(verification.RoleAdmin))
	const said = "Another person: \u2068ZAMOYSKOV, Viktor Aleksandrovich\u2069, on the list \u2068fictional\u2069"
	for _, query := range []string{"action=hit.decided", "about=case-1", "about=" + string(run), ""} {
		wants(t, auditor.get("/audit?"+query), http.StatusOK, said, "Not sure: \u2068", "He was born later.", "!<canary-9>", "asha", `title="`+string(run)+`"`, ">case-1<")
	}
	eve := reviewer(verification.RoleAuditor)
	eve.Tenant = otherTenant
	wants(t, d.as(eve).get("/audit?about="+string(run)), http.StatusOK, "!Zamoisky", "!case-1<", "No entry matches")

	wants(t, asha.post(page+"/verdict", append(verdictForm(t, asha.get(page)), "decision", "approve", "notes", "Fine.")...), http.StatusSeeOther)
	wants(t, admin.post(page+"/restrict", "notes", "A dispute."), http.StatusSeeOther)
	wants(t, auditor.get("/audit"), http.StatusOK, said, "A dispute.", "case-1")
	hidden := []string{"an entry that is not shown", "!Zamoisky", "!ZAMOYSKOV", "!He was born later.", "!case-1"}
	wants(t, admin.get("/audit"), http.StatusOK, append(hidden, "A dispute.")...)
	wants(t, admin.post(page+"/restrict/end", "notes", "Settled."), http.StatusSeeOther)
	wants(t, admin.get("/audit"), http.StatusOK, said)
	wants(t, admin.post(page+"/redact", "reason", "asked"), http.StatusSeeOther)
	for _, who := range []*person{auditor, admin} {
		wants(t, who.get("/audit"), http.StatusOK, append(hidden, "!Fine.", "Another person:", "asha", "Removed personal data")...)
	}
}
