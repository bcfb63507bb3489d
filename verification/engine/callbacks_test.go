// Tests of callbacks of vendors, of providers of one tenant, and of providers with
// limits of their own.

package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// withCallbacks returns a kit whose scripted provider takes callbacks: the body
// "passed" is a result, "forged" is refused, and any other body asks for a poll.
func withCallbacks(t *testing.T) *enginetest.Kit {
	t.Helper()
	keys, err := token.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
		script, _ := p.Providers["script"].(verification.Poller)
		p.Callbacks = token.NewLinks(keys)
		p.Providers["script"] = &mock.CallbackReceiverMock{
			CheckFunc: script.Check, PollFunc: script.Poll,
			ReceiveCallbackFunc: func(_ context.Context, _ verification.PollRequest, c verification.Callback) (verification.CheckResult, error) {
				switch string(c.Body) {
				case "forged":
					return verification.CheckResult{}, verification.ErrUnauthenticated
				case "passed":
					return verification.CheckResult{
						Outcome: verification.OutcomePassed, Data: map[string]any{"by": "callback"},
						Screening: &verification.ScreeningResult{List: "sanctions", ListVersion: "v1"},
					}, nil
				}
				return verification.CheckResult{Outcome: verification.OutcomePending}, nil
			},
		}
	})
	return k
}

// tokenOf returns the token of the callback URL of the last call for a key.
func tokenOf(t *testing.T, k *enginetest.Kit, key string) string {
	t.Helper()
	calls := k.Provider.Calls(key)
	token, ok := strings.CutPrefix(calls[len(calls)-1].CallbackURL, "http://journey.example/callbacks/")
	if !ok {
		t.Fatalf("callback URL = %q", calls[len(calls)-1].CallbackURL)
	}
	return token
}

// callBack delivers a callback.
func callBack(t *testing.T, k *enginetest.Kit, token, body string) {
	t.Helper()
	if err := k.Engine.ReceiveCallback(t.Context(), token, verification.Callback{Body: []byte(body)}); err != nil {
		t.Fatalf("callback %s: %v", body, err)
	}
}

// historyOf returns the kinds of the events of a run.
func historyOf(t *testing.T, k *enginetest.Kit, id verification.RunID) string {
	t.Helper()
	events, err := k.Store.Load(t.Context(), enginetest.Tenant, id, 0)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = e.Kind()
	}
	return strings.Join(names, " ")
}

func TestACallbackHasTheResultPolledAtOnce(t *testing.T) {
	k := withCallbacks(t)
	k.Provider.On("a", enginetest.Pend("ticket", time.Hour), enginetest.Pass(nil))
	run := start(k, chain("a"))
	if got := len(k.Provider.Calls("a")); got != 1 {
		t.Fatalf("calls before the callback = %d, want 1", got)
	}
	callBack(t, k, tokenOf(t, k, "a"), "ready")
	wantStatus(t, k.Run(run.ID), rules.StatusCompleted)
	if calls := k.Provider.Calls("a"); len(calls) != 2 || calls[1].Handle != "ticket" {
		t.Errorf("calls = %+v, want one check and one poll", calls)
	}
}

