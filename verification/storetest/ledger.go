// The contract of a ledger of erasures.

package storetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Ledger tests an ErasureLedger, which must be empty. open opens it again, as another process does.
func Ledger(t *testing.T, open func() verification.ErasureLedger) {
	t.Helper()
	kinds := []verification.ErasureKind{
		verification.ErasureRedacted, verification.ErasureDeleted, verification.ErasureHeld, verification.ErasureReleased,
		verification.ErasureLimited, verification.ErasureLifted,
	}
	entry := func(n int) verification.Erasure {
		at := time.Date(2026, time.March, 2, 12, 0, n, 1000*n, time.UTC)
		return verification.Erasure{
			Ledger: "e0000000-0000-7000-8000-000000000001", Number: int64(n) + 1,
			Tenant: "a0000000-0000-7000-8000-000000000001", Run: verification.RunID(fmt.Sprintf("d0000000-0000-7000-8000-%012x", n)),
			Kind: kinds[n%len(kinds)], At: at, StartedAt: at.Add(-time.Hour),
		}
	}
	read := func(limit int) (found []verification.Erasure) {
		t.Helper()
		err := open().EachErasure(t.Context(), func(e verification.Erasure) bool {
			if e.Kind != verification.ErasureCounted {
				found = append(found, e)
			}
			return len(found) < limit
		})
		if err != nil {
			t.Fatalf("EachErasure = %v", err)
		}
		return found
	}
	if found := read(1); len(found) != 0 {
		t.Fatalf("the ledger is not empty: %v", found)
	}
	ledger, noted := open(), []verification.Erasure{{
		Ledger: entry(0).Ledger, Number: 1, Through: 2, Kind: verification.ErasureLost, At: entry(0).At, StartedAt: entry(0).At,
	}}
	for n := range 1200 { // more than a block, and more than a page
		noted = append(noted, entry(n+2))
	}
	for some := range slices.Chunk(noted, 50) {
		if err := ledger.NoteErasures(t.Context(), some...); err != nil {
			t.Fatalf("NoteErasures = %v", err)
		}
	}
	for _, limit := range []int{len(noted) + 1, 3, 1} {
		if found, want := read(limit), noted[:min(limit, len(noted))]; !slices.Equal(found, want) {
			t.Errorf("the first %d entries are not the first ones: %d entries, of which the first is %v", limit, len(found), found[:min(1, len(found))])
		}
	}
	var writers sync.WaitGroup
	for n := range 8 {
		writers.Go(func() {
			if err := open().NoteErasures(t.Context(), entry(2000+n)); err != nil {
				t.Errorf("NoteErasures beside others = %v", err)
			}
		})
	}
	writers.Wait()
	if found := read(10000); len(found) != len(noted)+8 {
		t.Errorf("%d entries after 8 writers, want %d", len(found), len(noted)+8)
	}
	foreign := entry(3000)
	foreign.Ledger = "another"
	if err := ledger.NoteErasures(t.Context(), foreign); err != nil {
		t.Fatalf("NoteErasures = %v", err)
	}
	if found := read(10000); len(found) != len(noted)+9 {
		t.Errorf("%d entries with one of another ledger, want %d", len(found), len(noted)+9)
	}
	if err := ledger.RepairErasures(t.Context(), foreign.Ledger); err != nil {
		t.Fatalf("RepairErasures = %v", err)
	}
	if found := read(10000); !slices.Equal(found, []verification.Erasure{foreign}) {
		t.Errorf("%d entries after the repair, want the one of the ledger", len(found))
	}
}
