// Tests of the work that hosts on one store leave to each other.

package engine_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// commits records what is appended.
type commits struct {
	mu  sync.Mutex
	all []store.Commit
}

func watched(t *testing.T, changes ...enginetest.Change) (*enginetest.Kit, *commits) {
	t.Helper()
	k, runs := withRuns(t, changes...)
	return k, watch(runs)
}

func watch(runs *mock.RunStoreMock) *commits {
	s := &commits{}
	onAppend(runs, func(_ verification.RunID, c store.Commit) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all = append(s.all, c)
		return nil
	})
	return s
}

// take returns the commits since the last call: whether they were history-only, and
// whether they wake other hosts.
func (s *commits) take() (kinds []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.all {
		kind := "wake-up"
		switch {
		case c.Work == nil:
			kind = "history only"
		case c.Hold != store.NotHeld:
			kind = "no wake-up"
		}
		if !c.Work[store.WorkKey{Kind: store.WorkAnnounce}].IsZero() {
			kind += ", announced"
		}
		kinds = append(kinds, kind)
	}
	s.all = nil
	return kinds
}

func (s *commits) want(t *testing.T, what string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, s.take()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestAStepThatChangesOnlyTheHistoryIsHistoryOnly(t *testing.T) {
	k, s := watched(t)
	start(k, chain("a", "b", "c"))
	s.want(t, "the appends of three checks", "no wake-up", "history only", "history only", "wake-up")
}

func TestALeaseIsRenewedByAStepOnceItIsNoLongerYoung(t *testing.T) {
	k, s := watched(t, func(_ *engine.Ports, o *engine.Options) { o.Lease = 30 * time.Second })
	k.Provider.On("b", enginetest.Slow(20*time.Second, enginetest.Pass(nil)))
	w := k.Apply(with(chain("a", "b", "c"), "b", func(n *workflow.Node) { n.TimeoutSeconds = 60 }))
	k.Start(w.ID, engine.StartRequest{ReferenceID: "x"})
	k.Advance(20 * time.Second)
	got := s.take()
	if len(got) != 4 || got[0] != "no wake-up" || got[1] != "history only" || got[3] != "wake-up" {
		t.Errorf("the appends of a slow check = %q", got)
	}
}

func TestARunIsAnnouncedOnlyWithAWebhook(t *testing.T) {
	k, s := watched(t)
	start(k, chain("a"))
	s.want(t, "the appends without a webhook", "no wake-up", "wake-up")
	d := chain("b")
	d.Workflow, d.LifecycleWebhookURL = "told", "https://app.example/hooks"
	start(k, d)
	s.want(t, "the appends with a webhook", "no wake-up", "no wake-up, announced")
}

func TestOnlyLongWaitsWakeOtherHosts(t *testing.T) {
	for _, tt := range []struct {
		backoff float64
		want    string
	}{{3, "no wake-up"}, {60, "wake-up"}} {
		k, s := watched(t)
		k.Provider.On("a", enginetest.Flake())
		start(k, with(chain("a"), "a", func(n *workflow.Node) {
			n.Retry = &workflow.Retry{MaxDispatches: 2, BackoffSeconds: tt.backoff, MaxBackoffSeconds: tt.backoff}
		}))
		s.want(t, "the appends of a check that is retried", "no wake-up", tt.want)
	}
}

func TestAPassiveHostWakesOtherHosts(t *testing.T) {
	k, s := watched(t, func(_ *engine.Ports, o *engine.Options) { o.Passive = true })
	start(k, chain("a"))
	s.want(t, "the appends of a host without workers", "wake-up")
}

func TestAHostInAFleetPollsTheQueueAndCanBeWoken(t *testing.T) {
	k := enginetest.New(t, func(_ *engine.Ports, o *engine.Options) { o.QueueInterval = 2 * time.Second })
	front := operator(t, k, nil)
	w := k.Apply(chain("a"))
	leave := func() verification.RunID {
		v, err := front.Start(t.Context(), enginetest.Tenant, w.ID, engine.StartRequest{ReferenceID: "x"})
		if err != nil {
			t.Fatal(err)
		}
		return v.ID
	}
	polled := leave()
	k.Advance(2 * time.Second)
	wantStatus(t, k.Run(polled), rules.StatusCompleted)
	woken := leave()
	if !k.Engine.Wake() {
		t.Error("Wake of a host with capacity = false")
	}
	k.Settle()
	wantStatus(t, k.Run(woken), rules.StatusCompleted)
	if front.Wake() {
		t.Error("Wake of a passive host = true")
	}
}

func TestAFleetSavesDeadlinesThatNobodyReads(t *testing.T) {
	k := enginetest.New(t, func(_ *engine.Ports, o *engine.Options) { o.QueueInterval = time.Second })
	d := onboarding()
	d.RunTTLSeconds = 60
	run, err := operator(t, k, nil).Start(t.Context(), enginetest.Tenant, k.Apply(d).ID, engine.StartRequest{ReferenceID: "x"})
	if err != nil {
		t.Fatal(err)
	}
	written := func() bool {
		events, err := k.Store.Load(t.Context(), enginetest.Tenant, run.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(events, func(e rules.Event) bool { return e.Kind() == "expired" })
	}
	k.Advance(time.Minute)
	if written() {
		t.Error("the expiry is saved at the deadline, want after it")
	}
	k.Advance(time.Second)
	if !written() {
		t.Error("the expiry is not saved a second after the deadline")
	}
}

// brief expires after a minute.
func brief() workflow.Definition {
	d := onboarding()
	d.RunTTLSeconds = 60
	return d
}

func TestADeadlineIsSavedBeforeItIsShown(t *testing.T) {
	show := map[string]func(*enginetest.Kit, verification.RunID) error{
		"reading": func(k *enginetest.Kit, id verification.RunID) error {
			d, err := k.Engine.Run(t.Context(), enginetest.Tenant, id)
			if d.Status != rules.StatusExpired {
				t.Errorf("the run reads %s, want expired", d.Status)
			}
			return err
		},
		"reporting": func(k *enginetest.Kit, id verification.RunID) error {
			_, err := k.Engine.Report(t.Context(), enginetest.Tenant, id)
			return err
		},
		"refusing": func(k *enginetest.Kit, id verification.RunID) error {
			_, err := k.Engine.Cancel(t.Context(), enginetest.Tenant, id)
			if !errors.Is(err, verification.ErrConflict) {
				t.Errorf("Cancel = %v, want a conflict", err)
			}
			return nil
		},
	}
	// The deadline passes while the first append of a start is saved.
	started := verification.RunID("")
	show["starting"] = func(k *enginetest.Kit, _ verification.RunID) error {
		v, err := k.Engine.Start(t.Context(), enginetest.Tenant, k.Apply(brief()).ID, engine.StartRequest{ReferenceID: "late"})
		started = v.ID
		if v.Status != rules.StatusExpired {
			t.Errorf("the start returned %s, want expired", v.Status)
		}
		return err
	}
	for name, f := range show {
		started = ""
		k, runs := withRuns(t, func(_ *engine.Ports, o *engine.Options) { o.QueueInterval = time.Hour })
		run := start(k, brief())
		k.Advance(61 * time.Second)
		save := runs.AppendFunc
		runs.AppendFunc = func(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, c store.Commit) error {
			err := save(ctx, t, id, seq, c)
			if seq == 0 {
				k.Advance(61 * time.Second)
			}
			return err
		}
		if err := f(k, run.ID); err != nil {
			t.Fatal(err)
		}
		id := run.ID
		if started != "" {
			id = started
		}
		events, err := k.Store.Load(t.Context(), enginetest.Tenant, id, 0)
		if err != nil || events[len(events)-1].Kind() != "expired" {
			t.Errorf("after %s the history ends with %s, %v", name, events[len(events)-1].Kind(), err)
		}
	}
}

func TestATransactionDrivesNoRunsAndRefusesKeys(t *testing.T) {
	k, runs := withRuns(t)
	s := watch(runs)
	w := k.Apply(chain("a"))
	in := k.Engine.Within(struct {
		store.RunStore
		store.WorkflowStore
		store.Tables
	}{runs, k.Store, k.Store.Tables})
	v, err := in.Start(t.Context(), enginetest.Tenant, w.ID, engine.StartRequest{ReferenceID: "x"})
	if err != nil || v.Status != rules.StatusInProgress {
		t.Fatalf("Start = %+v, %v", v, err)
	}
	s.want(t, "the appends inside a transaction", "wake-up")
	if c, err := in.Cancel(t.Context(), enginetest.Tenant, v.ID); err != nil || c.Status != rules.StatusCancelled {
		t.Errorf("Cancel = %+v, %v", c, err)
	}
	_, err = in.Start(t.Context(), enginetest.Tenant, w.ID, engine.StartRequest{ReferenceID: "x", IdempotencyKey: "k"})
	if !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("Start with an idempotency key = %v, want it refused", err)
	}
	if _, err := in.GiveVerdict(t.Context(), enginetest.Tenant, v.ID, rules.GiveVerdict{Decision: rules.DecisionApprove}); err != nil {
		t.Errorf("GiveVerdict = %v", err)
	}
	if _, err := in.Submit(t.Context(), enginetest.Tenant, v.ID, engine.SubmitRequest{Signal: "a_submitted"}); !errors.Is(err, verification.ErrNotOpen) {
		t.Errorf("Submit = %v, want it not open", err)
	}
	_, err = in.Submit(t.Context(), enginetest.Tenant, v.ID, engine.SubmitRequest{Signal: "a_submitted", IdempotencyKey: "k"})
	if !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("Submit with an idempotency key = %v, want it refused", err)
	}
}

