// Tests of hits on the run page: side by side, decided one by one, and then the verdict.

package console_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// watched starts a run whose check has three hits on a list.
func (d *desk) watched(reference string) verification.RunID {
	d.t.Helper()
	w := d.Apply(workflow.Definition{
		Workflow: "watched", Name: "Sanctions", Start: "details",
		Nodes: map[verification.NodeID]workflow.Node{
			"details": {Type: workflow.NodeCustomerInput, Label: "Your details", Next: "list", Fields: workflow.InputFields{
				{Name: "name", Type: workflow.FieldText, Label: "Full name"}, {Name: "born", Type: workflow.FieldText, Label: "Date of birth"},
			}},
			"list": {
				Type: workflow.NodeCheck, Label: "Sanctions screening", Provider: "script", Next: "done",
				With: verification.Data(`{"list":"fictional","kind":"person","name":"${steps.details.data.name}","birth_date":"${steps.details.data.born}","countries":["ru","in"]}`),
			},
			"done": {Type: workflow.NodeEnd},
		},
	})
	found := enginetest.Pass(map[string]any{"analysis_ok": false})
	found.Result.Screening = &verification.ScreeningResult{List: "fictional", ListVersion: "1", Total: 30, Hits: []verification.Hit{
		{
			ID: "f-1", Name: "ZAMOYSKOV, Viktor Aleksandrovich", Alias: "Vitya Zamoyskov", Score: 0.993, Reasons: []string{"Zamoyskov is the same"},
			BirthDates: []string{"1961-03-14", "~1965"}, Countries: []string{"ru", "mh"}, Topics: []string{"sanction"}, Digest: "d1",
		},
		{ID: "f-2", Name: "Victor Zamoisky", Score: 0.91, BirthDates: []string{"1999"}},
		{ID: `f-3"><canary-3>`, Name: canary(3), Score: 0.9, Countries: []string{"zz"}},
	}}
	d.Provider.On("list", found)
	run := d.begin(w, reference)
	d.Submit(run, "details_submitted", map[string]any{"name": "Viktor Zamoyskov", "born": "1961-07-02"})
	d.Settle()
	return run
}

func TestAScreeningSaysHowManyHitsItFound(t *testing.T) {
	d := serve(t)
	run := d.watched("case-1")
	wants(t, d.as(reviewer(verification.RoleReviewer)).get("/runs/"+string(run)), http.StatusOK, "3 possible matches on the list. The check found 30; the best 3 are here.")
}

func TestARedactedRunShowsNoEmptyHits(t *testing.T) {
	d := serve(t)
	run := d.watched("case-1")
	page, p := "/runs/"+string(run), d.as(reviewer(verification.RoleAdmin))
	for i, match := range []string{"other", "unsure", "other"} {
		form := hitForms(t, p.get(page))[i]
		wants(t, p.post(page+"/hits", append(form[1:], "match", match)...), http.StatusSeeOther)
	}
	wants(t, p.post(page+"/verdict", append(verdictForm(t, p.get(page)), "decision", "approve", "notes", "Seen.")...), http.StatusSeeOther)
	wants(t, p.post(page+"/redact", "reason", "asked"), http.StatusSeeOther)
	got := p.get(page)
	wants(t, got, http.StatusOK, "Personal data was removed", "3 possible matches on the list", "The check found 30; the best 3 were recorded.",
		"\u2068asha-admin\u2069 decided that \u2068an entry that is not shown\u2069 is another person.", "!0%", `!class="hit`, "!<meter", `!id="facts"`, "!What was asked", "!, ,")
	for badge, want := range map[string]int{"Another person": 2, "Not sure": 1} {
		if n := strings.Count(got.body, badge+"</span>"); n != want {
			t.Errorf("%d decisions %q are shown, want %d: %s", n, badge, want, got.body)
		}
	}
}

