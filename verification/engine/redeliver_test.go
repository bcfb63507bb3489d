// Tests of sending a notice again.

package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func TestAFailedNoticeIsSentAgainUnderItsID(t *testing.T) {
	k := enginetest.New(t)
	k.Notices.FailWith(timedOut{}, &verification.RetryError{Cause: timedOut{}}, timedOut{})
	run := notified(k)
	k.Advance(24 * time.Hour)
	if d := delivery(t, k, run.ID); d.State != rules.DeliveryFailed {
		t.Fatalf("delivery = %+v, want failed", d)
	}
	if err := k.Engine.Redeliver(t.Context(), enginetest.Tenant, rules.NoticeRef{Run: run.ID}); err != nil {
		t.Fatal(err)
	}
	k.Settle()
	k.Advance(time.Minute) // the plan starts again: 5 s after a failure
	var ids []string
	var attempts []int
	for _, n := range k.Notices.All() {
		ids, attempts = append(ids, n.ID), append(attempts, n.Attempt)
	}
	if diff := cmp.Diff([]int{0, 1, 0, 1}, attempts); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
	if got := slices.Compact(ids); len(got) != 1 || got[0] != "run_"+string(run.ID) {
		t.Errorf("ids = %v, want one", got)
	}
	d := delivery(t, k, run.ID)
	if d.State != rules.DeliveryDelivered || d.Attempts != 4 || !d.FirstAt.Equal(enginetest.Began()) {
		t.Errorf("delivery = %+v, want delivered with the fourth attempt", d)
	}
}

func TestANoticeIsPendingAfterItsRedelivery(t *testing.T) {
	k := enginetest.New(t)
	k.Notices.FailWith(&verification.RetryError{Cause: timedOut{}})
	run := notified(k)
	k.Settle()
	other := operator(t, k, nil)
	k.Advance(time.Hour)
	if err := other.Redeliver(t.Context(), enginetest.Tenant, rules.NoticeRef{Run: run.ID}); err != nil {
		t.Fatal(err)
	}
	// The operator's engine does not serve, and the kit's is idle until its timer fires.
	d, err := k.Store.Delivery(t.Context(), enginetest.Tenant, rules.NoticeRef{Run: run.ID})
	if err != nil || d.State != rules.DeliveryPending || !d.NextAt.Equal(k.Clock.Now()) || d.Attempts != 1 {
		t.Errorf("delivery = %+v, %v; want it pending now", d, err)
	}
}

// operator is an engine over a kit's store that does not serve.
func operator(t *testing.T, k *enginetest.Kit, change func(*engine.Ports)) *engine.Engine {
	t.Helper()
	var p engine.Ports
	enginetest.New(t, func(made *engine.Ports, _ *engine.Options) { p = *made })
	p.Store, p.Clock = k.Store, k.Clock
	if change != nil {
		change(&p)
	}
	e, err := engine.New(p, engine.Options{Passive: true})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestAFailedRedeliveryLeavesTheLedger(t *testing.T) {
	k := enginetest.New(t)
	k.Notices.FailWith(&verification.RetryError{Cause: timedOut{}})
	run := notified(k)
	before := delivery(t, k, run.ID)
	runs := &mock.RunStoreMock{
		LoadFunc: k.Store.Load,
		AppendFunc: func(context.Context, verification.TenantID, verification.RunID, int, store.Commit) error {
			return errDisk
		},
	}
	e := operator(t, k, func(p *engine.Ports) { p.Store = replace(p.Store, func(s *ports) { s.RunStore = runs }) })
	if err := e.Redeliver(t.Context(), enginetest.Tenant, rules.NoticeRef{Run: run.ID}); !errors.Is(err, errDisk) {
		t.Errorf("redeliver = %v, want the store's error", err)
	}
	if diff := cmp.Diff(before, delivery(t, k, run.ID)); diff != "" {
		t.Errorf("the delivery changed (-before +after):\n%s", diff)
	}
}

func TestARedeliveryIsRepeatedAfterAVerdict(t *testing.T) {
	k := enginetest.New(t)
	run := notified(k)
	k.Settle()
	attempts := 0
	runs := &mock.RunStoreMock{
		LoadFunc: k.Store.Load,
		AppendFunc: func(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, a store.Commit) error {
			if attempts++; attempts == 1 {
				k.GiveVerdict(run.ID, rules.DecisionReject)
			}
			return k.Store.Append(ctx, t, id, seq, a)
		},
	}
	e := operator(t, k, func(p *engine.Ports) { p.Store = replace(p.Store, func(s *ports) { s.RunStore = runs }) })
	if err := e.Redeliver(t.Context(), enginetest.Tenant, rules.NoticeRef{Run: run.ID}); err != nil || attempts != 2 {
		t.Errorf("redeliver = %v after %d attempts, want it queued with the second", err, attempts)
	}
	if d := k.Run(run.ID).Decision; d != rules.DecisionReject {
		t.Errorf("decision = %q, want the verdict kept", d)
	}
}

func TestRedeliverNeedsARunThatIsOverAndAWebhook(t *testing.T) {
	k := enginetest.New(t)
	waiting := onboarding()
	waiting.LifecycleWebhookURL = hooks
	live, silent := start(k, waiting), start(k, chain("a"))
	for name, c := range map[string]struct {
		tenant verification.TenantID
		run    verification.RunID
		want   error
		words  string
	}{
		"a live run":              {enginetest.Tenant, live.ID, verification.ErrConflict, "not over"},
		"a run without webhook":   {enginetest.Tenant, silent.ID, verification.ErrConflict, "no lifecycle webhook"},
		"a run that is missing":   {enginetest.Tenant, "00000000-0000-7000-8000-00000000ffff", verification.ErrNotFound, ""},
		"a run of another tenant": {"00000000-0000-7000-8000-0000000000bb", silent.ID, verification.ErrNotFound, ""},
	} {
		err := k.Engine.Redeliver(t.Context(), c.tenant, rules.NoticeRef{Run: c.run})
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("redeliver %s = %v, want %v with %q", name, err, c.want, c.words)
		}
	}
	k.Settle()
	if all := k.Notices.All(); len(all) != 0 {
		t.Errorf("notices = %+v, want nothing", all)
	}
	p, err := k.Engine.Deliveries(t.Context(), enginetest.Tenant, "", store.PageQuery{Limit: 10})
	if err != nil || p.Total != 0 {
		t.Errorf("deliveries = %+v, %v; want none", p, err)
	}
}

func TestRedeliverNeedsANotifier(t *testing.T) {
	k := enginetest.New(t)
	run := notified(k)
	k.Settle()
	e := operator(t, k, func(p *engine.Ports) { p.Notifier = nil })
	if err := e.Redeliver(t.Context(), enginetest.Tenant, rules.NoticeRef{Run: run.ID}); !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("redeliver without a notifier = %v, want ErrUnavailable", err)
	}
}