func TestATransactionWaitsForNoSlot(t *testing.T) {
	slow := slowCompiler{began: make(chan struct{}, 2), end: make(chan struct{})}
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
		slow.ExpressionCompiler = p.Expressions
		p.Expressions = slow
	})
	d := chain("a")
	d.InputSchema = verification.Data(`{"type":"object"}`)
	w := k.Apply(d)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	started := make(chan error, 2)
	begin := func(start func(context.Context, verification.TenantID, verification.WorkflowID, engine.StartRequest) (rules.RunView, error)) {
		_, err := start(ctx, enginetest.Tenant, w.ID, engine.StartRequest{ReferenceID: "x", Input: verification.Data(`{"a":1}`)})
		started <- err
	}
	go begin(k.Engine.Start) // it has the slot of the tenant
	<-slow.began
	go begin(k.Engine.Within(k.Store).Start)
	select {
	case <-slow.began:
	case <-ctx.Done():
		t.Error("a start inside a transaction, which holds a connection, waits for a slot")
	}
	close(slow.end)
	for range 2 {
		if err := <-started; err != nil {
			t.Error(err)
		}
	}
}

func TestTheEndIsAnnouncedUnlessThereIsNoWebhook(t *testing.T) {
	for name, end := range map[string]func(*enginetest.Kit, *mock.RunStoreMock, verification.RunID) error{
		"inside a transaction": func(k *enginetest.Kit, runs *mock.RunStoreMock, id verification.RunID) error {
			_, err := k.Engine.Within(struct {
				store.RunStore
				store.WorkflowStore
				store.Tables
			}{runs, k.Store, k.Store.Tables}).Cancel(t.Context(), enginetest.Tenant, id)
			return err
		},
		"with a workflow that cannot be read": func(k *enginetest.Kit, runs *mock.RunStoreMock, id verification.RunID) error {
			_, err := operator(t, k, func(p *engine.Ports) {
				p.Store = replace(k.Store, func(s *ports) {
					s.RunStore = runs
					s.WorkflowStore = &mock.WorkflowStoreMock{
						VersionFunc: k.Store.Version,
						WorkflowFunc: func(context.Context, verification.TenantID, verification.WorkflowID) (workflow.Workflow, error) {
							return workflow.Workflow{}, errDisk
						},
					}
				})
			}).Cancel(t.Context(), enginetest.Tenant, id)
			return err
		},
	} {
		k, runs := withRuns(t)
		run := start(k, onboarding())
		s := watch(runs)
		if err := end(k, runs, run.ID); err != nil {
			t.Fatal(err)
		}
		s.want(t, "the appends of an end "+name, "wake-up, announced")
	}
}

