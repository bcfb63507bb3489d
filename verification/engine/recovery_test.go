// Tests of hosts that stop, and of leases.

package engine_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestARetryIsNotDelayedByALease(t *testing.T) {
	called, taken, waits := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var calls, takes atomic.Int64
	var once sync.Once
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
		own := p.Store
		p.Providers["script"] = &mock.ProviderMock{
			CheckFunc: func(context.Context, verification.CheckRequest) (verification.CheckResult, error) {
				if calls.Add(1) > 1 {
					return verification.CheckResult{Outcome: verification.OutcomePassed}, nil
				}
				close(called)
				<-taken
				return verification.CheckResult{}, errors.New("the vendor is away")
			},
		}
		runs := mockRuns(own)
		onAppend(runs, func(_ verification.RunID, c store.Commit) error {
			if len(c.Events) == 0 {
				once.Do(func() { close(waits) })
			}
			return nil
		})
		queue := &mock.WorkQueueMock{FinishFunc: own.Finish, PostponeFunc: own.Postpone, ReleaseFunc: own.Release}
		queue.TakeFunc = func(ctx context.Context, r store.TakeRequest) ([]store.Work, time.Time, error) {
			work, next, err := own.Take(ctx, r)
			if len(work) > 0 && takes.Add(1) == 1 {
				close(taken)
			}
			return work, next, err
		}
		queue.RenewFunc = func(ctx context.Context, all []verification.RunRef, until time.Time, alone bool) error {
			<-waits // until the run waits for its retry
			return own.Renew(ctx, all, until, alone)
		}
		p.Store = replace(own, func(s *ports) { s.RunStore, s.WorkQueue = runs, queue })
	})
	id := startFor(t, k, enginetest.Tenant, k.Apply(chain("a")), engine.StartRequest{ReferenceID: "x"})
	<-called
	ref := verification.RunRef{Tenant: enginetest.Tenant, Run: id}
	if err := k.Store.Renew(t.Context(), []verification.RunRef{ref}, k.Clock.Now(), false); err != nil { // as if its lease had ended
		t.Fatal(err)
	}
	k.Engine.Wake()
	k.Settle()
	k.Advance(3 * time.Second)
	wantStatus(t, k.Run(id), rules.StatusCompleted)
}

