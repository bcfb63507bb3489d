// Tests of the hits of earlier visits of a loop.

package engine_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// byName is a screener whose list has names.
type byName struct {
	*obedient
	names []string
}

func (b *byName) only(r verification.CheckRequest, hits []verification.Hit) (found []verification.Hit) {
	if name, _ := r.With["name"].(string); slices.Contains(b.names, name) {
		found = hits
	}
	return found
}

func (b *byName) Check(ctx context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	result, err := b.screener.Check(ctx, r)
	result.Screening.Hits = b.only(r, result.Screening.Hits)
	b.leaveOut(r, result.Screening)
	result.Data = map[string]any{"analysis_ok": len(result.Screening.Hits) == 0}
	return result, err
}

func (b *byName) Rescreen(ctx context.Context, list string, r verification.CheckRequest) (verification.ScreeningResult, error) {
	result, err := b.screener.Rescreen(ctx, list, r)
	result.Hits = b.only(r, result.Hits)
	b.leaveOut(r, &result)
	return result, err
}

// looping returns a desk and a workflow that screens one owner after another.
func looping(t *testing.T, listed ...string) (*enginetest.Kit, *byName, workflow.Workflow) {
	t.Helper()
	b := &byName{&obedient{screener: newScreener("v1")}, listed}
	b.change("v1", "e-1")
	k := enginetest.New(t, b.screens, searching, func(p *engine.Ports, _ *engine.Options) { p.Providers["screen"] = b })
	d := screened()
	d.Start = "owner"
	d.Nodes["owner"] = workflow.Node{Type: workflow.NodeCustomerInput, Label: "Owner", Next: "a", Fields: workflow.InputFields{
		{Name: "name", Type: workflow.FieldText, Label: "Name"}, {Name: "more", Type: workflow.FieldCheckbox, Label: "More"},
	}}
	d.Nodes["more"] = workflow.Node{
		Type: workflow.NodeBranch, Rules: []workflow.Rule{{When: "steps.owner.data.?more.orValue(false)", Next: "owner"}}, Else: "done",
	}
	d = with(d, "a", func(n *workflow.Node) {
		n.With, n.Next = verification.Data(`{"name":"${steps.owner.data.name}"}`), "more"
	})
	return k, b, k.Apply(d)
}

// owned runs the workflow for owners, one after another.
func owned(k *enginetest.Kit, w workflow.Workflow, owners ...string) rules.RunDetail {
	run := k.Start(w.ID, engine.StartRequest{ReferenceID: "company-1"})
	for i, name := range owners {
		run = k.Submit(run.ID, "owner_submitted", map[string]any{"name": name, "more": i+1 < len(owners)})
	}
	return run
}

func TestEarlierVisitsAreScreenedAgain(t *testing.T) {
	k, b, w := looping(t)
	run := owned(k, w, "Asha", "Ravi", "Meena")
	wantDecision(t, k, "before", run.ID, rules.DecisionReview) // three dispatches
	ruled(t, k, run.ID, "asha", rules.DecisionApprove)
	b.names = []string{"Asha", "Meena"}
	for _, version := range []string{"v2", "v3"} {
		b.change(version, "e-1")
		k.Advance(2 * time.Minute)
	}
	wantDecision(t, k, "after", run.ID, rules.DecisionReview)
	for _, visit := range []int{1, 3} { // the third is the last one
		if err := k.Engine.DecideHit(t.Context(), enginetest.Tenant, run.ID, rules.DecideHit{
			Node: "a", Visit: visit, List: "sanctions", Entry: "e-1", Match: rules.MatchOther, By: "asha", Identity: "asha",
		}); err != nil {
			t.Errorf("the hit of visit %d: %v", visit, err)
		}
	}
	ruled(t, k, run.ID, "asha", rules.DecisionApprove)
	wantDecision(t, k, "the first owner alone", owned(k, w, "Asha").ID, rules.DecisionNone)
	wantDecision(t, k, "the last owner alone", owned(k, w, "Meena").ID, rules.DecisionNone)
	var got []int
	events, err := k.Store.Load(t.Context(), enginetest.Tenant, run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if f, ok := e.Fact.(rules.HitsFound); ok {
			got = append(got, f.Visit)
		}
	}
	if diff := cmp.Diff([]int{1, 0}, got); diff != "" {
		t.Errorf("the visits with hits (-want +got):\n%s", diff)
	}
}

func TestARunWhoseVisitsSawTwoVersionsIsScreenedAgain(t *testing.T) {
	k, b, w := looping(t)
	run := k.Start(w.ID, engine.StartRequest{ReferenceID: "company-1"})
	k.Submit(run.ID, "owner_submitted", map[string]any{"name": "Asha", "more": true})
	b.names = []string{"Asha"}
	b.change("v2", "e-1")
	k.Advance(2 * time.Minute)
	k.Submit(run.ID, "owner_submitted", map[string]any{"name": "Ravi"})
	k.Advance(2 * time.Minute)
	wantDecision(t, k, "the first owner is on the list by now", run.ID, rules.DecisionReview)
}

