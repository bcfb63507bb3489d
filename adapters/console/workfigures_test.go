// Tests of the figures of the work: what was decided, and by whom.

package console_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/enginetest"
	views "github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// judged is a workflow that refuses whom the second check fails, and asks reviewers about the
// hits of the first.
func judged() workflow.Definition {
	return workflow.Definition{
		Workflow: "judged", Name: "Open an account", Start: "list",
		RejectReasons: []workflow.RejectReason{
			{Code: "same_person", Label: "The person on the list", LabelIn: workflow.Translations{"hi": "सूची का व्यक्ति"}},
			{Code: "forged", Label: "<b>Forged</b>"},
		},
		Nodes: map[verification.NodeID]workflow.Node{
			"list":    {Type: workflow.NodeCheck, Label: "Sanctions screening", Provider: "script", OnFailed: "review", Next: "pan"},
			"pan":     {Type: workflow.NodeCheck, Label: "PAN verification", Provider: "script", OnFailed: "refused", Next: "done"},
			"review":  {Type: workflow.NodeReview, Label: "Manual review", Reason: "There are hits.", OnReject: "refused", Next: "done"},
			"done":    {Type: workflow.NodeEnd, Outcome: "approved"},
			"refused": {Type: workflow.NodeEnd, Outcome: "refused"},
		},
	}
}

// judge starts a run that is approved, refused or, with a hit, waits for a reviewer.
func (d *desk) judge(w verification.WorkflowID, pass, hit bool) verification.RunID {
	d.t.Helper()
	list, pan := enginetest.Pass(nil), enginetest.Pass(nil)
	if hit {
		list = enginetest.Fail(nil)
		list.Result.Screening = &verification.ScreeningResult{List: "sanctions", ListVersion: "1", Hits: []verification.Hit{{ID: "1", Name: "Viktor", Score: 0.9}}}
	}
	if !pass {
		pan = enginetest.Fail(nil)
	}
	d.Provider.On("list", list)
	d.Provider.On("pan", pan)
	run := d.Start(w, engine.StartRequest{ReferenceID: "person"})
	d.Settle()
	return run.ID
}

// verdictBy gives the verdict of a reviewer; without a name it is that of an API client.
func (d *desk) verdictBy(run verification.RunID, name, reason string) {
	d.t.Helper()
	v := rules.GiveVerdict{Decision: rules.DecisionApprove, By: name, Identity: name}
	if reason != "" {
		v.Decision, v.Reason = rules.DecisionReject, reason
	}
	if _, err := d.Engine.GiveVerdict(d.t.Context(), enginetest.Tenant, run, v, ""); err != nil {
		d.t.Fatal(err)
	}
}

// office makes runs of all kinds on some days, and returns their workflow.
func (d *desk) office(days int) verification.WorkflowID {
	d.t.Helper()
	w := d.Apply(judged()).ID
	for day := range days {
		for n := range 2 + day%3 {
			d.judge(w, n != 1, false)
		}
		kept, rejected, byAPI := d.judge(w, true, true), d.judge(w, true, true), d.judge(w, true, true)
		d.Advance(time.Duration(31+day) * time.Hour)
		d.verdictBy(kept, "Asha Rao", "")
		d.verdictBy(rejected, "Ben", "same_person")
		d.verdictBy(byAPI, "", "")
	}
	return w
}

