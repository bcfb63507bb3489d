// Tests that the load of one tenant does not affect another.

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

// bystander is the tenant beside that of the kit.
const bystander verification.TenantID = "00000000-0000-7000-8000-0000000000bb"

// applyForBystander applies a definition for the bystander.
func applyForBystander(t *testing.T, k *enginetest.Kit, d workflow.Definition) workflow.Workflow {
	t.Helper()
	return applyFor(t, k, bystander, d)
}

// applyFor applies a definition for another tenant.
func applyFor(t *testing.T, k *enginetest.Kit, tenant verification.TenantID, d workflow.Definition) workflow.Workflow {
	t.Helper()
	if err := k.Store.SaveTenant(t.Context(), verification.Tenant{ID: tenant, Name: "Another"}); err != nil {
		t.Fatal(err)
	}
	applied, err := k.Engine.Apply(t.Context(), tenant, d)
	if err != nil {
		t.Fatal(err)
	}
	return applied.Workflow
}

// startFor starts a run of a tenant without waiting for it.
func startFor(t *testing.T, k *enginetest.Kit, tenant verification.TenantID, w workflow.Workflow, r engine.StartRequest) verification.RunID {
	t.Helper()
	v, err := k.Engine.Start(t.Context(), tenant, w.ID, r)
	if err != nil {
		t.Fatal(err)
	}
	return v.ID
}

