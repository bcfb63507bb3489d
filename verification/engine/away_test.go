// Tests of checks that lead their customers away.

package engine_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// bank leads customers to signIn, and reports a result in every way.
type bank struct{ *enginetest.Script }

const signIn = "https://login.bank.example/"

func (bank) ReceiveReturn(_ context.Context, _ verification.PollRequest, parameters map[string]string) (verification.CheckResult, error) {
	return reported(parameters["result"])
}

func (bank) ReceiveCallback(_ context.Context, _ verification.PollRequest, c verification.Callback) (verification.CheckResult, error) {
	return reported(string(c.Body))
}

func reported(result string) (verification.CheckResult, error) {
	switch result {
	case "passed":
		return verification.CheckResult{Outcome: verification.OutcomePassed, Data: map[string]any{"holder": "Asha Rao"}}, nil
	case "soon":
		return verification.CheckResult{Outcome: verification.OutcomePending}, nil
	}
	return verification.CheckResult{}, verification.ErrUnauthenticated
}

// bankHost returns the change that makes an engine a host with the bank.
func bankHost(t *testing.T) enginetest.Change {
	t.Helper()
	keys, err := token.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	return func(p *engine.Ports, _ *engine.Options) {
		script, _ := p.Providers["script"].(*enginetest.Script)
		p.Callbacks, p.Providers["script"] = token.NewLinks(keys), bank{script}
	}
}

// led starts a run whose customer is led away, and returns the tokens of its return and of its callback.
func led(t *testing.T, k *enginetest.Kit) (run rules.RunDetail, state, callback string) {
	t.Helper()
	k.Provider.On("a", enginetest.Lead(signIn, "ticket", time.Minute), enginetest.Pass(map[string]any{"holder": "Asha Rao"}))
	run = start(k, with(chain("a"), "a", func(n *workflow.Node) { n.RedirectHosts = []string{"login.bank.example"} }))
	state, ok := strings.CutPrefix(k.Provider.Calls("a")[0].ReturnURL, "http://journey.example/journey/back/")
	if !ok || run.Action == nil || run.Action.SignalName != "a_returned" {
		t.Fatalf("the action is %+v and the return URL %q", run.Action, k.Provider.Calls("a")[0].ReturnURL)
	}
	return run, state, tokenOf(t, k, "a")
}

// The engine that led the customer away has gone, and another one on its store goes on.
func TestAnotherHostReceivesACustomerWhoWasAway(t *testing.T) {
	host := bankHost(t)
	// Where and when the result comes from.
	for name, tt := range map[string]struct {
		returns, callback string
		after             time.Duration
		calls             int // of the provider, on all hosts
		then              string
	}{
		"a return":                {returns: "passed", calls: 1, then: "result_recorded completed"},
		"a poll after a return":   {returns: "soon", calls: 2, then: "returned result_recorded completed"},
		"a poll":                  {after: time.Minute, calls: 2, then: "result_recorded completed"},
		"a callback":              {callback: "passed", calls: 1, then: "result_recorded completed"},
		"a poll after a callback": {callback: "soon", calls: 2, then: "callback_received result_recorded completed"},
		"a poll after a forgery":  {returns: "forged", after: time.Minute, calls: 2, then: "result_recorded completed"},
	} {
		t.Run(name, func(t *testing.T) {
			k := enginetest.New(t, host)
			run, state, callback := led(t, k)
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			if err := k.Engine.Close(gone); err != nil {
				t.Fatal(err)
			}
			other := enginetest.New(t, func(p *engine.Ports, o *engine.Options) {
				p.Store, p.Clock, p.Providers["script"] = k.Store, k.Clock, k.Provider
				host(p, o)
			})
			other.Store, other.Clock = k.Store, k.Clock
			if j, err := other.Engine.ReadJourney(t.Context(), linkToken(run)); err != nil || j.Step == nil || j.Step.Away == nil || j.Step.Away.URL != signIn {
				t.Errorf("the other host shows %+v, %v, want the way to the bank", j.Step, err)
			}
			if tt.returns != "" {
				if id, err := other.Engine.ReceiveReturn(t.Context(), state, map[string]string{"result": tt.returns}); err != nil || id != run.ID {
					t.Errorf("the return is of %s, %v", id, err)
				}
			}
			if tt.callback != "" {
				callBack(t, other, callback, tt.callback)
			}
			other.Settle()
			other.Advance(tt.after)
			wantStatus(t, other.Run(run.ID), rules.StatusCompleted)
			if got := len(k.Provider.Calls("a")); got != tt.calls {
				t.Errorf("the provider was called %d times, want %d", got, tt.calls)
			}
			if got := historyOf(t, other, run.ID); !strings.HasSuffix(got, " redirected "+tt.then) {
				t.Errorf("the history is %s, want %s in the end", got, tt.then)
			}
		})
	}
}

// Members and elements are called beside each other, so that they cannot wait for the customer.
func TestAMemberAndAnElementLeadNobodyAway(t *testing.T) {
	each := chain("a")
	each = with(each, "a", func(n *workflow.Node) { n.ForEach = "[1, 2]" })
	for name, d := range map[string]workflow.Definition{"member": grouped(asItIs, "a", "b"), "element": each} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			k := enginetest.New(t, bankHost(t), func(_ *engine.Ports, o *engine.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
			k.Provider.On("a", enginetest.Lead(signIn, "ticket", time.Minute))
			run := start(k, d)
			k.Settle()
			run = k.Run(run.ID)
			if run.Error == nil || run.Error.Code != rules.CodeCheckUnavailable {
				t.Errorf("the run is %s with the error %v, want CHECK_UNAVAILABLE", run.Status, run.Error)
			}
			if got := log.String(); !strings.Contains(got, "which a member of a group or an element of a list cannot") || strings.Contains(got, signIn) {
				t.Errorf("the log says %s, want the cause without the URL", got)
			}
			for _, c := range k.Provider.Calls("a") {
				if c.ReturnURL != "" {
					t.Errorf("%s has the return URL %q, want none", c.Node, c.ReturnURL)
				}
			}
		})
	}
}
