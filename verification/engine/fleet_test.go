// Tests of what an engine leaves to others, and takes from them.

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
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

// seen keeps what is appended.
type seen struct {
	verification.RunStore
	mu   sync.Mutex
	came []verification.Commit
}

func (s *seen) Append(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, a verification.Commit) error {
	s.mu.Lock()
	s.came = append(s.came, a)
	s.mu.Unlock()
	return s.RunStore.Append(ctx, t, id, seq, a)
}

// kinds tells of each append whether it was quiet, and whether it was kept.
func (s *seen) kinds() (kinds []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.came {
		kind := "told"
		switch {
		case a.HistoryOnly:
			kind = "quiet"
		case a.NoWakeup:
			kind = "kept"
		}
		if !a.AnnounceAt.IsZero() {
			kind += ", announced"
		}
		kinds = append(kinds, kind)
	}
	s.came = nil
	return kinds
}

func watched(t *testing.T, changes ...enginetest.Change) (*enginetest.Kit, *seen) {
	t.Helper()
	s := &seen{}
	k := enginetest.New(t, append(changes, func(p *engine.Ports, _ *engine.Options) {
		s.RunStore, p.Runs = p.Runs, s
	})...)
	return k, s
}

func (s *seen) want(t *testing.T, what string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, s.kinds()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestAStepThatChangesNothingButTheHistoryIsQuiet(t *testing.T) {
	k, s := watched(t)
	start(k, chain("a", "b", "c"))
	s.want(t, "the appends of three checks", "kept", "quiet", "quiet", "told")
}

func TestALeaseIsRenewedByAStepOnceItIsNoLongerYoung(t *testing.T) {
	k, s := watched(t, func(_ *engine.Ports, o *engine.Options) { o.Lease = 30 * time.Second })
	k.Provider.On("b", enginetest.Slow(20*time.Second, enginetest.Pass(nil)))
	w := k.Apply(with(chain("a", "b", "c"), "b", func(n *verification.Node) { n.TimeoutSeconds = 60 }))
	k.Start(w.ID, engine.StartRequest{ReferenceID: "x"})
	k.Advance(20 * time.Second)
	got := s.kinds()
	if len(got) != 4 || got[0] != "kept" || got[1] != "quiet" || got[3] != "told" {
		t.Errorf("the appends of a slow check = %q", got)
	}
}

func TestARunIsAnnouncedOnlyWhereSomebodyListens(t *testing.T) {
	k, s := watched(t)
	start(k, chain("a"))
	s.want(t, "the appends without a webhook", "kept", "told")
	d := chain("b")
	d.Workflow, d.LifecycleWebhookURL = "told", "https://app.example/hooks"
	start(k, d)
	s.want(t, "the appends with a webhook", "kept", "kept, announced")
}

func TestWaitsThatAreLongAreToldToOthers(t *testing.T) {
	for _, tt := range []struct {
		backoff float64
		want    string
	}{{3, "kept"}, {60, "told"}} {
		k, s := watched(t)
		k.Provider.On("a", enginetest.Flake())
		start(k, with(chain("a"), "a", func(n *verification.Node) {
			n.Retry = &verification.Retry{MaxDispatches: 2, BackoffSeconds: tt.backoff, MaxBackoffSeconds: tt.backoff}
		}))
		s.want(t, "the appends of a check that is tried again", "kept", tt.want)
	}
}

func TestAHostThatDrivesNothingTellsOthers(t *testing.T) {
	k, s := watched(t, func(_ *engine.Ports, o *engine.Options) { o.Passive = true })
	start(k, chain("a"))
	s.want(t, "the appends of a host without workers", "told")
}

func TestAHostInAFleetAsksTheQueueNowAndThenAndWhenItIsWoken(t *testing.T) {
	k := enginetest.New(t, func(_ *engine.Ports, o *engine.Options) { o.Poll = 2 * time.Second })
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
	wantStatus(t, k.Run(polled), verification.StatusCompleted)
	woken := leave()
	if !k.Engine.Wake() {
		t.Error("Wake of a host with room = false")
	}
	k.Settle()
	wantStatus(t, k.Run(woken), verification.StatusCompleted)
	if front.Wake() {
		t.Error("Wake of a host that drives nothing = true")
	}
}

func TestAHostInAFleetWritesDeadlinesDownWhenItIsTold(t *testing.T) {
	k := enginetest.New(t, func(_ *engine.Ports, o *engine.Options) { o.Poll = time.Second })
	d := onboarding()
	d.RunTTLSeconds = 60
	run := start(k, d)
	k.Advance(2 * time.Minute)
	written := func() bool {
		events, err := k.Store.Load(t.Context(), enginetest.Tenant, run.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(events, func(e verification.Event) bool { return e.Kind() == "expired" })
	}
	if written() {
		t.Error("the deadline is written down by a host that nobody told to")
	}
	if err := k.Engine.Sweep(t.Context()); err != nil || !written() {
		t.Errorf("Sweep = %v, and the deadline is written down: %t", err, written())
	}
	over, stop := context.WithCancel(t.Context())
	stop()
	if err := k.Engine.Sweep(over); !errors.Is(err, context.Canceled) {
		t.Errorf("Sweep under a context that is over = %v", err)
	}
}

// brief expires after a minute.
func brief() verification.Definition {
	d := onboarding()
	d.RunTTLSeconds = 60
	return d
}

// lateStore takes its time to save the first append of a run.
type lateStore struct {
	verification.RunStore
	saved func()
}

func (s *lateStore) Append(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, a verification.Commit) error {
	err := s.RunStore.Append(ctx, t, id, seq, a)
	if seq == 0 && s.saved != nil {
		s.saved()
	}
	return err
}

func TestADeadlineIsWrittenDownBeforeAnybodyIsToldOfIt(t *testing.T) {
	tell := map[string]func(*enginetest.Kit, verification.RunID) error{
		"reading": func(k *enginetest.Kit, id verification.RunID) error {
			d, err := k.Engine.Run(t.Context(), enginetest.Tenant, id)
			if d.Status != verification.StatusExpired {
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
	// A start is told of a deadline that passed while its first append was saved.
	started := verification.RunID("")
	tell["starting"] = func(k *enginetest.Kit, _ verification.RunID) error {
		v, err := k.Engine.Start(t.Context(), enginetest.Tenant, k.Apply(brief()).ID, engine.StartRequest{ReferenceID: "late"})
		started = v.ID
		if v.Status != verification.StatusExpired {
			t.Errorf("the start is answered %s, want expired", v.Status)
		}
		return err
	}
	for name, f := range tell {
		started = ""
		late := &lateStore{}
		k := enginetest.New(t, func(p *engine.Ports, o *engine.Options) { o.Poll = time.Hour; late.RunStore, p.Runs = p.Runs, late })
		run := start(k, brief())
		k.Advance(61 * time.Second)
		late.saved = func() { k.Advance(61 * time.Second) }
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

func TestATransactionDrivesNothingAndTakesNoKeys(t *testing.T) {
	k, s := watched(t)
	w := k.Apply(chain("a"))
	in := k.Engine.Within(engine.Ports{Workflows: k.Store, Tenants: k.Store})
	v, err := in.Start(t.Context(), enginetest.Tenant, w.ID, engine.StartRequest{ReferenceID: "x"})
	if err != nil || v.Status != verification.StatusInProgress {
		t.Fatalf("Start = %+v, %v", v, err)
	}
	s.want(t, "the appends inside a transaction", "told")
	if c, err := in.Cancel(t.Context(), enginetest.Tenant, v.ID); err != nil || c.Status != verification.StatusCancelled {
		t.Errorf("Cancel = %+v, %v", c, err)
	}
	_, err = in.Start(t.Context(), enginetest.Tenant, w.ID, engine.StartRequest{ReferenceID: "x", IdempotencyKey: "k"})
	if !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("Start with an idempotency key = %v, want it refused", err)
	}
	if _, err := in.GiveVerdict(t.Context(), enginetest.Tenant, v.ID, engine.VerdictRequest{Decision: verification.DecisionApprove}); err != nil {
		t.Errorf("GiveVerdict = %v", err)
	}
	_, err = in.GiveVerdict(t.Context(), enginetest.Tenant, v.ID,
		engine.VerdictRequest{Decision: verification.DecisionApprove, IdempotencyKey: "k"})
	if !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("GiveVerdict with an idempotency key = %v, want it refused", err)
	}
	if _, err := in.Submit(t.Context(), enginetest.Tenant, v.ID, "a_submitted", nil); !errors.Is(err, verification.ErrNotOpen) {
		t.Errorf("Submit = %v, want it not open", err)
	}
}

func TestAnOperatorMayTakeAWebhookAway(t *testing.T) {
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

func TestATryThatOurOwnStorePreventedIsNotCounted(t *testing.T) {
	k := enginetest.New(t)
	k.Notices.FailWith(&verification.Error{Kind: verification.ErrUnavailable, Subject: "database"})
	run := told(k)
	k.Advance(21 * time.Second) // past the lease
	tries := k.Notices.All()
	if len(tries) != 2 || tries[1].Attempt != 0 {
		t.Fatalf("tries = %+v, want a second one that counts as the first", tries)
	}
	if d := delivery(t, k, run.ID); d.State != verification.DeliveryDelivered || d.Attempts != 1 {
		t.Errorf("delivery = %+v, want it delivered with one try", d)
	}
}
