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
	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// screener is a provider that screens against the list "sanctions".
type screener struct {
	mu      sync.Mutex
	list    string // in its results
	version string
	hits    []verification.Hit // of everybody
	calls   map[verification.RunID]int
	before  func(verification.RunID) error // of each call of Rescreen; may be nil
	partly  []string                       // what is not compared, of everybody
}

func newScreener(version string) *screener {
	return &screener{list: "sanctions", version: version, calls: map[verification.RunID]int{}}
}

func (s *screener) Check(context.Context, verification.CheckRequest) (verification.CheckResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	result := &verification.ScreeningResult{List: s.list, ListVersion: s.version, Hits: s.hits}
	return verification.CheckResult{Outcome: verification.OutcomePassed, Screening: result}, nil
}

func (s *screener) ListVersions() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]string{"sanctions": s.version}
}

func (s *screener) Rescreen(_ context.Context, _ string, r verification.CheckRequest) (verification.ScreeningResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.before != nil {
		if err := s.before(r.Run); err != nil {
			return verification.ScreeningResult{}, err
		}
	}
	s.calls[r.Run]++
	return verification.ScreeningResult{List: s.list, ListVersion: s.version, Hits: s.hits, NotCompared: s.partly}, nil
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
func screened() workflow.Definition {
	d := chain("a")
	return with(d, "a", func(n *workflow.Node) {
		n.Provider, n.Rescreen = "screen", &workflow.Rescreen{List: "sanctions", Every: workflow.RescreenOnChange}
	})
}

// once returns a map that has 1 for each run.
func once(runs ...rules.RunDetail) map[verification.RunID]int {
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
		if _, ok := e.Fact.(rules.HitsFound); ok {
			n++
		}
	}
	return n
}

// wantPass wants the last pass over the list to be over a version, with a number of runs,
// and ended.
func wantPass(t *testing.T, k *enginetest.Kit, version string, runs int) {
	t.Helper()
	passes, err := k.Engine.RescreenPasses(t.Context())
	if err != nil || len(passes) != 1 || passes[0].Version != version || passes[0].Runs != runs || passes[0].EndedAt.IsZero() {
		t.Errorf("passes = %+v, %v; want an ended one over %s with %d runs", passes, err, version, runs)
	}
}

// wantRescreened wants a number of re-screenings for each outcome.
func (o *observed) wantRescreened(t *testing.T, want map[string]int) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	got := map[string]int{}
	for _, what := range o.got {
		if outcome, ok := strings.CutPrefix(what, "rescreened sanctions "); ok {
			got[outcome]++
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcomes of re-screening (-want +got):\n%s", diff)
	}
}

func (o *observed) observe(_ *engine.Ports, opt *engine.Options) { opt.Observer = o }

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
	if run.Status != rules.StatusCompleted || run.Decision != rules.DecisionReview || !run.CompletedAt.Equal(before.CompletedAt) {
		t.Errorf("run = %s, %s, %v; want completed, review and the same end", run.Status, run.Decision, run.CompletedAt)
	}
	if n := len(k.Notices.All()); n != 1 {
		t.Errorf("%d notices, want that of the end only", n)
	}
	queue, err := k.Store.List(t.Context(), enginetest.Tenant, store.RunQuery{
		PageQuery: store.PageQuery{Limit: 10}, Now: k.Clock.Now(), Cause: rules.CauseRescreened,
	})
	if err != nil || queue.Total != 1 {
		t.Errorf("%d runs with a new hit in the queue, %v; want 1", queue.Total, err)
	}
	if run = k.GiveVerdict(run.ID, rules.DecisionApprove); run.Decision != rules.DecisionApprove {
		t.Errorf("decision = %s, want approve", run.Decision)
	}

	s.change("v3", "e-1")
	k.Advance(2 * time.Minute)
	wantCalls(t, "after another change", s, once(before))
	if run = k.Run(run.ID); run.Decision != rules.DecisionApprove || hitsOf(t, k.Store, run.ID) != 1 {
		t.Errorf("decision = %s with %d events of hits, want approve and 1: the run knows the hit", run.Decision, hitsOf(t, k.Store, run.ID))
	}
	s.change("v2", "e-1")
	k.Advance(time.Hour)
	wantCalls(t, "after the file was put back", s, once(before))
}

