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
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestAnAdministratorRemovesThePersonalDataOfARun(t *testing.T) {
	d := serve(t)
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	path := "/runs/" + string(run)
	admin := d.as(reviewer(verification.RoleAdmin))
	wants(t, admin.get(path), http.StatusOK, "!Remove the personal data")
	wants(t, admin.get(path), http.StatusOK, "Nothing can be removed now. The run is live: cancel it, or wait for its end.")
	wants(t, admin.post(path+"/redact", "reason", "asked"), http.StatusConflict, "Nothing was removed. The run is live: cancel it, or wait for its end.")
	if _, err := d.Engine.Cancel(t.Context(), enginetest.Tenant, run); err != nil {
		t.Fatal(err)
	}
	wants(t, d.as(reviewer(verification.RoleReviewer)).get(path), http.StatusOK, "case-1", "!Remove the personal data")
	wants(t, admin.get(path), http.StatusOK, "Remove the personal data", `name="person"`, "case-1", `action="/console`+path+`/notes`)
	if a := admin.post(path+"/redact", "reason", "asked"); a.header.Get("Location") != "/console"+path {
		t.Fatalf("the redaction leads to %d %s", a.status, a.header.Get("Location"))
	}
	at := d.Clock.Now().UTC().Format("2006-01-02 15:04")
	wants(t, admin.get(path), http.StatusOK, "The personal data of the run was removed.", "Personal data was removed from this run on "+at,
		"asha-admin", "removed the personal data of the run", "!case-1", "!Remove the personal data", "!"+path+"/notes")
	history, err := d.Engine.History(t.Context(), enginetest.Tenant, run)
	if err != nil {
		t.Fatal(err)
	}
	want := rules.Redacted{Digest: history.Report.Digest, Reason: rules.RedactAsked, By: "asha-admin", Identity: "asha-admin"}
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
	wants(t, admin.post(path+"/redact", "reason", "asked"), http.StatusConflict, "Nothing was removed. The run is under a hold")
	for range 2 { // another person may have ended it
		wants(t, admin.post(path+"/hold/end"), http.StatusSeeOther)
	}
	wants(t, admin.get(path), http.StatusOK, "The run is under no hold.", "Put under a hold", "Remove the personal data")
	wants(t, admin.post(path+"/redact", "reason", "asked"), http.StatusSeeOther)
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
	wants(t, admin.post(path+"/redact", "reason", "asked"), http.StatusConflict, "Nothing was removed. The run must be kept for a time")
	wants(t, admin.post("/runs/redact", "run", string(run), "confirmed", "1", "reason", "mistake"), http.StatusOK, "Nothing removed", "The run must be kept for a time")
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
	wants(t, admin.post("/runs/redact", runs...), http.StatusOK, "case-1", "case-2", "rao-7", "This cannot be undone", `name="confirmed"`, "Would stay", "Would be removed",
		"The run is under a hold", "The run is live")
	if got := d.Run(asha); !got.RedactedAt.IsZero() {
		t.Fatal("a run is redacted before it is confirmed")
	}
	done := admin.post("/runs/redact", append(runs, "confirmed", "1", "reason", "mistake")...)
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
	wants(t, admin.post("/runs/"+string(ravi)+"/redact", "reason", "asked"), http.StatusSeeOther)
	wants(t, admin.get("/runs/"+string(asha)), http.StatusOK, "!"+string(ravi), "!Other runs that may be of this person") // both have the reference "redacted"
	many := []string{"confirmed", "1", "reason", "mistake"}
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
	wants(t, auditor.get("/runs"), http.StatusOK, ">restricted<", "!redacted", "!case-1")
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
	wants(t, admin.post(page+"/redact", "reason", "asked"), http.StatusSeeOther)
	d.inspectAll(tab, "personal-redacted", page, open)

	tab.Emulate(looks()[0].Options)
	tab.Go(d.server.URL + "/console/runs?reference=case")
	browser.Eval[int](tab, `[...document.querySelectorAll("[name=run]")].map((one) => one.checked = true).length`)
	inspectIn(t, tab, "redact-select", looks())
	tab.Press("#redact button")
	tab.See(".danger")
	inspectIn(t, tab, "redact-confirm", looks())
	browser.Eval[int](tab, `[...document.querySelectorAll("[name=run]")].map((one) => one.checked = true).length`)
	tab.Set("#reason", "asked")
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

// Two people of one name are in no selection unasked: the page groups runs by whom they are about.
func TestNamesakesAreNotRedactedTogetherUnasked(t *testing.T) {
	d := serve(t, searching)
	w := d.Apply(workflow.Definition{
		Workflow: "namesakes", Name: "Account " + canary(1), Start: "form",
		Subject: &workflow.SubjectFields{Name: "steps.form.data.name", BirthDate: "steps.form.data.?born.orValue('')"},
		Nodes: map[verification.NodeID]workflow.Node{
			"form": {Type: workflow.NodeCustomerInput, Next: "done", Fields: workflow.InputFields{
				{Name: "name", Type: workflow.FieldText, Search: true}, {Name: "born", Type: workflow.FieldDate, Search: true}, {Name: "pan", Type: workflow.FieldText, Search: true},
			}},
			"done": {Type: workflow.NodeEnd},
		},
	})
	start := func(reference, born, pan string) verification.RunID {
		run := d.Start(w.ID, engine.StartRequest{ReferenceID: reference})
		d.Submit(run.ID, "form_submitted", map[string]any{"name": "Asha Rao", "born": born, "pan": pan})
		d.Advance(time.Minute)
		return run.ID
	}
	other, first, second, third := start("case-4", "1961-02-03", "ZZZPZ9999Z"), start("case-1", "1990-01-31", "ABCPR1234F"), start("case-2", "1990-01-31", "XYZPR1234F"), start("case-3", "", "ABCPR1234F")
	admin := d.as(reviewer(verification.RoleAdmin))
	to := strings.TrimPrefix(admin.post("/runs/search", "reference", "asha rao").header.Get("Location"), "/console")
	action := strings.ReplaceAll(regexp.MustCompile(`id="redact" method="post" action="/console([^"]*)"`).FindStringSubmatch(admin.get(to).body)[1], "&amp;", "&")
	runs := []string{"run", string(other), "run", string(first), "run", string(second), "run", string(third)}
	page := admin.post(action, runs...)
	wants(t, page, http.StatusOK, "These runs are about 2 people or companies. Only those about \u2068Asha Rao\u2069, born 1990-01-31 are selected", "1961-02-03", "Would be removed", "!<canary-1>",
		`name="reason" required`, `<td data-label="Found by">name</td>`)
	checked := func(a response) (all []string) {
		for _, m := range regexp.MustCompile(`name="run" value="([^"]*)" aria-label="[^"]*" checked`).FindAllStringSubmatch(a.body, -1) {
			all = append(all, m[1])
		}
		return all
	}
	if got, want := checked(page), []string{string(first), string(second), string(third)}; !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		t.Errorf("selected are %q, want %q", got, want)
	}
	form := []string{"confirmed", "1", "run", string(first)}
	for _, id := range []verification.RunID{other, first, second, third} {
		form = append(form, "of", string(id))
	}
	for _, reason := range []string{"", "because"} {
		refused := admin.post(action, append(form, "reason", reason)...)
		wants(t, refused, http.StatusUnprocessableEntity, "Nothing was removed. Choose why it is removed.", `aria-invalid="true"`, "1961-02-03")
		if got := checked(refused); !slices.Equal(got, []string{string(first)}) {
			t.Errorf("after a refusal selected are %q, want the first run", got)
		}
	}
	wants(t, admin.post("/runs/"+string(first)+"/redact"), http.StatusUnprocessableEntity, "Choose why it is removed.", `<details class="dialog" open>`)
	wants(t, admin.post(action, append(form, "reason", "mistake")...), http.StatusOK, "What was removed", "Removed</span></td>")
	for _, id := range []verification.RunID{other, first, second, third} {
		if got := d.Run(id).RedactedAt; got.IsZero() == (id == first) {
			t.Errorf("run %s is redacted at %v", id, got)
		}
	}
	wants(t, admin.get("/runs/"+string(first)), http.StatusOK, "removed the personal data of the run", "It is data of another person, or was entered by mistake")
	even := admin.post(action, "run", string(other), "run", string(second))
	wants(t, even, http.StatusOK, "These runs are about 2 people or companies. None is selected")
	if got := checked(even); got != nil {
		t.Errorf("of two groups of one run %q are selected, want none", got)
	}
	tab := d.tab(reviewer(verification.RoleAdmin), browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console" + to)
	browser.Eval[int](tab, `[...document.querySelectorAll("[name=run]")].map((one) => one.checked = true).length`)
	tab.Press("#redact button")
	tab.See("#reason")
	inspectIn(t, tab, "redact-groups", append(looks(), hindi()...))
}

func TestHoldsAndRestrictionsAreListedAndLifted(t *testing.T) {
	d := serve(t)
	w := d.Apply(workflow.Definition{
		Workflow: "short", Name: "Short", Start: "done", Nodes: map[verification.NodeID]workflow.Node{"done": {Type: workflow.NodeEnd}},
	})
	held, restricted, removed, ended := d.begin(w, "case-held"), d.begin(w, "case-restricted"), d.begin(w, "case-removed"), d.begin(w, "case-ended")
	d.Settle()
	admin, auditor := d.as(reviewer(verification.RoleAdmin)), d.as(reviewer(verification.RoleAuditor))
	for _, run := range []verification.RunID{held, ended} {
		wants(t, admin.post("/runs/"+string(run)+"/hold", "notes", "A court asked us. "+canary(2)), http.StatusSeeOther)
	}
	wants(t, admin.post("/runs/"+string(ended)+"/hold/end"), http.StatusSeeOther)
	wants(t, admin.post("/runs/"+string(restricted)+"/restrict", "notes", "He disputes it."), http.StatusSeeOther)
	wants(t, admin.post("/runs/"+string(removed)+"/redact", "reason", "ordered"), http.StatusSeeOther)

	wants(t, admin.get("/runs"), http.StatusOK, `href="/console/runs/kept"`, ">restricted<", ">redacted<", "!case-restricted")
	wants(t, d.as(reviewer(verification.RoleReviewer)).get("/runs"), http.StatusOK, "!/runs/kept")
	wants(t, admin.get("/runs/"+string(restricted)), http.StatusOK, "<bdi>restricted</bdi>", "!<bdi>redacted</bdi>")
	lists := map[string][]string{
		"run.held":       {"case-held", "A court asked us.", "!<canary-2>", "!case-ended", "asha-admin", "!case-removed"},
		"run.restricted": {">restricted<", "He disputes it.", "!case-held", "!case-restricted", string(restricted)},
		"run.redacted":   {">redacted<", "An authority or a court ordered it", string(removed), "!case-removed", "!End the hold"},
		"run.deleted":    {"No run is in this list."},
	}
	for list, want := range lists {
		wants(t, admin.get("/runs/kept?list="+list), http.StatusOK, want...)
		wants(t, auditor.get("/runs/kept?list="+list), http.StatusOK, append(want, "!End the hold</button>", "!Lift the restriction")...)
	}
	eve := reviewer(verification.RoleAdmin)
	eve.Tenant = otherTenant
	wants(t, d.as(eve).get("/runs/kept"), http.StatusOK, "No run is in this list.", "!court")

	tab := d.tab(reviewer(verification.RoleAdmin), browser.Options{Wide: true})
	d.inspectAll(tab, "kept-held", "/runs/kept", nil)
	d.inspectAll(tab, "kept-restricted", "/runs/kept?list=run.restricted", func() { tab.Press("details.dialog summary") })
	tab.Emulate(browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console/runs") // then a hold is ended in two clicks, and a restriction lifted in three
	tab.Press(`a[href$="/runs/kept"]`)
	tab.Press(`form[action$="/hold/end"] button`)
	tab.See(".note.good")
	tab.Go(d.server.URL + "/console/runs/kept?list=run.restricted")
	tab.Press("details.dialog summary")
	tab.Fill("details.dialog textarea", "It was him.")
	tab.Press("details.dialog button")
	tab.See(".note.good")
	wants(t, admin.get("/runs/kept"), http.StatusOK, "No run is in this list.")
	wants(t, admin.get("/runs/kept?list=run.restricted"), http.StatusOK, "No run is in this list.")
	wants(t, admin.get("/runs"), http.StatusOK, "case-restricted")
}
