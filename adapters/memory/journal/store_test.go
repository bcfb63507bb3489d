package journal_test

import (
	"context"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/verifyd/verifyd/adapters/memory/journal"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/storetest"
)

// TestStoreKeepsTheContract runs every clause, and then compares every read of the store with
// every read of the store that is opened again.
func TestStoreKeepsTheContract(t *testing.T) {
	compared := 0
	storetest.All(t, func(t *testing.T) store.Store {
		dir := t.TempDir()
		s := openIn(t, dir, journal.Options{})
		n := newNames()
		t.Cleanup(func() {
			closed(t, s)
			compared += sameReads(t, n, s.Memory(), openIn(t, dir, journal.Options{}))
		})
		return noted{s, n}
	})
	if compared < 5000 {
		t.Errorf("%d reads were compared: are they found?", compared)
	}
}

// sameReads fails the test unless two stores read the same, and returns the number of reads.
func sameReads(t testing.TB, n *names, want, got store.Store) int {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // also in a cleanup
	before, err := n.read(ctx, want)
	if err != nil {
		t.Fatal(err)
	}
	after, err := n.read(ctx, got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(before, after, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("reads of the store that is opened again (-before +after):\n%s", diff)
	}
	return len(before)
}
