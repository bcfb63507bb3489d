// Tests of what decisions on hits clear, in the run and in later runs of the person.

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// remembering returns a desk whose check has hits of the entries, and a workflow without a review
// step whose subject has the number of the input.
func remembering(t *testing.T, entries ...string) (*enginetest.Kit, *obedient, workflow.Workflow) {
	t.Helper()
	o := &obedient{screener: newScreener("v1")}
	o.change("v1", entries...)
	k := enginetest.New(t, o.screens, searching)
	return k, o, k.Apply(numbered("input.pan"))
}

// numbered returns a workflow with a form and a check. Its subject has the number of an expression.
func numbered(number string) workflow.Definition {
	d := screened()
	d.LifecycleWebhookURL = "https://client.example/hook"
	d.Start = "form"
	d.Subject = &workflow.SubjectFields{Number: number}
	d.InputSchema = verification.Data(`{"type":"object","properties":{"pan":{"type":"string"}}}`)
	d.Nodes["form"] = workflow.Node{
		Type: workflow.NodeCustomerInput, Label: "Details", Next: "a", Fields: workflow.InputFields{{Name: "pan", Type: workflow.FieldText, Label: "PAN"}},
	}
	return d
}

// person is whom the tenant's system and the customer name.
type person struct{ reference, pan, typed string }

func (p person) begin(k *enginetest.Kit, w workflow.Workflow) rules.RunDetail {
	run := k.Start(w.ID, engine.StartRequest{ReferenceID: p.reference, Input: verification.Data(`{"pan":"` + p.pan + `"}`)})
	return k.Submit(run.ID, "form_submitted", map[string]any{"pan": p.typed})
}

// decided returns a run whose hits Asha has decided to be other people, and which she approved.
func (p person) decided(t *testing.T, k *enginetest.Kit, w workflow.Workflow, entries ...string) verification.RunID {
	t.Helper()
	run := p.begin(k, w)
	for _, entry := range entries {
		if err := settle(k, run.ID, entry, "asha", rules.MatchOther); err != nil {
			t.Fatal(err)
		}
	}
	ruled(t, k, run.ID, "asha", rules.DecisionApprove)
	return run.ID
}

// ruled gives the verdict of a person, and lets the engine do what follows.
func ruled(t *testing.T, k *enginetest.Kit, run verification.RunID, who string, d rules.Decision) {
	t.Helper()
	if _, err := k.Engine.GiveVerdict(t.Context(), enginetest.Tenant, run, rules.GiveVerdict{Decision: d, By: who, Identity: who}, ""); err != nil {
		t.Fatalf("%s of %s by %s: %v", d, run, who, err)
	}
	k.Settle()
}

// wantDecision reads the decision of a run.
func wantDecision(t *testing.T, k *enginetest.Kit, name string, run verification.RunID, want rules.Decision) {
	t.Helper()
	if got := k.Run(run).Decision; got != want {
		t.Errorf("%s: the decision is %q, want %q", name, got, want)
	}
}

func TestAHitIsClearedInTheRunOnceItIsApproved(t *testing.T) {
	for verdict, want := range map[rules.Decision][]verification.ClearedHit{
		rules.DecisionApprove: {{List: "sanctions", Entry: "e-1"}}, rules.DecisionReject: nil,
	} {
		o := &obedient{screener: newScreener("v1")}
		o.change("v1", "e-1", "e-2")
		k := enginetest.New(t, o.screens)
		d := with(screened(), "a", func(n *workflow.Node) { n.Next = "look" })
		d.Nodes["b"] = with(screened(), "a", func(*workflow.Node) {}).Nodes["a"]
		d.Nodes["look"] = workflow.Node{Type: workflow.NodeReview, Label: "Look", Next: "b"}
		run := start(k, d)
		if err := settle(k, run.ID, "e-1", "asha", rules.MatchOther); err != nil {
			t.Fatal(err)
		}
		ruled(t, k, run.ID, "asha", verdict)
		if diff := cmp.Diff(want, o.cleared); diff != "" {
			t.Errorf("after %s: cleared in the second check (-want +got):\n%s", verdict, diff)
		}
	}
}

