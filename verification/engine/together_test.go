// Tests of runs that wait for several providers at once.

package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// grouped is a workflow with a group of members, changed by change.
func grouped(change func(*workflow.Node), members ...string) workflow.Definition {
	n := workflow.Node{Type: workflow.NodeChecks, Label: "Group", Next: "done"}
	for _, m := range members {
		n.Members = append(n.Members, workflow.Member{Name: m, Key: m, Provider: "script"})
	}
	change(&n)
	return workflow.Definition{
		Workflow: "grouped", Name: "Grouped", Start: "group",
		Nodes: map[verification.NodeID]workflow.Node{"group": n, "done": {Type: workflow.NodeEnd}},
	}
}

func asItIs(*workflow.Node) {}

func TestMembersAreCalledTogether(t *testing.T) {
	k := enginetest.New(t)
	names := []string{"a", "b", "c", "d", "e"}
	for _, m := range names {
		k.Provider.On(m, enginetest.Slow(200*time.Millisecond, enginetest.Pass(nil)))
	}
	run := start(k, grouped(asItIs, names...))
	wantStatus(t, run, rules.StatusInProgress)
	k.Advance(200 * time.Millisecond)
	run = k.Run(run.ID)
	wantStatus(t, run, rules.StatusCompleted)
	if len(run.Flags) != 0 || run.Decision != rules.DecisionNone {
		t.Errorf("the run has the flags %v and the decision %q, want none", run.Flags, run.Decision)
	}
	for _, m := range names {
		if got := len(k.Provider.Calls(m)); got != 1 {
			t.Errorf("%s was called %d times, want once", m, got)
		}
	}
}

func TestAMemberThatIsNotNeededIsCancelled(t *testing.T) {
	k := enginetest.New(t)
	k.Provider.On("slow", enginetest.Slow(time.Hour, enginetest.Pass(map[string]any{"late": true})))
	k.Provider.On("fast", enginetest.Slow(time.Second, enginetest.Pass(nil)))
	run := start(k, grouped(func(n *workflow.Node) { n.Need = 1 }, "slow", "fast"))
	k.Advance(time.Second)
	run = k.Run(run.ID)
	wantStatus(t, run, rules.StatusCompleted)
	wantCheck(t, run, "slow", rules.StepFailed)
	wantCheck(t, run, "fast", rules.StepPassed)
	if len(run.Flags) != 0 || len(run.Checks[0].Data) != 0 {
		t.Errorf("the cancelled member has %s and the run the flags %v, want neither", run.Checks[0].Data, run.Flags)
	}
}

// A retry, a poll and a slow call of one group go on beside each other.
func TestMembersRetryAndPollBesideEachOther(t *testing.T) {
	k := enginetest.New(t)
	k.Provider.On("flaky", enginetest.Flake(), enginetest.Pass(nil))
	k.Provider.On("pending", enginetest.Pend("ticket", 5*time.Second), enginetest.Pend("ticket", 5*time.Second), enginetest.Pass(nil))
	k.Provider.On("slow", enginetest.Slow(8*time.Second, enginetest.Pass(nil)))
	run := start(k, grouped(asItIs, "flaky", "pending", "slow"))
	for _, c := range []struct {
		second int
		calls  [3]int
	}{{1, [3]int{2, 1, 1}}, {5, [3]int{2, 2, 1}}, {8, [3]int{2, 2, 1}}, {10, [3]int{2, 3, 1}}} {
		k.Advance(enginetest.Began().Add(time.Duration(c.second) * time.Second).Sub(k.Clock.Now()))
		got := [3]int{len(k.Provider.Calls("flaky")), len(k.Provider.Calls("pending")), len(k.Provider.Calls("slow"))}
		if got != c.calls {
			t.Errorf("after %d s the members were called %v times, want %v", c.second, got, c.calls)
		}
	}
	wantStatus(t, k.Run(run.ID), rules.StatusCompleted)
}