func TestTheFiguresOfTheWorkAreThoseOfTheRuns(t *testing.T) {
	d := serve(t)
	w := d.office(1)
	second := d.judge(w, true, true)
	d.verdictBy(second, "Ben", "forged")
	d.verdictBy(second, "=Asha Rao", "") // another verdict on a run that is over decides nothing
	d.judge(w, true, true)               // waits
	p := d.as(reviewer(verification.RoleAdmin))
	query := "?from=2026-01-04&to=2026-01-07&workflow=" + string(w)
	for name, want := range map[string][][]string{
		"runs": {
			{"day", "started", "completed", "unaided", "unaided_refused", "approved", "rejected", "failed", "expired", "cancelled"},
			{"2026-01-04", "0", "0", "0", "0", "0", "0", "0", "0", "0"},
			{"2026-01-05", "5", "2", "1", "1", "0", "0", "0", "0", "0"},
			{"2026-01-06", "2", "4", "0", "0", "2", "2", "0", "0", "0"},
			{"2026-01-07", "0", "0", "0", "0", "0", "0", "0", "0", "0"},
		},
		"outcomes":  {{"outcome", "completed", "unaided"}, {"approved", "3", "1"}, {"refused", "3", "1"}},
		"checks":    {{"check", "results", "not_passed", "hits"}, {"list", "7", "5", "5"}, {"pan", "2", "1", "0"}},
		"reasons":   {{"reason", "rejections"}, {"forged", "1"}, {"same_person", "1"}},
		"reviewers": {{"reviewer", "approved", "rejected"}, {"Ben", "0", "2"}, {"(api)", "1", "0"}, {"'=Asha Rao", "1", "0"}, {"Asha Rao", "1", "0"}},
	} {
		if diff := gocmp.Diff(want, rows(t, p.get("/numbers/"+name+".csv"+query))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	wants(t, p.get("/numbers"+query), http.StatusOK,
		"<b>2</b> <span>completed without a person</span>", "<li><bdi>refused</bdi> 1</li>", "<b>2</b> <span>approved by a reviewer</span>",
		"<b>2</b> <span>rejected by a reviewer</span>", "<b>5</b> <span>runs with new hits on a list</span>",
		"<b>31 h</b> <span>median time to a verdict</span>",
		"Sanctions screening", "5 of 7, 71.4% · with hits: 5", "The person on the list", "&lt;b&gt;Forged", "!<b>Forged", "By the API, without a name")
	wants(t, p.get("/numbers"+query, "Accept-Language", "hi"), http.StatusOK, "सूची का व्यक्ति")
	wants(t, p.get("/numbers?from=2026-01-04&to=2026-01-07"), http.StatusOK, `dir="auto">same_person<`, `dir="auto">list<`, "!Sanctions screening")
}

func TestNoNumberPraisesRefusals(t *testing.T) {
	d := serve(t)
	w := d.Apply(judged()).ID
	for range 3 {
		d.judge(w, false, false)
	}
	wants(t, d.as(reviewer(verification.RoleViewer)).get("/numbers?days=7"), http.StatusOK,
		"<b>3</b> <span>completed without a person</span>", "<ul><li><bdi>refused</bdi> 3</li></ul>", "Refused without a person: 3", "\nWithout a person: 0")
}

func TestOnlyAdminsAndAuditorsSeeWhoGaveVerdicts(t *testing.T) {
	d := serve(t)
	d.office(1)
	for _, role := range verification.Roles() {
		p := d.as(reviewer(role))
		page, table := p.get("/numbers"), p.get("/numbers/reviewers.csv")
		if role.Audits() {
			wants(t, page, http.StatusOK, "Verdicts by reviewer", "Asha Rao", "1 approved, 0 rejected")
			wants(t, table, http.StatusOK, "Asha Rao,1,0")
			continue
		}
		wants(t, page, http.StatusOK, "!Verdicts by reviewer", "!Asha Rao")
		wants(t, table, http.StatusForbidden, "!Asha Rao")
	}
	wants(t, response{body: d.log.String()}, 0, "!Asha Rao")
}

func TestReviewersBeyondTheFirstAreAddedUp(t *testing.T) {
	d := serve(t)
	w := d.Apply(judged()).ID
	const names = views.MaxReviewers + 3
	for n := range names {
		d.verdictBy(d.judge(w, true, true), fmt.Sprintf("Reviewer %02d", n), "forged")
	}
	all := rows(t, d.as(reviewer(verification.RoleAdmin)).get("/numbers/reviewers.csv?days=7"))
	if last := all[len(all)-1]; len(all) != 1+views.MaxReviewers+1 || !gocmp.Equal(last, []string{"(others)", "0", "3"}) {
		t.Errorf("%d rows, the last is %v", len(all), last)
	}
}

func TestTheNumbersOfTheWorkAreAccessible(t *testing.T) {
	d := serve(t)
	w := d.office(9)
	tab := d.tab(reviewer(verification.RoleAdmin), browser.Options{})
	d.inspectAll(tab, "numbers-work", "/numbers?days=30&workflow="+string(w), nil)
}
