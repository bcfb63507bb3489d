// Tests of driving: dispatch, retry, fallback, poll, timeout and panic.

package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestARunOfChecksIsDrivenToItsEnd(t *testing.T) {
	k := enginetest.New(t)
	run := start(k, chain("a", "b", "c", "d", "e"))
	wantStatus(t, run, rules.StatusCompleted)
	var keys []string
	for _, c := range run.Checks {
		keys = append(keys, c.Key)
	}
	if got := strings.Join(keys, ""); got != "abcde" {
		t.Errorf("checks = %s, want abcde", got)
	}
}

func TestARetryComesInTheSecondHalfOfTheBackoff(t *testing.T) {
	k := enginetest.New(t)
	k.Provider.On("a", enginetest.Flake(), enginetest.Pass(nil))
	run := start(k, with(chain("a"), "a", func(n *workflow.Node) {
		n.Retry = &workflow.Retry{MaxDispatches: 2, BackoffSeconds: 10}
	}))
	wantStatus(t, run, rules.StatusInProgress)
	wantCheck(t, run, "a", rules.StepPending)
	k.Advance(4999 * time.Millisecond)
	if got := len(k.Provider.Calls("a")); got != 1 {
		t.Fatalf("calls before half the backoff = %d, want 1", got)
	}
	k.Advance(5001 * time.Millisecond)
	run = k.Run(run.ID)
	wantStatus(t, run, rules.StatusCompleted)
	if run.Decision != rules.DecisionReview {
		t.Errorf("decision = %q, want review: a failure was recovered from", run.Decision)
	}
	calls := k.Provider.Calls("a")
	if calls[0].IdempotencyKey == calls[1].IdempotencyKey {
		t.Errorf("two dispatches share the idempotency key %s", calls[0].IdempotencyKey)
	}
}

func TestBackoffDoublesUpToItsBound(t *testing.T) {
	k := enginetest.New(t)
	k.Provider.On("a", enginetest.Flake())
	run := start(k, with(chain("a"), "a", func(n *workflow.Node) {
		n.Retry = &workflow.Retry{MaxDispatches: 6, BackoffSeconds: 1, MaxBackoffSeconds: 4}
	}))
	for i, seconds := range []int{1, 2, 4, 4, 4} {
		before := len(k.Provider.Calls("a"))
		k.Advance(time.Duration(seconds) * time.Second)
		if got := len(k.Provider.Calls("a")); got != before+1 {
			t.Fatalf("retry %d: %d calls within %d s, want 1", i+1, got-before, seconds)
		}
	}
	run = k.Run(run.ID)
	wantStatus(t, run, rules.StatusFailed)
	if run.Error.Code != rules.CodeCheckUnavailable || run.Error.Check != "a" {
		t.Errorf("error = %+v, want CHECK_UNAVAILABLE of a", run.Error)
	}
}

func TestAPermanentErrorIsNotRetried(t *testing.T) {
	k := enginetest.New(t)
	k.Provider.On("a", enginetest.Refuse())
	run := start(k, chain("a"))
	wantStatus(t, run, rules.StatusFailed)
	if got := len(k.Provider.Calls("a")); got != 1 {
		t.Errorf("calls = %d, want 1", got)
	}
}

func TestTheFallbackIsCalledAfterTheLastRetry(t *testing.T) {
	other := enginetest.NewScript(nil)
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) { p.Providers["other"] = other })
	k.Provider.On("a", enginetest.Flake())
	run := start(k, with(chain("a"), "a", func(n *workflow.Node) {
		n.Fallback = "other"
		n.Retry = &workflow.Retry{MaxDispatches: 2, BackoffSeconds: 1}
	}))
	k.Advance(time.Second)
	run = k.Run(run.ID)
	wantStatus(t, run, rules.StatusCompleted)
	if first, then := len(k.Provider.Calls("a")), len(other.Calls("a")); first != 2 || then != 1 {
		t.Errorf("calls = %d and %d, want 2 of the provider and 1 of the fallback", first, then)
	}
}

