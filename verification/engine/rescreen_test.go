// Tests of re-screening.

package engine_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/internal/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
)

// screener is a provider that screens against the list "sanctions".
type screener struct {
	mu      sync.Mutex
	version string
	hits    []verification.Hit // of everybody
	calls   map[verification.RunID]int
	before  func(verification.RunID) error // of each call of Rescreen; may be nil
	partly  []string                       // what is not compared, of everybody
}

func newScreener(version string) *screener {
	return &screener{version: version, calls: map[verification.RunID]int{}}
}

func (s *screener) Check(context.Context, verification.CheckRequest) (verification.CheckResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return verification.CheckResult{Outcome: verification.OutcomePassed, Data: map[string]any{"list": "sanctions", "list_version": s.version}}, nil
}

func (s *screener) ListVersions() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]string{"sanctions": s.version}
}

func (s *screener) Rescreen(_ context.Context, _ string, r verification.CheckRequest) (verification.Rescreening, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.before != nil {
		if err := s.before(r.Run); err != nil {
			return verification.Rescreening{}, err
		}
	}
	s.calls[r.Run]++
	return verification.Rescreening{ListVersion: s.version, Hits: s.hits, NotCompared: s.partly}, nil
}

// change makes another version of the list the current one.
func (s *screener) change(version string, hits ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version, s.hits = version, nil
	for _, id := range hits {
		s.hits = append(s.hits, verification.Hit{ID: id, Name: "Ivan Testov", Score: 0.9})
	}
}

// take returns the number of calls for each run since the last call.
func (s *screener) take() map[verification.RunID]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = map[verification.RunID]int{}
	return calls
}

// screens makes the provider "screen" of an engine.
func (s *screener) screens(p *engine.Ports, _ *engine.Options) {
	p.Providers = maps.Clone(p.Providers)
	p.Providers["screen"] = s
}

// screened is a workflow of a check that asks for re-screening.
func screened() verification.Definition {
	d := chain("a")
	return with(d, "a", func(n *verification.Node) {
		n.Provider, n.Rescreen = "screen", &verification.Rescreen{List: "sanctions", Every: verification.RescreenOnChange}
	})
}

// once returns a map that has 1 for each run.
func once(runs ...verification.RunDetail) map[verification.RunID]int {
	all := map[verification.RunID]int{}
	for _, r := range runs {
		all[r.ID] = 1
	}
	return all
}

func wantCalls(t *testing.T, what string, s *screener, want map[verification.RunID]int) {
	t.Helper()
	if diff := cmp.Diff(want, s.take()); diff != "" {
		t.Errorf("calls of Rescreen %s (-want +got):\n%s", what, diff)
	}
}

// hitsOf counts the events of new hits of a run.
func hitsOf(t *testing.T, s store.RunStore, id verification.RunID) (n int) {
	t.Helper()
	history, err := s.Load(t.Context(), enginetest.Tenant, id, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range history {
		if _, ok := e.Fact.(verification.HitsFound); ok {
			n++
		}
	}
	return n
}

func TestACompletedRunIsScreenedAgainWhenTheListChanges(t *testing.T) {
	s := newScreener("v1")
	k := enginetest.New(t, s.screens)
	d := screened()
	d.LifecycleWebhookURL = "https://app.example/hooks"
	before := start(k, d)
	k.Advance(5 * time.Minute)
	wantCalls(t, "before a change", s, once())

	s.change("v2", "e-1")
	k.Advance(2 * time.Minute)
	wantCalls(t, "after a change", s, once(before))
	run := k.Run(before.ID)
	if run.Status != verification.StatusCompleted || run.Decision != verification.DecisionReview || !run.CompletedAt.Equal(before.CompletedAt) {
		t.Errorf("run = %s, %s, %v; want completed, review and the same end", run.Status, run.Decision, run.CompletedAt)
	}
	if n := len(k.Notices.All()); n != 1 {
		t.Errorf("%d notices, want that of the end only", n)
	}
	queue, err := k.Store.List(t.Context(), enginetest.Tenant, store.RunQuery{
		PageQuery: store.PageQuery{Limit: 10}, Now: k.Clock.Now(), Cause: verification.CauseRescreened,
	})
	if err != nil || queue.Total != 1 {
		t.Errorf("%d runs with a new hit in the queue, %v; want 1", queue.Total, err)
	}
	if run = k.GiveVerdict(run.ID, verification.DecisionApprove); run.Decision != verification.DecisionApprove {
		t.Errorf("decision = %s, want approve", run.Decision)
	}

	s.change("v3", "e-1")
	k.Advance(2 * time.Minute)
	wantCalls(t, "after another change", s, once(before))
	if run = k.Run(run.ID); run.Decision != verification.DecisionApprove || hitsOf(t, k.Store, run.ID) != 1 {
		t.Errorf("decision = %s with %d events of hits, want approve and 1: the run knows the hit", run.Decision, hitsOf(t, k.Store, run.ID))
	}
	s.change("v2", "e-1")
	k.Advance(time.Hour)
	wantCalls(t, "after the file was put back", s, once(before))
}

func TestARunWhoseWorkflowDoesNotAskIsNotScreenedAgain(t *testing.T) {
	s := newScreener("v1")
	k := enginetest.New(t, s.screens)
	start(k, with(screened(), "a", func(n *verification.Node) { n.Rescreen = nil }))
	s.change("v2", "e-1")
	k.Advance(time.Hour)
	wantCalls(t, "of a workflow that does not ask", s, once())
}

func TestOnlyChecksThatAskAreScreenedAgain(t *testing.T) {
	s := newScreener("v1")
	k := enginetest.New(t, s.screens)
	d := chain("a", "b")
	d.Nodes["a"] = screened().Nodes["a"]
	run := start(k, with(d, "a", func(n *verification.Node) { n.Next = "b" }))
	s.change("v2")
	k.Advance(2 * time.Minute)
	wantCalls(t, "of a run with two checks", s, once(run))
	if passes, err := k.Engine.RescreenPasses(t.Context()); err != nil || passes[0].Runs != 1 || passes[0].Failed != 0 {
		t.Errorf("passes = %+v, %v; want one run and no failure", passes, err)
	}
}

func TestATenantsOwnProviderDoesNotRescreen(t *testing.T) {
	s := newScreener("v1")
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
		p.TenantProviders = map[verification.TenantID]map[string]verification.Provider{enginetest.Tenant: {"screen": s}}
	})
	if _, err := k.Engine.Apply(t.Context(), enginetest.Tenant, screened()); !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("apply = %v, want ErrInvalid", err)
	}
}