func TestHitsOfEarlierVisitsAreDecidedOneByOne(t *testing.T) {
	k, _, w := looping(t, "Asha", "Ravi")
	decide := func(run verification.RunID, visit int, m rules.HitMatch) error {
		return k.Engine.DecideHit(t.Context(), enginetest.Tenant, run, rules.DecideHit{
			Node: "a", Visit: visit, List: "sanctions", Entry: "e-1", Match: m, By: "asha", Identity: "asha",
		})
	}
	run := owned(k, w, "Asha", "Ravi")
	open := func() int {
		history, err := k.Engine.History(t.Context(), enginetest.Tenant, run.ID)
		if err != nil {
			t.Fatal(err)
		}
		return history.Report.Concerns[0].OpenHits()
	}
	if n := open(); n != 2 {
		t.Errorf("%d hits are left to decide, want those of both visits", n)
	}
	if decide(run.ID, 3, rules.MatchOther) == nil {
		t.Error("a hit of a visit that was not made is decided")
	}
	if err := decide(run.ID, 1, rules.MatchOther); err != nil {
		t.Fatal(err)
	}
	if n := open(); n != 1 {
		t.Errorf("%d hits are left to decide, want that of the last visit", n)
	}
	if err := decide(run.ID, 2, rules.MatchUnsure); err != nil {
		t.Fatal(err)
	}
	ruled(t, k, run.ID, "asha", rules.DecisionApprove)
	wantDecision(t, k, "the owner of the first visit", owned(k, w, "Asha").ID, rules.DecisionNone)
	wantDecision(t, k, "the owner of the last visit", owned(k, w, "Ravi").ID, rules.DecisionReview)
	cleared := owned(k, w, "Asha", "Meena")
	wantDecision(t, k, "the owner among others", cleared.ID, rules.DecisionNone)
	ruled(t, k, run.ID, "ravi", rules.DecisionReject)
	wantDecision(t, k, "the owner among others, after the rejection", cleared.ID, rules.DecisionReview)
	history, err := k.Engine.History(t.Context(), enginetest.Tenant, cleared.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, card := range history.Report.Cards {
		if card.NodeID == "a" && (len(card.Hits()) != 0 || len(card.Visits[0].Hits()) != 1) {
			t.Errorf("the last visit has the hits %+v, and the first one %+v; want the hit on the first", card.Hits(), card.Visits[0].Hits())
		}
	}
}

// The owner who is gone since a round is screened again with the name of that time, and not with that of the owner who has the number now.
func TestAnElementThatIsGoneIsScreenedAgain(t *testing.T) {
	b := &byName{&obedient{screener: newScreener("v1")}, nil}
	b.change("v1", "e-1")
	k := enginetest.New(t, b.screens, searching, func(p *engine.Ports, _ *engine.Options) { p.Providers["screen"] = b })
	d := screened()
	d.Start = "form"
	d.Nodes["form"] = workflow.Node{Type: workflow.NodeCustomerInput, Label: "Owners", Next: "a", Fields: workflow.InputFields{{
		Name: "owners", Type: workflow.FieldGroup, Fields: workflow.InputFields{{Name: "name", Type: workflow.FieldText, Label: "Name"}},
	}}}
	d = with(d, "a", func(n *workflow.Node) {
		n.ForEach, n.With, n.Next = "steps.form.data.owners", verification.Data(`{"name":"${item.name}"}`), "look"
	})
	d.Nodes["look"] = workflow.Node{Type: workflow.NodeReview, Label: "Look", Next: "done"}
	w := k.Apply(d)
	owners := func(names ...string) map[string]any {
		var rows []any
		for _, name := range names {
			rows = append(rows, map[string]any{"name": name})
		}
		return map[string]any{"owners": rows}
	}
	run := k.Start(w.ID, engine.StartRequest{ReferenceID: "company-1"})
	k.Submit(run.ID, "form_submitted", owners("Asha", "Ravi", "Meena"))
	if _, err := k.Engine.AskAgain(t.Context(), enginetest.Tenant, run.ID, rules.AskAgain{Step: "form", Reasons: []string{"other"}}, ""); err != nil {
		t.Fatal(err)
	}
	k.Submit(run.ID, "form_submitted", owners("Zoya"))
	ruled(t, k, run.ID, "asha", rules.DecisionApprove)
	b.names = []string{"Ravi", "Zoya"}
	b.change("v2", "e-1")
	k.Advance(2 * time.Minute)
	wantDecision(t, k, "after the list has changed", run.ID, rules.DecisionReview)
	var got []string
	for _, e := range history(t, k, run.ID) {
		if f, ok := e.Fact.(rules.HitsFound); ok {
			got = append(got, rules.VisitAddress(f.Node, f.Visit))
		}
	}
	if diff := cmp.Diff([]string{"a[1]", "a[2]"}, got); diff != "" {
		t.Errorf("the visits with hits (-want +got):\n%s", diff)
	}
	decide := rules.DecideHit{Node: "a[2]", Visit: 1, List: "sanctions", Entry: "e-1", Match: rules.MatchOther, By: "asha", Identity: "asha"}
	if err := k.Engine.DecideHit(t.Context(), enginetest.Tenant, run.ID, decide); err != nil {
		t.Fatal(err)
	}
	for _, e := range history(t, k, run.ID) {
		if f, ok := e.Fact.(rules.HitDecided); ok && f.Asked != rules.AskedDigest(map[string]any{"name": "Ravi"}) {
			t.Errorf("the decision is for %q, want what Ravi was asked with", f.Asked)
		}
	}
}