func TestOnlyTheTenantSaysWhoThePersonIs(t *testing.T) {
	first := person{"customer-1", "N-1", "F-1"}
	for _, tt := range []struct {
		name, number string
		second       person
		cleared      bool
	}{
		{"nothing in common", "input.pan", person{"customer-2", "N-2", "F-2"}, false},
		{"the reference", "input.pan", person{"customer-1", "N-2", "F-2"}, true},
		{"the number", "input.pan", person{"customer-2", "N-1", "F-2"}, true},
		{"what the customer typed", "steps.form.data.pan", person{"customer-2", "N-2", "F-1"}, false},
		{"what the customer typed, if the system sent none", "input.pan == 'N-2' ? steps.form.data.pan : input.pan", person{"customer-2", "N-2", "N-1"}, false},
		{"the number, beside an answer", "steps.form.passed ? input.pan : ''", person{"customer-2", "N-1", "F-2"}, false},
		{"a number that all have", "'N-1'", person{"customer-2", "N-2", "F-2"}, false},
		{"a typed number in the input of another", "steps.form.data.pan", person{"customer-2", "F-1", "F-2"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &obedient{screener: newScreener("v1")}
			o.change("v1", "e-1")
			k := enginetest.New(t, o.screens, searching)
			w := k.Apply(numbered(tt.number))
			first.decided(t, k, w, "e-1")
			run := tt.second.begin(k, w)
			want := rules.DecisionReview
			if tt.cleared {
				want = rules.DecisionNone
			}
			if run.Status != rules.StatusCompleted || run.Decision != want {
				t.Errorf("the later run is %s with the decision %q, want %q", run.Status, run.Decision, want)
			}
		})
	}
}

func TestWithoutASubjectOnlyTheInputNamesThePerson(t *testing.T) {
	o := &obedient{screener: newScreener("v1")}
	o.change("v1", "e-1")
	k := enginetest.New(t, o.screens, searching)
	d := numbered("")
	d.Subject = nil
	w := k.Apply(d)
	person{"customer-1", "N-1", "F-1"}.decided(t, k, w, "e-1")
	wantDecision(t, k, "the typed number", person{"customer-2", "N-2", "F-1"}.begin(k, w).ID, rules.DecisionReview)
	wantDecision(t, k, "the number of the input", person{"customer-3", "N-1", "F-3"}.begin(k, w).ID, rules.DecisionNone)
}

func TestADecisionCountsOnceItsRunIsApproved(t *testing.T) {
	k, _, w := remembering(t, "e-1")
	p := person{"customer-1", "N-1", ""}
	first := p.begin(k, w)
	if err := settle(k, first.ID, "e-1", "asha", rules.MatchOther); err != nil {
		t.Fatal(err)
	}
	wantDecision(t, k, "before a verdict", p.begin(k, w).ID, rules.DecisionReview)
	ruled(t, k, first.ID, "ravi", rules.DecisionReject)
	wantDecision(t, k, "after a rejection", p.begin(k, w).ID, rules.DecisionReview)
	ruled(t, k, first.ID, "ravi", rules.DecisionApprove)
	wantDecision(t, k, "after an approval", p.begin(k, w).ID, rules.DecisionNone)
}

