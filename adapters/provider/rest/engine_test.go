// Tests of whole runs: the engine, its API for callbacks, and a vendor in another
// process.

package rest_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/httpapi"
	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

const tenant verification.TenantID = "00000000-0000-7000-8000-0000000000aa"

// host is an engine with its API on a store.
type host struct {
	*engine.Engine
	store *memory.Store
	log   *buffer
	url   string
	stop  func() // stops serving, as a host that hangs does
	t     testing.TB
}

// buffer may be written and read by several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// newHost starts a host on a store until the test ends.
func newHost(t testing.TB, store *memory.Store, keys *token.Keys, providers map[string]verification.Provider) *host {
	t.Helper()
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	links := token.NewLinks(keys)
	log := &buffer{}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	e, err := engine.New(engine.Ports{
		Store: store, Providers: providers, Expressions: expression.New(), Links: links, Callbacks: links,
		Clock: clock.System{}, NewID: func() string { return uuid.Must(uuid.NewV7()).String() },
	}, engine.Options{PublicURL: server.URL, Lease: time.Second, Log: logger})
	if err != nil {
		t.Fatal(err)
	}
	handler = httpapi.New(e, httpapi.Options{Log: logger})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan struct{})
	go func() {
		defer close(served)
		e.Serve(ctx)
	}()
	<-e.Serving()
	t.Cleanup(func() {
		stop()
		<-served
		ended, cancel := context.WithCancel(context.WithoutCancel(ctx))
		cancel() // do not wait for hanging calls
		if err := e.Close(ended); err != nil {
			t.Error(err)
		}
	})
	return &host{Engine: e, store: store, log: log, url: server.URL, stop: stop, t: t}
}

// serve starts a host with one provider, which takes callbacks, on a new store.
func serve(t testing.TB, v *remote, changes map[string]any) *host {
	t.Helper()
	keys, err := token.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	return newHost(t, memory.New(), keys, map[string]verification.Provider{"registry": v.provider(changes)})
}

