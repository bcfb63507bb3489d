package memory_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/storetest"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestStoreKeepsTheContract(t *testing.T) {
	storetest.All(t, func(*testing.T) store.Store { return memory.New() })
}

// TestManyCallersAtOnce is for the race detector: many goroutines call every method,
// at any times.
func TestManyCallersAtOnce(t *testing.T) {
	const callers, runs = 8, 60
	s, ctx := memory.New(), t.Context()
	start := benchStart()
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			own := verification.TenantID(fmt.Sprint("00000000-0000-7000-8000-00000000000", caller%2))
			for i := range runs {
				id, history := benchRun(i), benchLife(i)
				for n := range history {
					a := store.Commit{
						Events: history[n : n+1], Summary: rules.Fold(id, history[:n+1]).Summary(),
						Work: store.AdvanceAt(start.Add(time.Duration(i) * time.Second)),
					}
					if n+1 == len(history) {
						a.Work[store.WorkKey{Kind: store.WorkAnnounce}] = start
					}
					if err := s.Append(ctx, own, id, n, a); err != nil && !errors.Is(err, verification.ErrConflict) {
						t.Errorf("Append: %v", err)
					}
					if _, err := s.Load(ctx, own, id, n); err != nil {
						t.Errorf("Load: %v", err)
					}
				}
				callEverything(ctx, t, s, own, i, start.Add(time.Duration((caller*31+i*17)%100)*time.Hour))
			}
		})
	}
	wg.Wait()
	for _, own := range []verification.TenantID{"00000000-0000-7000-8000-000000000000", "00000000-0000-7000-8000-000000000001"} {
		p, err := s.List(ctx, own, store.RunQuery{PageQuery: store.PageQuery{Limit: 1}, Now: start})
		if err != nil || p.Total != runs {
			t.Errorf("List counts %d runs (%v), want %d", p.Total, err, runs)
		}
	}
}

func callEverything(ctx context.Context, t *testing.T, s *memory.Store, own verification.TenantID, i int, now time.Time) {
	status := rules.Statuses()[i%6]
	p, err := s.List(ctx, own, store.RunQuery{PageQuery: store.PageQuery{Limit: 10}, Status: status, Now: now})
	if err != nil {
		t.Errorf("List: %v", err)
	}
	for _, got := range p.Data {
		if got.StatusAt(now) != status {
			t.Errorf("List(%s) has a run that reads %s", status, got.StatusAt(now))
		}
	}
	work, _, err := s.Take(ctx, store.TakeRequest{
		Kind: store.WorkAdvance, Now: now, Lease: time.Minute, Max: 3, MaxPerTenant: 3,
	})
	if err != nil {
		t.Errorf("Take: %v", err)
	}
	for n, w := range work {
		errs := []error{s.Renew(ctx, []verification.RunRef{w.RunRef}, now.Add(time.Hour), false)}
		if n%2 == 0 {
			errs = append(errs, s.Finish(ctx, w))
		} else {
			errs = append(errs, s.Postpone(ctx, w, now.Add(time.Minute)))
		}
		if err := errors.Join(errs...); err != nil {
			t.Errorf("Renew, Finish or Postpone: %v", err)
		}
	}
	w := workflow.Workflow{ID: benchWorkflow(i), CreatedAt: now, Revision: 1}
	if err := s.SaveWorkflow(ctx, own, w, &workflow.Version{Hash: "hash"}); err != nil && !errors.Is(err, verification.ErrConflict) {
		t.Errorf("SaveWorkflow: %v", err)
	}
	_, missing := s.Workflow(ctx, own, w.ID)
	_, unversioned := s.Version(ctx, own, w.ID, "hash")
	_, unlisted := s.Workflows(ctx, own, store.PageQuery{Limit: 10})
	record := store.IdempotencyRecord{
		IdempotencyKey: store.IdempotencyKey{Scope: store.ScopeStart, Key: fmt.Sprint("key-", i)},
		ID:             string(benchRun(i)), At: now,
	}
	_, unclaimed := s.ClaimIdempotencyKey(ctx, own, record)
	_, unrecorded := s.IdempotencyRecord(ctx, own, record.IdempotencyKey, now)
	d := rules.Delivery{Run: benchRun(i), State: deliveryStates()[i%3], LastAt: now}
	if err := s.SaveDelivery(ctx, own, d); err != nil {
		t.Errorf("SaveDelivery: %v", err)
	}
	_, undelivered := s.Delivery(ctx, own, d.Ref())
	_, unledgered := s.Deliveries(ctx, own, d.State, store.PageQuery{Limit: 10})
	err = errors.Join(missing, unversioned, unlisted, unclaimed, unrecorded, undelivered, unledgered,
		s.SettleIdempotencyKey(ctx, own, record),
		s.ReleaseIdempotencyKey(ctx, own, record),
		s.SaveTenant(ctx, verification.Tenant{ID: own}),
		s.SaveAccount(ctx, verification.Account{ClientID: "client of " + string(own), Tenant: own}))
	if err != nil {
		t.Errorf("one of the rest: %v", err)
	}
}

func TestOldIdempotencyKeysAreRemoved(t *testing.T) {
	const claims = 200_000
	s, at := memory.New(), benchStart()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range claims {
		// One a minute: a day has 1440.
		r := store.IdempotencyRecord{
			IdempotencyKey: store.IdempotencyKey{Scope: store.ScopeStart, Key: fmt.Sprint("key-", i)},
			ID:             "run", At: at.Add(time.Duration(i) * time.Minute),
		}
		if _, err := s.ClaimIdempotencyKey(t.Context(), tenant, r); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 {
		t.Errorf("%d claims over %d days hold %d bytes, want less than 4 MiB", claims, claims/1440, grown)
	}
	runtime.KeepAlive(s)
}

func TestPagesOutOfBoundsAreEmpty(t *testing.T) {
	s := memory.New()
	appendLife(t, s, 1)
	if err := s.SaveDelivery(t.Context(), benchTenant, rules.Delivery{Run: benchRun(1)}); err != nil {
		t.Fatal(err)
	}
	for _, q := range []store.PageQuery{{Limit: 0}, {Limit: -1}, {Limit: 1, Offset: -1}, {Limit: 1, Offset: 1}} {
		p, err := s.List(t.Context(), benchTenant, store.RunQuery{PageQuery: q, Now: benchStart()})
		if err != nil || len(p.Data) != 0 || p.Total != 1 {
			t.Errorf("List(%+v) = %d of %d runs, %v, want 0 of 1", q, len(p.Data), p.Total, err)
		}
		if _, err := s.Workflows(t.Context(), benchTenant, q); err != nil {
			t.Errorf("Workflows(%+v): %v", q, err)
		}
		d, err := s.Deliveries(t.Context(), benchTenant, "", q)
		if err != nil || len(d.Data) != 0 || d.Total != 1 {
			t.Errorf("Deliveries(%+v) = %d of %d, %v, want 0 of 1", q, len(d.Data), d.Total, err)
		}
	}
}
