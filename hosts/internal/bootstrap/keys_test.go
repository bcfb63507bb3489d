// Tests of the API keys of a file.

package bootstrap_test

import (
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/verification"
)

func TestAFileMayHaveTwoKeysOfAnAccount(t *testing.T) {
	b := newBench(t)
	if _, err := b.apply(simple); err != nil {
		t.Fatal(err)
	}
	changed := []string{"tenant Bank unchanged", "account bank changed", "account reader unchanged", "workflow simple unchanged"}
	unchanged := []string{"tenant Bank unchanged", "account bank unchanged", "account reader unchanged", "workflow simple unchanged"}
	both := strings.Replace(simple, "a-key-for-local-use-only", "b-key-for-local-use-only, previous_api_key: a-key-for-local-use-only", 1)
	b.mustApply(both, changed...)
	b.mustApply(both, unchanged...)
	a := b.account("bank")
	if a.KeyHash != verification.HashAPIKey("b-key-for-local-use-only") || a.PreviousKeyHash != verification.HashAPIKey("a-key-for-local-use-only") || !a.PreviousUntil.IsZero() {
		t.Errorf("account = %+v, want both keys without an end", a)
	}
	b.mustApply(strings.Replace(simple, "a-key-for", "b-key-for", 1), changed...)
	if a := b.account("bank"); a.PreviousKeyHash != ([32]byte{}) {
		t.Error("a key that left the file is still accepted")
	}
}

func TestAFileLeavesAKeyThatRotatesAlone(t *testing.T) {
	b := newBench(t)
	if _, err := b.apply(simple); err != nil {
		t.Fatal(err)
	}
	rotated := b.account("bank")
	rotated.PreviousKeyHash, rotated.PreviousUntil = rotated.KeyHash, time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	rotated.KeyHash = verification.HashAPIKey("b-key-for-local-use-only")
	if err := b.store.Store.SaveAccount(t.Context(), rotated); err != nil {
		t.Fatal(err)
	}
	b.mustApply(strings.Replace(simple, "a-key-for", "b-key-for", 1), "tenant Bank unchanged", "account bank unchanged", "account reader unchanged", "workflow simple unchanged")
	if a := b.account("bank"); a.PreviousKeyHash != rotated.PreviousKeyHash || !a.PreviousUntil.Equal(rotated.PreviousUntil) {
		t.Errorf("account = %+v, want that the old key is accepted until %s", a, rotated.PreviousUntil)
	}
	b.mustApply(simple, "tenant Bank unchanged", "account bank changed", "account reader unchanged", "workflow simple unchanged")
	if a := b.account("bank"); a.PreviousKeyHash != ([32]byte{}) || a.KeyHash != verification.HashAPIKey("a-key-for-local-use-only") {
		t.Errorf("account = %+v, want only the key of the file", a)
	}
}
