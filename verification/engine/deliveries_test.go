// Tests of the delivery ledger.

package engine_test

import (
	"context"
	"errors"
	"log/slog"
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

const hooks = "https://client.example/hooks"

// timedOut is an error of a Notifier with a class.
type timedOut struct{}

func (timedOut) Error() string { return "no whole answer within 15s" }

func (timedOut) Class() string { return "timeout" }

// notified starts a run that ends at once and has a webhook.
func notified(k *enginetest.Kit) rules.RunDetail {
	d := chain("a")
	d.LifecycleWebhookURL = hooks
	return start(k, d)
}

// delivery returns the delivery of a run.
func delivery(t *testing.T, k *enginetest.Kit, run verification.RunID) rules.Delivery {
	t.Helper()
	k.Settle()
	d, err := k.Store.Delivery(t.Context(), enginetest.Tenant, rules.NoticeRef{Run: run})
	if err != nil {
		t.Fatalf("read the delivery: %v", err)
	}
	return d
}

func TestTheLedgerRecordsEveryAttempt(t *testing.T) {
	k := enginetest.New(t)
	k.Notices.FailWith(timedOut{}, errors.New("down"))
	run := notified(k)
	began := enginetest.Began()
	want := rules.Delivery{
		Run: run.ID, Event: "run.completed", URL: hooks, State: rules.DeliveryPending, Attempts: 1, FirstAt: began, LastAt: began, Class: "timeout",
	}
	got := delivery(t, k, run.ID)
	if wait := got.NextAt.Sub(began); wait > 5*time.Second || wait < 4500*time.Millisecond {
		t.Errorf("next attempt after %s, want 5 s or up to a tenth less", wait)
	}
	want.NextAt = got.NextAt
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after the first attempt (-want +got):\n%s", diff)
	}
	k.Advance(time.Minute)
	want.Attempts, want.LastAt, want.Class = 2, want.NextAt, "failed"
	got = delivery(t, k, run.ID)
	want.NextAt = got.NextAt
	if diff := cmp.Diff(want, got); diff != "" || !got.NextAt.After(k.Clock.Now()) {
		t.Errorf("after the second attempt (-want +got):\n%s", diff)
	}
	k.Advance(time.Hour)
	want.State, want.Attempts, want.LastAt = rules.DeliveryDelivered, 3, want.NextAt
	want.NextAt, want.Class = time.Time{}, "delivered"
	if diff := cmp.Diff(want, delivery(t, k, run.ID)); diff != "" {
		t.Errorf("after the third attempt (-want +got):\n%s", diff)
	}
}

func TestANoticeHasFailedAfterItsLastAttempt(t *testing.T) {
	k := enginetest.New(t)
	k.Notices.FailWith(slices.Repeat([]error{timedOut{}}, 10)...)
	run := notified(k)
	k.Advance(30 * 24 * time.Hour)
	attempts := k.Notices.All()
	want := rules.Delivery{
		Run: run.ID, Event: "run.completed", URL: hooks, State: rules.DeliveryFailed, Attempts: 10,
		FirstAt: enginetest.Began(), LastAt: attempts[len(attempts)-1].At, Class: "timeout",
	}
	if diff := cmp.Diff(want, delivery(t, k, run.ID)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestANoticeWithoutARetryHasFailed(t *testing.T) {
	k := enginetest.New(t)
	k.Notices.FailWith(&verification.RetryError{Cause: timedOut{}})
	run := notified(k)
	d := delivery(t, k, run.ID)
	if d.State != rules.DeliveryFailed || d.Attempts != 1 || !d.NextAt.IsZero() || d.Class != "timeout" {
		t.Errorf("delivery = %+v, want failed by a timeout after one attempt", d)
	}
}

func TestDeliveriesAreListedByState(t *testing.T) {
	k := enginetest.New(t)
	k.Notices.FailWith(timedOut{}, &verification.RetryError{Cause: errors.New("410")})
	want := map[rules.DeliveryState]verification.RunID{}
	for _, state := range []rules.DeliveryState{
		rules.DeliveryPending, rules.DeliveryFailed, rules.DeliveryDelivered,
	} {
		want[state] = notified(k).ID
	}
	got := map[rules.DeliveryState]verification.RunID{}
	for state := range want {
		p, err := k.Engine.Deliveries(t.Context(), enginetest.Tenant, state, store.PageQuery{Limit: 10})
		if err != nil || p.Total != 1 || len(p.Data) != 1 {
			t.Fatalf("deliveries %s = %+v, %v; want one", state, p, err)
		}
		got[state] = p.Data[0].Run
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runs by state (-want +got):\n%s", diff)
	}
	if p, err := k.Engine.Deliveries(t.Context(), enginetest.Tenant, "", store.PageQuery{Limit: 1}); err != nil || p.Total != 3 || len(p.Data) != 1 {
		t.Errorf("a page of one = %+v, %v; want one of three", p, err)
	}
	if _, err := k.Engine.Deliveries(t.Context(), enginetest.Tenant, "", store.PageQuery{}); !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("a page of none = %v, want ErrInvalid", err)
	}
}

func TestALedgerThatFailsDelaysNoNotice(t *testing.T) {
	for name, broken := range map[string]func(rows *mock.RowStoreMock, sound store.RowStore){
		"reading": func(rows *mock.RowStoreMock, sound store.RowStore) {
			rows.RowFunc = func(ctx context.Context, kind store.RecordKind, key string) (store.Record, error) {
				if kind == store.RecordDelivery {
					return nil, errDisk
				}
				return sound.Row(ctx, kind, key)
			}
		},
		"writing": func(rows *mock.RowStoreMock, sound store.RowStore) {
			rows.ChangeFunc = func(ctx context.Context, changed []store.Record) error {
				if store.KindOf(changed[0]) == store.RecordDelivery {
					return errDisk
				}
				return sound.Change(ctx, changed)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			k := enginetest.New(t, func(p *engine.Ports, o *engine.Options) {
				rows := mockRows(p.Store)
				broken(rows, p.Store)
				p.Store = replace(p.Store, func(s *ports) { s.RowStore = rows })
				o.Log = slog.New(slog.NewTextHandler(&log, nil))
			})
			k.Notices.FailWith(timedOut{})
			run := notified(k)
			k.Advance(time.Hour)
			if err := k.Engine.Redeliver(t.Context(), enginetest.Tenant, rules.NoticeRef{Run: run.ID}); err != nil {
				t.Errorf("redeliver = %v, want it queued", err)
			}
			k.Settle()
			if all := k.Notices.All(); len(all) != 3 {
				t.Errorf("attempts = %d, want the failed one, its retry and the redelivery", len(all))
			}
			if !strings.Contains(log.String(), "the disk is gone") {
				t.Errorf("log = %q, want the error", log.String())
			}
		})
	}
}