func statusOf(t *testing.T, k *enginetest.Kit, tenant verification.TenantID, id verification.RunID) rules.Status {
	t.Helper()
	k.Settle()
	d, err := k.Engine.Run(t.Context(), tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	return d.Status
}

func TestASlowProviderOfOneTenantDelaysNoOther(t *testing.T) {
	k := enginetest.New(t, func(_ *engine.Ports, o *engine.Options) { o.Workers, o.Calls = 1, 8 })
	k.Provider.On("slow", enginetest.Slow(25*time.Second, enginetest.Pass(nil)))
	theirs := applyForBystander(t, k, chain("quick"))
	slow := k.Apply(chain("slow"))
	var last verification.RunID
	for range 400 { // more than this host takes at once
		last = startFor(t, k, enginetest.Tenant, slow, engine.StartRequest{ReferenceID: "x"})
	}
	run := startFor(t, k, bystander, theirs, engine.StartRequest{ReferenceID: "y"})
	if got := statusOf(t, k, bystander, run); got != rules.StatusCompleted {
		t.Errorf("beside 400 runs that wait for a slow provider, a run is %s, want it completed at once", got)
	}
	if got := len(k.Provider.Calls("slow")); got != 1 {
		t.Errorf("calls of the slow provider at once = %d, want 1: a quarter of half of 8", got)
	}
	k.Advance(400 * 25 * time.Second)
	if got := statusOf(t, k, enginetest.Tenant, last); got != rules.StatusCompleted {
		t.Errorf("the last run of the slow provider is %s, want completed in the end", got)
	}
}

func TestTheTimeoutOfADispatchStartsWithTheCall(t *testing.T) {
	k := enginetest.New(t, func(_ *engine.Ports, o *engine.Options) { o.Calls = 4 }) // one at a time for a tenant
	k.Provider.On("a", enginetest.Slow(20*time.Second, enginetest.Pass(nil)))
	w := k.Apply(with(chain("a"), "a", func(n *workflow.Node) { n.TimeoutSeconds = 30 }))
	var runs []verification.RunID
	for range 3 {
		runs = append(runs, startFor(t, k, enginetest.Tenant, w, engine.StartRequest{ReferenceID: "x"}))
	}
	k.Advance(time.Minute)
	for n, id := range runs {
		d := k.Run(id)
		wantStatus(t, d, rules.StatusCompleted)
		if len(k.Provider.Calls("a")) != 3 {
			t.Errorf("run %d: %d calls in all, want one a run: none timed out while it waited", n, len(k.Provider.Calls("a")))
		}
	}
}

func TestALargeRunNeedsSeveralCallSlots(t *testing.T) {
	for size, want := range map[int]int64{10: 16, 1 << 20: 1} {
		var calls, maxCalls atomic.Int64
		k := enginetest.New(t, func(p *engine.Ports, o *engine.Options) {
			script := p.Providers["script"]
			p.Providers["script"] = &mock.ProviderMock{
				CheckFunc: func(ctx context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
					n := calls.Add(1)
					defer calls.Add(-1)
					for m := maxCalls.Load(); n > m && !maxCalls.CompareAndSwap(m, n); m = maxCalls.Load() {
					}
					return script.Check(ctx, r)
				},
			}
			o.Calls = 128 // 16 of one provider for one tenant
		})
		k.Provider.On("a", enginetest.Slow(time.Second, enginetest.Pass(nil)))
		w := k.Apply(chain("a"))
		input, err := verification.NewData(map[string]any{"text": strings.Repeat("x", size)})
		if err != nil {
			t.Fatal(err)
		}
		var last verification.RunID
		for range 20 {
			last = startFor(t, k, enginetest.Tenant, w, engine.StartRequest{ReferenceID: "x", Input: input})
		}
		k.Advance(time.Minute)
		wantStatus(t, k.Run(last), rules.StatusCompleted)
		if got := maxCalls.Load(); got != want {
			t.Errorf("calls in flight with %d bytes of input = %d, want %d", size, got, want)
		}
	}
}

func TestALargeRunThatWaitsForItsTurnHoldsNoWorker(t *testing.T) {
	slow := slowCompiler{began: make(chan struct{}, 10), end: make(chan struct{})}
	called, answer := make(chan struct{}), make(chan struct{})
	k := enginetest.New(t, func(p *engine.Ports, o *engine.Options) {
		o.Workers = 1
		slow.ExpressionCompiler = p.Expressions
		p.Expressions = slow
		p.Providers["script"] = &mock.ProviderMock{
			CheckFunc: func(_ context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
				if r.Tenant == enginetest.Tenant {
					close(called)
					<-answer
				}
				return verification.CheckResult{Outcome: verification.OutcomePassed}, nil
			},
		}
	})
	theirs := applyForBystander(t, k, chain("quick"))
	large := k.Apply(chain("a"))
	checked := chain("b")
	checked.Workflow, checked.InputSchema = "checked", verification.Data(`{"type":"object"}`)
	own := k.Apply(checked)
	input := verification.Data(`{"a":"` + strings.Repeat("x", 100_000) + `"}`)
	startFor(t, k, enginetest.Tenant, large, engine.StartRequest{ReferenceID: "x", Input: input})
	<-called
	started := make(chan error)
	go func() { // holds the slot for expensive work of the tenant
		_, err := k.Engine.Start(t.Context(), enginetest.Tenant, own.ID, engine.StartRequest{ReferenceID: "x", Input: verification.Data(`{"a":1}`)})
		started <- err
	}()
	<-slow.began
	close(answer)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	wait := time.Hour
	for range 20 {
		v, err := k.Engine.Start(ctx, bystander, theirs.ID, engine.StartRequest{ReferenceID: "y", Wait: &wait})
		if err != nil || v.Status != rules.StatusCompleted {
			t.Fatalf("a run of another tenant = %s, %v, want completed", v.Status, err)
		}
	}
	close(slow.end)
	if err := <-started; err != nil {
		t.Fatal(err)
	}
}

func TestATenantReadsFewRunsOfUnknownSizeAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := enginetest.New(t)
		own, theirs := k.Apply(chain("a")), applyForBystander(t, k, chain("a"))
		var runs []verification.RunID
		for range 10 {
			runs = append(runs, startFor(t, k, enginetest.Tenant, own, engine.StartRequest{ReferenceID: "x"}))
		}
		other := startFor(t, k, bystander, theirs, engine.StartRequest{ReferenceID: "y"})
		k.Settle()
		var reads atomic.Int64 // of the tenant, under way
		proceed := make(chan struct{})
		e := operator(t, k, func(p *engine.Ports) { // its cache is empty
			store := mockRuns(p.Store)
			p.Store = replace(p.Store, func(s *ports) { s.RunStore = store })
			store.LoadFunc = func(ctx context.Context, t verification.TenantID, id verification.RunID, after int) ([]rules.Event, error) {
				if t == enginetest.Tenant {
					reads.Add(1)
					<-proceed
				}
				return k.Store.Load(ctx, t, id, after)
			}
		})
		read := make(chan error, len(runs))
		for _, id := range runs {
			go func() {
				_, err := e.Report(t.Context(), enginetest.Tenant, id)
				read <- err
			}()
		}
		synctest.Wait()
		if n := reads.Load(); n != 4 {
			t.Errorf("%d runs are read at once, want 4", n)
		}
		if _, err := e.Report(t.Context(), bystander, other); err != nil {
			t.Errorf("the report of another tenant: %v", err)
		}
		close(proceed)
		for range runs {
			if err := <-read; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestLargeRunsThatAreRetriedOnAnotherHostComplete(t *testing.T) {
	k := enginetest.New(t)
	k.Provider.On("a", slices.Repeat([]enginetest.Reply{enginetest.Flake()}, 60)...)
	w := k.Apply(chain("a"))
	input := verification.Data(`{"a":"` + strings.Repeat("x", 100_000) + `"}`)
	var runs []verification.RunID
	for range 60 { // four times the workers
		runs = append(runs, startFor(t, k, enginetest.Tenant, w, engine.StartRequest{ReferenceID: "x", Input: input}))
	}
	k.Settle()
	if err := k.Engine.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	later := clock.NewManual(k.Clock.Now().Add(time.Minute)) // all retries are due
	other := another(t, k, newScreener("v1"), func(p *engine.Ports) {
		p.Clock = later
		p.Providers["script"] = &mock.ProviderMock{
			CheckFunc: func(context.Context, verification.CheckRequest) (verification.CheckResult, error) {
				return verification.CheckResult{Outcome: verification.OutcomePassed}, nil
			},
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := later.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	for _, id := range runs {
		if d, err := other.Run(ctx, enginetest.Tenant, id); err != nil || d.Status != rules.StatusCompleted {
			t.Errorf("run %s = %s, %v; want completed", id, d.Status, err)
		}
	}
}

func TestCallsThatWaitForASlotAreHandedOver(t *testing.T) {
	k := enginetest.New(t, func(_ *engine.Ports, o *engine.Options) { o.Calls = 4 })
	k.Provider.On("a", enginetest.Slow(time.Hour, enginetest.Pass(nil)))
	w := k.Apply(with(chain("a"), "a", func(n *workflow.Node) { n.TimeoutSeconds = 600 }))
	for range 3 {
		startFor(t, k, enginetest.Tenant, w, engine.StartRequest{ReferenceID: "x"})
	}
	k.Settle()
	closed := beginClose(t, k)
	k.Advance(600 * time.Second) // the call under way has this timeout
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if n := len(k.Provider.Calls("a")); n != 1 {
		t.Errorf("%d calls, want the one that was under way", n)
	}
	work, err := due(t, k)
	if err != nil || len(work) != 2 {
		t.Fatalf("due after the close = %v, %v; want the two runs that waited", work, err)
	}
	for _, w := range work {
		if w.Lost != 0 {
			t.Errorf("run %s has lost %d leases, want none: it was handed over", w.Run, w.Lost)
		}
	}
}

func TestOneTenantLeavesRoomAtAReceiver(t *testing.T) {
	var mu sync.Mutex
	sent := map[verification.RunID]time.Time{}
	var sleep func(context.Context, time.Duration) error
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
		p.Notifier = &mock.NotifierMock{NotifyFunc: func(ctx context.Context, n rules.Notice) error {
			mu.Lock()
			sent[n.Run.ID] = n.At
			mu.Unlock()
			if n.Tenant == bystander {
				return nil
			}
			return sleep(ctx, time.Minute)
		}}
	})
	sleep = k.Clock.Sleep
	def := chain("a")
	def.LifecycleWebhookURL = "https://shared.example/hooks"
	w := k.Apply(def)
	for range 200 {
		startFor(t, k, enginetest.Tenant, w, engine.StartRequest{ReferenceID: "x"})
	}
	k.Settle()
	other := startFor(t, k, bystander, applyForBystander(t, k, def), engine.StartRequest{ReferenceID: "y"})
	began := k.Clock.Now()
	k.Settle()
	if at, ok := sent[other]; !ok || !at.Equal(began) {
		t.Errorf("the notice of another tenant to the same receiver was sent at %v, want at once", at)
	}
}

func TestADeadReceiverIsPausedAndDelaysNoOther(t *testing.T) {
	var mu sync.Mutex
	attempts, taken := 0, map[verification.RunID]time.Time{} // attempts of the dead receiver
	var revived atomic.Bool
	var sleep func(context.Context, time.Duration) error
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
		p.Notifier = &mock.NotifierMock{NotifyFunc: func(ctx context.Context, n rules.Notice) error {
			dead := strings.Contains(n.URL, "dead.example") && !revived.Load()
			mu.Lock()
			if dead {
				attempts++
			} else {
				taken[n.Run.ID] = n.At
			}
			mu.Unlock()
			if dead {
				return errors.Join(sleep(ctx, 15*time.Second), timedOut{})
			}
			return nil
		}}
	})
	sleep = k.Clock.Sleep
	hook := func(name, url string) workflow.Definition {
		def := chain("a")
		def.Workflow, def.LifecycleWebhookURL = name, url
		return def
	}
	gone := k.Apply(hook("gone", "https://dead.example/hooks"))
	const runs = 500
	for range runs {
		startFor(t, k, enginetest.Tenant, gone, engine.StartRequest{ReferenceID: "x"})
	}
	theirs := applyForBystander(t, k, hook("theirs", "https://alive.example/hooks"))
	other := startFor(t, k, bystander, theirs, engine.StartRequest{ReferenceID: "y"})
	began := k.Clock.Now()
	k.Settle()
	if at, ok := taken[other]; !ok || !at.Equal(began) {
		t.Errorf("the notice of another tenant was sent at %v, want at once", at)
	}
	k.Advance(20 * time.Second) // the first attempts have timed out
	own := startFor(t, k, enginetest.Tenant, k.Apply(hook("own", "https://alive.example/own")), engine.StartRequest{ReferenceID: "z"})
	began = k.Clock.Now()
	k.Advance(time.Second)
	if at, ok := taken[own]; !ok || at.Sub(began) > time.Second {
		t.Errorf("the notice to another receiver of the same tenant was sent at %v, want within a second of %v", at, began)
	}
	k.Advance(time.Hour)
	// At most 32 at first, and then probes after 10, 20, 40 ... 600 s.
	if attempts < 35 || attempts > 50 {
		t.Errorf("attempts in an hour = %d, want at most 32 and a few probes", attempts)
	}
	revived.Store(true)
	k.Advance(24 * time.Hour)
	if len(taken) != runs+2 {
		t.Errorf("notices taken after the receiver came back = %d, want %d", len(taken), runs+2)
	}
}

func TestAWebhookThatIsSetWhileARunEndsIsFound(t *testing.T) {
	k, runs := withRuns(t)
	w := k.Apply(onboarding())
	run := k.Start(w.ID, engine.StartRequest{ReferenceID: "x"})
	nextAppend(runs, func() {
		if _, err := k.Engine.SetWebhook(t.Context(), enginetest.Tenant, w.ID, "https://client.example/hooks"); err != nil {
			t.Error(err)
		}
	})
	if _, err := k.Engine.Cancel(t.Context(), enginetest.Tenant, run.ID); err != nil {
		t.Fatal(err)
	}
	k.Settle()
	if notices := k.Notices.All(); len(notices) != 1 {
		t.Errorf("notices = %+v, want one: the webhook was set before the run ended", notices)
	}
}

func TestADeadlineThatCannotBeSavedDelaysNoOther(t *testing.T) {
	k, runs := withRuns(t)
	d := onboarding()
	d.RunTTLSeconds = 60
	w := k.Apply(d)
	refused := map[verification.RunID]bool{}
	for n := range 450 {
		id := startFor(t, k, enginetest.Tenant, w, engine.StartRequest{ReferenceID: fmt.Sprint(n)})
		refused[id] = n < 430
	}
	var mu sync.Mutex
	saved := 0
	onAppend(runs, func(id verification.RunID, _ store.Commit) error {
		mu.Lock()
		defer mu.Unlock()
		if refused[id] {
			return errDisk
		}
		saved++
		return nil
	})
	k.Advance(62 * time.Second)
	if saved != 20 {
		t.Errorf("%d deadlines were saved within 2 s, want the 20 after those that fail", saved)
	}
	clear(refused)
	k.Advance(time.Minute)
	if saved != 450 {
		t.Errorf("%d deadlines were saved once none fails, want all 450", saved)
	}
}

func TestABacklogOfDeadlinesDelaysNoOtherTenant(t *testing.T) {
	k, runs := withRuns(t)
	d := onboarding()
	d.RunTTLSeconds = 60
	w := k.Apply(d)
	const backlog = 1000
	for range backlog {
		startFor(t, k, enginetest.Tenant, w, engine.StartRequest{ReferenceID: "x"})
	}
	other := startFor(t, k, bystander, applyForBystander(t, k, d), engine.StartRequest{ReferenceID: "y"})
	var mu sync.Mutex
	var expired []verification.RunID
	onAppend(runs, func(id verification.RunID, _ store.Commit) error {
		mu.Lock()
		defer mu.Unlock()
		expired = append(expired, id)
		return nil
	})
	k.Advance(2 * time.Minute)
	const soon = backlog / 4 // 16 of one tenant are taken at once, and the processor may leave the one of the other for last
	if at := slices.Index(expired, other); at < 0 || at > soon || len(expired) != backlog+1 {
		t.Errorf("of %d runs, that of another tenant expired as number %d, want all %d, and it among the first %d", len(expired), at, backlog+1, soon)
	}
}

// timedSchema is a compiler whose schemas call check.
type timedSchema struct {
	workflow.ExpressionCompiler
	check func()
}

func (s timedSchema) Schema(verification.Data) (workflow.Schema, error) { return s, nil }

func (s timedSchema) Check(verification.Data) []verification.FieldError {
	s.check()
	return nil
}

// withTimedSchemas returns a kit on the clock of the bubble that it is made in.
func withTimedSchemas(t *testing.T, check func()) *enginetest.Kit {
	t.Helper()
	return enginetest.New(t, func(p *engine.Ports, o *engine.Options) {
		p.Clock, p.Expressions, o.QueueInterval = clock.System{}, timedSchema{p.Expressions, check}, time.Hour
	})
}

func TestATenantRestsAfterLongDecisions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var mu sync.Mutex
		var checks []time.Duration
		k := withTimedSchemas(t, func() {
			mu.Lock()
			checks = append(checks, time.Since(began))
			mu.Unlock()
			<-time.After(time.Second)
		})
		d := chain("a")
		d.InputSchema = verification.Data(`{}`)
		ours, theirs := k.Apply(d), applyForBystander(t, k, d)
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { startFor(t, k, enginetest.Tenant, ours, engine.StartRequest{ReferenceID: "x"}) })
		}
		all.Go(func() { startFor(t, k, bystander, theirs, engine.StartRequest{ReferenceID: "y"}) })
		all.Wait()
		// The second decision of a tenant follows three times as long as the first took.
		if want := []time.Duration{0, 0, 4 * time.Second}; !slices.Equal(checks, want) {
			t.Errorf("inputs were checked after %v, want %v: a tenant rests, and no other waits for it", checks, want)
		}
	})
}

func TestADeadlineIsSavedDuringALongDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy atomic.Bool
		k := withTimedSchemas(t, func() {
			if busy.Load() {
				<-time.After(time.Minute)
			}
		})
		d := onboarding()
		d.RunTTLSeconds, d.InputSchema = 60, verification.Data(`{}`)
		w := k.Apply(d)
		input, err := verification.NewData(map[string]any{"text": strings.Repeat("x", 1<<20)})
		if err != nil {
			t.Fatal(err)
		}
		run := startFor(t, k, enginetest.Tenant, w, engine.StartRequest{ReferenceID: "large", Input: input})
		<-time.After(59 * time.Second)
		busy.Store(true)
		var all sync.WaitGroup
		all.Go(func() { startFor(t, k, enginetest.Tenant, w, engine.StartRequest{ReferenceID: "x"}) })
		synctest.Wait()
		<-time.After(2 * time.Second)
		synctest.Wait()
		events, err := k.Store.Load(t.Context(), enginetest.Tenant, run, 0)
		if last := events[len(events)-1]; err != nil || last.Kind() != "expired" {
			t.Errorf("the last event a second after the deadline is %s, %v; want expired", last.Kind(), err)
		}
		all.Wait()
	})
}

func TestARunThatEndsBeforeItsNextCallIsNotCalled(t *testing.T) {
	k, runs := withRuns(t)
	appends, save := 0, runs.AppendFunc
	runs.AppendFunc = func(ctx context.Context, tenant verification.TenantID, id verification.RunID, seq int, c store.Commit) error {
		err := save(ctx, tenant, id, seq, c)
		if appends++; appends == 2 {
			if _, err := k.Engine.Cancel(t.Context(), enginetest.Tenant, id); err != nil {
				t.Error(err)
			}
		}
		return err
	}
	wantStatus(t, start(k, chain("a", "b", "c")), rules.StatusCancelled)
	if n := len(k.Provider.Calls("b")); n != 0 {
		t.Errorf("the provider was called %d times for a run that was over, want never", n)
	}
}
