// Tests of runs whose customer is asked again.

package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// inRounds is a workflow with a check, a group and a step for each of two elements that depend on what the customer types, and a
// check and a group that do not.
func inRounds() workflow.Definition {
	typed := verification.Data(`{"pan":"${steps.details.data.pan}"}`)
	check := func(next verification.NodeID, with verification.Data) workflow.Node {
		return workflow.Node{Type: workflow.NodeCheck, Provider: "script", Next: next, With: with}
	}
	group := func(next verification.NodeID, with verification.Data) workflow.Node {
		n := workflow.Node{Type: workflow.NodeChecks, Next: next}
		for _, m := range []string{"one", "two"} {
			n.Members = append(n.Members, workflow.Member{Name: m, Provider: "script", With: with})
		}
		return n
	}
	each := check("free", typed)
	each.ForEach = "['x', 'y']"
	return workflow.Definition{
		Workflow: "rounds", Name: "Rounds", Start: "details",
		Nodes: map[verification.NodeID]workflow.Node{
			"details": {Type: workflow.NodeCustomerInput, Next: "pan", Fields: workflow.InputFields{{Name: "pan", Type: workflow.FieldText, Required: true}}},
			"pan":     check("group", typed), "group": group("each", typed), "each": each,
			"free": check("rest", nil), "rest": group("review", nil),
			"review": {Type: workflow.NodeReview, Next: "done"},
			"done":   {Type: workflow.NodeEnd},
		},
	}
}

// people are the customer and the reviewer of a run: the one answers what he is asked, the other asks again once and then approves.
func people(t *testing.T, k *enginetest.Kit, id verification.RunID) rules.RunDetail {
	t.Helper()
	for range 10 {
		run := k.Run(id)
		if run.Action == nil {
			return run
		}
		asked := false
		for _, e := range history(t, k, id) {
			_, again := e.Fact.(rules.AskedAgain)
			asked = asked || again
		}
		switch {
		case run.Action.Type == rules.ActionCustomerInput:
			k.Submit(id, "details_submitted", map[string]any{"pan": fmt.Sprint("ABCDE1234", len(history(t, k, id)))})
		case asked:
			k.GiveVerdict(id, rules.DecisionApprove)
		default:
			_, err := k.Engine.AskAgain(t.Context(), enginetest.Tenant, id, rules.AskAgain{Step: "details", Reasons: []string{"other"}, By: "asha", Identity: "asha"}, "")
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return k.Run(id)
}

func history(t *testing.T, k *enginetest.Kit, id verification.RunID) []rules.Event {
	t.Helper()
	events, err := k.Store.Load(t.Context(), enginetest.Tenant, id, 0)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// dispatches counts the calls of a provider by step and dispatch.
func dispatches(k *enginetest.Kit) map[string]int {
	all := map[string]int{}
	for _, key := range []string{"pan", "group.one", "group.two", "each", "free", "rest.one", "rest.two"} {
		for _, c := range k.Provider.Calls(key) {
			all[fmt.Sprint(c.Node, "/", c.Dispatch)]++
		}
	}
	return all
}

// Hosts may be killed after each append of a run whose customer is asked again: another one goes on, nothing is stuck, what stays is
// not checked again, and no provider is called again but for what was in flight.
func TestAnotherHostGoesOnWithARound(t *testing.T) {
	var ends []int // of the appends
	k, runs := withRuns(t)
	onAppend(runs, func(_ verification.RunID, c store.Commit) error {
		if len(c.Events) > 0 {
			ends = append(ends, len(c.Events))
		}
		return nil
	})
	run := start(k, inRounds())
	if got := people(t, k, run.ID); got.Status != rules.StatusCompleted || got.Decision != rules.DecisionApprove {
		t.Fatalf("the run is %s with the decision %q, want it approved", got.Status, got.Decision)
	}
	all := dispatches(k)
	want := []string{
		"each[1]/1", "each[1]/2", "each[2]/1", "each[2]/2", "free/1", "group.one/1", "group.one/2", "group.two/1", "group.two/2",
		"pan/1", "pan/2", "rest.one/1", "rest.two/1",
	}
	if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, want) {
		t.Fatalf("the provider was called for %q, want %q", got, want)
	}
	events, seen := history(t, k, run.ID), map[string]bool{}
	for end, i := 0, 0; i < len(ends)-1; i++ {
		end += ends[i]
		seen[events[end-1].Kind()] = true
		roundTakenOver(t, events[:end], want)
	}
	for _, kind := range []string{"customer_awaited", "dispatched", "result_recorded", "review_asked"} {
		if !seen[kind] {
			t.Errorf("no host was killed after %s: %v", kind, seen)
		}
	}
}

// roundTakenOver has another host and the same people go on with a history. The host calls for what is not saved, each once.
func roundTakenOver(t *testing.T, events []rules.Event, all []string) {
	t.Helper()
	k := enginetest.New(t)
	k.Apply(inRounds())
	id := verification.RunID("0191f3c0-0000-7000-8000-0000000000bb")
	run := rules.Fold(id, events)
	commit := store.NewCommit(rules.Run{ID: id}, run, events, time.UTC)
	commit.Work = store.AdvanceAt(k.Clock.Now())
	if err := k.Store.Append(t.Context(), enginetest.Tenant, id, 0, commit); err != nil {
		t.Fatal(err)
	}
	k.Engine.Wake()
	name := fmt.Sprintf("killed after %d events, at %s", len(events), events[len(events)-1].Kind())
	if got := people(t, k, id); got.Status != rules.StatusCompleted || got.Decision != rules.DecisionApprove {
		t.Errorf("%s: the run is %s with the decision %q, want it approved", name, got.Status, got.Decision)
	}
	saved, last := map[string]bool{}, map[verification.NodeID]int{}
	for _, e := range events {
		switch f := e.Fact.(type) {
		case rules.Dispatched:
			last[f.Node] = f.Dispatch
		case rules.ResultRecorded:
			saved[fmt.Sprint(f.Node, "/", last[f.Node])] = true
		}
	}
	called := dispatches(k)
	for _, key := range all {
		want := 1
		if saved[key] {
			want = 0
		}
		if called[key] != want {
			t.Errorf("%s: the provider was called %d times for %s, want %d", name, called[key], key, want)
		}
		delete(called, key)
	}
	if len(called) > 0 {
		t.Errorf("%s: the provider was called for %v, too", name, called)
	}
}
