// Tests of the personal data of a run: holds, redaction, and the file of the person.

package console_test

import (
	"archive/zip"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
)

func TestAnAdministratorRemovesThePersonalDataOfARun(t *testing.T) {
	d := serve(t)
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	path := "/runs/" + string(run)
	admin := d.as(reviewer(verification.RoleAdmin))
	wants(t, admin.get(path), http.StatusOK, "!Remove the personal data")
	wants(t, admin.get(path), http.StatusOK, "Nothing can be removed now. The run is live: cancel it, or wait for its end.")
	wants(t, admin.post(path+"/redact"), http.StatusConflict, "Nothing was removed. The run is live: cancel it, or wait for its end.")
	if _, err := d.Engine.Cancel(t.Context(), enginetest.Tenant, run); err != nil {
		t.Fatal(err)
	}
	wants(t, d.as(reviewer(verification.RoleReviewer)).get(path), http.StatusOK, "case-1", "!Remove the personal data")
	wants(t, admin.get(path), http.StatusOK, "Remove the personal data", `name="person"`, "case-1", `action="/console`+path+`/notes`)
	if a := admin.post(path + "/redact"); a.header.Get("Location") != "/console"+path {
		t.Fatalf("the redaction leads to %d %s", a.status, a.header.Get("Location"))
	}
	at := d.Clock.Now().UTC().Format("2006-01-02 15:04")
	wants(t, admin.get(path), http.StatusOK, "The personal data of the run was removed.", "Personal data was removed from this run on "+at,
		"asha-admin", "removed the personal data of the run", "!case-1", "!Remove the personal data", "!"+path+"/notes")
	history, err := d.Engine.History(t.Context(), enginetest.Tenant, run)
	if err != nil {
		t.Fatal(err)
	}
	want := rules.Redacted{Digest: history.Report.Digest, By: "asha-admin", Identity: "asha-admin"}
	if got := history.Events[len(history.Events)-1].Fact; got != want {
		t.Errorf("the history ends with %+v, want %+v", got, want)
	}
}

func TestAnAdministratorHoldsARun(t *testing.T) {
	d := serve(t)
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	path := "/runs/" + string(run)
	admin, viewer := d.as(reviewer(verification.RoleAdmin)), d.as(reviewer(verification.RoleViewer))
	wants(t, viewer.get(path), http.StatusOK, "!Put under a hold", "!File of the person", `!id="personal"`)
	wants(t, admin.post(path+"/hold", "notes", "  "), http.StatusUnprocessableEntity, "Write a reason of at most 10000 characters.")
	long := strings.Repeat("x", 10_001)
	wants(t, admin.post(path+"/hold", "notes", long), http.StatusUnprocessableEntity, "Write a reason", long)
	if a := admin.post(path+"/hold", "notes", "In dispute,\r\nsee "+canary(1)); a.header.Get("Location") != "/console"+path {
		t.Fatalf("a hold leads to %d %s", a.status, a.header.Get("Location"))
	}
	if _, err := d.Engine.Cancel(t.Context(), enginetest.Tenant, run); err != nil {
		t.Fatal(err)
	}
	wants(t, viewer.get(path), http.StatusOK, "On hold", "In dispute,\nsee ", "asha-admin", "!End the hold", "!<canary-1>")
	wants(t, admin.get(path), http.StatusOK, "The run is under a hold.", "End the hold", "!Put under a hold", "Nothing can be removed now. The run is under a hold", "!Remove the personal data")
	wants(t, admin.post(path+"/redact"), http.StatusConflict, "Nothing was removed. The run is under a hold")
	for range 2 { // another person may have ended it
		wants(t, admin.post(path+"/hold/end"), http.StatusSeeOther)
	}
	wants(t, admin.get(path), http.StatusOK, "The run is under no hold.", "Put under a hold", "Remove the personal data")
	wants(t, admin.post(path+"/redact"), http.StatusSeeOther)
	wants(t, admin.post(path+"/hold", "notes", "late"), http.StatusConflict, "The run was not put under a hold")
	wants(t, admin.get(path), http.StatusOK, "!Put under a hold", "!In dispute")
}

