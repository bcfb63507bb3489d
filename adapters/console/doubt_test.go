// Tests of hits that nobody has settled: "not sure" decides nothing.

package console_test

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// equal starts a run whose check has an entry with the name and the birth date of the customer.
func (d *desk) equal(reference string, fourEyes bool) verification.RunID {
	d.t.Helper()
	found := enginetest.Pass(map[string]any{"analysis_ok": false})
	found.Result.Screening = &verification.ScreeningResult{List: "fictional", ListVersion: "1", Total: 1, Hits: []verification.Hit{
		{ID: "f-1", Name: "ZAMOYSKOV, Viktor", Score: 1, BirthDates: []string{"1961-07-02"}, Countries: []string{"ru"}, Reasons: []string{"the name is the same"}},
	}}
	d.Provider.On("list", found)
	run := d.begin(d.Apply(workflow.Definition{
		Workflow: "equal", Name: "Sanctions", Start: "list", FourEyes: fourEyes,
		Nodes: map[verification.NodeID]workflow.Node{
			"list": {
				Type: workflow.NodeCheck, Label: "Sanctions screening", Provider: "script", Next: "done",
				With: verification.Data(`{"list":"fictional","name":"Viktor Zamoyskov","birth_date":"1961-07-02"}`),
			},
			"done": {Type: workflow.NodeEnd},
		},
	}), reference)
	d.Settle()
	return run
}

func TestNotSureIsAmberAndNeedsNotes(t *testing.T) {
	d := serve(t)
	run := d.equal("case-1", false)
	p, page := d.as(reviewer(verification.RoleReviewer)), "/runs/"+string(run)
	wants(t, p.post(page+"/hits", append(hitForms(t, p.get(page))[0][1:], "match", "unsure")...), http.StatusSeeOther)
	amber := regexp.MustCompile(`(?s)class="badge warning">.{0,300}1 hit, not sure</span>`)
	for _, path := range []string{"/queue", page} {
		if a := p.get(path); !amber.MatchString(a.body) || strings.Contains(a.body, "decided</span>") {
			t.Errorf("%s does not say in amber that the reviewer is not sure", path)
		}
	}
	wants(t, p.get(page), http.StatusOK, "1 hit is not decided. An approval needs notes that say why.", "(required to approve)", "!Decide each hit first")
	for _, notes := range []string{"", " "} {
		wants(t, p.post(page+"/verdict", append(verdictForm(t, p.get(page)), "decision", "approve", "notes", notes)...),
			http.StatusUnprocessableEntity, "Write notes that say why this run may be approved although a hit is not decided.")
	}
	wants(t, p.post(page+"/verdict", append(verdictForm(t, p.get(page)), "decision", "approve", "notes", "The embassy answers.")...), http.StatusSeeOther)
	if got := d.Run(run).Decision; got != rules.DecisionApprove {
		t.Errorf("with notes the decision is %s", got)
	}
}

