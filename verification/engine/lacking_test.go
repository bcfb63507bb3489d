// Tests of hosts that differ: one lacks what the next step of a run needs.

package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// lines is a log.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

// with returns the lines that have all the texts.
func (l *lines) with(texts ...string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
line:
	for line := range strings.Lines(l.all.String()) {
		for _, text := range texts {
			if !strings.Contains(line, text) {
				continue line
			}
		}
		found = append(found, strings.TrimSpace(line))
	}
	return found
}

func logTo(l *lines) enginetest.Change {
	return func(_ *engine.Ports, o *engine.Options) { o.Log = slog.New(slog.NewTextHandler(l, nil)) }
}

// inFleet makes a host one of several on a store.
func inFleet(_ *engine.Ports, o *engine.Options) { o.QueueInterval = 2 * time.Second }

// beside makes a host on the store and under the clock of k.
func beside(t *testing.T, k *enginetest.Kit, changes ...enginetest.Change) *enginetest.Kit {
	t.Helper()
	made := enginetest.New(t, append([]enginetest.Change{func(p *engine.Ports, o *engine.Options) {
		p.Store, p.Clock, p.NewID = k.Store, k.Clock, k.IDs
		inFleet(p, o)
	}}, changes...)...)
	made.Clock = k.Clock
	return made
}

// bureau is a chain whose node b calls the provider bureau.
func bureau() workflow.Definition {
	return with(chain("a", "b", "c"), "b", func(n *workflow.Node) { n.Provider = "bureau" })
}

// having adds a scripted provider bureau.
func having(p **enginetest.Script) enginetest.Change {
	return func(ports *engine.Ports, _ *engine.Options) {
		if *p == nil {
			*p = enginetest.NewScript(func(context.Context, time.Duration) error { return nil })
		}
		ports.Providers["bureau"] = *p
	}
}

func TestAHostLeavesARunWhoseProviderItLacksToOthers(t *testing.T) {
	for _, first := range []string{"old", "new"} {
		var vendor *enginetest.Script
		var log lines
		var old, current *enginetest.Kit
		if first == "old" {
			old = enginetest.New(t, inFleet, logTo(&log))
			current = beside(t, old, having(&vendor))
		} else {
			current = enginetest.New(t, inFleet, having(&vendor))
			old = beside(t, current, logTo(&log))
		}
		w := current.Apply(bureau())
		for n := range 20 {
			v, err := old.Engine.Start(t.Context(), enginetest.Tenant, w.ID, engine.StartRequest{ReferenceID: fmt.Sprint(n)})
			if err != nil {
				t.Fatal(err)
			}
			old.Advance(2 * time.Second) // the new host looks at the queue
			run := current.Run(v.ID)
			wantStatus(t, run, rules.StatusCompleted)
		}
		if calls := len(vendor.Calls("b")); calls != 20 {
			t.Errorf("with the %s host first, 20 runs made %d calls of the provider", first, calls)
		}
		if got := log.with("level=ERROR", "run left to other hosts", `there is no provider \"bureau\"`); len(got) != 1 {
			t.Errorf("the old host wrote %d lines in a minute, want one: %q", len(got), got)
		}
	}
}

// takes counts the calls of Take that a host makes, and the runs that it is given.
func takes(counted *int) enginetest.Change {
	var mu sync.Mutex
	return func(p *engine.Ports, _ *engine.Options) {
		own := p.Store
		p.Store = replace(own, func(s *ports) {
			s.WorkQueue = &mock.WorkQueueMock{
				FinishFunc: own.Finish, PostponeFunc: own.Postpone, ReleaseFunc: own.Release, RenewFunc: own.Renew,
				TakeFunc: func(ctx context.Context, r store.TakeRequest) ([]store.Work, time.Time, error) {
					work, next, err := own.Take(ctx, r)
					mu.Lock()
					defer mu.Unlock()
					*counted += len(work)
					return work, next, err
				},
			}
		})
	}
}

