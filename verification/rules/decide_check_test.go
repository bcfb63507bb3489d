package rules_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestFailedCheckLeadsWhereItsNodeSays(t *testing.T) {
	for _, c := range []struct {
		route verification.NodeID
		want  string
	}{
		{"", "result_recorded, failed"},
		{workflow.TargetFail, "result_recorded, failed"},
		{workflow.TargetNext, "result_recorded, completed"},
		{"review", "result_recorded, review_asked"},
	} {
		j := begin(t, routed(c.route, ""), "")
		before := len(j.history)
		j.result(verification.OutcomeFailed, `{"name_match":0.2}`)
		if got := flows.Kinds(j.history[before:]); got != c.want {
			t.Errorf("on_failed %q: %s, want %s", c.route, got, c.want)
		}
		want := []rules.Check{{
			Key: "pan", Label: "PAN", Status: rules.StepFailed, Data: verification.Data(`{"name_match":0.2}`),
		}}
		if diff := cmp.Diff(want, j.detail().Checks); diff != "" {
			t.Errorf("on_failed %q: checks (-want +got):\n%s", c.route, diff)
		}
	}
}

func TestUnansweredCheckLeadsWhereItsNodeSays(t *testing.T) {
	for _, c := range []struct {
		route      verification.NodeID
		want, data string
	}{
		{"", "dispatch_failed, result_unavailable, failed", ""},
		{workflow.TargetFail, "dispatch_failed, result_unavailable, failed", ""},
		{workflow.TargetNext, "dispatch_failed, result_unavailable, completed", `{"source_ok":false}`},
		{"review", "dispatch_failed, result_unavailable, review_asked", `{"source_ok":false}`},
	} {
		j := begin(t, routed("", c.route), "")
		before := len(j.history)
		j.noResult(true)
		if got := flows.Kinds(j.history[before:]); got != c.want {
			t.Errorf("on_unavailable %q: %s, want %s", c.route, got, c.want)
		}
		check := j.detail().Checks[0]
		if check.Status != rules.StepFailed || check.Data.String() != c.data {
			t.Errorf("on_unavailable %q: the check is %s with %s, want failed with %s", c.route, check.Status, check.Data, c.data)
		}
	}
}

// routed is one check, and a review that its routes may lead to.
func routed(onFailed, onUnavailable verification.NodeID) workflow.Definition {
	pan := flows.CheckNode("PAN", "done")
	pan.OnFailed, pan.OnUnavailable = onFailed, onUnavailable
	n := flows.Nodes{"pan": pan, "done": flows.EndNode()}
	if onFailed == "review" || onUnavailable == "review" {
		n["review"] = flows.ReviewNode("Manual review", "done")
	}
	return flows.Define("pan", n)
}

func TestRunErrorsNameTheCheckByItsKey(t *testing.T) {
	d := flows.Single(func(n *workflow.Node) { n.Key = "pan_verification" })
	for _, c := range []struct {
		name string
		end  func(*journey)
		want rules.RunError
	}{
		{"failed", func(j *journey) { j.fail() }, rules.RunError{
			Code: rules.CodeCheckFailed, Check: "pan_verification", Message: "The check pan_verification did not pass.",
		}},
		{"result_unavailable", func(j *journey) { j.noResult(true) }, rules.RunError{
			Code: rules.CodeCheckUnavailable, Check: "pan_verification",
			Message: "The source of the check pan_verification gave no answer.",
		}},
		{"broken", func(j *journey) { j.do(rules.Abort{Node: "pan", Cause: "with: no value"}) }, rules.RunError{
			Code: rules.CodeInternalError, Check: "pan_verification", Message: "The workflow could not go on at the node pan.",
		}},
	} {
		j := begin(t, d, "")
		c.end(j)
		equal(t, c.name, j.detail().Error, &c.want)
	}
}

func TestRetriesGoOnUntilTheLastDispatch(t *testing.T) {
	d := flows.Single(func(n *workflow.Node) { n.Retry = &workflow.Retry{MaxDispatches: 3} })
	j := begin(t, d, "")
	for dispatch := 1; dispatch <= 3; dispatch++ {
		if w := j.run.Wait(); w.Kind != rules.WaitResult || w.Dispatch != dispatch || w.ProviderDispatches != dispatch {
			t.Fatalf("the run waits for %+v, want dispatch %d", w, dispatch)
		}
		if got := j.detail().Checks[0].Status; got != rules.StepRunning {
			t.Errorf("dispatch %d is out: the check is %s, want running", dispatch, got)
		}
		j.noResult(false)
		if dispatch == 3 {
			break
		}
		if got := j.detail().Checks[0].Status; got != rules.StepPending {
			t.Errorf("dispatch %d is scheduled: the check is %s, want pending", dispatch+1, got)
		}
		j.now = j.run.Wait().At.Add(-time.Microsecond)
		if got := flows.Outcome(j.try(rules.Redispatch{})); got != "nothing" {
			t.Errorf("Redispatch before its time = %s, want nothing", got)
		}
		j.redispatch()
	}
	if e := j.detail().Error; e == nil || e.Code != rules.CodeCheckUnavailable {
		t.Errorf("after the last dispatch the error is %+v, want CHECK_UNAVAILABLE", e)
	}
	step, _ := j.run.Step("pan")
	if step.Dispatches != 3 || step.Failures != 3 || step.Visits != 1 || step.Recovered {
		t.Errorf("step = %+v, want 3 dispatches and 3 failures on one visit", step)
	}
}