func TestARunWhoseWorkflowDoesNotAskIsNotScreenedAgain(t *testing.T) {
	s := newScreener("v1")
	k := enginetest.New(t, s.screens)
	start(k, with(screened(), "a", func(n *workflow.Node) { n.Rescreen = nil }))
	s.change("v2", "e-1")
	k.Advance(time.Hour)
	wantCalls(t, "of a workflow that does not ask", s, once())
}

func TestAHitOfTheCheckIsNotNew(t *testing.T) {
	s := newScreener("v1")
	var seen observed
	k := enginetest.New(t, s.screens, seen.observe)
	s.change("v1", "e-1")
	run := start(k, screened())
	s.change("v2", "e-1")
	k.Advance(2 * time.Minute)
	wantCalls(t, "after a change", s, once(run))
	seen.wantRescreened(t, map[string]int{"clear": 1})
}

func TestAResultOfAnotherListIsAFailure(t *testing.T) {
	s := newScreener("v1")
	var seen observed
	k := enginetest.New(t, s.screens, seen.observe)
	run := start(k, screened())
	s.list = "peps"
	s.change("v2", "e-1")
	k.Advance(2 * time.Minute)
	seen.wantRescreened(t, map[string]int{"failed": 1})
	if n := hitsOf(t, k.Store, run.ID); n != 0 {
		t.Errorf("%d events of hits, want none: the provider searched another list", n)
	}
}

func TestOnlyChecksThatAskAreScreenedAgain(t *testing.T) {
	s := newScreener("v1")
	k := enginetest.New(t, s.screens)
	d := chain("a", "b")
	d.Nodes["a"] = screened().Nodes["a"]
	run := start(k, with(d, "a", func(n *workflow.Node) { n.Next = "b" }))
	s.change("v2")
	k.Advance(2 * time.Minute)
	wantCalls(t, "of a run with two checks", s, once(run))
	wantPass(t, k, "v2", 1)
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
	d := with(screened(), "a", func(n *workflow.Node) { n.Next = "review" })
	d.Nodes["review"] = workflow.Node{Type: workflow.NodeReview, Next: "done"}
	run := start(k, d)
	s.change("v2", "e-1")
	k.Advance(time.Hour)
	wantCalls(t, "before the run is completed", s, once())
	k.GiveVerdict(run.ID, rules.DecisionApprove)
	k.Advance(2 * time.Minute)
	wantCalls(t, "after the run is completed", s, once(run))
	if run = k.Run(run.ID); run.Decision != rules.DecisionReview {
		t.Errorf("decision = %s, want review", run.Decision)
	}
	k.GiveVerdict(start(k, d).ID, rules.DecisionApprove)
	k.Advance(2 * time.Minute)
	wantCalls(t, "of a run that was checked against the version of the pass", s, once())
}

func TestAListThatChangesDuringAPassBeginsAnother(t *testing.T) {
	s := newScreener("v1")
	k := enginetest.New(t, s.screens)
	w := k.Apply(screened())
	var runs []rules.RunDetail
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
	wantPass(t, k, "v3", len(runs))
}

func TestAFailedRescreeningIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	var seen observed
	s := newScreener("v1")
	k := enginetest.New(t, s.screens, seen.observe, func(_ *engine.Ports, o *engine.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
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
	wantPass(t, k, "v2", 3)
	seen.wantRescreened(t, map[string]int{"clear": 2, "failed": 1})
	if strings.Contains(log.String(), "Testov") {
		t.Errorf("the log has a name:\n%s", log.String())
	}
}

func TestARunThatIsComparedInPartIsLoggedAndCounted(t *testing.T) {
	var log bytes.Buffer
	var seen observed
	s := newScreener("v1")
	k := enginetest.New(t, s.screens, seen.observe, func(_ *engine.Ports, o *engine.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	run := k.Start(k.Apply(screened()).ID, engine.StartRequest{ReferenceID: "1"})
	s.partly = []string{"Testov is too long"}
	s.change("v2", "e-1")
	k.Advance(time.Hour)
	wantPass(t, k, "v2", 1)
	seen.wantRescreened(t, map[string]int{"failed": 1})
	if n := hitsOf(t, k.Store, run.ID); n != 1 {
		t.Errorf("%d events of hits, want 1", n)
	}
	if text := log.String(); strings.Count(text, "node a: not everything was compared with the list") != 1 || strings.Contains(text, "Testov") {
		t.Errorf("log:\n%s\nwant one line without the name", text)
	}
}

func TestAFailedRescreeningIsRetriedAndDelaysNoOther(t *testing.T) {
	s := newScreener("v1")
	var seen observed
	k := enginetest.New(t, s.screens, seen.observe)
	w := k.Apply(screened())
	var runs []rules.RunDetail
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
	wantPass(t, k, "v2", 3)
	seen.wantRescreened(t, map[string]int{"clear": 2, "failed": 1})
	if n := tries[runs[0].ID]; n != 3 {
		t.Errorf("%d attempts, want 3", n)
	}
}

func TestABatchOfReScreeningEndsByTime(t *testing.T) {
	s := newScreener("v1")
	var seen observed
	k := enginetest.New(t, s.screens, seen.observe)
	w := k.Apply(screened())
	for range 4 {
		k.Start(w.ID, engine.StartRequest{ReferenceID: "x"})
	}
	s.before = func(verification.RunID) error { return k.Clock.Sleep(t.Context(), 4*time.Second) }
	s.change("v2")
	k.Advance(70 * time.Second) // the check of the versions, and 10 s
	seen.wantRescreened(t, map[string]int{"clear": 2})
	k.Advance(2 * time.Minute)
	seen.wantRescreened(t, map[string]int{"clear": 4})
	wantPass(t, k, "v2", 4)
}

func TestAReScreeningThatTakesTooLongIsAttemptedAgain(t *testing.T) {
	s := newScreener("v1")
	var seen observed
	k := enginetest.New(t, s.screens, seen.observe)
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
	seen.wantRescreened(t, map[string]int{"clear": 1})
}

func TestRescreeningContinuesAfterTheTenantServedLast(t *testing.T) {
	s := newScreener("v1")
	queue := &mock.WorkQueueMock{}
	k := enginetest.New(t, s.screens, func(p *engine.Ports, _ *engine.Options) {
		own := p.Store
		queue.TakeFunc, queue.FinishFunc, queue.RenewFunc = own.Take, own.Finish, own.Renew
		queue.PostponeFunc, queue.ReleaseFunc = own.Postpone, own.Release
		p.Store = replace(own, func(all *ports) { all.WorkQueue = queue })
	})
	w := k.Apply(screened())
	for range 120 { // more than a batch
		k.Start(w.ID, engine.StartRequest{ReferenceID: "x"})
	}
	s.change("v2")
	k.Advance(10 * time.Minute)
	var after []verification.TenantID
	for _, c := range queue.TakeCalls() {
		if c.R.Kind == store.WorkRescreen {
			after = append(after, c.R.After)
		}
	}
	if first, last := after[0], after[len(after)-1]; first != "" || last != enginetest.Tenant {
		t.Errorf("the first batch is after tenant %q and the last after %q, want none and %q", first, last, enginetest.Tenant)
	}
}

func TestARunThatKeepsStoppingItsHostsHoldsUpNoPass(t *testing.T) {
	s := newScreener("v1")
	var seen observed
	queue := &mock.WorkQueueMock{}
	k := enginetest.New(t, s.screens, seen.observe, func(p *engine.Ports, _ *engine.Options) {
		own := p.Store
		queue.FinishFunc, queue.RenewFunc, queue.PostponeFunc, queue.ReleaseFunc = own.Finish, own.Renew, own.Postpone, own.Release
		queue.TakeFunc = func(ctx context.Context, r store.TakeRequest) ([]store.Work, time.Time, error) {
			work, next, err := own.Take(ctx, r)
			for i := range work {
				if r.Kind == store.WorkRescreen {
					work[i].Lost = 5
				}
			}
			return work, next, err
		}
		p.Store = replace(own, func(all *ports) { all.WorkQueue = queue })
	})
	start(k, screened())
	s.change("v2")
	k.Advance(10 * time.Minute)
	wantCalls(t, "of a run that lost five leases", s, once())
	seen.wantRescreened(t, map[string]int{"failed": 1})
	wantPass(t, k, "v2", 1)
}

// another serves another host on the store and the clock of a kit.
func another(t *testing.T, k *enginetest.Kit, s *screener, change func(*engine.Ports)) *engine.Engine {
	t.Helper()
	p := engine.Ports{
		Store: k.Store, Providers: map[string]verification.Provider{"script": k.Provider, "screen": s},
		Expressions: expression.New(), Links: enginetest.Links(), Clock: k.Clock, NewID: enginetest.SeededIDs(2),
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
	queue := &mock.WorkQueueMock{}
	rescreens := &mock.RescreenStoreMock{}
	errDead := errors.New("the host is dead")
	k := enginetest.New(t, s.screens, func(p *engine.Ports, _ *engine.Options) {
		own := p.Store
		dead := false
		queue.RenewFunc, queue.PostponeFunc, queue.ReleaseFunc = own.Renew, own.Postpone, own.Release
		queue.FinishFunc = func(ctx context.Context, w store.Work) error {
			if w.Kind == store.WorkRescreen {
				dead = true
				return errDead
			}
			return own.Finish(ctx, w)
		}
		queue.TakeFunc = func(ctx context.Context, r store.TakeRequest) ([]store.Work, time.Time, error) {
			if dead {
				return nil, time.Time{}, errDead
			}
			return own.Take(ctx, r)
		}
		rescreens.HoldPassFunc = func(ctx context.Context, p store.RescreenPass, now time.Time) (store.RescreenPass, error) {
			if dead {
				return store.RescreenPass{}, errDead
			}
			return own.HoldPass(ctx, p, now)
		}
		p.Store = replace(own, func(all *ports) { all.WorkQueue, all.RescreenStore = queue, rescreens })
	})
	w := k.Apply(screened())
	a, b := k.Start(w.ID, engine.StartRequest{ReferenceID: "1"}), k.Start(w.ID, engine.StartRequest{ReferenceID: "2"})
	s.change("v2", "e-1")
	k.Advance(61 * time.Second)
	wantCalls(t, "of the host that dies", s, once(a, b))
	another(t, k, s, nil)
	k.Advance(30 * time.Second)
	wantCalls(t, "while the leases of the dead host last", s, once())
	k.Advance(2 * time.Minute)
	wantCalls(t, "of the other host", s, once(a, b))
	for _, r := range []rules.RunDetail{a, b} {
		if n := hitsOf(t, k.Store, r.ID); n != 1 {
			t.Errorf("run %s has %d events of hits, want 1", r.ID, n)
		}
	}
}

// A host whose version is another one finishes no work of the pass: its own version may
// lack what the pass is about.
func TestAHostWithAnotherVersionLeavesThePassToOthers(t *testing.T) {
	first, second := newScreener("v1"), newScreener("v1")
	k := enginetest.New(t, first.screens)
	run := start(k, screened())
	k.Advance(2 * time.Minute)
	another(t, k, second, nil)
	k.Advance(2 * time.Minute)
	first.change("v2", "e-1")
	k.Advance(5 * time.Minute)
	wantCalls(t, "of the host that holds the list", first, once(run))
	wantCalls(t, "of the host with the earlier version", second, once())
	if n := hitsOf(t, k.Store, run.ID); n != 1 {
		t.Errorf("%d events of hits, want 1", n)
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