// A name from right to left keeps its place before the birth date: the sentence is the console's.
func TestAnArabicHitReadsFromLeftToRight(t *testing.T) {
	d := serve(t)
	found := enginetest.Pass(map[string]any{"analysis_ok": false})
	found.Result.Screening = &verification.ScreeningResult{List: "fictional", ListVersion: "1", Total: 1, Hits: []verification.Hit{
		{ID: "f-1", Name: "طارق المزروي", Score: 1, BirthDates: []string{"1974-07-02"}, Countries: []string{"sy"}},
	}}
	d.Provider.On("list", found)
	run := d.begin(d.Apply(workflow.Definition{
		Workflow: "watched", Name: "Sanctions", Start: "list",
		Nodes: map[verification.NodeID]workflow.Node{
			"list": {Type: workflow.NodeCheck, Provider: "script", Next: "done"}, "done": {Type: workflow.NodeEnd},
		},
	}), "case-1")
	d.Settle()
	const said = "<span>\u2068طارق المزروي\u2069 · name the same · birth date not given, listed \u20681974-07-02\u2069 · \u2068Syria\u2069</span>"
	p := d.as(reviewer(verification.RoleReviewer))
	wants(t, p.get("/queue"), http.StatusOK, said)
	wants(t, p.get("/runs/"+string(run)), http.StatusOK, said)
}

// hitForms returns the fields of the forms of hits on a page, with the ids of their sections.
func hitForms(t *testing.T, a response) (all [][]string) {
	t.Helper()
	for _, form := range regexp.MustCompile(`(?s)<tbody class="hit[ a-z]*" id="(hit-[0-9a-f]+)".*?</tbody>`).FindAllStringSubmatch(a.body, -1) {
		fields := []string{form[1]}
		for _, f := range regexp.MustCompile(`<input type="hidden" name="(person|node|list|entry|digest)" value="([^"]*)">`).FindAllStringSubmatch(form[0], -1) {
			fields = append(fields, f[1], strings.NewReplacer("&#34;", `"`, "&gt;", ">", "&lt;", "<", "&#39;", "'", "&#43;", "+").Replace(f[2]))
		}
		all = append(all, fields)
	}
	return all
}

func TestHitsAreDecidedOneByOneWithoutScript(t *testing.T) {
	d := serve(t)
	run := d.watched("case-1")
	p, page := d.as(reviewer(verification.RoleReviewer)), "/runs/"+string(run)
	first := p.get(page + "?cause=analysis")
	wants(t, first, http.StatusOK, "Decide each hit first: 3 of 3 left", "Give a verdict now …",
		`<mark>ZAMOYSKOV</mark>, <mark>Viktor</mark> Aleksandrovich`, `<mark>Viktor</mark> <mark>Zamoyskov</mark>`, `Vitya <mark>Zamoyskov</mark>`,
		`<mark>1961</mark>-07-02`, `<mark>1961</mark>-03-14, ~1965`, `<mark>Russia</mark>, India`, `<mark>Russia</mark>, Marshall Islands`, "Score of the list: 99%", "born on another day of the same year",
		"Sanctions screening\u2069: found 3 possible matches.", "!the check passed")
	forms := hitForms(t, first)
	if len(forms) != 3 {
		t.Fatalf("there are %d hits, want 3", len(forms))
	}
	for i, decision := range []struct{ match, reason, left string }{
		{"other", "Born on another day. " + canary(4), "2 of 3 left"}, {"unsure", "", "1 of 3 left"}, {"same", "", ""},
	} {
		a := p.post(page+"/hits?cause=analysis", append(forms[i][1:], "match", decision.match, "reason", decision.reason)...)
		if want := "/console" + page + "?cause=analysis#" + forms[i][0]; a.status != http.StatusSeeOther || a.header.Get("Location") != want {
			t.Fatalf("a decision = %d to %s, want 303 to %s: %s", a.status, a.header.Get("Location"), want, a.body)
		}
		if decision.left != "" {
			wants(t, p.get(page), http.StatusOK, "Decide each hit first: "+decision.left, `id="decide"`)
		}
	}
	decided := p.get(page)
	wants(t, decided, http.StatusOK, "!Decide each hit first", "!Give a verdict now", `id="decide"`, "Same person",
		"Born on another day.", "!<canary-4>", "Another person", "asha-reviewer", "Change</summary>", "is another person.", "is not sure about", "is the same person.")
	if a := p.post(page+"/hits", append(forms[2][1:], "match", "other")...); a.status != http.StatusSeeOther {
		t.Errorf("another decision = %d", a.status)
	}
	if r := d.Run(run); r.Decision != rules.DecisionReview || r.Status != rules.StatusCompleted {
		t.Errorf("run = %s, %s; want a completed one that needs a verdict", r.Status, r.Decision)
	}
	if held, err := d.Engine.Review(t.Context(), enginetest.Tenant, run); err != nil || held.Claim.Name != "asha-reviewer" {
		t.Errorf("the claim is %+v, %v; want that of the reviewer who decides", held.Claim, err)
	}
	wants(t, d.as(reviewer(verification.RoleViewer)).get(page), http.StatusOK, "Another person", "!name=\"match\"")
}