func TestARunContinuesWithoutAResultIfTheNodeAllowsIt(t *testing.T) {
	k := enginetest.New(t)
	k.Provider.On("a", enginetest.Refuse())
	run := start(k, with(chain("a", "b"), "a", func(n *workflow.Node) { n.OnUnavailable = workflow.TargetNext }))
	wantStatus(t, run, rules.StatusCompleted)
	wantCheck(t, run, "a", rules.StepFailed)
	if got := string(run.Checks[0].Data); got != `{"source_ok":false}` {
		t.Errorf("data = %s, want source_ok false", got)
	}
}

func TestAPendingResultIsPolledWhenDue(t *testing.T) {
	k := enginetest.New(t)
	k.Provider.On("a", enginetest.Pend("h1", 0), enginetest.Pend("h1", 0), enginetest.Pend("h2", 3*time.Second), enginetest.Pass(map[string]any{"score": 1}))
	run := start(k, chain("a"))
	wantCheck(t, run, "a", rules.StepRunning)
	for i, wait := range []time.Duration{200 * time.Millisecond, 200 * time.Millisecond, 3 * time.Second} {
		k.Advance(wait - time.Millisecond)
		if got := len(k.Provider.Calls("a")); got != i+1 {
			t.Fatalf("calls just before poll %d = %d, want %d", i+1, got, i+1)
		}
		k.Advance(time.Millisecond)
		if got := len(k.Provider.Calls("a")); got != i+2 {
			t.Fatalf("calls at poll %d = %d, want %d", i+1, got, i+2)
		}
	}
	run = k.Run(run.ID)
	wantStatus(t, run, rules.StatusCompleted)
	if len(run.Checks) != 1 || string(run.Checks[0].Data) != `{"score":1}` {
		t.Errorf("checks = %+v, want one entry with the data of the poll", run.Checks)
	}
	if run.Decision != rules.DecisionNone {
		t.Errorf("decision = %q, want none: polls are not dispatches", run.Decision)
	}
	var handles []string
	for _, c := range k.Provider.Calls("a") {
		handles = append(handles, c.Handle)
	}
	if got := fmt.Sprint(handles); got != "[ h1 h1 h2]" {
		t.Errorf("handles = %s, want [ h1 h1 h2]", got)
	}
	if run.Seq != 6 { // started, dispatched, pending h1, pending h2, result, completed
		t.Errorf("events = %d, want 6: a poll without news is not recorded", run.Seq)
	}
}

func TestADispatchThatTakesTooLongFails(t *testing.T) {
	k := enginetest.New(t)
	k.Provider.On("a", enginetest.Slow(40*time.Second, enginetest.Pass(nil)), enginetest.Slow(29*time.Second, enginetest.Pass(nil)))
	run := start(k, chain("a"))
	wantCheck(t, run, "a", rules.StepRunning)
	k.Advance(30*time.Second - time.Millisecond)
	wantCheck(t, k.Run(run.ID), "a", rules.StepRunning)
	k.Advance(time.Millisecond)
	wantCheck(t, k.Run(run.ID), "a", rules.StepPending)
	k.Advance(time.Second)
	wantCheck(t, k.Run(run.ID), "a", rules.StepRunning)
	k.Advance(29 * time.Second)
	wantStatus(t, k.Run(run.ID), rules.StatusCompleted)
}