func TestACheckThatNoHostCanMakeIsUnavailableInTime(t *testing.T) {
	for _, hosts := range []string{"one process", "hosts on one store"} {
		var log lines
		var taken int
		changes := []enginetest.Change{logTo(&log), takes(&taken)}
		if hosts != "one process" {
			changes = append(changes, inFleet)
		}
		var vendor *enginetest.Script
		k := enginetest.New(t, changes...)
		applier := operator(t, k, func(p *engine.Ports) { having(&vendor)(p, nil) })
		applied, err := applier.Apply(t.Context(), enginetest.Tenant, bureau())
		if err != nil {
			t.Fatal(err)
		}
		run := k.Start(applied.Workflow.ID, engine.StartRequest{ReferenceID: "x"})
		if got := log.with("level=ERROR", "run left to other hosts", "at_most=1h0m0s"); len(got) != 1 {
			t.Errorf("%s: the log has %q, want one line at once", hosts, got)
		}
		k.Advance(time.Hour - time.Second)
		wantStatus(t, k.Run(run.ID), rules.StatusInProgress)
		if taken > 100 {
			t.Errorf("%s: the run was taken %d times in an hour, want growing waits", hosts, taken)
		}
		k.Advance(time.Second + 2*time.Second) // it was left for two seconds when it was saved
		run = k.Run(run.ID)
		wantStatus(t, run, rules.StatusFailed)
		if run.Error.Code != rules.CodeCheckUnavailable {
			t.Errorf("%s: the error is %+v", hosts, run.Error)
		}
		if got := log.with("level=WARN", `msg="dispatch failed"`, "provider=bureau", "node=b", string(run.ID)); len(got) != 1 {
			t.Errorf("%s: the log has %q", hosts, got)
		}
	}
}

func TestTheWaitForAProviderSurvivesARestart(t *testing.T) {
	var vendor *enginetest.Script
	k := enginetest.New(t, inFleet)
	applied, err := operator(t, k, func(p *engine.Ports) { having(&vendor)(p, nil) }).Apply(t.Context(), enginetest.Tenant,
		with(bureau(), "b", func(n *workflow.Node) { n.Fallback = "script" }))
	if err != nil {
		t.Fatal(err)
	}
	run := k.Start(applied.Workflow.ID, engine.StartRequest{ReferenceID: "x"})
	k.Advance(58 * time.Minute)
	if err := k.Engine.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	beside(t, k)
	k.Advance(time.Minute)
	wantStatus(t, k.Run(run.ID), rules.StatusInProgress)
	k.Advance(2 * time.Minute)
	wantStatus(t, k.Run(run.ID), rules.StatusCompleted) // by the fallback
}

func TestAPollIsLeftToAHostThatHasTheProvider(t *testing.T) {
	var vendor *enginetest.Script
	old := enginetest.New(t, inFleet)
	current := beside(t, old, having(&vendor))
	vendor.On("b", enginetest.Pend("h", 10*time.Minute), enginetest.Pend("h", 2*time.Hour), enginetest.Pass(nil))
	w := current.Apply(bureau())
	v, err := current.Engine.Start(t.Context(), enginetest.Tenant, w.ID, engine.StartRequest{ReferenceID: "x"})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 * 60 * 30 { // the poll at two hours is later than the wait for a provider
		old.Advance(2 * time.Second)
	}
	wantStatus(t, current.Run(v.ID), rules.StatusCompleted)
	if calls := len(vendor.Calls("b")); calls != 3 {
		t.Errorf("the provider was called %d times, want a dispatch and two polls", calls)
	}
}

func TestAProviderMaySayThatThisHostLacksSomething(t *testing.T) {
	var vendor *enginetest.Script
	old := enginetest.New(t, inFleet, func(p *engine.Ports, _ *engine.Options) {
		p.Providers["bureau"] = &mock.ProviderMock{CheckFunc: func(context.Context, verification.CheckRequest) (verification.CheckResult, error) {
			return verification.CheckResult{}, verification.Lacking(errors.New("there is no list of this name"))
		}}
	})
	w := old.Apply(bureau())
	run := old.Start(w.ID, engine.StartRequest{ReferenceID: "x"})
	alone := old.Start(w.ID, engine.StartRequest{ReferenceID: "y"})
	wantStatus(t, run, rules.StatusInProgress)
	beside(t, old, having(&vendor))
	old.Advance(2 * time.Second)
	for _, id := range []verification.RunID{run.ID, alone.ID} {
		wantStatus(t, old.Run(id), rules.StatusCompleted)
	}
	if calls := vendor.Calls("b"); len(calls) != 2 || calls[0].Dispatch != 1 {
		t.Errorf("the calls are %+v, want the first dispatch of each run", calls)
	}
}

