// Tests of the ledger of erasures.

package blob_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/storetest"
)

func TestALedgerFileKeepsTheContract(t *testing.T) {
	file := filepath.Join(t.TempDir(), "erasures")
	storetest.Ledger(t, func() verification.ErasureLedger { return blob.LedgerFile(file) })
}

func TestALedgerInMemoryKeepsTheContract(t *testing.T) {
	l := &blob.MemoryLedger{}
	storetest.Ledger(t, func() verification.ErasureLedger { return l })
}

func TestALedgerSurvivesATornLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "erasures")
	l := blob.LedgerFile(file)
	first := verification.Erasure{Run: "1", Kind: verification.ErasureRedacted, At: time.Unix(1, 0).UTC(), StartedAt: time.Unix(0, 0).UTC()}
	if err := l.NoteErasures(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	second := first
	second.Run = "2"
	for cut := range len(whole) { // a crash left so much of the next line
		if err := os.WriteFile(file, append(whole[:len(whole):len(whole)], whole[:cut]...), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := l.NoteErasures(t.Context(), second); err != nil {
			t.Fatal(err)
		}
		var found strings.Builder
		if err := l.EachErasure(t.Context(), func(e verification.Erasure) bool {
			found.WriteString(string(e.Run))
			return true
		}); err != nil || found.String() != "21" && (cut != len(whole)-1 || found.String() != "211") {
			t.Errorf("after %d bytes of a line, the runs are %s, %v; want 2 and 1", cut, found.String(), err)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v, %v; want 0600", info.Mode(), err)
	}
}