func TestACallbackMayCarryTheResult(t *testing.T) {
	k := withCallbacks(t)
	k.Provider.On("a", enginetest.Pend("ticket", time.Hour))
	run := start(k, chain("a", "b"))
	callBack(t, k, tokenOf(t, k, "a"), "passed")
	got := k.Run(run.ID)
	wantStatus(t, got, rules.StatusCompleted)
	wantCheck(t, got, "a", rules.StepPassed)
	if n := len(k.Provider.Calls("a")); n != 1 {
		t.Errorf("calls = %d, want 1: nothing is left to poll", n)
	}
	history, err := k.Store.Load(t.Context(), enginetest.Tenant, run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := rules.Fold(run.ID, history).Step("a")
	if diff := cmp.Diff(&rules.Screening{List: "sanctions", ListVersion: "v1"}, a.Screening); diff != "" {
		t.Errorf("screening (-want +got):\n%s", diff)
	}
}

func TestForgedLateAndRepeatedCallbacksChangeNothing(t *testing.T) {
	k := withCallbacks(t)
	k.Provider.On("a", enginetest.Pend("ticket", time.Hour))
	run := start(k, chain("a"))
	url := tokenOf(t, k, "a")
	before := historyOf(t, k, run.ID)
	forged := verification.Callback{Body: []byte("forged")}
	if err := k.Engine.ReceiveCallback(t.Context(), url, forged); !errors.Is(err, verification.ErrUnauthenticated) {
		t.Errorf("forged = %v, want it refused", err)
	}
	if err := k.Engine.ReceiveCallback(t.Context(), url[1:]+"A", verification.Callback{Body: []byte("passed")}); !errors.Is(err, verification.ErrNotFound) {
		t.Errorf("a wrong token = %v, want not found", err)
	}
	if after := historyOf(t, k, run.ID); after != before {
		t.Errorf("history = %s, want %s", after, before)
	}
	callBack(t, k, url, "ready")
	k.Settle()
	once := historyOf(t, k, run.ID)
	callBack(t, k, url, "ready")
	k.Settle()
	if after := historyOf(t, k, run.ID); after != once {
		t.Errorf("history after the repetition = %s, want %s", after, once)
	}
	callBack(t, k, url, "passed")
	done := historyOf(t, k, run.ID)
	callBack(t, k, url, "passed")
	callBack(t, k, url, "ready")
	wantStatus(t, k.Run(run.ID), rules.StatusCompleted)
	if after := historyOf(t, k, run.ID); after != done {
		t.Errorf("history after the end = %s, want %s", after, done)
	}
}

func TestACallbackDuringTheCallIsNotLost(t *testing.T) {
	for body, want := range map[string]string{
		"ready":  "started dispatched callback_received result_pending result_recorded completed",
		"passed": "started dispatched result_recorded completed",
	} {
		k := withCallbacks(t)
		k.Provider.On("a", enginetest.Slow(5*time.Second, enginetest.Pend("ticket", time.Hour)), enginetest.Pass(nil))
		run := start(k, chain("a"))
		callBack(t, k, tokenOf(t, k, "a"), body)
		k.Advance(5 * time.Second)
		wantStatus(t, k.Run(run.ID), rules.StatusCompleted)
		if got := historyOf(t, k, run.ID); got != want {
			t.Errorf("%s: history = %s, want %s", body, got, want)
		}
		checks := 0
		for _, c := range k.Provider.Calls("a") {
			if c.Handle == "" {
				checks++
			}
		}
		if checks != 1 {
			t.Errorf("%s: the check was called %d times, want once", body, checks)
		}
	}
}

func TestACallbackDuringAPollIsNotLost(t *testing.T) {
	k := withCallbacks(t)
	k.Provider.On("a", enginetest.Pend("ticket", time.Second),
		enginetest.Slow(5*time.Second, enginetest.Pend("ticket", time.Hour)), enginetest.Pass(nil))
	run := start(k, chain("a"))
	k.Advance(2 * time.Second) // the poll is in flight
	callBack(t, k, tokenOf(t, k, "a"), "ready")
	k.Advance(10 * time.Second)
	wantStatus(t, k.Run(run.ID), rules.StatusCompleted)
}

func TestAProviderSetsTheTimeOfTheNextDispatch(t *testing.T) {
	k := enginetest.New(t)
	k.Provider.On("a", enginetest.Reply{Err: &verification.RetryError{
		At: k.Clock.Now().Add(30 * time.Second), Cause: errors.New("answered 429"),
	}}, enginetest.Pass(nil))
	run := start(k, chain("a"))
	k.Advance(29 * time.Second)
	if got := len(k.Provider.Calls("a")); got != 1 {
		t.Errorf("calls after 29 s = %d, want 1", got)
	}
	k.Advance(time.Second)
	wantStatus(t, k.Run(run.ID), rules.StatusCompleted)
	events, err := k.Store.Load(t.Context(), enginetest.Tenant, run.ID, 2)
	if err != nil {
		t.Fatal(err)
	}
	want := rules.DispatchFailed{Node: "a", Cause: "answered 429", RetryAt: enginetest.Began().Add(30 * time.Second)}
	if diff := cmp.Diff(want, events[0].Fact); diff != "" {
		t.Errorf("the failure (-want +got):\n%s", diff)
	}
}

func TestATenantsOwnProviderComesFirst(t *testing.T) {
	own := &mock.ProviderMock{CheckFunc: func(context.Context, verification.CheckRequest) (verification.CheckResult, error) {
		return verification.CheckResult{Outcome: verification.OutcomeFailed}, nil
	}}
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
		p.TenantProviders = map[verification.TenantID]map[string]verification.Provider{
			enginetest.Tenant: {"script": own, "mine": own},
		}
	})
	wantStatus(t, start(k, chain("a")), rules.StatusFailed)
	theirs := applyForBystander(t, k, chain("a"))
	run := startFor(t, k, bystander, theirs, engine.StartRequest{ReferenceID: "x"})
	k.Settle()
	d, err := k.Engine.Run(t.Context(), bystander, run)
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, d, rules.StatusCompleted)
	mine := with(chain("a"), "a", func(n *workflow.Node) { n.Provider = "mine" })
	k.Apply(mine)
	if _, err := k.Engine.Apply(t.Context(), bystander, mine); !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("apply for another tenant = %v, want an unknown provider", err)
	}
}