func TestARefusedHitDecisionSaysWhy(t *testing.T) {
	d := serve(t)
	run := d.watched("case-1")
	page := "/runs/" + string(run)
	asha, ravi := d.as(reviewer(verification.RoleReviewer)), d.as(reviewerCalled("ravi"))
	form := hitForms(t, asha.get(page))[0]
	wants(t, asha.post(page+"/hits", append(form[1:], "match", "other", "reason", strings.Repeat("é", rules.MaxNotes+1))...),
		http.StatusUnprocessableEntity, "Nothing was saved. Choose one of the buttons, and write at most 10000 characters.")
	wants(t, asha.post(page+"/hits", append(form[1:], "match", "perhaps", "reason", "as typed")...), http.StatusUnprocessableEntity, `value="as typed"`)
	ravi.post(page+"/claim", "take_over", "1")
	wants(t, asha.post(page+"/hits", append(form[1:], "match", "other", "reason", "as typed")...), http.StatusConflict, "has taken this run over", "Your reason", "as typed", "!name=\"match\"")
	d.GiveVerdict(run, rules.DecisionApprove)
	wants(t, ravi.post(page+"/hits", append(form[3:], "match", "other")...), http.StatusConflict, "the run needs no verdict now", "!name=\"match\"")
	wants(t, ravi.post("/runs/0191f3c0-0000-7000-8000-0000000000ff/hits", "node", "list", "match", "other"), http.StatusNotFound)
}

func TestHitsAreDecidedInABrowserAndThenTheVerdict(t *testing.T) {
	for name, o := range map[string]browser.Options{"wide": {Wide: true}, "no script": {Wide: true, NoScript: true}} {
		t.Run(name, func(t *testing.T) {
			d := serve(t)
			run := d.watched("case-1")
			tab := d.tab(reviewer(verification.RoleReviewer), o)
			tab.Go(d.server.URL + "/console/runs/" + string(run))
			tab.See(".hit button")
			if !o.NoScript {
				d.inspectAll(tab, "run-hits", "/runs/"+string(run), nil)
				tab.Emulate(o)
				tab.Go(d.server.URL + "/console/runs/" + string(run))
				tab.Wait(loaded)
			}
			for i, match := range []string{"other", "unsure", "other"} {
				hit := fmt.Sprintf("tbody.hit:nth-of-type(%d)", i+1)
				button := hit + ` .decision button[value="` + match + `"]`
				tab.See(button)
				switch {
				case i == 0:
					tab.Press(hit + " summary")
					tab.Fill(hit+" input[name=reason]", "Born in another year")
					tab.Press(hit + ` form button[value="` + match + `"]`)
				case i == 2 && !o.NoScript:
					browser.Eval[bool](tab, `document.activeElement.blur(), true`)
					tab.Key("o")
				default:
					tab.Press(button)
				}
				tab.See(hit + " .decision .badge")
			}
			if text := tab.Text(); !strings.Contains(text, "Born in another year") || strings.Contains(text, "Decide each hit first") {
				t.Errorf("after three decisions the page shows %s", text)
			}
			if !o.NoScript {
				inspect(t, tab, "run-hits-decided")
			}
			tab.Press(`.verdict form.decide button[value="approve"]`)
			tab.See("#notes-error") // a hit is not sure
			tab.Wait(loaded)
			tab.Fill("#notes", "The embassy answers next week.")
			tab.Press(`.verdict form.decide button[value="approve"]`)
			tab.See(".note.good, [data-undo]")
			tab.Go(d.server.URL + "/console/numbers")
			if !o.NoScript {
				tab.Wait(decided)
			}
			if got := d.Run(run).Decision; got != rules.DecisionApprove {
				t.Errorf("the decision is %s, want approve", got)
			}
		})
	}
}