func TestPermanentFailureIsNotRetried(t *testing.T) {
	j := begin(t, flows.Single(nil), "").noResult(true)
	failure, ok := j.history[2].Fact.(rules.DispatchFailed)
	if !ok || !failure.RetryAt.IsZero() || failure.Cause != "timeout" {
		t.Errorf("the failure is %+v, want one without a retry", j.history[2].Fact)
	}
}

func TestFallbackAnswersAfterTheLastRetry(t *testing.T) {
	j := begin(t, flows.Single(func(n *workflow.Node) { n.Fallback = "backup" }), "")
	j.noResult(false).redispatch().noResult(false)
	w := j.run.Wait()
	if w.Kind != rules.WaitResult || w.Provider != "backup" || w.Dispatch != 3 || w.ProviderDispatches != 1 {
		t.Fatalf("after the last retry the run waits for %+v, want dispatch 3 by backup", w)
	}
	j.noResult(false)
	if w := j.run.Wait(); w.Kind != rules.WaitRetry {
		t.Fatalf("the fallback is retried as well; the run waits for %+v", w)
	}
	j.redispatch()
	if w := j.run.Wait(); w.Provider != "backup" || w.Dispatch != 4 || w.ProviderDispatches != 2 {
		t.Fatalf("the retry is %+v, want dispatch 4 by backup", w)
	}
	failed := j.fork().noResult(false)
	if e := failed.detail().Error; e == nil || e.Code != rules.CodeCheckUnavailable {
		t.Errorf("without a result of the fallback the error is %+v, want CHECK_UNAVAILABLE", e)
	}
	j.pass()
	if got := j.status(); got != rules.StatusCompleted {
		t.Errorf("status = %s, want completed", got)
	}
}

func TestUnknownOutcomeIsAPermanentFailure(t *testing.T) {
	j := begin(t, flows.Single(func(n *workflow.Node) { n.Fallback = "backup" }), "").result("perhaps", "")
	failure, _ := j.history[2].Fact.(rules.DispatchFailed)
	if failure.Cause != `the provider returned the unknown outcome "perhaps"` || j.run.Wait().Provider != "backup" {
		t.Errorf("the failure is %+v and the run waits for %+v", failure, j.run.Wait())
	}
}

func TestCausesAreCutAndCleaned(t *testing.T) {
	for _, c := range []struct{ cause, want string }{
		{"timeout", "timeout"},
		{strings.Repeat("x", 501), strings.Repeat("x", 500)},
		{strings.Repeat("x", 499) + "ä", strings.Repeat("x", 499)},
		{"a\x00b\xffc", "abc"},
	} {
		j := begin(t, flows.Single(nil), "")
		j.do(rules.RecordFailure{Node: "pan", Dispatch: 1, Cause: c.cause})
		if got, _ := j.history[2].Fact.(rules.DispatchFailed); got.Cause != c.want {
			t.Errorf("cause = %q, want %q", got.Cause, c.want)
		}
	}
}

func TestRetriesWaitBetweenHalfOfTheBackoffAndAllOfIt(t *testing.T) {
	d := flows.Single(func(n *workflow.Node) {
		n.Retry = &workflow.Retry{MaxDispatches: 8, BackoffSeconds: 2, MaxBackoffSeconds: 20}
	})
	smallest, largest := math.Inf(1), 0.0
	for i := range 200 {
		j := begin(t, d, "")
		j.run.ID = verification.RunID(strings.Repeat("x", i)) // the share follows from it
		for failed, backoff := range []float64{2, 4, 8, 16, 20, 20, 20} {
			j.noResult(false)
			wait := j.run.Wait().At.Sub(j.now).Seconds()
			if wait < backoff/2-1e-6 || wait > backoff {
				t.Fatalf("after %d failures the wait is %gs, want half of %gs to all of it", failed+1, wait, backoff)
			}
			share := wait / backoff
			smallest, largest = min(smallest, share), max(largest, share)
			j.redispatch()
		}
	}
	if smallest > 0.52 || largest < 0.98 {
		t.Errorf("the waits are %.2f to %.2f of the backoff, want them spread from 0.5 to 1", smallest, largest)
	}
}

func TestBackoffDoublesUpToItsBound(t *testing.T) {
	second := time.Second
	for _, c := range []struct {
		retry *workflow.Retry
		want  []time.Duration
	}{
		{nil, []time.Duration{second, 2 * second, 4 * second, 8 * second, 16 * second, 32 * second, 60 * second, 60 * second}},
		{&workflow.Retry{BackoffSeconds: 0.5, MaxBackoffSeconds: 3}, []time.Duration{second / 2, second, 2 * second, 3 * second}},
		{&workflow.Retry{BackoffSeconds: 100}, []time.Duration{60 * second, 60 * second}},
		{&workflow.Retry{BackoffSeconds: 316224000, MaxBackoffSeconds: 316224000}, []time.Duration{316224000 * second, 316224000 * second}},
	} {
		for i, want := range c.want {
			if got := (workflow.Node{Retry: c.retry}).Backoff(i + 1); got != want {
				t.Errorf("Backoff(%d) of %+v = %v, want %v", i+1, c.retry, got, want)
			}
		}
	}
}
