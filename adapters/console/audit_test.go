// Tests of the page of the audit trail.

package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
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
	all := []string{"Searched for a person", "Gave a verdict", "412 times on " + day, "Changed an account", "Removed personal data", "of.a.later.version"}
	for _, role := range []verification.Role{verification.RoleAuditor, verification.RoleAdmin} {
		p := d.as(reviewer(role))
		wants(t, p.get("/queue"), http.StatusOK, `href="/console/audit"`)
		page := p.get("/audit")
		wants(t, page, http.StatusOK, append(all, "3f2a9c0b77aa01de", "approve", "service account", "operator", `href="/console/runs/`+string(trailRun)+`"`, "!<canary-1>", "!Newest", "!Older")...)
		if first, last := strings.Index(page.body, "of.a.later.version"), strings.Index(page.body, "Searched for a person</span>"); first > last {
			t.Error("the newest entry is not the first")
		}
	}
	p := d.as(reviewer(verification.RoleAuditor))
	for query, want := range map[string][]string{
		"who=acme-backend":        {"412 times", "!3f2a9c0b77aa01de"},
		"action=verdict.given":    {">approve<", "!412 times"},
		"run=" + string(trailRun): {">approve<", "412 times", "!3f2a9c0b77aa01de"},
		"from=" + day:             {">approve<", "412 times"},
		"until=" + day:            {">approve<", "412 times"},
		"from=2099-01-01":         {"No entry matches"},
		"until=2001-01-01":        {"No entry matches"},
		"who=x&run=&from=":        {"No entry matches", `href="/console/audit.ndjson?who=x"`},
	} {
		wants(t, p.get("/audit?"+query), http.StatusOK, want...)
	}
	for query, want := range map[string]string{"run=x": "Give the ID of a run.", "from=yesterday": "Give a day such as", "until=2026-13-01": "Give a day such as"} {
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

func TestTheAuditPageLooksRight(t *testing.T) {
	d := serve(t)
	d.someTrail()
	tab := d.tab(reviewer(verification.RoleAuditor), browser.Options{Wide: true})
	d.inspectAll(tab, "audit", "/audit", nil)
	d.inspectAll(tab, "audit-none", "/audit?who=nobody", nil)
	d.inspectAll(tab, "audit-bad", "/audit?run=x", nil)
}

func TestEachActionOfTheAuditTrailHasItsWords(t *testing.T) {
	d := serve(t)
	var entries []store.AuditEntry
	for _, a := range store.AuditActions() {
		entries = append(entries, store.AuditEntry{Actor: verification.Actor{Kind: verification.ActorSystem}, Action: a, Run: trailRun})
	}
	d.trail(entries...)
	page := d.as(reviewer(verification.RoleAuditor)).get("/audit").body
	for _, a := range store.AuditActions() {
		if _, table, _ := strings.Cut(page, "<tbody"); strings.Contains(table, ">"+string(a)+"<") {
			t.Errorf("the page shows %s in place of words", a)
		}
	}
}