func TestTheRunPageSaysUntilWhenARunIsKept(t *testing.T) {
	d := serve(t)
	w := waiting("Limit", "")
	w.Retention = verification.Retention{KeepDays: 30}
	run := d.begin(d.Apply(w), "case-1")
	if _, err := d.Engine.Cancel(t.Context(), enginetest.Tenant, run); err != nil {
		t.Fatal(err)
	}
	d.Settle()
	admin, path, day := d.as(reviewer(verification.RoleAdmin)), "/runs/"+string(run), d.Clock.Now().UTC().AddDate(0, 0, 30).Format(time.DateOnly)
	wants(t, admin.get(path), http.StatusOK, "Nothing can be removed now. The run must be kept until "+day, "!Remove the personal data")
	wants(t, admin.post(path+"/redact"), http.StatusConflict, "Nothing was removed. The run must be kept for a time")
	wants(t, admin.post("/runs/redact", "run", string(run), "confirmed", "1"), http.StatusOK, "Nothing removed", "The run must be kept for a time")
}

// files returns the files of a ZIP by the ends of their names.
func files(t *testing.T, a response) map[string]string {
	t.Helper()
	archive, err := zip.NewReader(strings.NewReader(a.body), int64(len(a.body)))
	if err != nil {
		t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
	all := map[string]string{}
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all[f.Name] = string(content)
	}
	return all
}

func TestAnAdministratorSavesTheFileOfAPerson(t *testing.T) {
	d := serve(t)
	run, _ := d.withDocuments()
	w := d.Apply(waiting("Limit", "")).ID
	same := d.Start(w, engine.StartRequest{ReferenceID: "case-1"}).ID
	d.Settle()
	if err := d.Engine.AddNote(t.Context(), enginetest.Tenant, run, rules.AddNote{Notes: "He was rude.", By: "ravi", Identity: "ravi"}); err != nil {
		t.Fatal(err)
	}
	admin, path := d.as(reviewer(verification.RoleAdmin)), "/runs/"+string(run)
	wants(t, admin.get(path), http.StatusOK, "File of the person", "All runs with the same reference")
	wants(t, d.as(reviewer(verification.RoleAuditor)).post(path+"/person"), http.StatusForbidden)
	one := admin.post(path + "/person")
	if got := one.header; got.Get("Content-Type") != "application/zip" || got.Get("Content-Disposition") != `attachment; filename="person-`+string(run)+`.zip"` || got.Get("Cache-Control") != "no-store" {
		t.Errorf("the headers are %v", got)
	}
	all, of := files(t, one), string(run)+"/"
	index := all["index.txt"]
	if !strings.Contains(index, "the administrator asha-admin, in the console") || !strings.Contains(index, "Documents   5") || !strings.Contains(all[of+"data.json"], "ABCPR1234F") {
		t.Errorf("the index says %s, data.json %s", index, all[of+"data.json"])
	}
	if strings.Contains(one.body, string(same)) || strings.Contains(index, string(same)) {
		t.Error("the file of one run has another one")
	}
	for name, content := range all {
		if strings.Contains(content, "He was rude.") || strings.HasSuffix(name, "review.json") {
			t.Errorf("%s has what reviewers wrote", name)
		}
	}
	both := files(t, admin.post(path+"/person", "all", "1"))
	if both[string(same)+"/run.json"] == "" || both[of+"run.json"] == "" {
		t.Errorf("the file of the reference has %d files", len(both))
	}
	wants(t, admin.post(path+"/person", "screening", "1"), http.StatusUnprocessableEntity, "Write a reason of at most 10000 characters.", `name="screening" value="1" checked`)
	full := files(t, admin.post(path+"/person", "screening", "1", "notes", "The court asked for it."))
	if !strings.Contains(full["index.txt"], "The court asked for it.") || !strings.Contains(full[of+"review.json"], "He was rude.") {
		t.Errorf("with screening, the index says %s, review.json %s", full["index.txt"], full[of+"review.json"])
	}
	if log := d.log.String(); strings.Count(log, "person's file exported") != 3 || strings.Contains(log, "court") || strings.Contains(log, "ABCPR") {
		t.Errorf("the log says %s", log)
	}
}