func TestAProviderThatIgnoresItsContextDelaysNoRun(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
		p.Clock = clock.System{}
		p.Providers["stuck"] = &mock.ProviderMock{CheckFunc: func(context.Context, verification.CheckRequest) (verification.CheckResult, error) {
			<-release
			return verification.CheckResult{Outcome: verification.OutcomePassed}, nil
		}}
	})
	w := k.Apply(with(chain("a"), "a", func(n *workflow.Node) {
		n.Provider, n.TimeoutSeconds, n.Retry = "stuck", 0.01, &workflow.Retry{MaxDispatches: 1}
	}))
	wait := time.Minute
	v, err := k.Engine.Start(t.Context(), enginetest.Tenant, w.ID, engine.StartRequest{ReferenceID: "x", Wait: &wait})
	if err != nil || v.Status != rules.StatusFailed {
		t.Errorf("run = %+v, %v; want failed although the provider never returned", v, err)
	}
}

func TestAPanicOfAProviderIsAnErrorOfThatDispatch(t *testing.T) {
	k := enginetest.New(t)
	k.Provider.On("a", enginetest.Reply{Panic: "boom"}, enginetest.Pass(nil))
	run := start(k, chain("a"))
	wantCheck(t, run, "a", rules.StepPending)
	k.Advance(time.Second)
	wantStatus(t, k.Run(run.ID), rules.StatusCompleted)
}

func TestCancelEndsTheProviderCall(t *testing.T) {
	k := enginetest.New(t)
	k.Provider.On("a", enginetest.Slow(time.Hour, enginetest.Pass(nil)))
	run := start(k, chain("a"))
	if _, err := k.Engine.Cancel(t.Context(), enginetest.Tenant, run.ID); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, k.Run(run.ID), rules.StatusCancelled)
	k.Advance(2 * time.Hour)
	wantStatus(t, k.Run(run.ID), rules.StatusCancelled)
}

func TestATemplateThatCannotBeFilledInFailsTheRun(t *testing.T) {
	k := enginetest.New(t)
	run := start(k, with(chain("a"), "a", func(n *workflow.Node) {
		n.With = verification.Data(`{"pan":"${input.pan}"}`)
	}))
	wantStatus(t, run, rules.StatusFailed)
	if run.Error.Code != rules.CodeInternalError || run.Error.Check != "a" {
		t.Errorf("error = %+v, want INTERNAL_ERROR at a", run.Error)
	}
}

func TestManyRunsShareFewWorkers(t *testing.T) {
	k := enginetest.New(t, func(_ *engine.Ports, o *engine.Options) { o.Workers = 2 })
	k.Provider.On("a", enginetest.Slow(time.Second, enginetest.Pass(nil)))
	w := k.Apply(chain("a", "b"))
	const runs = 500 // more than two workers keep in memory
	for i := range runs {
		if _, err := k.Engine.Start(t.Context(), enginetest.Tenant, w.ID, engine.StartRequest{ReferenceID: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	k.Advance(runs / 2 * time.Second)
	page, err := k.Engine.Runs(t.Context(), enginetest.Tenant, store.RunQuery{
		PageQuery: store.PageQuery{Limit: 1}, Status: rules.StatusCompleted,
	})
	if err != nil || page.Total != runs {
		t.Errorf("completed after %d s = %d, %v; want all %d", runs/2, page.Total, err, runs)
	}
}

// calls records the outcomes that the Observer receives of provider calls.
type calls struct {
	poison
	outcomes []string
}

func (c *calls) ProviderCalled(_, outcome string, _ time.Duration) {
	c.outcomes = append(c.outcomes, outcome)
}

func TestACallWithoutAUsableResultIsObservedAsAnError(t *testing.T) {
	for name, reply := range map[string]enginetest.Reply{
		"unknown outcome": {Result: verification.CheckResult{Outcome: "perhaps"}},
		"data with a NUL": enginetest.Pass(map[string]any{"name": "\x00"}),
		"no result":       enginetest.Refuse(),
	} {
		var observed calls
		k := enginetest.New(t, func(_ *engine.Ports, o *engine.Options) { o.Observer = &observed })
		k.Provider.On("a", reply)
		start(k, chain("a"))
		if !slices.Equal(observed.outcomes, []string{"error"}) {
			t.Errorf("%s: observed %q, want one error", name, observed.outcomes)
		}
	}
}
