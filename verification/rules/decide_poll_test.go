package rules_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// polled is a check that is polled every 5 s, for a minute at most.
func polled() workflow.Definition {
	return flows.Single(func(n *workflow.Node) {
		n.Poll = &workflow.Poll{IntervalSeconds: 5, TimeoutSeconds: 60}
	})
}

func TestPendingResultIsRecordedOnce(t *testing.T) {
	j := begin(t, polled(), "").pend("ticket-1")
	want := rules.ResultPending{Node: "pan", Handle: "ticket-1", PollAt: flows.Noon().Add(5 * time.Second)}
	if diff := cmp.Diff(want, j.history[2].Fact); diff != "" {
		t.Fatalf("the event of the pending result (-want +got):\n%s", diff)
	}
	if got := j.detail().Checks[0].Status; got != rules.StepRunning {
		t.Errorf("the check is %s, want running while the result is pending", got)
	}
	if got := flows.Kinds(j.after(5 * time.Second).pend("ticket-1").history[3:]); got != "" {
		t.Errorf("the same handle again: %s, want nothing", got)
	}
	if got := flows.Kinds(j.after(5 * time.Second).pend("ticket-2").history[3:]); got != "result_pending" {
		t.Errorf("another handle: %s, want result_pending", got)
	}
	j.pass()
	step, _ := j.run.Step("pan")
	if step.Dispatches != 1 || step.Recovered || j.decision() != rules.DecisionNone {
		t.Errorf("step = %+v, want one dispatch and no flag: polls do not count", step)
	}
}

func TestResultThatIsPendingForTooLongFailsTheDispatch(t *testing.T) {
	for _, c := range []struct {
		name string
		wait time.Duration
		want string
	}{
		{"before the timeout", 60*time.Second - time.Microsecond, ""},
		{"at the timeout", 60 * time.Second, "dispatch_failed"},
		{"later", time.Hour, "dispatch_failed"},
	} {
		j := begin(t, polled(), "").pend("ticket-1").after(c.wait)
		if got := flows.Kinds(j.pend("ticket-1").history[3:]); got != c.want {
			t.Errorf("still pending %s: %q, want %q", c.name, got, c.want)
		}
	}
	j := begin(t, polled(), "").pend("ticket-1").after(50 * time.Second).pend("ticket-2").after(10 * time.Second).pend("ticket-2")
	failed, _ := j.history[len(j.history)-1].Fact.(rules.DispatchFailed)
	if failed.Cause != "the pending result did not come in time" || failed.RetryAt.IsZero() {
		t.Errorf("after the timeout with a new handle: %+v, want a failed dispatch that is retried", failed)
	}
	j.redispatch().pend("ticket-3")
	if got := j.run.Wait().PendingSince; !got.Equal(j.now) {
		t.Errorf("the second dispatch pends since %v, want now", got)
	}
	if late := begin(t, polled(), "").pend("ticket-1").after(59 * time.Minute).pass(); late.status() != rules.StatusCompleted {
		t.Errorf("a result after 59 minutes: the run is %s, want completed", late.status())
	}
}

func TestFailedPollsAreRetried(t *testing.T) {
	d := polled()
	pan := d.Nodes["pan"]
	pan.Retry = &workflow.Retry{MaxDispatches: 3, BackoffSeconds: 4}
	d.Nodes["pan"] = pan
	j := begin(t, d, "").pend("ticket-1").after(5 * time.Second)
	for failures := 1; failures <= 2; failures++ {
		j.noResult(false)
		w, step := j.run.Wait(), j.detail().Checks[0]
		backoff := time.Duration(4*failures) * time.Second
		if w.Kind != rules.WaitPoll || w.PollFailures != failures || w.Handle != "ticket-1" || step.Status != rules.StepRunning {
			t.Fatalf("after %d failed polls the run waits for %+v, and the check is %s", failures, w, step.Status)
		}
		if wait := w.At.Sub(j.now); wait < backoff/2-time.Microsecond || wait > backoff {
			t.Errorf("after %d failed polls the wait is %v, want half of %v to all of it", failures, wait, backoff)
		}
		j.now = w.At
	}
	j.noResult(false)
	if got := j.history[len(j.history)-1].Kind(); got != "dispatch_failed" {
		t.Errorf("the third failure in a row: %s, want the dispatch to have failed", got)
	}
}

