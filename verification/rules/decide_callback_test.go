// Tests of callbacks, and of the time that a source sets for the next attempt.

package rules_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification/rules"
)

// calls records a callback about the open wait.
func (j *journey) calls(digest string) *journey {
	j.t.Helper()
	return j.do(rules.RecordCallback{WaitNumber: j.run.Wait().Number, Digest: digest})
}

func TestACallbackMakesThePollDueAtOnce(t *testing.T) {
	j := begin(t, polled(), "").pend("ticket-1").after(time.Second)
	if got := j.run.Task(j.now).Kind; got != rules.TaskWait {
		t.Fatalf("task = %s, want wait", got)
	}
	j.calls("0f")
	if got := j.run.Task(j.now).Kind; got != rules.TaskPoll {
		t.Errorf("task after the callback = %s, want poll", got)
	}
}

func TestACallbackBeforeThePendingResultIsNotLost(t *testing.T) {
	j := begin(t, polled(), "").calls("0f")
	if got := j.run.Task(j.now).Kind; got != rules.TaskCheck {
		t.Fatalf("task = %s, want check: the call is still in flight", got)
	}
	j.after(time.Second).pend("ticket-1")
	if got := j.run.Task(j.now).Kind; got != rules.TaskPoll {
		t.Errorf("task after the pending result = %s, want poll at once", got)
	}
	if got := flows.Kinds(j.pend("ticket-2").history[4:]); got != "result_pending" || j.run.Task(j.now).Kind != rules.TaskWait {
		t.Errorf("the next pending result: %s and %s, want result_pending and a wait", got, j.run.Task(j.now).Kind)
	}
}

func TestARepeatedOrLateCallbackChangesNothing(t *testing.T) {
	nothing := func(j *journey, c rules.RecordCallback) {
		t.Helper()
		if got := flows.Outcome(j.try(c)); got != "nothing" {
			t.Errorf("%+v = %s, want nothing", c, got)
		}
	}
	j := begin(t, polled(), "")
	first := rules.RecordCallback{WaitNumber: j.run.Wait().Number, Digest: "0f"}
	nothing(j, rules.RecordCallback{WaitNumber: first.WaitNumber - 1, Digest: "0f"})
	j.do(first)
	nothing(j, first)
	j.pend("ticket-1")
	nothing(j, first)
	nothing(j.pass(), rules.RecordCallback{WaitNumber: first.WaitNumber, Digest: "10"})
}

func TestTheCallbacksOfOneDispatchAreBounded(t *testing.T) {
	j := begin(t, polled(), "").pend("ticket-1")
	for i := range 40 {
		c := rules.RecordCallback{WaitNumber: j.run.Wait().Number, Digest: strconv.Itoa(i)}
		if got := flows.Outcome(j.try(c)); (got == "callback_received") != (i < 32) {
			t.Fatalf("callback %d = %s", i, got)
		} else if i < 32 {
			j.do(c)
		}
	}
}

func TestASourceSetsTheTimeOfTheNextDispatch(t *testing.T) {
	for _, c := range []struct {
		name  string
		after time.Duration
		want  time.Duration
	}{
		{"later than the backoff", 30 * time.Second, 30 * time.Second},
		{"later than the maximum", time.Hour, 60 * time.Second},
	} {
		j := begin(t, polled(), "")
		j.do(rules.RecordFailure{
			Node: "pan", Dispatch: 1, Cause: "answered 429", RetryAt: j.now.Add(c.after),
		})
		if got := j.run.Wait().At.Sub(j.now); got != c.want {
			t.Errorf("%s: the next dispatch is due after %s, want %s", c.name, got, c.want)
		}
	}
	j := begin(t, polled(), "")
	j.do(rules.RecordFailure{Node: "pan", Dispatch: 1, Cause: "answered 429", RetryAt: j.now.Add(time.Millisecond)})
	if got := j.run.Wait().At.Sub(j.now); got < 500*time.Millisecond || got > time.Second {
		t.Errorf("sooner than the backoff: the next dispatch is due after %s, want the backoff", got)
	}
}