func TestARunThatCompletesAfterThePassIsScreenedAgain(t *testing.T) {
	s := newScreener("v1")
	k := enginetest.New(t, s.screens)
	d := with(screened(), "a", func(n *verification.Node) { n.Next = "review" })
	d.Nodes["review"] = verification.Node{Type: verification.NodeReview, Next: "done"}
	run := start(k, d)
	s.change("v2", "e-1")
	k.Advance(time.Hour)
	wantCalls(t, "before the run is completed", s, once())
	k.GiveVerdict(run.ID, verification.DecisionApprove)
	k.Advance(2 * time.Minute)
	wantCalls(t, "after the run is completed", s, once(run))
	if run = k.Run(run.ID); run.Decision != verification.DecisionReview {
		t.Errorf("decision = %s, want review", run.Decision)
	}
	k.GiveVerdict(start(k, d).ID, verification.DecisionApprove)
	k.Advance(2 * time.Minute)
	wantCalls(t, "of a run that was checked against the version of the pass", s, once())
}

func TestAListThatChangesDuringAPassBeginsAnother(t *testing.T) {
	s := newScreener("v1")
	k := enginetest.New(t, s.screens)
	w := k.Apply(screened())
	var runs []verification.RunDetail
	for range 120 { // more than a batch
		runs = append(runs, k.Start(w.ID, engine.StartRequest{ReferenceID: "x"}))
	}
	calls := 0
	s.before = func(verification.RunID) error {
		if calls++; calls == 110 {
			s.version = "v3"
		}
		return nil
	}
	s.change("v2")
	k.Advance(10 * time.Minute)
	found := s.take()
	for _, r := range runs {
		if found[r.ID] == 0 || found[r.ID] > 2 {
			t.Errorf("run %s was screened %d times, want once or twice", r.ID, found[r.ID])
		}
	}
	if passes, err := k.Engine.RescreenPasses(t.Context()); err != nil || len(passes) != 1 || passes[0].Version != "v3" || passes[0].Runs != len(runs) || passes[0].EndedAt.IsZero() {
		t.Errorf("passes = %+v, %v; want an ended one over v3 with all runs", passes, err)
	}
}

func TestAFailedRescreeningIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	s := newScreener("v1")
	k := enginetest.New(t, s.screens, func(_ *engine.Ports, o *engine.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	w := k.Apply(screened())
	first, broken, last := k.Start(w.ID, engine.StartRequest{ReferenceID: "1"}), k.Start(w.ID, engine.StartRequest{ReferenceID: "2"}), k.Start(w.ID, engine.StartRequest{ReferenceID: "3"})
	s.before = func(id verification.RunID) error {
		if id == broken.ID {
			panic("the name is odd")
		}
		return nil
	}
	s.change("v2")
	k.Advance(time.Hour)
	wantCalls(t, "with a broken run", s, once(first, last))
	if n := strings.Count(log.String(), "run not screened again"); n != 1 {
		t.Errorf("%d log lines of the broken run, want 1:\n%s", n, log.String())
	}
	passes, _ := k.Engine.RescreenPasses(t.Context())
	if p := passes[0]; p.Runs != 2 || p.Failed != 1 || p.EndedAt.IsZero() {
		t.Errorf("pass = %+v, want an ended one with 2 runs and 1 failure", p)
	}
	if strings.Contains(log.String(), "Testov") {
		t.Errorf("the log has a name:\n%s", log.String())
	}
}

func TestARunThatIsComparedInPartIsLoggedAndCounted(t *testing.T) {
	var log bytes.Buffer
	s := newScreener("v1")
	k := enginetest.New(t, s.screens, func(_ *engine.Ports, o *engine.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	run := k.Start(k.Apply(screened()).ID, engine.StartRequest{ReferenceID: "1"})
	s.partly = []string{"Testov is too long"}
	s.change("v2", "e-1")
	k.Advance(time.Hour)
	passes, _ := k.Engine.RescreenPasses(t.Context())
	if p := passes[0]; p.Failed != 1 || p.EndedAt.IsZero() || hitsOf(t, k.Store, run.ID) != 1 {
		t.Errorf("pass = %+v, %d hits; want an ended pass with 1 failure, and the hit recorded", p, hitsOf(t, k.Store, run.ID))
	}
	if text := log.String(); strings.Count(text, "node a: not everything was compared with the list") != 1 || strings.Contains(text, "Testov") {
		t.Errorf("log:\n%s\nwant one line without the name", text)
	}
}

func TestAFailedRescreeningIsRetriedAndDelaysNoOther(t *testing.T) {
	s := newScreener("v1")
	k := enginetest.New(t, s.screens)
	w := k.Apply(screened())
	var runs []verification.RunDetail
	for range 3 {
		runs = append(runs, k.Start(w.ID, engine.StartRequest{ReferenceID: "x"}))
	}
	tries := map[verification.RunID]int{}
	s.before = func(id verification.RunID) error {
		tries[id]++
		if id == runs[0].ID || id == runs[1].ID && tries[id] == 1 {
			return verification.Unavailable("search", "it is busy")
		}
		return nil
	}
	s.change("v2")
	k.Advance(time.Hour)
	wantCalls(t, "with runs that fail for a time", s, once(runs[1], runs[2]))
	passes, _ := k.Engine.RescreenPasses(t.Context())
	if p := passes[0]; p.Runs != 2 || p.Failed != 1 || p.EndedAt.IsZero() || tries[runs[0].ID] != 3 {
		t.Errorf("pass = %+v after %d tries, want an ended one with 2 runs and 1 failure after 3", p, tries[runs[0].ID])
	}
}

func TestABatchOfReScreeningEndsByTime(t *testing.T) {
	s := newScreener("v1")
	k := enginetest.New(t, s.screens)
	w := k.Apply(screened())
	for range 4 {
		k.Start(w.ID, engine.StartRequest{ReferenceID: "x"})
	}
	s.before = func(verification.RunID) error { return k.Clock.Sleep(t.Context(), 4*time.Second) }
	s.change("v2")
	k.Advance(70 * time.Second) // the check of the versions, and 10 s
	passes, err := k.Engine.RescreenPasses(t.Context())
	if err != nil || len(passes) != 1 || passes[0].Runs != 2 {
		t.Errorf("passes = %+v, %v; want one whose first batch of two runs is saved", passes, err)
	}
	k.Advance(2 * time.Minute)
	if passes, err = k.Engine.RescreenPasses(t.Context()); err != nil || passes[0].Runs != 4 {
		t.Errorf("passes = %+v, %v; want one with all runs", passes, err)
	}
}

func TestAReScreeningThatTakesTooLongIsAttemptedAgain(t *testing.T) {
	s := newScreener("v1")
	k := enginetest.New(t, s.screens)
	run := start(k, screened())
	slow := true
	s.before = func(verification.RunID) error {
		if slow {
			slow = false
			return k.Clock.Sleep(t.Context(), time.Minute)
		}
		return nil
	}
	s.change("v2")
	k.Advance(10 * time.Minute)
	if n := s.take()[run.ID]; n != 2 {
		t.Errorf("the run was screened %d times, want 2: the first took too long", n)
	}
	if passes, err := k.Engine.RescreenPasses(t.Context()); err != nil || passes[0].Runs != 1 || passes[0].Failed != 0 {
		t.Errorf("passes = %+v, %v; want one run and no failure", passes, err)
	}
}

func TestRescreeningContinuesAfterTheTenantServedLast(t *testing.T) {
	s := newScreener("v1")
	rescreens := &mock.RescreenStoreMock{}
	k := enginetest.New(t, s.screens, func(p *engine.Ports, _ *engine.Options) {
		own := p.Store
		rescreens.HoldListFunc, rescreens.SavePassFunc = own.HoldList, own.SavePass
		rescreens.OutdatedRunsFunc, rescreens.RescreenPassesFunc = own.OutdatedRuns, own.RescreenPasses
		p.Store = replace(own, func(all *ports) { all.RescreenStore = rescreens })
	})
	w := k.Apply(screened())
	for range 120 { // more than a batch
		k.Start(w.ID, engine.StartRequest{ReferenceID: "x"})
	}
	s.change("v2")
	k.Advance(10 * time.Minute)
	calls := rescreens.OutdatedRunsCalls()
	if first, last := calls[0].Q.After, calls[len(calls)-1].Q.After; first != "" || last != enginetest.Tenant {
		t.Errorf("the first batch is after tenant %q and the last after %q, want none and %q", first, last, enginetest.Tenant)
	}
}

// another serves another host on the store and the clock of a kit.
func another(t *testing.T, k *enginetest.Kit, s *screener, change func(*engine.Ports)) *engine.Engine {
	t.Helper()
	p := engine.Ports{
		Store: k.Store, Providers: map[string]verification.Provider{"script": k.Provider, "screen": s},
		Expressions: expression.New(), Links: enginetest.Links{}, Clock: k.Clock, NewID: enginetest.SeededIDs(2),
	}
	if change != nil {
		change(&p)
	}
	e, err := engine.New(p, engine.Options{QueueInterval: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var served sync.WaitGroup
	served.Go(func() { e.Serve(ctx) })
	<-e.Serving()
	t.Cleanup(func() {
		stop()
		served.Wait()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return e
}

func TestAnotherHostContinuesThePassOfADeadHost(t *testing.T) {
	s := newScreener("v1")
	var dead sync.Map
	k := enginetest.New(t, s.screens, func(p *engine.Ports, _ *engine.Options) {
		own := p.Store
		rescreens := &mock.RescreenStoreMock{OutdatedRunsFunc: own.OutdatedRuns, RescreenPassesFunc: own.RescreenPasses}
		rescreens.SavePassFunc = func(ctx context.Context, pass verification.RescreenPass, runs []verification.RunRef) error {
			if len(runs) > 0 && pass.Version == "v2" {
				dead.Store("host", true)
				return errors.New("the host died before it saved the batch")
			}
			return own.SavePass(ctx, pass, runs)
		}
		rescreens.HoldListFunc = func(ctx context.Context, list, holder string, now, until time.Time) (verification.RescreenPass, error) {
			if _, is := dead.Load("host"); is {
				return verification.RescreenPass{}, verification.Conflict("list", "the host is dead")
			}
			return own.HoldList(ctx, list, holder, now, until)
		}
		p.Store = replace(own, func(all *ports) { all.RescreenStore = rescreens })
	})
	w := k.Apply(screened())
	a, b := k.Start(w.ID, engine.StartRequest{ReferenceID: "1"}), k.Start(w.ID, engine.StartRequest{ReferenceID: "2"})
	s.change("v2", "e-1")
	k.Advance(2 * time.Minute)
	wantCalls(t, "of the host that dies", s, once(a, b))
	another(t, k, s, nil)
	k.Advance(time.Minute)
	wantCalls(t, "while the dead host holds the list", s, once())
	k.Advance(5 * time.Minute)
	wantCalls(t, "of the other host", s, once(a, b))
	for _, r := range []verification.RunDetail{a, b} {
		if n := hitsOf(t, k.Store, r.ID); n != 1 {
			t.Errorf("run %s has %d events of hits, want 1", r.ID, n)
		}
	}
}

func TestAHostThatStopsReleasesItsLists(t *testing.T) {
	s := newScreener("v1")
	k := enginetest.New(t, s.screens)
	run := k.Start(k.Apply(screened()).ID, engine.StartRequest{ReferenceID: "1"})
	k.Advance(2 * time.Minute)
	another(t, k, s, nil)
	if err := k.Engine.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.take()
	s.change("v2")
	k.Advance(time.Minute)
	wantCalls(t, "a minute after the host that held the list has stopped", s, once(run))
}

func TestHostsWithTwoVersionsDoNotScreenRunsForEver(t *testing.T) {
	first, second := newScreener("v1"), newScreener("v2")
	k := enginetest.New(t, first.screens)
	run := start(k, screened())
	another(t, k, second, nil)
	k.Advance(12 * time.Hour)
	if n := len(first.take()) + len(second.take()); n != 0 {
		t.Errorf("the run was screened again by %d hosts, want none: the holder has its version", n)
	}
	first.change("v3")
	k.Advance(12 * time.Hour)
	wantCalls(t, "of the host that holds the list", first, once(run))
	wantCalls(t, "of the other host", second, once())
}
