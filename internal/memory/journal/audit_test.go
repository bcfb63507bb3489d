package journal_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/internal/memory/memstore"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// TestASnapshotMovesTheAuditTrailToTheDisk reads a trail of several blocks from memory, from a snapshot, with counts that
// were added since, and after a restart.
func TestASnapshotMovesTheAuditTrailToTheDisk(t *testing.T) {
	const tenant = verification.TenantID("0191f3c0-0000-7000-8000-00000000000a")
	dir, ctx := t.TempDir(), t.Context()
	s := openIn(t, dir, journal.Options{})
	var want []store.AuditEntry
	for i := range 1000 {
		at := time.Date(2026, 3, 1, 9, 0, i, 0, time.UTC)
		e := store.AuditEntry{Tenant: tenant, ID: store.AuditID(at, fmt.Sprint(i)), At: at, Action: store.AuditVerdictGiven}
		if i%3 > 0 {
			e.Action, e.Count, e.LastAt = store.AuditRunRead, i, at.Add(time.Hour)
		}
		want = append(want, e)
	}
	add := func(entries ...store.AuditEntry) {
		t.Helper()
		if err := s.AppendAudit(ctx, entries); err != nil {
			t.Fatal(err)
		}
	}
	same := func(when string) {
		t.Helper()
		got, err := s.AuditEntries(ctx, tenant, store.AuditQuery{Limit: store.MaxAuditLimit})
		slices.Reverse(got)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%s: %d entries, %v, want the %d that were added", when, len(got), err, len(want))
		}
	}
	snapshot := func() {
		t.Helper()
		if err := s.Snapshot(ctx); err != nil {
			t.Fatal(err)
		}
		if n := memstore.AuditInMemory(s.Memory()); n != 0 {
			t.Errorf("after a snapshot %d bytes of the trail are in memory, want 0", n)
		}
	}
	add(want...)
	same("in memory")
	snapshot()
	same("in a snapshot")
	for _, i := range []int{1, 500, 998} {
		add(want[i])
		want[i].Count *= 2
	}
	same("with counts that were added")
	snapshot()
	same("in another snapshot")
	closed(t, s)
	s = openIn(t, dir, journal.Options{})
	same("after a restart")
}