func TestAHostLeavesRunsOfDefinitionsItDoesNotKnow(t *testing.T) {
	var log lines
	old := enginetest.New(t, inFleet, logTo(&log), func(p *engine.Ports, _ *engine.Options) {
		own := p.Store
		p.Store = replace(own, func(s *ports) {
			versions := mock.WorkflowStoreMock{WorkflowFunc: own.Workflow}
			versions.VersionFunc = func(ctx context.Context, t verification.TenantID, id verification.WorkflowID, hash string) (workflow.Version, error) {
				v, err := own.Version(ctx, t, id, hash)
				v.Definition.Name = "" // as if this build did not know names
				return v, err
			}
			s.WorkflowStore = &versions
		})
	})
	front := operator(t, old, nil)
	applied, err := front.Apply(t.Context(), enginetest.Tenant, chain("a"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := front.Start(t.Context(), enginetest.Tenant, applied.Workflow.ID, engine.StartRequest{ReferenceID: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.Engine.Start(t.Context(), enginetest.Tenant, applied.Workflow.ID, engine.StartRequest{ReferenceID: "x"}); !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("Start = %v, want it unavailable on this host", err)
	}
	old.Advance(3 * time.Hour) // many leases long
	wantStatus(t, old.Run(v.ID), rules.StatusInProgress)
	if got := log.with("level=ERROR", "this build does not know a part of version"); len(got) == 0 || len(got) > 200 {
		t.Errorf("the log has %d lines", len(got))
	}
	beside(t, old)
	old.Advance(2 * time.Second)
	wantStatus(t, old.Run(v.ID), rules.StatusCompleted)
}

func TestACallbackForAProviderThatTheHostLacksIsNotLost(t *testing.T) {
	var log lines
	v := &caller{}
	keys := must(token.NewKeys())
	links := func(p *engine.Ports, _ *engine.Options) { p.Callbacks = token.NewLinks(keys) }
	old := enginetest.New(t, inFleet, links, logTo(&log))
	current := beside(t, old, links, func(p *engine.Ports, _ *engine.Options) { p.Providers["bureau"] = v })
	w := current.Apply(bureau())
	run := current.Start(w.ID, engine.StartRequest{ReferenceID: "x"})
	_, callback, _ := strings.Cut(v.url, engine.CallbackPath)
	c := verification.Callback{Body: []byte("secret: passed")}
	if err := old.Engine.ReceiveCallback(t.Context(), callback, c); !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("ReceiveCallback on the old host = %v, want it unavailable", err)
	}
	if got := log.with("level=ERROR", "callback refused", "provider=bureau", string(run.ID)); len(got) != 1 {
		t.Errorf("the log has %q", got)
	}
	if err := current.Engine.ReceiveCallback(t.Context(), callback, c); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, current.Run(run.ID), rules.StatusCompleted)
}

func TestARefusedCallbackLeavesALine(t *testing.T) {
	var log lines
	v := &caller{}
	k := enginetest.New(t, logTo(&log), func(p *engine.Ports, _ *engine.Options) {
		p.Providers["bureau"], p.Callbacks = v, token.NewLinks(must(token.NewKeys()))
	})
	run := start(k, bureau())
	_, callback, _ := strings.Cut(v.url, engine.CallbackPath)
	if err := k.Engine.ReceiveCallback(t.Context(), callback, verification.Callback{Body: []byte("guessed")}); !errors.Is(err, verification.ErrUnauthenticated) {
		t.Fatal(err)
	}
	if got := log.with("level=WARN", "callback refused", "provider=bureau", "reason=unauthenticated", string(run.ID)); len(got) != 1 {
		t.Errorf("the log has %q", got)
	}
}

func TestFailedDispatchesLeaveOneLineAMinute(t *testing.T) {
	var log lines
	k := enginetest.New(t, logTo(&log))
	k.Provider.On("a", enginetest.Refuse())
	w := k.Apply(chain("a"))
	for range 30 {
		k.Start(w.ID, engine.StartRequest{ReferenceID: "x"})
	}
	if got := log.with("level=WARN", `msg="dispatch failed"`, "provider=script", "node=a", "run=", "cause="); len(got) != 1 {
		t.Errorf("30 failed dispatches wrote %d lines, want one: %q", len(got), got)
	}
	k.Advance(time.Minute)
	k.Start(w.ID, engine.StartRequest{ReferenceID: "x"})
	if got := log.with("level=WARN", "left_out=29"); len(got) != 1 {
		t.Errorf("the line of the next minute is %q, want it to count the others", got)
	}
}

// ends counts the runs that completed without a value of their data.
type ends struct {
	engine.Observer

	incomplete atomic.Int64
}

func (*ends) ProviderCalled(string, string, time.Duration) {}
func (e *ends) Counted(found []store.Measure) {
	for _, m := range found {
		if m.Name == store.MeasureIncomplete && m.Parts().Node == "done" {
			e.incomplete.Add(int64(m.Count))
		}
	}
}

func TestAnEndWithoutAValueOfItsDataLeavesALine(t *testing.T) {
	var log lines
	var counted ends
	k := enginetest.New(t, logTo(&log), func(_ *engine.Ports, o *engine.Options) { o.Observer = &counted })
	w := k.Apply(with(chain("a"), "done", func(n *workflow.Node) { n.Data = verification.Data(`{"level":"${input.level}"}`) }))
	begin := func(input string) rules.RunDetail {
		run := k.Start(w.ID, engine.StartRequest{ReferenceID: "x", Input: verification.Data(input)})
		wantStatus(t, run, rules.StatusCompleted)
		return run
	}
	const message = `msg="run completed without a value of its data"`
	if run := begin(`{"level":"secret-7"}`); run.Data.String() != `{"level":"secret-7"}` || counted.incomplete.Load() != 0 || len(log.with(message)) != 0 {
		t.Errorf("data %s, %d counted, the log %q; want its data and no line", run.Data, counted.incomplete.Load(), log.with(message))
	}
	first := begin(`{"grade":"secret-7"}`)
	for range 4 {
		begin(`{"grade":"secret-7"}`)
	}
	line := []string{"level=WARN", message, "node=done", "run=" + string(first.ID), "tenant=" + string(enginetest.Tenant), `cause="data: level: input.level has no value"`}
	if got := log.with(line...); first.Data != nil || len(got) != 1 || len(log.with(message)) != 1 {
		t.Errorf("5 runs without data wrote %q, want one line with %q", log.with(message), line)
	}
	begin(`{"level":"` + strings.Repeat("secret-7", workflow.MaxEndData/8) + `"}`)
	if got := log.with("level=WARN", message, "an end keeps at most 16384"); len(got) != 1 {
		t.Errorf("a run whose data is too large wrote %q", log.with(message))
	}
	k.Advance(time.Minute)
	last := begin(`{}`)
	if got := log.with(message, "run="+string(last.ID), "left_out=4"); len(got) != 1 {
		t.Errorf("the line of the next minute is %q, want it to count the others", got)
	}
	if got := counted.incomplete.Load(); got != 7 {
		t.Errorf("%d runs are counted, want 7", got)
	}
	if got := log.with("secret-7"); len(got) > 0 {
		t.Errorf("the log has the input of runs: %q", got)
	}
}

func TestCausesThatDifferInEachRunAreBounded(t *testing.T) {
	var log lines
	k := enginetest.New(t, logTo(&log), func(p *engine.Ports, _ *engine.Options) {
		p.Providers["script"] = &mock.ProviderMock{CheckFunc: func(_ context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
			return verification.CheckResult{}, verification.Permanent(errors.New("no answer to " + string(r.Run)))
		}}
	})
	w := k.Apply(chain("a"))
	for range 30 {
		k.Start(w.ID, engine.StartRequest{ReferenceID: "x"})
	}
	if got := log.with(`msg="dispatch failed"`); len(got) != 10 {
		t.Errorf("30 causes of one provider wrote %d lines in a minute, want 10", len(got))
	}
}

func TestATakeoverLeavesALine(t *testing.T) {
	var log lines
	k := enginetest.New(t, inFleet, logTo(&log))
	w := k.Apply(chain("a"))
	// A host that died: it took the run, and saved nothing.
	front := operator(t, k, nil)
	v, err := front.Start(t.Context(), enginetest.Tenant, w.ID, engine.StartRequest{ReferenceID: "x"})
	if err != nil {
		t.Fatal(err)
	}
	taken, _, err := k.Store.Take(t.Context(), store.TakeRequest{
		Kind: store.WorkAdvance, Now: k.Clock.Now(), Lease: 20 * time.Second, Max: 10, MaxPerTenant: 10,
	})
	if err != nil || len(taken) != 1 {
		t.Fatalf("Take = %v, %v", taken, err)
	}
	k.Advance(time.Minute)
	wantStatus(t, k.Run(v.ID), rules.StatusCompleted)
	if got := log.with("level=WARN", "run taken over", string(v.ID)); len(got) != 1 {
		t.Errorf("the log has %q", got)
	}
}