func TestAnAdministratorRedactsTheRunsOfAPerson(t *testing.T) {
	d := serve(t, searching)
	asha, ravi, other := people(d)
	verdict := rules.GiveVerdict{Decision: rules.DecisionApprove, By: "ravi", Identity: "ravi"}
	for _, run := range []verification.RunID{asha, ravi} {
		if _, err := d.Engine.GiveVerdict(t.Context(), enginetest.Tenant, run, verdict, ""); err != nil {
			t.Fatal(err)
		}
	}
	d.Settle()
	if err := d.Engine.HoldRun(t.Context(), enginetest.Tenant, ravi, rules.HoldRun{Reason: "In dispute.", By: "ravi", Identity: "ravi"}); err != nil {
		t.Fatal(err)
	}
	admin, found := d.as(reviewer(verification.RoleAdmin)), "/runs?reference=case"
	wants(t, admin.get("/runs"), http.StatusOK, "!of the selected runs")
	wants(t, d.as(reviewer(verification.RoleReviewer)).get(found), http.StatusOK, "case-1", "!of the selected runs", "!checkbox")
	wants(t, admin.get(found), http.StatusOK, "of the selected runs", `name="run" value="`+string(asha)+`"`, `name="run" value="`+string(ravi)+`"`, "!"+string(other))
	to := admin.post("/runs/search", "reference", "+91 98123 45678").header.Get("Location")
	wants(t, admin.get(strings.TrimPrefix(to, "/console")), http.StatusOK, "of the selected runs", `name="run" value="`+string(asha)+`"`, `name="run" value="`+string(other)+`"`)

	wants(t, admin.post("/runs/redact"), http.StatusSeeOther)
	wants(t, admin.get("/runs"), http.StatusOK, "Nothing was removed: select runs first.")
	wants(t, admin.post("/runs/redact", "run", "x"), http.StatusNotFound)
	runs := []string{"run", string(asha), "run", string(ravi), "run", string(other), "run", string(asha)}
	wants(t, admin.post("/runs/redact", runs...), http.StatusOK, "3 runs", "case-1", "case-2", "rao-7", "This cannot be undone", `name="confirmed"`)
	if got := d.Run(asha); !got.RedactedAt.IsZero() {
		t.Fatal("a run is redacted before it is confirmed")
	}
	done := admin.post("/runs/redact", append(runs, "confirmed", "1")...)
	wants(t, done, http.StatusOK, "What was removed", "Removed</span></td>", "The run is under a hold", "The run is live", "!case-1", "!case-2", `!name="confirmed"`)
	if n := strings.Count(done.body, "Nothing removed"); n != 2 {
		t.Errorf("%d runs were left, want 2: %s", n, done.body)
	}
	for run, want := range map[verification.RunID]bool{asha: true, ravi: false, other: false} {
		if got := d.Run(run); got.RedactedAt.IsZero() == want {
			t.Errorf("run %s is redacted at %v, want %t", run, got.RedactedAt, want)
		}
	}
	wants(t, admin.post("/runs/"+string(ravi)+"/hold/end"), http.StatusSeeOther)
	wants(t, admin.post("/runs/"+string(ravi)+"/redact"), http.StatusSeeOther)
	wants(t, admin.get("/runs/"+string(asha)), http.StatusOK, "!"+string(ravi), "!Other runs that may be of this person") // both have the reference "redacted"
	many := []string{"confirmed", "1"}
	for n := range 51 {
		many = append(many, "run", fmt.Sprintf("e0000000-0000-7000-8000-%012d", n))
	}
	wants(t, admin.post("/runs/redact", many...), http.StatusBadRequest)
	wants(t, admin.post("/runs/redact", many[:6]...), http.StatusOK, "There is no such run.")
}

func TestARestrictedRunIsShownToAuditorsOnly(t *testing.T) {
	d := serveWith(t, sketching(t), searching)
	run, ids := d.withDocuments()
	path, document := "/runs/"+string(run), "/runs/"+string(run)+"/documents/"+ids["front"]
	admin, auditor, viewer := d.as(reviewer(verification.RoleAdmin)), d.as(reviewer(verification.RoleAuditor)), d.as(reviewer(verification.RoleViewer))
	wants(t, admin.get(path), http.StatusOK, "The run cannot be restricted now. The run is live")
	wants(t, admin.post(path+"/restrict", "notes", "Disputed."), http.StatusConflict, "Nothing was changed. The run is live")
	verdict := rules.GiveVerdict{Decision: rules.DecisionApprove, Notes: "Seen in person.", By: "ravi", Identity: "ravi"}
	if _, err := d.Engine.GiveVerdict(t.Context(), enginetest.Tenant, run, verdict, ""); err != nil {
		t.Fatal(err)
	}
	d.Settle()
	wants(t, admin.post(path+"/restrict", "notes", " "), http.StatusUnprocessableEntity, "Write a reason")
	wants(t, admin.post(path+"/restrict", "notes", "He says that it is not him."), http.StatusSeeOther)
	wants(t, admin.get(path), http.StatusOK, "The run is restricted.")
	for range 2 { // also of the cache
		wants(t, admin.get(path), http.StatusOK, "only auditors see them", "He says that it is not him.", "Lift the restriction", "!Asha Rao", "!ABCPR1234F", "!case-1", "!Seen in person.",
			"!"+ids["front"], "!Restrict the run", "!File of the person", "!/notes")
		wants(t, viewer.get(path), http.StatusOK, "only auditors see them", "asha-admin", "He says that it is not him.", "!Asha Rao", "!ABCPR1234F", "!case-1", "!Lift the restriction")
		wants(t, viewer.get(document), http.StatusNotFound)
		wants(t, auditor.get(path), http.StatusOK, "You see it in full as an auditor", "Restricted", "Asha Rao", "ABCPR1234F", "case-1", "Seen in person.", ids["front"], "!Lift the restriction")
		wants(t, auditor.get(document), http.StatusOK)
	}
	wants(t, viewer.get("/runs?reference=case"), http.StatusOK, "0 runs")
	wants(t, auditor.get("/runs"), http.StatusOK, "redacted", "!case-1")
	wants(t, admin.post(path+"/person"), http.StatusConflict, "No file was made: the run is restricted.", "!Asha Rao")
	wants(t, admin.post(path+"/restrict/end", "notes", ""), http.StatusUnprocessableEntity, "Write a reason")
	for range 2 { // another person may have lifted it
		wants(t, admin.post(path+"/restrict/end", "notes", "It was him."), http.StatusSeeOther)
	}
	wants(t, admin.get(path), http.StatusOK, "The run is not restricted any more.", "Asha Rao", "ABCPR1234F", "Restrict the run", "File of the person", "!only auditors see them")
	wants(t, viewer.get("/runs?reference=case"), http.StatusOK, "case-1")
	wants(t, viewer.get(document), http.StatusOK)
}

