package rules_test

import (
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// ratedEnd is a definition with one check, whose end gives the class of the input.
func ratedEnd(data string) workflow.Definition {
	d := flows.Single(nil)
	flows.Edit("done", func(n *workflow.Node) { n.Data = verification.Data(data) })(&d)
	return d
}

func TestAnEndComputesItsData(t *testing.T) {
	const declared = `{"class":"${class}"}`
	j := begin(t, ratedEnd(declared), `{"class":"B"}`)
	if got := j.detail().Data; got != nil {
		t.Errorf("the data of a live run = %s, want none", got)
	}
	j.pass()
	const want = `{"class":"B","limit":5}`
	summary := j.run.Summary().View(j.now)
	for name, got := range map[string]verification.Data{
		"the run": j.detail().Data, "the list": summary.Data, "the report": j.report().Run.Data, "the notice": rules.EndNotice(j.run).Run.Data,
	} {
		if got.String() != want {
			t.Errorf("%s has the data %s, want %s", name, got, want)
		}
	}
	if got := rules.MakePrint(flows.RunID, j.history, j.now).Run.Data; got != nil {
		t.Errorf("a printed report has the data %s, want none", got)
	}
	redacted, err := rules.Redact(flows.RunID, j.history, "", verification.Person{Name: "root", Identity: "root"}, j.now)
	if got := rules.Fold(flows.RunID, redacted).Summary(); err != nil || got.Data != "" {
		t.Errorf("a redacted run has the data %s, %v, want none", got.Data, err)
	}
	restricted, err := rules.Restrict(flows.RunID, j.history, "contested", verification.Person{Name: "asha", Identity: "asha"}, j.now)
	if got := rules.Fold(flows.RunID, rules.Shown(restricted)).Summary(); err != nil || got.Data != "" {
		t.Errorf("a restricted run shows the data %s, %v, want none", got.Data, err)
	}

	for name, c := range map[string]struct{ data, input, cause string }{
		"a value is missing": {`{"number":"${breaks}"}`, `{}`, "data: the value is not there"},
		"it is too large":    {declared, `{"class":"` + strings.Repeat("B", workflow.MaxEndData) + `"}`, "data: it has 16406 bytes, and an end keeps at most 16384"},
	} {
		j := begin(t, ratedEnd(c.data), c.input).after(time.Second).pass()
		f, ok := j.history[len(j.history)-1].Fact.(rules.Completed)
		if !ok || f.Cause != c.cause || f.Node != "done" || len(f.Lacking) != 1 || f.Data != nil {
			t.Errorf("%s: the run ends with %+v, want it completed without data, and the cause %q", name, f, c.cause)
		}
		if d := j.detail(); d.Status != rules.StatusCompleted || d.Decision != rules.DecisionNone || d.Data != nil {
			t.Errorf("%s: the run is %s with the decision %q and the data %s", name, d.Status, d.Decision, d.Data)
		}
		incomplete := 0
		for _, m := range j.measured {
			if m.Name == store.MeasureIncomplete && m.Parts().Node == "done" {
				incomplete += m.Count
			}
		}
		if incomplete != 1 {
			t.Errorf("%s: %d runs are counted as incomplete, want 1", name, incomplete)
		}
		historyFolds(t, j)
	}
	approved := flows.Define("review", flows.Nodes{"review": flows.ReviewNode("Review", "done"), "done": {Type: workflow.NodeEnd, Data: verification.Data(`{"number":"${breaks}"}`)}})
	if d := begin(t, approved, "").approve("").detail(); d.Status != rules.StatusCompleted || d.Decision != rules.DecisionApprove {
		t.Errorf("after an approval the run is %s with the decision %q, want it completed and approved", d.Status, d.Decision)
	}
}
