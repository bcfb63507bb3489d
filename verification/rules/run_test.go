package rules_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestEvolveDoesNotChangeTheOldRun(t *testing.T) {
	j := begin(t, flows.Loop(), "").submit(`{"pan":"x"}`)
	before := picture(j.run)
	// Two continuations of one run share its earlier steps.
	passed := j.run.Evolve(rules.Event{At: flows.Noon(), Fact: rules.ResultRecorded{Node: "pan", Passed: true}})
	failed := j.run.Evolve(rules.Event{At: flows.Noon(), Fact: rules.ResultRecorded{Node: "pan"}})
	one := passed.Evolve(rules.Event{At: flows.Noon(), Fact: rules.ReviewAsked{Node: "one"}})
	other := passed.Evolve(rules.Event{At: flows.Noon(), Fact: rules.ReviewAsked{Node: "other"}})
	if picture(j.run) != before {
		t.Error("the run before the events changed")
	}
	for _, c := range []struct {
		run  rules.Run
		want rules.StepStatus
	}{{passed, rules.StepPassed}, {failed, rules.StepFailed}} {
		if s, _ := c.run.Step("pan"); s.Status != c.want {
			t.Errorf("the check is %s, want %s", s.Status, c.want)
		}
	}
	if got := one.Steps[2].Node; got != "one" || other.Steps[2].Node != "other" {
		t.Errorf("the futures have the steps %s and %s, want one and other", got, other.Steps[2].Node)
	}
}

func TestFoldingCopiesTheStepsOnce(t *testing.T) {
	const checks = 490
	var history []rules.Event
	for n := range checks {
		node := verification.NodeID(fmt.Sprint("check_", n))
		history = append(history,
			rules.Event{At: flows.Noon(), Fact: rules.Dispatched{Node: node, Key: string(node), Dispatch: 1, Visit: 1}},
			rules.Event{At: flows.Noon(), Fact: rules.ResultRecorded{Node: node, Passed: true}})
	}
	if got := testing.AllocsPerRun(1, func() { rules.Fold(flows.RunID, history) }); got > 100 {
		t.Errorf("folding %d steps allocates %.0f times, want the steps to grow a few times", checks, got)
	}
}

func TestEvolveAllDoesNotChangeTheOldRun(t *testing.T) {
	j := begin(t, flows.Loop(), "").submit(`{"pan":"x"}`)
	before := picture(j.run)
	passed := []rules.Event{
		{At: flows.Noon(), Fact: rules.ResultRecorded{Node: "pan", Passed: true}}, {At: flows.Noon(), Fact: rules.ReviewAsked{Node: "one"}},
	}
	after := j.run.EvolveAll(passed)
	if picture(j.run) != before {
		t.Error("the run before the events changed")
	}
	want := j.run.Evolve(passed[0]).Evolve(passed[1])
	if picture(after) != picture(want) {
		t.Errorf("EvolveAll = %s, want %s", picture(after), picture(want))
	}
	then := after.Evolve(rules.Event{At: flows.Noon(), Fact: rules.VerdictRecorded{Node: "one", Decision: rules.DecisionApprove}})
	if picture(after) != picture(want) || picture(then) == picture(after) {
		t.Error("what EvolveAll returned changed with its own future")
	}
}