func TestOneReviewerDoesNotClearForTwo(t *testing.T) {
	k, _, w := remembering(t, "e-1")
	d := numbered("input.pan")
	d.Workflow, d.FourEyes = "four-eyes", true
	four := k.Apply(d)
	p := person{"customer-1", "N-1", ""}
	first := p.decided(t, k, four, "e-1") // Asha has only proposed
	wantDecision(t, k, "after a proposal", p.begin(k, w).ID, rules.DecisionReview)
	ruled(t, k, first, "ravi", rules.DecisionApprove)
	wantDecision(t, k, "after the confirmation", p.begin(k, w).ID, rules.DecisionNone)
	wantDecision(t, k, "after the confirmation, where two must agree", p.begin(k, four).ID, rules.DecisionNone)

	other := person{"customer-2", "N-2", ""}
	alone := other.decided(t, k, w, "e-1")
	wantDecision(t, k, "where one is enough", other.begin(k, w).ID, rules.DecisionNone)
	wantDecision(t, k, "where two must agree", other.begin(k, four).ID, rules.DecisionReview)
	ruled(t, k, alone, "ravi", rules.DecisionApprove)
	wantDecision(t, k, "where two must agree, and have", other.begin(k, four).ID, rules.DecisionNone)

	step := numbered("input.pan") // with the hit, a run of it might come to the review
	step.Workflow = "step"
	for id, n := range step.Nodes {
		if n.Type == workflow.NodeCheck {
			n.OnFailed = "look"
			step.Nodes[id] = n
		}
	}
	step.Nodes["look"] = workflow.Node{Type: workflow.NodeReview, FourEyes: true, Next: "done"}
	strict := k.Apply(step)
	third := person{"customer-3", "N-3", ""}
	alone = third.decided(t, k, w, "e-1")
	wantDecision(t, k, "where two must agree at a step", third.begin(k, strict).ID, rules.DecisionReview)
	ruled(t, k, alone, "ravi", rules.DecisionApprove)
	wantDecision(t, k, "where two must agree at a step, and have", third.begin(k, strict).ID, rules.DecisionNone)
}

func TestAHitThatOneReviewerKeepsComesBack(t *testing.T) {
	k, _, w := remembering(t, "e-1", "e-2")
	p := person{"customer-1", "N-1", ""}
	doubting := p.begin(k, w)
	p.decided(t, k, w, "e-1", "e-2")
	if err := settle(k, doubting.ID, "e-2", "ravi", rules.MatchUnsure); err != nil {
		t.Fatal(err)
	}
	run := p.begin(k, w)
	history, err := k.Engine.History(t.Context(), enginetest.Tenant, run.ID)
	if err != nil {
		t.Fatal(err)
	}
	if hits := history.Report.Cards[1].Hits(); len(hits) != 1 || hits[0].ID != "e-2" {
		t.Errorf("the hits are %+v, want the one that Ravi is not sure of", hits)
	}
}

func TestHitsComeBackIfADecisionCannotBeRead(t *testing.T) {
	o := &obedient{screener: newScreener("v1")}
	o.change("v1", "e-1")
	k, runs := withRuns(t, o.screens, searching)
	w := k.Apply(numbered("input.pan"))
	p := person{"customer-1", "N-1", ""}
	clearing, again := p.decided(t, k, w, "e-1"), p
	load, broken := runs.LoadFunc, false
	runs.LoadFunc = func(ctx context.Context, t verification.TenantID, id verification.RunID, after int) ([]rules.Event, error) {
		if broken && id == clearing {
			return nil, verification.ErrUnavailable
		}
		return load(ctx, t, id, after)
	}
	wantDecision(t, k, "before", again.begin(k, w).ID, rules.DecisionNone)
	broken = true
	wantDecision(t, k, "after", again.begin(k, w).ID, rules.DecisionReview)
}

func TestTooManyDecisionsClearNothing(t *testing.T) {
	k, o, w := remembering(t, "e-1")
	p := person{"customer-1", "N-1", ""}
	p.decided(t, k, w, "e-1")
	for i := range 20 {
		o.change("v1", "e-1", fmt.Sprintf("f-%d", i)) // so that the run has a hit to decide
		p.decided(t, k, w, fmt.Sprintf("f-%d", i))
	}
	o.change("v1", "e-1")
	wantDecision(t, k, "after 21 runs with decisions", p.begin(k, w).ID, rules.DecisionReview)
}

func TestALaterRunRecordsWhoClearedItsHit(t *testing.T) {
	k, _, w := remembering(t, "e-1")
	p := person{"customer-1", "N-1", ""}
	first := p.decided(t, k, w, "e-1")
	run := p.begin(k, w)
	events, err := k.Store.Load(t.Context(), enginetest.Tenant, run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []rules.Clearance
	for _, e := range events {
		if f, ok := e.Fact.(rules.ResultRecorded); ok {
			got = append(got, f.Screening.Cleared...)
		}
	}
	if len(got) != 1 || got[0].Asked == "" {
		t.Fatalf("the event of the answer has the cleared hits %+v, want one", got)
	}
	want := rules.Clearance{
		List: "sanctions", ListVersion: "v1", Hit: verification.Hit{ID: "e-1", Name: "Ivan Testov", Score: 0.9}, Asked: got[0].Asked,
		Run: first, Node: "a", Visit: 1, At: enginetest.Began(), By: "asha", Identity: "asha",
	}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Errorf("the cleared hit (-want +got):\n%s", diff)
	}
}