func TestAHangingVendorAtItsLimitLeavesOthersAlone(t *testing.T) {
	const limit = 16
	var inFlight, peak, turns atomic.Int64
	k := enginetest.New(t, func(p *engine.Ports, o *engine.Options) {
		script := p.Providers["script"]
		p.TenantProviders = map[verification.TenantID]map[string]verification.Provider{enginetest.Tenant: {
			"hanging": &mock.CallLimiterMock{
				MaxCallsFunc: func() int { return limit },
				WaitTurnFunc: func(context.Context) error { turns.Add(1); return nil },
				CheckFunc: func(ctx context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
					n := inFlight.Add(1)
					defer inFlight.Add(-1)
					for m := peak.Load(); n > m && !peak.CompareAndSwap(m, n); m = peak.Load() {
					}
					return script.Check(ctx, r)
				},
			},
		}}
		o.Workers = 4
	})
	k.Provider.On("a", enginetest.Slow(time.Hour, enginetest.Pass(nil)))
	d := with(chain("a"), "a", func(n *workflow.Node) {
		n.Provider, n.TimeoutSeconds, n.Retry = "hanging", 30, &workflow.Retry{MaxDispatches: 1}
	})
	hanging, quick := k.Apply(d), k.Apply(workflow.Definition{
		Workflow: "quick", Name: "Quick", Start: "b", Nodes: chain("b").Nodes,
	})
	var stuck []verification.RunID
	for range 100 {
		stuck = append(stuck, k.Start(hanging.ID, engine.StartRequest{ReferenceID: "x"}).ID)
	}
	if got := peak.Load(); got != limit {
		t.Errorf("calls in flight = %d, want %d", got, limit)
	}
	wantStatus(t, k.Start(quick.ID, engine.StartRequest{ReferenceID: "y"}), rules.StatusCompleted)
	k.Advance(10 * time.Minute)
	for _, id := range stuck {
		got := k.Run(id)
		wantStatus(t, got, rules.StatusFailed)
	}
	if got := turns.Load(); got != 100 {
		t.Errorf("turns = %d, want one a call", got)
	}
}
