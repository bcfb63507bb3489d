package verification_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
)

func TestEvolveDoesNotChangeTheOldRun(t *testing.T) {
	j := begin(t, loop(), "").submit(`{"pan":"x"}`)
	before := picture(j.run)
	// Two continuations of one run share its earlier steps.
	passed := j.run.Evolve(verification.Event{At: noon(), Fact: verification.ResultRecorded{Node: "pan", Passed: true}})
	failed := j.run.Evolve(verification.Event{At: noon(), Fact: verification.ResultRecorded{Node: "pan"}})
	one := passed.Evolve(verification.Event{At: noon(), Fact: verification.ReviewAsked{Node: "one"}})
	other := passed.Evolve(verification.Event{At: noon(), Fact: verification.ReviewAsked{Node: "other"}})
	if picture(j.run) != before {
		t.Error("the run before the events changed")
	}
	for _, c := range []struct {
		run  verification.Run
		want verification.StepStatus
	}{{passed, verification.StepPassed}, {failed, verification.StepFailed}} {
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
	var history []verification.Event
	for n := range checks {
		node := verification.NodeID(fmt.Sprint("check_", n))
		history = append(history,
			verification.Event{At: noon(), Fact: verification.Dispatched{Node: node, Key: string(node), Dispatch: 1, Visit: 1}},
			verification.Event{At: noon(), Fact: verification.ResultRecorded{Node: node, Passed: true}})
	}
	if got := testing.AllocsPerRun(1, func() { verification.Fold(runID, history) }); got > 100 {
		t.Errorf("folding %d steps allocates %.0f times, want the steps to grow a few times", checks, got)
	}
}

func TestEvolveAllDoesNotChangeTheOldRun(t *testing.T) {
	j := begin(t, loop(), "").submit(`{"pan":"x"}`)
	before := picture(j.run)
	passed := []verification.Event{
		{At: noon(), Fact: verification.ResultRecorded{Node: "pan", Passed: true}}, {At: noon(), Fact: verification.ReviewAsked{Node: "one"}},
	}
	after := j.run.EvolveAll(passed)
	if picture(j.run) != before {
		t.Error("the run before the events changed")
	}
	want := j.run.Evolve(passed[0]).Evolve(passed[1])
	if picture(after) != picture(want) {
		t.Errorf("EvolveAll = %s, want %s", picture(after), picture(want))
	}
	then := after.Evolve(verification.Event{At: noon(), Fact: verification.VerdictRecorded{Node: "one", Decision: verification.DecisionApprove}})
	if picture(after) != picture(want) || picture(then) == picture(after) {
		t.Error("what EvolveAll returned changed with its own future")
	}
}

func TestStepThatIsVisitedAgainKeepsItsPosition(t *testing.T) {
	j := begin(t, loop(), "").after(time.Minute).submit(`{"pan":"x"}`).after(time.Minute).noResult(true)
	var got []verification.NodeID
	for _, s := range j.run.Steps {
		got = append(got, s.Node)
	}
	if diff := cmp.Diff([]verification.NodeID{"details", "pan"}, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	details, _ := j.run.Step("details")
	if !details.StartedAt.Equal(noon()) || !details.VisitedAt.Equal(j.now) || details.Visits != 2 || !details.CompletedAt.IsZero() {
		t.Errorf("details = %+v, want the second visit of a step that began at noon", details)
	}
	j.submit(`{"pan":"y"}`)
	pan, _ := j.run.Step("pan")
	if pan.Dispatches != 2 || pan.Visits != 2 || pan.Failures != 1 {
		t.Errorf("pan = %+v, want two dispatches over two visits", pan)
	}
	if w := j.run.Wait; w.Dispatch != 2 || w.ProviderDispatches != 1 {
		t.Errorf("the run waits for %+v, want dispatch 2, and the first attempt of this visit", w)
	}
	if _, ok := j.run.Step("nowhere"); ok {
		t.Error("there is a step of a node that was never reached")
	}
}

func TestDeadlineIsAsItWasWhenTheRunStarted(t *testing.T) {
	j := checked(t)
	j.program.Version.Definition.RunTTLSeconds = 1
	if got := j.run.Deadline(); !got.Equal(noon().Add(time.Hour)) {
		t.Errorf("Deadline = %v, want an hour after the start", got)
	}
	if got := begin(t, refusal(), "").run.Deadline(); !got.IsZero() {
		t.Errorf("Deadline without a limit = %v, want none", got)
	}
}

func TestAsOfChangesNothingBeforeTheDeadline(t *testing.T) {
	j := checked(t)
	equal(t, "the run at its deadline", j.run.AsOf(noon().Add(time.Hour)), j.run)
	late := j.run.AsOf(noon().Add(time.Hour + 1))
	if late.Ended != verification.StatusExpired || late.Seq != j.run.Seq+1 || late.Wait.Kind != verification.WaitNothing {
		t.Errorf("AsOf(deadline+1ns) = %s at %d waiting for %+v, want expired, waiting for nothing", late.Ended, late.Seq, late.Wait)
	}
	equal(t, "asked twice", late.AsOf(noon().Add(9*time.Hour)), late)
}

func TestTaskIsWhatTheEngineDoesNext(t *testing.T) {
	pending := checked(t).pend("ticket-1")
	retrying := checked(t).noResult(false)
	at := func(j *journey, d time.Duration) time.Time { return j.run.Wait.At.Add(d) }
	for _, c := range []struct {
		name string
		j    *journey
		now  time.Time
		want verification.Task
	}{
		{"parked on the customer", atDesk(t), noon(), verification.Task{}},
		{"parked on review", onReview(t), noon(), verification.Task{}},
		{"over", checked(t).pass(), noon(), verification.Task{}},
		{"dispatched", checked(t), noon(), verification.Task{Kind: verification.TaskCheck}},
		{"pending", pending, at(pending, -1), verification.Task{Kind: verification.TaskWait, At: at(pending, 0)}},
		{"time to poll", pending, at(pending, 0), verification.Task{Kind: verification.TaskPoll}},
		{"waiting for a retry", retrying, at(retrying, -1), verification.Task{Kind: verification.TaskWait, At: at(retrying, 0)}},
		{"time to retry", retrying, at(retrying, 0), verification.Task{Kind: verification.TaskRedispatch}},
	} {
		if diff := cmp.Diff(c.want, c.j.run.Task(c.now)); diff != "" {
			t.Errorf("%s: Task (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestRequestIsTheCallOfTheDispatch(t *testing.T) {
	d := single(func(n *verification.Node) {
		n.Key, n.With = "pan_verification", verification.Data(`{"number":"${pan}"}`)
	})
	j := begin(t, d, `{"name":"Asha"}`).noResult(false).redispatch()
	got, err := j.run.Request(j.program, tenantID)
	want := verification.CheckRequest{
		Tenant: tenantID, Run: runID, ReferenceID: "customer-1", StartedAt: j.run.StartedAt, Node: "pan", Key: "pan_verification", Dispatch: 2,
		IdempotencyKey: string(runID) + "/pan/2", Input: verification.Data(`{"name":"Asha"}`),
		With: map[string]any{"number": "ABCDE1234F", "reference": "customer-1", "run": string(runID)},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("Request = %v (-want +got):\n%s", err, diff)
	}
	again, _ := verification.Fold(runID, j.history).Request(j.program, tenantID)
	if again.IdempotencyKey != got.IdempotencyKey {
		t.Errorf("the key after a crash is %s, want %s", again.IdempotencyKey, got.IdempotencyKey)
	}
	plain, err := j.run.Request(begin(t, single(nil), "").program, tenantID)
	if err != nil || plain.With != nil {
		t.Errorf("without `with`: Request = %+v, %v", plain.With, err)
	}
}

func TestRequestFailsWhenATemplateDoes(t *testing.T) {
	j := begin(t, single(func(n *verification.Node) { n.With = verification.Data(`{"number":"${breaks}"}`) }), "")
	if _, err := j.run.Request(j.program, tenantID); err == nil || err.Error() != "the value is not there" {
		t.Errorf("Request = %v, want the error of the template", err)
	}
}

// A run is a value: what is folded from it, in whatever order, changes neither it nor the
// others.
func TestNoRunSharesItsStepsWithAnother(t *testing.T) {
	for name, history := range recorded(t) {
		for n := range history {
			base := verification.Fold(runID, history[:n])
			one := base.Evolve(history[n])
			rest := base.EvolveAll(history[n:])
			again := base.EvolveAll(history[n:])
			_ = one.EvolveAll(history[min(n+1, len(history)):])
			for what, pair := range map[string][2]verification.Run{
				"the run before": {base, verification.Fold(runID, history[:n])},
				"the next run":   {one, verification.Fold(runID, history[:n+1])},
				"the last run":   {rest, verification.Fold(runID, history)},
				"and once more":  {again, rest},
			} {
				if !reflect.DeepEqual(pair[0], pair[1]) {
					t.Fatalf("%s, event %d: %s has changed:\n%+v\n%+v", name, n, what, pair[0], pair[1])
				}
			}
		}
	}
}