func TestThePagesAboutPersonalDataLookRight(t *testing.T) {
	d := serve(t, searching)
	asha, ravi, _ := people(d)
	watched := d.watched("case-3")
	hold := rules.HoldRun{Reason: "A court asked us to keep the file of this customer until its judgement.", By: "Ravi", Identity: "ravi"}
	if err := d.Engine.HoldRun(t.Context(), enginetest.Tenant, ravi, hold); err != nil {
		t.Fatal(err)
	}
	admin := d.as(reviewer(verification.RoleAdmin))
	page := "/runs/" + string(watched)
	for i, match := range []string{"other", "unsure", "other"} {
		wants(t, admin.post(page+"/hits", append(hitForms(t, admin.get(page))[i][1:], "match", match, "reason", "Seen in person.")...), http.StatusSeeOther)
	}
	wants(t, admin.post(page+"/verdict", append(verdictForm(t, admin.get(page)), "decision", "approve", "notes", "Seen in person.")...), http.StatusSeeOther)
	tab := d.tab(reviewer(verification.RoleAdmin), browser.Options{Wide: true})
	open := func() {
		browser.Eval[int](tab, `[...document.querySelectorAll(".personal details")].map((one) => one.open = true).length`)
	}
	d.inspectAll(tab, "personal", page, open)
	d.inspectAll(tab, "personal-held", "/runs/"+string(ravi), open)
	wants(t, admin.post(page+"/restrict", "notes", "The customer disputes the address."), http.StatusSeeOther)
	d.inspectAll(tab, "personal-restricted", page, open)
	wants(t, admin.post(page+"/redact"), http.StatusSeeOther)
	d.inspectAll(tab, "personal-redacted", page, open)

	tab.Emulate(looks()[0].Options)
	tab.Go(d.server.URL + "/console/runs?reference=case")
	browser.Eval[int](tab, `[...document.querySelectorAll("[name=run]")].map((one) => one.checked = true).length`)
	inspectIn(t, tab, "redact-select", looks())
	tab.Press("#redact button")
	tab.See(".danger")
	inspectIn(t, tab, "redact-confirm", looks())
	tab.Press(".danger")
	tab.Wait(`document.readyState === "complete" && !document.querySelector(".danger") && document.body.textContent.includes("The run is live")`)
	inspectIn(t, tab, "redact-done", looks())
	if got := d.Run(asha); !got.RedactedAt.IsZero() {
		t.Errorf("a run that needs a verdict is redacted at %v", got.RedactedAt)
	}
}

// Each check that may have screened is a choice once, also where it was made for several elements.
func TestTheFormOfAPersonsFileListsAKeyOnce(t *testing.T) {
	d := serve(t)
	page := d.as(reviewer(verification.RoleAdmin)).get("/runs/" + string(d.owned())).body
	var got []string
	for _, m := range regexp.MustCompile(`name="check" value="([^"]*)"><span dir="auto">([^<]*)<`).FindAllStringSubmatch(page, -1) {
		got = append(got, m[1]+": "+m[2])
	}
	all := slices.Compact(slices.Sorted(slices.Values(got)))
	if len(all) != len(got) || !slices.Contains(got, "owners.bureau: Owner: Credit bureau") {
		t.Errorf("the choices are %q, want each key once", got)
	}
}
