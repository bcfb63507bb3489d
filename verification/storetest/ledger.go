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
	entry := func(n int) verification.Erasure {
		at := time.Date(2026, time.March, 2, 12, 0, n, 1000*n, time.UTC)
		kind := verification.ErasureRedacted
		if n%2 == 1 {
			kind = verification.ErasureDeleted
		}
		return verification.Erasure{
			Tenant: "a0000000-0000-7000-8000-000000000001", Run: verification.RunID(fmt.Sprintf("d0000000-0000-7000-8000-%012x", n)),
			Kind: kind, At: at, StartedAt: at.Add(-time.Hour),
		}
	}
	read := func(limit int) (found []verification.Erasure) {
		t.Helper()
		err := open().EachErasure(t.Context(), func(e verification.Erasure) bool {
			found = append(found, e)
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
	ledger, noted := open(), []verification.Erasure{}
	for n := range 700 { // more than a block, and more than a page
		noted = append(noted, entry(n))
	}
	for some := range slices.Chunk(noted, 3) {
		if err := ledger.NoteErasures(t.Context(), some...); err != nil {
			t.Fatalf("NoteErasures = %v", err)
		}
	}
	slices.Reverse(noted)
	for _, limit := range []int{len(noted) + 1, 3, 1} {
		if found, want := read(limit), noted[:min(limit, len(noted))]; !slices.Equal(found, want) {
			t.Errorf("the newest %d entries are not the newest ones: %d entries, of which the first is %v", limit, len(found), found[:min(1, len(found))])
		}
	}
	var writers sync.WaitGroup
	for n := range 8 {
		writers.Go(func() {
			if err := open().NoteErasures(t.Context(), entry(1000+n)); err != nil {
				t.Errorf("NoteErasures beside others = %v", err)
			}
		})
	}
	writers.Wait()
	if found := read(10000); len(found) != len(noted)+8 {
		t.Errorf("%d entries after 8 writers, want %d", len(found), len(noted)+8)
	}
}