// begin starts a run of one check of a scenario and waits until it ends, at most for
// wait.
func (h *host) begin(scenario string, wait time.Duration) verification.RunID {
	h.t.Helper()
	with, err := verification.NewData(map[string]any{"scenario": "${input.scenario}", "number": "${input.number}"})
	if err != nil {
		h.t.Fatal(err)
	}
	applied, err := h.Apply(h.t.Context(), tenant, workflow.Definition{
		Workflow: "check", Name: "Check", Start: "pan", Nodes: map[verification.NodeID]workflow.Node{
			"pan": {
				Type: workflow.NodeCheck, Provider: "registry", With: with, Next: "done",
				Retry: &workflow.Retry{MaxDispatches: 4, BackoffSeconds: 0.05, MaxBackoffSeconds: 0.2},
			},
			"done": {Type: workflow.NodeEnd},
		},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	input, err := verification.NewData(map[string]any{"scenario": scenario, "number": number})
	if err != nil {
		h.t.Fatal(err)
	}
	run, err := h.Start(h.t.Context(), tenant, applied.Workflow.ID, engine.StartRequest{ReferenceID: "person-1", Input: input, Wait: &wait})
	if err != nil {
		h.t.Fatal(err)
	}
	return run.ID
}

// history returns the events of a run as words, and as JSON.
func (h *host) history(id verification.RunID) (words, raw string) {
	h.t.Helper()
	events, err := h.store.Load(h.t.Context(), tenant, id, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	var names []string
	for _, e := range events {
		text, err := rules.EncodeEvent(e)
		if err != nil {
			h.t.Fatal(err)
		}
		names, raw = append(names, e.Kind()), raw+string(text)+"\n"
	}
	return strings.Join(names, " "), raw
}

// await waits until a run has ended.
func (h *host) await(id verification.RunID) rules.RunDetail {
	h.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-tick.C {
		d, err := h.Run(h.t.Context(), tenant, id)
		if err != nil {
			h.t.Fatal(err)
		}
		if d.Status.Terminal() {
			return d
		}
	}
	words, _ := h.history(id)
	h.t.Fatalf("the run did not end: %s", words)
	return rules.RunDetail{}
}

const ends = time.Minute

// number is personal data: a run has it, and no log and no cause of a failure.
const number = "ABCDE1234F"

func TestARunWithEachBehaviourOfAVendor(t *testing.T) {
	v := start(t)
	// A dispatch may take half a minute, except where it is to time out, and where it must
	// not wait for the second that the vendor asks for.
	timeouts := map[string]float64{"busy": 0.9, "once": 3, "hang": 0.5}
	for _, tt := range []struct {
		scenario string
		status   rules.Status
		history  string
	}{
		{"valid", rules.StatusCompleted, "started dispatched result_recorded completed"},
		{"invalid", rules.StatusFailed, "started dispatched result_recorded failed"},
		{"poll", rules.StatusCompleted, "started dispatched result_pending result_recorded completed"},
		{"early", rules.StatusCompleted, "started dispatched callback_received result_pending result_recorded completed"},
		{"busy", rules.StatusCompleted, "started dispatched dispatch_failed dispatched result_recorded completed"},
		{"broken", rules.StatusCompleted, "started dispatched dispatch_failed dispatched dispatch_failed dispatched result_recorded completed"},
		{"reset", rules.StatusCompleted, "started dispatched result_recorded completed"},
		{"once", rules.StatusCompleted, "started dispatched dispatch_failed dispatched result_recorded completed"},
		{"hang", rules.StatusFailed, "started dispatched dispatch_failed dispatched dispatch_failed dispatched dispatch_failed dispatched dispatch_failed result_unavailable failed"},
		{"huge", rules.StatusFailed, "started dispatched dispatch_failed result_unavailable failed"},
		{"text", rules.StatusFailed, "started dispatched dispatch_failed result_unavailable failed"},
		{"redirect", rules.StatusFailed, "started dispatched dispatch_failed result_unavailable failed"},
	} {
		t.Run(tt.scenario, func(t *testing.T) {
			t.Parallel()
			h := serve(t, v, withSignature(map[string]any{"limits.timeout_seconds": cmp.Or(timeouts[tt.scenario], 30)}))
			id := h.begin(tt.scenario, ends)
			d := h.await(id)
			words, raw := h.history(id)
			if d.Status != tt.status || words != tt.history {
				t.Errorf("%s, %s; want %s, %s\n%s", d.Status, words, tt.status, tt.history, raw)
			}
			if strings.Contains(raw, canary) {
				t.Errorf("the history has what only the vendor knows:\n%s", raw)
			}
			for line := range strings.Lines(raw) {
				if strings.Contains(line, `"cause"`) && strings.Contains(line, number) {
					t.Errorf("a cause has personal data:\n%s", line)
				}
			}
			if log := h.log.String(); strings.Contains(log, canary) || strings.Contains(log, number) {
				t.Errorf("the log has a secret or personal data:\n%s", log)
			}
			// Each dispatch has its key, and every request of it the same one.
			keys := map[string]int{}
			for _, one := range v.seen(tt.scenario) {
				if one.Key != "" {
					keys[one.Key]++
				}
			}
			if want := strings.Count(words, "dispatched"); len(keys) != want {
				t.Errorf("idempotency keys = %v, want one for each of %d dispatches", keys, want)
			}
		})
	}
}

func TestACallbackEndsTheWait(t *testing.T) {
	v := start(t)
	for name, changes := range map[string]map[string]any{
		"poll at once": {"poll.every_seconds": 3600}, "result in the callback": {"poll": nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := serve(t, v, withSignature(changes))
			id := h.begin("callback", time.Millisecond)
			url := callbackOf(t, h, v, id)
			waitFor(t, h, id, "started dispatched result_pending")
			const body = `{"result":"VALID","score":0.5}`
			if status := callBack(url, body, "forged"); status != http.StatusForbidden {
				t.Errorf("forged: %d, want 403", status)
			}
			if status := callBack(h.url+"/callbacks/nonsense", body, hookKey); status != http.StatusNotFound {
				t.Errorf("wrong token: %d, want 404", status)
			}
			if words, _ := h.history(id); words != "started dispatched result_pending" {
				t.Errorf("history = %s, want nothing of the forged callbacks", words)
			}
			for range 2 {
				if status := callBack(url, body, hookKey); status != http.StatusOK {
					t.Errorf("callback: %d, want 200", status)
				}
			}
			if d := h.await(id); d.Status != rules.StatusCompleted {
				t.Errorf("status = %s, want completed", d.Status)
			}
			words, raw := h.history(id)
			if status := callBack(url, `{"result":"INVALID"}`, hookKey); status != http.StatusOK {
				t.Errorf("late callback: %d, want 200", status)
			}
			if after, _ := h.history(id); after != words {
				t.Errorf("history after a late callback = %s, want %s", after, words)
			}
			if log := h.log.String(); strings.Contains(log+raw, canary) || strings.Contains(log, strings.TrimPrefix(url, h.url)) {
				t.Errorf("log or history have a secret:\n%s\n%s", raw, log)
			}
		})
	}
}

// callbackOf returns the callback URL that the vendor received for a run.
func callbackOf(t *testing.T, h *host, v *remote, id verification.RunID) string {
	t.Helper()
	waitFor(t, h, id, "started dispatched result_pending")
	for _, one := range v.seen("callback") {
		if strings.HasPrefix(one.Key, string(id)) {
			return one.Callback
		}
	}
	t.Fatal("the vendor received no callback URL")
	return ""
}

// waitFor waits until the history of a run is this one.
func waitFor(t *testing.T, h *host, id verification.RunID, want string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-tick.C {
		if words, _ := h.history(id); words == want {
			return
		}
	}
	words, _ := h.history(id)
	t.Fatalf("history = %s, want %s", words, want)
}

func TestAHostThatDiesBetweenCallAndAnswerLosesNothing(t *testing.T) {
	v := start(t)
	keys, err := token.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	store := memory.New()
	providers := map[string]verification.Provider{"registry": v.provider(map[string]any{"limits.timeout_seconds": 60})}
	first := newHost(t, store, keys, providers)
	id := first.begin("once", time.Millisecond)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); len(v.seen("once")) == 0; <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("the vendor was not called")
		}
	}
	first.stop() // its lease is no longer renewed, and its call never returns
	second := newHost(t, store, keys, providers)
	if d := second.await(id); d.Status != rules.StatusCompleted || d.Decision != rules.DecisionNone {
		t.Errorf("run = %+v, want it completed without a flag", d)
	}
	calls := v.seen("once")
	if len(calls) != 2 || calls[0].Key != calls[1].Key || calls[0].Key != string(id)+"/pan/1" {
		t.Errorf("calls = %+v, want two with the same idempotency key", calls)
	}
	if words, _ := second.history(id); words != "started dispatched result_recorded completed" {
		t.Errorf("history = %s, want one dispatch", words)
	}
}