func TestARunOfAHostThatDiedIsTakenWhenItsLeaseEnds(t *testing.T) {
	k := enginetest.New(t, func(_ *engine.Ports, o *engine.Options) { o.Lease = 10 * time.Second })
	w := k.Apply(chain("a"))
	// The state after the host died: a leased run with a dispatch without a result.
	version, err := k.Store.Version(t.Context(), enginetest.Tenant, w.ID, w.PublishedHash)
	if err != nil {
		t.Fatal(err)
	}
	program, err := workflow.Restore(w.ID, version, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	run := rules.Run{ID: "00000000-0000-7000-8000-00000000dead"}
	events, _, err := rules.Decide(program, run, rules.Start{ReferenceID: "x"}, k.Clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	left := store.Commit{
		Events: events, Summary: rules.Fold(run.ID, events).Summary(),
		Work: store.AdvanceAt(k.Clock.Now().Add(10 * time.Second)),
	}
	if err := k.Store.Append(t.Context(), enginetest.Tenant, run.ID, 0, left); err != nil {
		t.Fatal(err)
	}
	// Another append of this host makes its loop call the queue.
	k.Start(w.ID, engine.StartRequest{ReferenceID: "y"})
	k.Advance(9 * time.Second)
	if got := len(k.Provider.Calls("a")); got != 1 {
		t.Fatalf("calls while the lease holds = %d, want 1: that of the other run", got)
	}
	k.Advance(10 * time.Second)
	wantStatus(t, k.Run(run.ID), rules.StatusCompleted)
	calls := k.Provider.Calls("a")
	if want := string(run.ID) + "/a/1"; calls[1].IdempotencyKey != want {
		t.Errorf("idempotency key = %s, want %s: that of the recorded dispatch", calls[1].IdempotencyKey, want)
	}
}

// due takes the runs that another host could take.
func due(t *testing.T, k *enginetest.Kit) ([]store.Work, error) {
	t.Helper()
	return dueAt(t, k, k.Clock.Now())
}

// dueAt takes the runs that a host whose clock is at now could take.
func dueAt(t *testing.T, k *enginetest.Kit, now time.Time) ([]store.Work, error) {
	t.Helper()
	work, _, err := k.Store.Take(t.Context(), store.TakeRequest{
		Kind: store.WorkAdvance, Now: now, Lease: time.Second, Max: 10, MaxPerTenant: 10,
	})
	return work, err
}

func TestALongCallKeepsItsLease(t *testing.T) {
	k := enginetest.New(t, func(_ *engine.Ports, o *engine.Options) { o.Lease = 6 * time.Second })
	k.Provider.On("a", enginetest.Slow(25*time.Second, enginetest.Pass(nil)))
	run := start(k, chain("a"))
	for range 24 {
		k.Advance(time.Second)
		work, err := dueAt(t, k, k.Clock.Now().Add(3*time.Second)) // a lease is renewed when it has 4 s left
		if err != nil || len(work) != 0 {
			t.Fatalf("another host was handed %v, %v while the call is under way", work, err)
		}
	}
	k.Advance(time.Second)
	wantStatus(t, k.Run(run.ID), rules.StatusCompleted)
	if got := len(k.Provider.Calls("a")); got != 1 {
		t.Errorf("calls = %d, want 1", got)
	}
}

func TestCloseHandsOverWhatItCannotFinish(t *testing.T) {
	k := enginetest.New(t)
	k.Provider.On("a", enginetest.Slow(time.Hour, enginetest.Pass(nil)))
	run := start(k, with(chain("a"), "a", func(n *workflow.Node) { n.TimeoutSeconds = 600 }))
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // do not wait
	if err := k.Engine.Close(ctx); err != nil {
		t.Fatal(err)
	}
	work, err := due(t, k)
	if err != nil || len(work) != 1 || work[0].Run != run.ID {
		t.Fatalf("due after the close = %v, %v; want the run that was being driven", work, err)
	}
	history, err := k.Store.Load(t.Context(), enginetest.Tenant, run.ID, 0)
	if err != nil || len(history) != 2 {
		t.Errorf("history = %v, %v; want started and dispatched alone: an interrupted call is not a failure", history, err)
	}
}

func TestACommandThatLosesARaceIsDecidedAgain(t *testing.T) {
	k := enginetest.New(t)
	w := k.Apply(onboarding())
	run := k.Start(w.ID, engine.StartRequest{ReferenceID: "x"})
	// The customer and the client race: one of the two comes first, and the
	// other is decided again on what that left.
	done := make(chan error, 2)
	go func() {
		_, err := k.Engine.Submit(t.Context(), enginetest.Tenant, run.ID, engine.SubmitRequest{Signal: "consent_submitted", Payload: verification.Data(`{"consent_status":"success"}`)})
		done <- err
	}()
	go func() {
		_, err := k.Engine.Cancel(t.Context(), enginetest.Tenant, run.ID)
		done <- err
	}()
	for range 2 {
		if err := <-done; err != nil && !errors.Is(err, verification.ErrNotOpen) {
			t.Errorf("the race ended in %v", err)
		}
	}
	wantStatus(t, k.Run(run.ID), rules.StatusCancelled)
}

// beginClose begins to close the engine, and returns a channel for the error of Close.
func beginClose(t *testing.T, k *enginetest.Kit) <-chan error {
	t.Helper()
	closed := make(chan error, 1)
	go func() { closed <- k.Engine.Close(t.Context()) }()
	for k.Engine.Wake() { // until it is closing
		runtime.Gosched()
	}
	return closed
}

func TestAStoppingHostSavesItsCallAndHandsOver(t *testing.T) {
	k := enginetest.New(t)
	k.Provider.On("a", enginetest.Slow(5*time.Second, enginetest.Pass(nil)))
	run := start(k, chain("a", "b"))
	closed := beginClose(t, k)
	k.Advance(5 * time.Second)
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if got, want := historyOf(t, k, run.ID), "started dispatched result_recorded dispatched"; got != want {
		t.Errorf("history = %s, want %s", got, want)
	}
	if n := len(k.Provider.Calls("b")); n != 0 {
		t.Errorf("%d calls of the next check, want none", n)
	}
	if work, err := due(t, k); err != nil || len(work) != 1 || work[0].Run != run.ID {
		t.Errorf("due after the close = %v, %v; want the run", work, err)
	}
}

func TestARunThatCannotBeReadIsNotDecided(t *testing.T) {
	k := enginetest.New(t)
	run := start(k, onboarding())
	e := operator(t, k, func(p *engine.Ports) {
		p.Store = replace(p.Store, func(s *ports) {
			s.RunStore = &mock.RunStoreMock{
				LoadFunc: func(context.Context, verification.TenantID, verification.RunID, int) ([]rules.Event, error) {
					return nil, errDisk
				},
			}
		})
	})
	if _, err := e.Cancel(t.Context(), enginetest.Tenant, run.ID); !errors.Is(err, errDisk) {
		t.Errorf("cancel = %v, want the error of the store", err)
	}
}

func TestARunIsNotDecidedWithoutItsVersion(t *testing.T) {
	k := enginetest.New(t)
	run := start(k, onboarding())
	e := operator(t, k, func(p *engine.Ports) {
		p.Store = replace(p.Store, func(s *ports) {
			s.WorkflowStore = &mock.WorkflowStoreMock{
				VersionFunc: func(context.Context, verification.TenantID, verification.WorkflowID, string) (workflow.Version, error) {
					return workflow.Version{}, errDisk
				},
			}
		})
	})
	_, err := e.Submit(t.Context(), enginetest.Tenant, run.ID, engine.SubmitRequest{
		Signal: "consent_submitted", Payload: verification.Data(`{"consent_status":"success"}`),
	})
	if !errors.Is(err, errDisk) {
		t.Errorf("submit = %v, want the error of the store", err)
	}
	if got := historyOf(t, k, run.ID); got != "started customer_awaited" {
		t.Errorf("history = %s, want it unchanged", got)
	}
}

func TestWorkOfARunThatNeedsNothingIsFinished(t *testing.T) {
	k := enginetest.New(t)
	run := start(k, onboarding())
	stored, err := k.Store.Load(t.Context(), enginetest.Tenant, run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := store.Commit{Summary: rules.Fold(run.ID, stored).Summary(), Work: store.AdvanceAt(k.Clock.Now())}
	if err := k.Store.Append(t.Context(), enginetest.Tenant, run.ID, len(stored), c); err != nil {
		t.Fatal(err)
	}
	k.Engine.Wake()
	k.Settle()
	if work, err := dueAt(t, k, k.Clock.Now().Add(time.Hour)); err != nil || len(work) != 0 {
		t.Errorf("due after an hour = %v, %v; want nothing", work, err)
	}
}

func TestWorkThatAnotherHostTakesIsRequestedLater(t *testing.T) {
	var takes atomic.Int64
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
		queue := &mock.WorkQueueMock{
			TakeFunc: func(_ context.Context, r store.TakeRequest) ([]store.Work, time.Time, error) {
				if takes.Add(1) > 10 {
					return nil, time.Time{}, nil
				}
				return nil, r.Now, nil
			},
		}
		p.Store = replace(p.Store, func(s *ports) { s.WorkQueue = queue })
	})
	k.Settle()
	if n := takes.Load(); n != 5 {
		t.Errorf("the queue was called %d times at one time, want once for each kind of work", n)
	}
}