func TestAnOperatorMayClearAWebhook(t *testing.T) {
	k := enginetest.New(t)
	w := k.Apply(chain("a"))
	clearing := func() error {
		_, err := k.Engine.ClearWebhook(t.Context(), enginetest.Tenant, w.ID)
		return err
	}
	if err := clearing(); !errors.Is(err, verification.ErrConflict) {
		t.Errorf("ClearWebhook of a workflow without one = %v", err)
	}
	for _, url := range []string{"https://one.example", "https://two.example"} {
		if _, err := k.Engine.SetWebhook(t.Context(), enginetest.Tenant, w.ID, url); err != nil {
			t.Fatal(err)
		}
		if err := clearing(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnAttemptThatOurStorePreventedDoesNotCount(t *testing.T) {
	k := enginetest.New(t)
	k.Notices.FailWith(&verification.Error{Kind: verification.ErrUnavailable, Subject: "database"})
	run := notified(k)
	k.Advance(21 * time.Second) // past the lease
	attempts := k.Notices.All()
	if len(attempts) != 2 || attempts[1].Attempt != 0 {
		t.Fatalf("attempts = %+v, want a second one that counts as the first", attempts)
	}
	if d := delivery(t, k, run.ID); d.State != rules.DeliveryDelivered || d.Attempts != 1 {
		t.Errorf("delivery = %+v, want it delivered with one attempt", d)
	}
}