// silent is a provider that does not describe itself.
type silent struct{}

func (silent) Check(context.Context, verification.CheckRequest) (verification.CheckResult, error) {
	return verification.CheckResult{}, nil
}

func TestAVersionThatNeedsDataKeepsItsMeaning(t *testing.T) {
	keys, err := token.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	store, v := memory.New(), start(t)
	workflow := func(when string) workflow.Definition {
		end := func(outcome string) workflow.Node {
			return workflow.Node{Type: workflow.NodeEnd, Outcome: outcome}
		}
		return workflow.Definition{
			Workflow: "check", Name: "Check", Start: "pan", Nodes: map[verification.NodeID]workflow.Node{
				"pan": {
					Type: workflow.NodeCheck, Provider: "registry", OnFailed: "next", OnUnavailable: "outage", Next: "score",
					With: verification.DataOf(map[string]any{"scenario": "body", "number": "${input.number}"}),
				},
				"score":  {Type: workflow.NodeBranch, Rules: []workflow.Rule{{When: when, Next: "high"}}, Else: "low"},
				"outage": end("outage"), "high": end("high"), "low": end("low"),
			},
		}
	}
	before := newHost(t, store, keys, map[string]verification.Provider{"registry": silent{}})
	older, err := before.Apply(t.Context(), tenant, workflow("steps.pan.data.name_match > 0.5"))
	if err != nil {
		t.Fatal(err)
	}
	before.stop()
	h := newHost(t, store, keys, map[string]verification.Provider{"registry": v.provider(nil)})
	outcome := func(body string) string {
		wait, input := 10*time.Second, verification.DataOf(map[string]any{"number": "200 application/json|" + base64.StdEncoding.EncodeToString([]byte(body))})
		run, err := h.Start(t.Context(), tenant, older.Workflow.ID, engine.StartRequest{ReferenceID: "person-1", Input: input, Wait: &wait})
		if err != nil {
			t.Fatal(err)
		}
		events, err := store.Load(t.Context(), tenant, run.ID, 0) // an outcome is not shown while a verdict is owed
		if err != nil {
			t.Fatal(err)
		}
		end, _ := events[len(events)-1].Fact.(rules.Completed)
		return string(run.Status) + " " + end.Outcome
	}
	answers := map[string]string{`{"result":"VALID","score":0.9}`: "completed high", `{"result":"INVALID","score":0.9}`: "completed high", `{"result":"INVALID"}`: "completed outage"}
	for body, want := range answers {
		if got := outcome(body); got != want {
			t.Errorf("%s in the older version: %s, want %s as ever", body, got, want)
		}
	}
	if _, err := h.Apply(t.Context(), tenant, workflow("steps.pan.data.name_match > 0.4")); err == nil || !strings.Contains(err.Error(), "the check pan may have failed here") {
		t.Errorf("Apply of the same again: %v, want the problem", err)
	}
	if _, err := h.Apply(t.Context(), tenant, workflow("steps.pan.?data.?name_match.orValue(0.0) > 0.5")); err != nil {
		t.Fatal(err)
	}
	answers[`{"result":"INVALID"}`] = "completed low"
	for body, want := range answers {
		if got := outcome(body); got != want {
			t.Errorf("%s in the newer version: %s, want %s", body, got, want)
		}
	}
}