func TestStepThatIsVisitedAgainKeepsItsPosition(t *testing.T) {
	j := begin(t, flows.Loop(), "").after(time.Minute).submit(`{"pan":"x"}`).after(time.Minute).noResult(true)
	var got []verification.NodeID
	for _, s := range j.run.Steps {
		got = append(got, s.Node)
	}
	if diff := cmp.Diff([]verification.NodeID{"details", "pan"}, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	details, _ := j.run.Step("details")
	if !details.StartedAt.Equal(flows.Noon()) || !details.VisitedAt.Equal(j.now) || details.Visits != 2 || !details.CompletedAt.IsZero() {
		t.Errorf("details = %+v, want the second visit of a step that began at noon", details)
	}
	j.submit(`{"pan":"y"}`)
	pan, _ := j.run.Step("pan")
	if pan.Dispatches != 2 || pan.Visits != 2 || pan.Failures != 1 {
		t.Errorf("pan = %+v, want two dispatches over two visits", pan)
	}
	if w := j.run.Wait(); w.Dispatch != 2 || w.ProviderDispatches != 1 {
		t.Errorf("the run waits for %+v, want dispatch 2, and the first attempt of this visit", w)
	}
	if _, ok := j.run.Step("nowhere"); ok {
		t.Error("there is a step of a node that was never reached")
	}
}

func TestDeadlineIsAsItWasWhenTheRunStarted(t *testing.T) {
	j := checked(t)
	j.program.Version.Definition.RunTTLSeconds = 1
	if got := j.run.Deadline(); !got.Equal(flows.Noon().Add(time.Hour)) {
		t.Errorf("Deadline = %v, want an hour after the start", got)
	}
	if got := begin(t, flows.Refusal(), "").run.Deadline(); !got.IsZero() {
		t.Errorf("Deadline without a limit = %v, want none", got)
	}
}

func TestAsOfChangesNothingBeforeTheDeadline(t *testing.T) {
	j := checked(t)
	equal(t, "the run at its deadline", j.run.AsOf(flows.Noon().Add(time.Hour)), j.run)
	late := j.run.AsOf(flows.Noon().Add(time.Hour + 1))
	if late.Ended != rules.StatusExpired || late.Seq != j.run.Seq+1 || late.Wait().Kind != rules.WaitNothing {
		t.Errorf("AsOf(deadline+1ns) = %s at %d waiting for %+v, want expired, waiting for nothing", late.Ended, late.Seq, late.Wait())
	}
	equal(t, "asked twice", late.AsOf(flows.Noon().Add(9*time.Hour)), late)
}

func TestTaskIsWhatTheEngineDoesNext(t *testing.T) {
	pending := checked(t).pend("ticket-1")
	retrying := checked(t).noResult(false)
	at := func(j *journey, d time.Duration) time.Time { return j.run.Wait().At.Add(d) }
	for _, c := range []struct {
		name string
		j    *journey
		now  time.Time
		want rules.Task
	}{
		{"parked on the customer", atDesk(t), flows.Noon(), rules.Task{}},
		{"parked on review", onReview(t), flows.Noon(), rules.Task{}},
		{"over", checked(t).pass(), flows.Noon(), rules.Task{}},
		{"dispatched", checked(t), flows.Noon(), rules.Task{Kind: rules.TaskCheck}},
		{"pending", pending, at(pending, -1), rules.Task{Kind: rules.TaskWait, At: at(pending, 0)}},
		{"time to poll", pending, at(pending, 0), rules.Task{Kind: rules.TaskPoll}},
		{"waiting for a retry", retrying, at(retrying, -1), rules.Task{Kind: rules.TaskWait, At: at(retrying, 0)}},
		{"time to retry", retrying, at(retrying, 0), rules.Task{Kind: rules.TaskRedispatch}},
	} {
		if diff := cmp.Diff(c.want, c.j.run.Task(c.now)); diff != "" {
			t.Errorf("%s: Task (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestRequestIsTheCallOfTheDispatch(t *testing.T) {
	d := flows.Single(func(n *workflow.Node) {
		n.Key, n.With = "pan_verification", verification.Data(`{"number":"${pan}"}`)
	})
	j := begin(t, d, `{"name":"Asha"}`).noResult(false).redispatch()
	got, err := j.run.Request(j.program, flows.TenantID, j.run.Wait())
	want := verification.CheckRequest{
		Tenant: flows.TenantID, Run: flows.RunID, ReferenceID: "customer-1", StartedAt: j.run.StartedAt, Node: "pan", Key: "pan_verification", Dispatch: 2,
		IdempotencyKey: string(flows.RunID) + "/pan/2", Input: verification.Data(`{"name":"Asha"}`),
		With: map[string]any{"number": "ABCDE1234F", "reference": "customer-1", "run": string(flows.RunID)},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("Request = %v (-want +got):\n%s", err, diff)
	}
	folded := rules.Fold(flows.RunID, j.history)
	again, _ := folded.Request(j.program, flows.TenantID, folded.Wait())
	if again.IdempotencyKey != got.IdempotencyKey {
		t.Errorf("the key after a crash is %s, want %s", again.IdempotencyKey, got.IdempotencyKey)
	}
	plain, err := j.run.Request(begin(t, flows.Single(nil), "").program, flows.TenantID, j.run.Wait())
	if err != nil || plain.With != nil {
		t.Errorf("without `with`: Request = %+v, %v", plain.With, err)
	}
}

func TestRequestFailsWhenATemplateDoes(t *testing.T) {
	j := begin(t, flows.Single(func(n *workflow.Node) { n.With = verification.Data(`{"number":"${breaks}"}`) }), "")
	if _, err := j.run.Request(j.program, flows.TenantID, j.run.Wait()); err == nil || err.Error() != "the value is not there" {
		t.Errorf("Request = %v, want the error of the template", err)
	}
}

// A run is a value: what is folded from it, in whatever order, changes neither it nor the
// others.
func TestNoRunSharesItsStepsWithAnother(t *testing.T) {
	for name, history := range recorded(t) {
		for n := range history {
			base := rules.Fold(flows.RunID, history[:n])
			one := base.Evolve(history[n])
			rest := base.EvolveAll(history[n:])
			again := base.EvolveAll(history[n:])
			_ = one.EvolveAll(history[min(n+1, len(history)):])
			for what, pair := range map[string][2]rules.Run{
				"the run before": {base, rules.Fold(flows.RunID, history[:n])},
				"the next run":   {one, rules.Fold(flows.RunID, history[:n+1])},
				"the last run":   {rest, rules.Fold(flows.RunID, history)},
				"and once more":  {again, rest},
			} {
				if !reflect.DeepEqual(pair[0], pair[1]) {
					t.Fatalf("%s, event %d: %s has changed:\n%+v\n%+v", name, n, what, pair[0], pair[1])
				}
			}
		}
	}
}
