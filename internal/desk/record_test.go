// Tests of the record of a run.

package desk_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestTheRecordSaysWhomARunIsAbout(t *testing.T) {
	k := enginetest.New(t)
	d := workflow.Definition{
		Workflow: "record", Name: "Record", Start: "pan",
		InputSchema: verification.Data(`{"type":"object","properties":{"name":{"type":"string","title":"Full name"},"born":{"type":"string"}}}`),
		Subject:     &workflow.SubjectFields{Name: "input.name", BirthDate: "input.born"},
		Compare:     []workflow.Comparison{{Fact: "Name", Of: []string{"input.name", "steps.pan.data.holder", "steps.pan.data.lost"}}},
		Notes:       workflow.NotesRequired, RejectReasons: []workflow.RejectReason{{Code: "wrong_name", Label: "Wrong name"}},
		Nodes: map[verification.NodeID]workflow.Node{
			"pan": {
				Type: workflow.NodeCheck, Provider: "script", Label: "PAN", Next: "review",
				With: verification.Data(`{"name":"${input.name}","place":{"country":"IN"}}`),
			},
			"review": {Type: workflow.NodeReview, Next: "done"},
			"done":   {Type: workflow.NodeEnd},
		},
	}
	k.Provider.On("pan", enginetest.Pass(map[string]any{"holder": "Asha Roy"}))
	run := k.Start(k.Apply(d).ID, engine.StartRequest{ReferenceID: "person-1", Input: verification.Data(`{"name":"Asha Rao"}`)}).ID
	queue, err := k.Engine.Queue(t.Context(), enginetest.Tenant, store.RunQuery{PageQuery: store.PageQuery{Limit: 1}})
	if err != nil || len(queue.Data) != 1 {
		t.Fatalf("the queue has %d runs, %v, want 1", len(queue.Data), err)
	}
	if v := queue.Data[0].Review; v.Subject != "Asha Rao" || !cmp.Equal(v.Differing, []rules.Differing{{Fact: "Name", Source: "PAN", Value: "Asha Roy"}}) {
		t.Errorf("the queue says that %q differs in %+v", v.Subject, v.Differing)
	}
	verdict := rules.GiveVerdict{Decision: rules.DecisionReject, Justified: true}
	if _, err := k.Engine.GiveVerdict(t.Context(), enginetest.Tenant, run, verdict, ""); !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("a verdict without a reason: %v, want it to be invalid", err)
	}
	verdict.Reason, verdict.Notes = "wrong_name", "Another person."
	if _, err := k.Engine.GiveVerdict(t.Context(), enginetest.Tenant, run, verdict, ""); err != nil {
		t.Fatal(err)
	}
	k.Settle()
	r, err := deskOf(k).RunRecord(t.Context(), enginetest.Tenant, run, false)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rules.Subject{Name: "Asha Rao"}, r.Subject); diff != "" {
		t.Errorf("subject (-want +got):\n%s", diff)
	}
	compared := facts.Facts{
		Sources: []facts.Source{{Kind: facts.SourceInput}, {Kind: facts.SourceCheck, Node: "pan", Label: "PAN"}, {Kind: facts.SourceCheck, Node: "pan", Label: "PAN"}},
		Rows: []facts.Row{{Fact: "Name", Differs: true, Cells: []facts.Cell{
			{Source: 0, Path: "input.name", Text: "Asha Rao"},
			{Source: 1, Node: "pan", Path: "steps.pan.data.holder", Text: "Asha Roy", Differs: true, Marks: []facts.Range{{From: 6, To: 8}}},
			{Source: 2, Node: "pan", Path: "steps.pan.data.lost"},
		}}},
	}
	if diff := cmp.Diff(compared, r.Facts); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	asked := []facts.Asked{{Node: "pan", Key: "pan", Label: "PAN", With: verification.Data(`{"name":"Asha Rao","place":{"country":"IN"}}`)}}
	if diff := cmp.Diff(asked, r.Asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if got := r.InputSchema.Field("name").Title(); got != "Full name" || r.Input.String() != `{"name":"Asha Rao"}` || r.Verdict.Reason != "wrong_name" {
		t.Errorf("the input is %s with the title %q; the verdict is %+v", r.Input, got, r.Verdict)
	}
	n, err := deskOf(k).Numbers(t.Context(), enginetest.Tenant, desk.NumbersQuery{Days: 1})
	want := []desk.ReasonNumbers{{Reason: workflow.RejectReason{Code: "wrong_name"}, Count: 1}}
	if diff := cmp.Diff(want, n.Reasons); diff != "" || err != nil {
		t.Errorf("%v, rejections by reason (-want +got):\n%s", err, diff)
	}
}
