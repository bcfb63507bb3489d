package memory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/internal/memory/memstore"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func TestTheBacklogHasWhatWaitsTooLong(t *testing.T) {
	const grace = 30 * time.Second
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := memory.New()
	for n, state := range []rules.DeliveryState{rules.DeliveryFailed, rules.DeliveryDelivered, rules.DeliveryPending, rules.DeliveryFailed} {
		tenant, run := verification.TenantID(fmt.Sprint("tenant", n%2)), verification.RunID(fmt.Sprint("run", n))
		began := rules.Event{At: noon, Fact: rules.Started{Workflow: "w"}}
		c := store.Commit{
			Events: []rules.Event{began}, Summary: rules.Fold(run, []rules.Event{began}).Summary(),
			Work: store.AdvanceAt(noon.Add(time.Duration(n) * time.Second)),
		}
		if n > 1 {
			c.Summary.ExpiresAt = noon.Add(time.Minute)
			c.Work[store.WorkKey{Kind: store.WorkExpire}] = c.Summary.ExpiresAt
		}
		if err := s.Append(t.Context(), tenant, run, 0, c); err != nil {
			t.Fatal(err)
		}
		if err := s.SaveDelivery(t.Context(), tenant, rules.Delivery{Run: run, State: state, LastAt: noon}); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(after time.Duration, want memstore.Backlog) {
		t.Helper()
		want.Pending, want.Failed = 1, 2
		if diff := cmp.Diff(want, s.Backlog(noon.Add(after), grace)); diff != "" {
			t.Errorf("Backlog at noon+%s differs (-want +got):\n%s", after, diff)
		}
	}
	holds(grace, memstore.Backlog{})
	holds(grace+1500*time.Millisecond, memstore.Backlog{Late: 2, Oldest: noon})
	holds(time.Minute+grace, memstore.Backlog{Late: 4, Oldest: noon})
	holds(time.Minute+grace+1, memstore.Backlog{Late: 4, Oldest: noon, Overdue: 2})
	for n := range 3 { // the host died twice after it took the runs
		r := store.TakeRequest{Kind: store.WorkAdvance, Now: noon.Add(time.Duration(n)*time.Hour + time.Minute), Lease: time.Minute, Max: 9, MaxPerTenant: 9}
		if work, _, err := s.Take(t.Context(), r); err != nil || len(work) != 4 {
			t.Fatalf("Take = %v, %v, want all runs", work, err)
		}
	}
	holds(2*time.Hour, memstore.Backlog{Overdue: 2, RepeatedlyLost: 4})
}