// A group that waits for nothing but a poll is left to the queue.
func TestAGroupOfPollsWaitsInTheQueue(t *testing.T) {
	k := enginetest.New(t)
	for _, m := range []string{"a", "b"} {
		k.Provider.On(m, enginetest.Pend(m, time.Minute), enginetest.Pend(m, time.Minute), enginetest.Pend(m, time.Minute), enginetest.Pass(nil))
	}
	run := start(k, grouped(asItIs, "a", "b"))
	for range 3 {
		wantStatus(t, k.Run(run.ID), rules.StatusInProgress)
		k.Advance(time.Minute)
	}
	wantStatus(t, k.Run(run.ID), rules.StatusCompleted)
	if a, b := len(k.Provider.Calls("a")), len(k.Provider.Calls("b")); a != 4 || b != 4 {
		t.Errorf("a was called %d times and b %d times, want 4 times each", a, b)
	}
}

func TestACallbackOfOneMemberLeavesTheOthers(t *testing.T) {
	k := withCallbacks(t)
	k.Provider.On("slow", enginetest.Slow(20*time.Second, enginetest.Pass(nil)))
	k.Provider.On("told", enginetest.Pend("ticket", time.Hour))
	run := start(k, grouped(asItIs, "slow", "told"))
	k.Settle()
	if err := k.Engine.ReceiveCallback(t.Context(), tokenOf(t, k, "told"), verification.Callback{Body: []byte("passed")}); err != nil {
		t.Fatal(err)
	}
	run = k.Run(run.ID)
	wantCheck(t, run, "told", rules.StepPassed)
	wantCheck(t, run, "slow", rules.StepRunning)
	k.Advance(20 * time.Second)
	wantStatus(t, k.Run(run.ID), rules.StatusCompleted)
	if got := len(k.Provider.Calls("slow")); got != 1 {
		t.Errorf("the other member was called %d times, want once", got)
	}
}

// A callback that decides the group ends the calls of the others at once.
func TestACallbackMayDecideAGroup(t *testing.T) {
	k := withCallbacks(t)
	k.Provider.On("slow", enginetest.Slow(time.Hour, enginetest.Pass(nil)))
	k.Provider.On("told", enginetest.Pend("ticket", time.Hour))
	d := grouped(func(n *workflow.Node) { n.Need, n.Next = 1, "after" }, "slow", "told")
	d.Nodes["after"] = workflow.Node{Type: workflow.NodeCheck, Provider: "script", Next: "done"}
	run := start(k, d)
	k.Settle()
	if err := k.Engine.ReceiveCallback(t.Context(), tokenOf(t, k, "told"), verification.Callback{Body: []byte("passed")}); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, k.Run(run.ID), rules.StatusCompleted)
}

func TestARunThatEndsCancelsItsMembers(t *testing.T) {
	k := enginetest.New(t)
	for _, m := range []string{"a", "b"} {
		k.Provider.On(m, enginetest.Slow(time.Hour, enginetest.Pass(nil)))
	}
	run := start(k, grouped(asItIs, "a", "b"))
	k.Settle()
	if _, err := k.Engine.Cancel(t.Context(), enginetest.Tenant, run.ID); err != nil {
		t.Fatal(err)
	}
	run = k.Run(run.ID)
	wantStatus(t, run, rules.StatusCancelled)
	wantCheck(t, run, "a", rules.StepFailed)
}