func TestPendingResultResetsTheCountOfFailedPolls(t *testing.T) {
	j := begin(t, polled(), "").pend("ticket-1").noResult(false)
	if got := flows.Kinds(j.pend("ticket-1").history[4:]); got != "result_pending" || j.run.Wait().PollFailures != 0 {
		t.Errorf("still pending after a failed poll: %s with %d failures, want it recorded with none", got, j.run.Wait().PollFailures)
	}
	j.pass()
	step, _ := j.run.Step("pan")
	if step.Failures != 1 || !step.Recovered || j.decision() != rules.DecisionReview {
		t.Errorf("step = %+v and decision %q, want one failure that it recovered from, flagged", step, j.decision())
	}
}

func TestFailedPollAfterTheTimeoutFailsTheDispatch(t *testing.T) {
	j := begin(t, polled(), "").pend("ticket-1").after(time.Minute).noResult(false)
	if got := j.history[3].Kind(); got != "dispatch_failed" {
		t.Errorf("a poll that fails after the timeout: %s, want the dispatch to have failed", got)
	}
	j = begin(t, polled(), "").pend("ticket-1").noResult(true)
	if got := flows.Kinds(j.history[3:]); got != "dispatch_failed, result_unavailable, failed" {
		t.Errorf("a poll that fails permanently: %s, want no result", got)
	}
}

func TestHandlesThatCannotBeStoredAreFailures(t *testing.T) {
	for _, handle := range []string{"a\x00", "a\xff"} {
		j := begin(t, polled(), "").pend(handle)
		if got := flows.Kinds(j.history[2:]); got != "dispatch_failed, result_unavailable, failed" {
			t.Errorf("handle %q: %s, want a permanent failure", handle, got)
		}
	}
}

func TestPollAtKeepsWithinItsBounds(t *testing.T) {
	n := workflow.Node{Poll: &workflow.Poll{IntervalSeconds: 5, TimeoutSeconds: 60}}
	for _, c := range []struct {
		name  string
		node  workflow.Node
		after time.Duration
		want  time.Duration
	}{
		{"interval of the node", n, 0, 5 * time.Second},
		{"interval of the node in place of a negative one", n, -time.Second, 5 * time.Second},
		{"wait that the provider named", n, 7 * time.Second, 7 * time.Second},
		{"at least a millisecond", n, 1, time.Millisecond},
		{"at most the timeout of the node", n, 1000 * time.Hour, time.Minute},
		{"default interval", workflow.Node{}, 0, 200 * time.Millisecond},
		{"at most the default timeout", workflow.Node{}, 1 << 62, 24 * time.Hour},
		{"interval near zero", workflow.Node{Poll: &workflow.Poll{IntervalSeconds: 1e-12}}, 0, time.Millisecond},
	} {
		if got := rules.PollAt(c.node, c.after, flows.Noon()).Sub(flows.Noon()); got != c.want {
			t.Errorf("%s: PollAt(%v) = now+%v, want now+%v", c.name, c.after, got, c.want)
		}
	}
}

// The members of a group do not use up one another's changes of a handle.
func TestAHandleChangesAThousandTimes(t *testing.T) {
	j := begin(t, group{need: 1, answers: []string{"passed", "passed", "passed"}}.definition(workflow.OrderTogether, workflow.FinishAll, ""), "")
	pends := func(step verification.NodeID, times int) {
		for n := range times {
			j.do(rules.RecordResult{Node: step, Dispatch: 1, Outcome: verification.OutcomePending, Handle: fmt.Sprint("ticket-", n)})
		}
	}
	waits := func(step verification.NodeID) bool {
		w, ok := j.run.WaitAt(step)
		return ok && w.Kind == rules.WaitPoll
	}
	pends("address.m0", 1000)
	pends("address.m1", 1000)
	if !waits("address.m0") || !waits("address.m1") {
		t.Fatal("a member no longer waits after 1,000 handles of its own")
	}
	j.do(rules.RecordResult{Node: "address.m0", Dispatch: 1, Outcome: verification.OutcomePassed})
	pends("address.m2", 1000)
	if !waits("address.m2") {
		t.Fatal("the third member no longer waits after 1,000 handles of its own")
	}
	pends("address.m2", 1)
	pends("address.m1", 1)
	const cause = "the handle of the pending result changed 1000 times"
	equal(t, "what one more handle each fails of", causes(j), []string{cause, cause})
}