func TestTheSecondPersonIsAskedAboutAHit(t *testing.T) {
	d := serve(t)
	run := d.equal("case-1", true)
	page := "/runs/" + string(run)
	asha, ravi := d.as(reviewerCalled("asha")), d.as(reviewerCalled("ravi"))
	judge := func(p *person, match, reason string) response {
		t.Helper()
		return p.post(page+"/hits", append(hitForms(t, p.get(page))[0][1:], "match", match, "reason", reason)...)
	}
	propose := func(p *person, notes string) response {
		t.Helper()
		return p.post(page+"/verdict", append(verdictForm(t, p.get(page)), "decision", "approve", "notes", notes)...)
	}
	wants(t, asha.get(page), http.StatusOK, "(required for “Other”: name or number and birth date agree)")
	wants(t, judge(asha, "other", " "), http.StatusUnprocessableEntity, "Write why this is another person", "autofocus", `data-begun="other"`)
	wants(t, judge(asha, "other", "Another mother."), http.StatusSeeOther)
	wants(t, propose(asha, ""), http.StatusSeeOther)
	asha.post(page + "/release")

	wants(t, ravi.get(page), http.StatusOK, "You are the second person. Decide each hit first: 1 of 1 left", "Another mother.", "!Change</summary>")
	refused := propose(ravi, "")
	wants(t, refused, http.StatusUnprocessableEntity, "Decide this hit before you confirm the approval", `<a href="#hit-`)
	if !regexp.MustCompile(`id="hit-[0-9a-f]+-reason"[^>]* autofocus`).MatchString(refused.body) {
		t.Error("the refusal does not put the focus into the reason of the hit")
	}
	wants(t, judge(ravi, "unsure", ""), http.StatusSeeOther)
	wants(t, propose(ravi, "Fine."), http.StatusUnprocessableEntity, "Decide this hit before you confirm the approval")
	wants(t, judge(ravi, "other", "Born elsewhere."), http.StatusSeeOther)
	wants(t, ravi.get(page), http.StatusOK, "!You are the second person", "Change</summary>")
	wants(t, propose(ravi, ""), http.StatusSeeOther)
	if got := d.Run(run).Decision; got != rules.DecisionApprove {
		t.Errorf("after both have decided the hit the decision is %s", got)
	}
}

// A verdict that the server would refuse is not held back first.
func TestAConfirmationSaysThatNotesAreMissing(t *testing.T) {
	d := serve(t)
	page := "/runs/" + string(d.equal("case-1", true))
	asha, ravi := d.as(reviewerCalled("asha")), d.as(reviewerCalled("ravi"))
	judge := func(match string) {
		t.Helper()
		wants(t, asha.post(page+"/hits", append(hitForms(t, asha.get(page))[0][1:], "match", match, "reason", "Another mother.")...), http.StatusSeeOther)
	}
	judge("other")
	wants(t, asha.post(page+"/verdict", append(verdictForm(t, asha.get(page)), "decision", "approve", "notes", "")...), http.StatusSeeOther)
	asha.post(page + "/release")
	wants(t, ravi.get(page), http.StatusOK, "! data-listed")
	judge("unsure")
	asha.post(page + "/release")
	wants(t, ravi.get(page), http.StatusOK, "(required to approve)", " data-listed")
}

func TestEasyKeysDoNotApproveAnEqualHit(t *testing.T) {
	d := serve(t)
	tab, inspected := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true}), map[string]bool{}
	for i, row := range []struct {
		keys []string // each on a page that has come
		want string   // of the hit
	}{
		{[]string{"o\r", "Another mother.\t\r"}, "other"},
		{[]string{"o\r", "Another mother.\n"}, "other"},
		{[]string{"oanother mother\t\r"}, "other"},
		{[]string{"o\r", "\t\r", "\r"}, ""},
		{[]string{"sthe passport\t\r"}, "same"},
		{[]string{"o\ra\r"}, ""},
		{[]string{"a\ra\r", "a\r"}, ""},
		{[]string{"r\ra\r\r"}, ""},
	} {
		run := d.equal("case-"+strconv.Itoa(i), false)
		d.open(tab, run)
		for _, keys := range row.keys {
			tab.Key(keys)
			tab.Wait(loaded + ` && !document.querySelector("form[data-sent]")`)
		}
		if !inspected[row.want] {
			inspected[row.want] = true
			inspect(t, tab, "run-equal-"+row.want)
		}
		d.close(tab)
		rec, err := d.Engine.History(t.Context(), enginetest.Tenant, run)
		if err != nil {
			t.Fatal(err)
		}
		if got := rec.Report.Cards[0].Hits()[0].Decision.Match; string(got) != row.want || rec.Run.Decision() != rules.DecisionReview {
			t.Errorf("%q: the hit is %q and the run %s, want %q and review", row.keys, got, rec.Run.Decision(), row.want)
		}
	}
}