// Hosts may be killed after each append: another one goes on, nothing is stuck, and no provider whose result is saved is called
// again.
func TestAnotherHostGoesOnWithAGroup(t *testing.T) {
	for name, d := range map[string]workflow.Definition{
		"a group of three":         grouped(asItIs, "a", "b", "c"),
		"one after the other":      grouped(func(n *workflow.Node) { n.Order, n.Need = workflow.OrderOneByOne, 2 }, "a", "b", "c"),
		"groups of three elements": grouped(func(n *workflow.Node) { n.ForEach = "['x', 'y', 'z']" }, "a", "b"),
		"three elements": func() workflow.Definition {
			d := chain("a")
			return with(d, "a", func(n *workflow.Node) { n.ForEach = "['x', 'y', 'z']" })
		}(),
	} {
		var ends []int // of the appends
		k, runs := withRuns(t)
		onAppend(runs, func(_ verification.RunID, c store.Commit) error {
			if len(c.Events) > 0 {
				last := 0
				if len(ends) > 0 {
					last = ends[len(ends)-1]
				}
				ends = append(ends, last+len(c.Events))
			}
			return nil
		})
		run := start(k, d)
		k.Settle()
		wantStatus(t, k.Run(run.ID), rules.StatusCompleted)
		history, err := k.Store.Load(t.Context(), enginetest.Tenant, run.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, end := range ends[:len(ends)-1] {
			takenOver(t, fmt.Sprintf("%s, %d of %d events", name, end, len(history)), d, history[:end])
		}
	}
}

// takenOver has a host go on with a history.
func takenOver(t *testing.T, name string, d workflow.Definition, history []rules.Event) {
	k := enginetest.New(t)
	k.Apply(d)
	id := verification.RunID("0191f3c0-0000-7000-8000-0000000000bb")
	run := rules.Fold(id, history)
	commit := store.NewCommit(rules.Run{ID: id}, run, history, time.UTC)
	commit.Work = store.AdvanceAt(k.Clock.Now())
	if err := k.Store.Append(t.Context(), enginetest.Tenant, id, 0, commit); err != nil {
		t.Fatal(err)
	}
	k.Engine.Wake()
	k.Settle()
	if got := k.Run(id); got.Status != rules.StatusCompleted || got.Decision != rules.DecisionNone {
		t.Errorf("%s: the run is %s with the decision %q, want completed without one", name, got.Status, got.Decision)
	}
	var want, got []string
	for _, w := range run.Waits {
		want = append(want, string(w.Node))
	}
	saved := map[string]bool{}
	for _, s := range run.Steps {
		saved[string(s.Node)] = s.Status == rules.StepPassed
	}
	for _, key := range []string{"a", "b", "c"} {
		for _, c := range k.Provider.Calls(key) {
			got = append(got, string(c.Node))
			if saved[string(c.Node)] || c.Dispatch != 1 {
				t.Errorf("%s: %s was called again, as dispatch %d", name, c.Node, c.Dispatch)
			}
		}
	}
	for _, node := range want {
		if !slices.Contains(got, node) {
			t.Errorf("%s: %s was in flight and was not called again; calls: %s", name, node, strings.Join(got, " "))
		}
	}
}

// A host that stops saves the results of the calls in flight, and begins no others.
func TestAHostThatStopsFinishesTheCallsOfAGroup(t *testing.T) {
	k := enginetest.New(t)
	for _, m := range []string{"a", "b", "c", "d"} {
		k.Provider.On(m, enginetest.Slow(time.Second, enginetest.Pass(nil)))
	}
	run := start(k, grouped(asItIs, "a", "b", "c", "d"))
	k.Settle()
	called := 0
	for _, m := range []string{"a", "b", "c", "d"} {
		called += len(k.Provider.Calls(m))
	}
	closed := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
		defer cancel()
		closed <- k.Engine.Close(ctx)
	}()
	for over := false; !over; {
		select {
		case err := <-closed:
			if err != nil {
				t.Fatal(err)
			}
			over = true
		case <-time.After(10 * time.Millisecond):
			_ = k.Clock.Advance(t.Context(), 100*time.Millisecond)
		}
	}
	history, err := k.Store.Load(t.Context(), enginetest.Tenant, run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	results := 0
	for _, e := range history {
		if _, ok := e.Fact.(rules.ResultRecorded); ok {
			results++
		}
	}
	if results != called || called == 0 {
		t.Errorf("%d members were called and %d results saved, want all of them", called, results)
	}
}
