// Tests of the table that says what to do about a run.

package console_test

import (
	"html"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// listed is a workflow of one check.
func listed(name string, onFailed verification.NodeID, outcome string) workflow.Definition {
	return workflow.Definition{
		Workflow: name, Name: name, Start: "list",
		Nodes: map[verification.NodeID]workflow.Node{
			"list": {Type: workflow.NodeCheck, Label: "List", Provider: "script", OnFailed: onFailed, Next: "done"},
			"done": {Type: workflow.NodeEnd, Outcome: outcome},
		},
	}
}

func TestTheRowThatHoldsForTheRunIsMarked(t *testing.T) {
	d := serve(t)
	plain, named := d.Apply(listed("plain", workflow.TargetNext, "")), d.Apply(listed("named", workflow.TargetNext, "approved"))
	failing := d.Apply(listed("failing", workflow.TargetFail, ""))
	parked, asking := d.Apply(waiting("Parked", "Look.")), d.Apply(measured())

	expired := d.begin(asking, "expired")
	d.Advance(25 * time.Hour)
	end := func(w workflow.Workflow, reference string, answer enginetest.Reply) verification.RunID {
		d.Provider.On("list", answer)
		id := d.begin(w, reference)
		d.Settle()
		return id
	}
	judged := func(id verification.RunID, decision rules.Decision) verification.RunID {
		d.GiveVerdict(id, decision)
		d.Settle()
		return id
	}
	passed := enginetest.Pass(map[string]any{})
	flagged := end(named, "flagged", passed)
	if _, err := d.Engine.RecordHits(t.Context(), enginetest.Tenant, flagged, rules.RecordHits{
		Node: "list", List: "sanctions", ListVersion: "2", Hits: []verification.Hit{{ID: "1", Name: "N"}},
	}); err != nil {
		t.Fatal(err)
	}
	cancelled := d.begin(asking, "cancelled")
	if _, err := d.Engine.Cancel(t.Context(), enginetest.Tenant, cancelled); err != nil {
		t.Fatal(err)
	}
	const again, wait = "The customer is not verified.", "Wait. If the run waits for the customer"
	p := d.as(reviewer(verification.RoleReviewer))
	for name, c := range map[string]struct {
		run  verification.RunID
		want string
	}{
		"completed, no decision, an outcome": {end(named, "named", passed), "Follow the outcome."},
		"completed, no decision, no outcome": {end(plain, "plain", passed), "Look at the steps"},
		"completed, review":                  {flagged, "Give a verdict, and do not follow the outcome yet"},
		"completed, approve":                 {judged(end(named, "approved", passed), rules.DecisionApprove), "Accept, whatever"},
		"completed, reject":                  {judged(end(named, "rejected", passed), rules.DecisionReject), "Refuse, whatever"},
		"failed":                             {end(failing, "failed", enginetest.Fail(map[string]any{})), again},
		"failed, approve":                    {judged(end(failing, "overruled", enginetest.Fail(map[string]any{})), rules.DecisionApprove), "Follow the verdict."},
		"expired":                            {expired, again},
		"cancelled":                          {cancelled, again},
		"in progress, review":                {d.begin(parked, "parked"), "Give a verdict: the run waits for it."},
		"in progress, for the customer":      {d.begin(asking, "asked"), wait},
	} {
		page := p.get("/runs/" + string(c.run))
		_, row, _ := strings.Cut(html.UnescapeString(page.body), `<tr aria-current="true">`)
		row, _, _ = strings.Cut(row, "</tr>")
		if n := strings.Count(page.body, `<tr aria-current="true">`); n != 1 || !strings.Contains(row, "<td>"+c.want) || page.status != http.StatusOK {
			t.Errorf("%s: %d rows are marked, the first is %s, want one with %q", name, n, row, c.want)
		}
	}
}