// Each way ends a decision on which a completed run rests.
func TestARunIsFlaggedWhenItsClearanceEnds(t *testing.T) {
	reject := func(t *testing.T, k *enginetest.Kit, first, _ verification.RunID) {
		t.Helper()
		ruled(t, k, first, "ravi", rules.DecisionReject)
	}
	for name, end := range map[string]func(t *testing.T, k *enginetest.Kit, first, beside verification.RunID){
		"a rejection": reject,
		"a doubt in another run": func(t *testing.T, k *enginetest.Kit, _, beside verification.RunID) {
			t.Helper()
			if err := settle(k, beside, "e-1", "ravi", rules.MatchUnsure); err != nil {
				t.Fatal(err)
			}
		},
		"a rejection after a rejection and an approval": func(t *testing.T, k *enginetest.Kit, first, _ verification.RunID) {
			t.Helper()
			reject(t, k, first, "")
			ruled(t, k, first, "ravi", rules.DecisionApprove)
		},
	} {
		t.Run(name, func(t *testing.T) {
			k, _, w := remembering(t, "e-1")
			p := person{"customer-1", "N-1", ""}
			beside := p.begin(k, w)
			first := p.decided(t, k, w, "e-1")
			run, stranger := p.begin(k, w), person{"customer-2", "N-2", ""}.decided(t, k, w, "e-1")
			wantDecision(t, k, "before", run.ID, rules.DecisionNone)
			notices := len(k.Notices.All())
			end(t, k, first, beside.ID)
			k.Settle()
			after := k.Run(run.ID)
			if after.Decision != rules.DecisionReview || after.Status != rules.StatusCompleted || !after.CompletedAt.Equal(run.CompletedAt) {
				t.Errorf("the run is %s since %v with the decision %q, want it completed and flagged", after.Status, after.CompletedAt, after.Decision)
			}
			want := []rules.Flag{{
				NodeID: "a", Label: run.Checks[0].Label, Reason: "A hit was cleared by a decision that no longer counts.", Sentences: []rules.Sentence{{Key: "overruled"}},
			}}
			if diff := cmp.Diff(want, after.Flags); diff != "" {
				t.Errorf("flags (-want +got):\n%s", diff)
			}
			wantDecision(t, k, "the run of another person", stranger, rules.DecisionApprove)
			if n := len(k.Notices.All()); n != notices {
				t.Errorf("%d notices were sent, want none", n-notices)
			}
			ruled(t, k, run.ID, "meena", rules.DecisionApprove)
			k.Advance(time.Hour)
			wantDecision(t, k, "after its own verdict", run.ID, rules.DecisionApprove)
		})
	}
}

func TestAVerdictThatChangesNothingFlagsNothing(t *testing.T) {
	k, _, w := remembering(t, "e-1")
	p := person{"customer-1", "N-1", ""}
	first := p.decided(t, k, w, "e-1")
	run := p.begin(k, w)
	ruled(t, k, first, "ravi", rules.DecisionApprove)
	k.Advance(time.Hour)
	wantDecision(t, k, "after another approval", run.ID, rules.DecisionNone)
}

// The rejection of the run with the decision is saved just before or after the run that rests on it.
func TestARunThatCompletesDuringARejectionIsFlagged(t *testing.T) {
	for _, before := range []bool{true, false} {
		o := &obedient{screener: newScreener("v1")}
		o.change("v1", "e-1")
		k, runs := withRuns(t, o.screens, searching)
		w := k.Apply(numbered("input.pan"))
		p := person{"customer-1", "N-1", ""}
		first := p.decided(t, k, w, "e-1")
		save := runs.AppendFunc
		reject := func() error {
			_, err := k.Engine.GiveVerdict(context.Background(), enginetest.Tenant, first, rules.GiveVerdict{Decision: rules.DecisionReject, By: "ravi", Identity: "ravi"}, "")
			return err
		}
		runs.AppendFunc = func(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, c store.Commit) error {
			completes := id != first && slices.ContainsFunc(c.Events, func(e rules.Event) bool { return e.Kind() == "completed" })
			if completes && before {
				return errors.Join(reject(), save(ctx, t, id, seq, c))
			}
			err := save(ctx, t, id, seq, c)
			if completes {
				err = errors.Join(err, reject())
			}
			return err
		}
		wantDecision(t, k, fmt.Sprintf("rejected before: %t", before), p.begin(k, w).ID, rules.DecisionReview)
	}
}