func TestApprovingTheSamePersonAsksAndNeedsNotes(t *testing.T) {
	d := serve(t)
	run, page := d.watched("case-1"), ""
	page = "/runs/" + string(run)
	asha, ravi := d.as(reviewerCalled("asha")), d.as(reviewerCalled("ravi"))
	forms := hitForms(t, asha.get(page))
	for i, match := range []string{"other", "other", "same"} { // the last one was born in another year
		wants(t, asha.post(page+"/hits", append(forms[i][1:], "match", match)...), http.StatusSeeOther)
	}
	same := regexp.MustCompile(`(?s)class="badge bad">.{0,400}Same person</span>`)
	for name, a := range map[string]response{"the queue": asha.get("/queue"), "the run page": asha.get(page)} {
		if !same.MatchString(a.body) || strings.Contains(a.body, "3 hits, all decided") {
			t.Errorf("%s does not say in red that a hit is the same person", name)
		}
	}
	wants(t, asha.get(page), http.StatusOK, "You decided that \u2068Victor Zamoisky\u2069 is this person or company.", "Approve all the same …", "(required to approve)")
	wants(t, asha.post(page+"/release"), http.StatusSeeOther)
	wants(t, ravi.get(page), http.StatusOK, "\u2068asha\u2069 decided that \u2068Victor Zamoisky\u2069 is this person or company.")
	wants(t, ravi.post(page+"/verdict", append(verdictForm(t, ravi.get(page)), "decision", "approve", "notes", " ")...),
		http.StatusUnprocessableEntity, "Nothing was saved. Write notes that say why", `<details class="dialog" open>`)
	wants(t, ravi.post(page+"/verdict", append(verdictForm(t, ravi.get(page)), "decision", "approve", "notes", "Licence 17 permits it.")...), http.StatusSeeOther)
	if got := d.Run(run); got.Decision != rules.DecisionApprove || got.Notes != "Licence 17 permits it." {
		t.Errorf("run = %s %q, want it approved with the notes", got.Decision, got.Notes)
	}
}

func TestTheSamePersonIsNotApprovedByTwoKeys(t *testing.T) {
	d := serve(t)
	run := d.watched("case-1")
	p := d.as(reviewer(verification.RoleReviewer))
	for i, form := range hitForms(t, p.get("/runs/"+string(run))) {
		match := map[bool]string{true: "same", false: "other"}[i == 0]
		wants(t, p.post("/runs/"+string(run)+"/hits", append(form[1:], "match", match)...), http.StatusSeeOther)
	}
	tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console/runs/" + string(run))
	tab.See("form.decide")
	tab.Wait(loaded)
	inspect(t, tab, "run-same-person")
	tab.Key("a\r") // opens the question
	tab.See("form.decide details[open] button[value=approve]")
	inspect(t, tab, "run-same-person-asked")
	tab.Key("a\r")
	tab.See("#notes-error")
	if got := tab.Text(); !strings.Contains(got, "Write notes that say why") || d.Run(run).Decision != rules.DecisionReview {
		t.Errorf("an approval without notes is %s: %s", d.Run(run).Decision, got)
	}
	tab.Wait(loaded)
	tab.Fill("#notes", "Licence 17 permits it.")
	tab.Press("form.decide button[value=approve]")
	tab.See(".note.good, .held.good, [data-undo]")
	tab.Go(d.server.URL + "/console/numbers")
	tab.Wait(decided)
	if got := d.Run(run).Decision; got != rules.DecisionApprove {
		t.Errorf("the decision is %s with notes, want approve", got)
	}
}
