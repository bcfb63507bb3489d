// Tests of hits of earlier visits, and of hits that were left out, on the run page.

package console_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// twoOwners starts a run that screens two owners, of whom the first one is on the list.
func (d *desk) twoOwners(reference string) verification.RunID {
	d.t.Helper()
	w := d.Apply(workflow.Definition{
		Workflow: "owners", Name: "Owners", Start: "owner",
		Nodes: map[verification.NodeID]workflow.Node{
			"owner": {Type: workflow.NodeCustomerInput, Label: "Owner", Next: "list", Fields: workflow.InputFields{
				{Name: "name", Type: workflow.FieldText, Label: "Full name"}, {Name: "more", Type: workflow.FieldCheckbox, Label: "More"},
			}},
			"list": {Type: workflow.NodeCheck, Label: "Sanctions screening", Provider: "script", Next: "more", With: verification.Data(`{"name":"${steps.owner.data.name}"}`)},
			"more": {Type: workflow.NodeBranch, Rules: []workflow.Rule{{When: "steps.owner.data.?more.orValue(false)", Next: "owner"}}, Else: "done"},
			"done": {Type: workflow.NodeEnd},
		},
	})
	found := enginetest.Pass(map[string]any{"analysis_ok": false})
	found.Result.Screening = &verification.ScreeningResult{List: "fictional", ListVersion: "1", Hits: []verification.Hit{{ID: "f-1", Name: "Victor Zamoisky", Score: 0.9}}}
	clear := enginetest.Pass(map[string]any{"analysis_ok": true})
	clear.Result.Screening = &verification.ScreeningResult{List: "fictional", ListVersion: "1"}
	d.Provider.On("list", found, clear)
	run := d.begin(w, reference)
	d.Submit(run, "owner_submitted", map[string]any{"name": "Viktor Zamoyskov", "more": true})
	d.Submit(run, "owner_submitted", map[string]any{"name": "Asha Rao", "more": false})
	d.Settle()
	return run
}

func TestAHitOfAnEarlierVisitIsDecided(t *testing.T) {
	d := serve(t)
	page := "/runs/" + string(d.twoOwners("case-1"))
	p := d.as(reviewer(verification.RoleReviewer))
	first := p.get(page)
	wants(t, first, http.StatusOK, "Decide each hit first: 1 of 1 left", "Viktor Zamoyskov", `value="list@1"`)
	form := hitForms(t, first)[0]
	for _, node := range []string{"list[0]", "list[2]", "list[x]", "list[1", "list"} {
		fields := slices.Clone(form[1:])
		fields[slices.Index(fields, "list@1")] = node
		if a := p.post(page+"/hits", append(fields, "match", "other")...); a.status == http.StatusSeeOther {
			t.Errorf("a hit of %s is decided", node)
		}
	}
	if a := p.post(page+"/hits", append(form[1:], "match", "other", "reason", "born later")...); a.status != http.StatusSeeOther {
		t.Fatalf("a decision = %d: %s", a.status, a.body)
	}
	wants(t, p.get(page), http.StatusOK, "!Decide each hit first", "Another person", "born later", "Change</summary>")
}

func TestTheRunPageSaysWhoClearedAHit(t *testing.T) {
	d := serve(t)
	run := d.watched("case-1")
	const earlier = "e0000000-0000-7000-8000-000000000009"
	_, err := d.Engine.RecordHits(t.Context(), enginetest.Tenant, run, rules.RecordHits{
		Node: "list", List: "fictional", ListVersion: "2", LeftOut: []verification.Hit{{ID: "f-7", Name: "Viktor " + canary(7)}},
		Cleared: []rules.Clearance{{
			List: "fictional", Hit: verification.Hit{ID: "f-7"}, Asked: "ab", Run: earlier, Node: "list", Visit: 1, At: enginetest.Began().Add(-time.Hour), By: "ravi",
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := d.as(reviewer(verification.RoleReviewer))
	wants(t, p.get("/runs/"+string(run)), http.StatusOK, "Left out: ", "!<canary-7>", "that it is another person.",
		`<a href="/console/runs/`+earlier+`">The run with the decision</a>`, "hits of a later version of the list were left out")
}