func TestAReScreeningThatWasClearedIsCheckedAgain(t *testing.T) {
	k, o, w := remembering(t, "e-1")
	p := person{"customer-1", "N-1", ""}
	first := p.begin(k, w)
	o.change("v1")
	run := p.begin(k, w)
	if err := settle(k, first.ID, "e-1", "asha", rules.MatchOther); err != nil {
		t.Fatal(err)
	}
	ruled(t, k, first.ID, "asha", rules.DecisionApprove)
	for _, version := range []string{"v2", "v3"} {
		o.change(version, "e-1")
		k.Advance(2 * time.Minute)
		wantDecision(t, k, "the hit of "+version, run.ID, rules.DecisionNone)
	}
	events, err := k.Store.Load(t.Context(), enginetest.Tenant, run.ID, 0)
	if err != nil || events[len(events)-1].Kind() != "hits_cleared" || events[len(events)-2].Kind() == "hits_cleared" {
		t.Errorf("the history ends with %+v, %v; want one event of a cleared hit", events[len(events)-2:], err)
	}
	ruled(t, k, first.ID, "ravi", rules.DecisionReject)
	wantDecision(t, k, "after the rejection", run.ID, rules.DecisionReview)
}

func TestARejectionFindsAllRunsThatRestOnIt(t *testing.T) {
	k, _, w := remembering(t, "e-1")
	p := person{"customer-1", "N-1", ""}
	first := p.decided(t, k, w, "e-1")
	var runs []verification.RunID
	for i := range 45 {
		if i%2 == 0 {
			p = person{fmt.Sprintf("customer-%d", i), "N-1", ""} // the number is the same
		} else {
			p = person{"customer-1", fmt.Sprintf("N-%d", i+2), ""} // the reference is
		}
		runs = append(runs, p.begin(k, w).ID)
	}
	ruled(t, k, first, "ravi", rules.DecisionReject)
	for i, run := range runs {
		wantDecision(t, k, fmt.Sprintf("run %d", i), run, rules.DecisionReview)
	}
}

func TestARunThatCannotBeCheckedAgainHoldsUpNoOther(t *testing.T) {
	o, seen := &obedient{screener: newScreener("v1")}, &observed{}
	o.change("v1", "e-1")
	k, runs := withRuns(t, o.screens, searching, func(_ *engine.Ports, opt *engine.Options) { opt.Observer = seen })
	w := k.Apply(numbered("input.pan"))
	p := person{"customer-1", "N-1", ""}
	first := p.decided(t, k, w, "e-1")
	oldest, lost, newest := p.begin(k, w), p.begin(k, w), p.begin(k, w)
	load, failure := runs.LoadFunc, verification.ErrUnavailable
	runs.LoadFunc = func(ctx context.Context, t verification.TenantID, id verification.RunID, after int) ([]rules.Event, error) {
		if id == lost.ID && failure != nil {
			return nil, failure
		}
		return load(ctx, t, id, after)
	}
	ruled(t, k, first, "ravi", rules.DecisionReject)
	wantDecision(t, k, "before the store is back", oldest.ID, rules.DecisionNone)
	failure = errors.New("the history is damaged")
	k.Advance(2 * time.Minute)
	failure = nil
	wantDecision(t, k, "the oldest", oldest.ID, rules.DecisionReview)
	wantDecision(t, k, "the newest", newest.ID, rules.DecisionReview)
	wantDecision(t, k, "the damaged one", lost.ID, rules.DecisionNone)
	if !slices.Contains(seen.got, "rechecked failed") || !slices.Contains(seen.got, "rechecked flagged") {
		t.Errorf("counted %q, want a recheck that failed and one that flagged", seen.got)
	}
}
