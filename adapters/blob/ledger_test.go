// Tests of the ledger of erasures.

package blob_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
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
	l := blob.MemoryLedger()
	storetest.Ledger(t, func() verification.ErasureLedger { return l })
}

func erasure(number int64, run verification.RunID) verification.Erasure {
	return verification.Erasure{
		Ledger: "l", Number: number, Run: run, Kind: verification.ErasureRedacted, At: time.Unix(1, 0).UTC(), StartedAt: time.Unix(0, 0).UTC(),
	}
}

// readAll returns the runs and numbers of a ledger, or the kind of what is no entry.
func readAll(t *testing.T, l verification.ErasureLedger) string {
	t.Helper()
	var found []string
	if err := l.EachErasure(t.Context(), func(e verification.Erasure) bool {
		if e.Run != "" {
			found = append(found, string(e.Run))
		} else {
			found = append(found, string(e.Kind))
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(found, " ")
}

func TestALedgerSurvivesATornLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "erasures")
	l := blob.LedgerFile(file)
	for name, number := range map[string]int64{"with numbers": 1, "of an earlier build": 0} {
		first, second := erasure(number, "1"), erasure(2*number, "2")
		if number == 0 {
			first.Ledger, second.Ledger = "", ""
		}
		whole, err := first.Line()
		if err != nil {
			t.Fatal(err)
		}
		whole = append(whole, '\n')
		for cut := range len(whole) { // a crash left so much of the next line
			torn := append(slices.Clone(whole), whole[:cut]...)
			if err := os.WriteFile(file, torn, 0o600); err != nil {
				t.Fatal(err)
			}
			want := "1 unfinished 2"
			switch cut {
			case 0:
				want = "1 2"
			case len(whole) - 1: // only the end of the line is missing
				want = "1 1 2"
			}
			for _, l := range []verification.ErasureLedger{l, blob.LedgerFile(file)} {
				if found := readAll(t, l); !strings.HasPrefix(want, strings.TrimSuffix(found, " counted")) {
					t.Errorf("%s, %d bytes of a line: %s, want the beginning of %s", name, cut, found, want)
				}
			}
			if err := l.NoteErasures(t.Context(), second); err != nil {
				t.Fatal(err)
			}
			if found := strings.TrimSuffix(readAll(t, l), " counted"); found != want {
				t.Errorf("%s, after %d bytes of a line: %s, want %s", name, cut, found, want)
			}
			if raw, err := os.ReadFile(file); err != nil || !bytes.HasPrefix(raw, torn) {
				t.Errorf("%s: the file was changed before its end, %v", name, err)
			}
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v, %v; want 0600", info.Mode(), err)
	}
}

func TestEachFlippedBitOfALedgerIsNoticed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "erasures")
	l := blob.LedgerFile(file)
	if err := l.NoteErasures(t.Context(), erasure(1, "1"), erasure(2, "2"), erasure(3, "3")); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err != nil || readAll(t, l) != "1 2 3 counted" {
		t.Fatalf("%s, %v", readAll(t, l), err)
	}
	for i := range whole {
		for bit := range 8 {
			damaged := bytes.Clone(whole)
			damaged[i] ^= 1 << bit
			if err := os.WriteFile(file, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			if found := readAll(t, l); found == "1 2 3 counted" && i != len(whole)-1 {
				t.Fatalf("bit %d of byte %d: nothing is noticed", bit, i)
			}
		}
	}
}

// TestACutLedgerKnowsItsEnd cuts the file at the end of a line, and removes it.
func TestACutLedgerKnowsItsEnd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "erasures")
	l := blob.LedgerFile(file)
	if err := l.NoteErasures(t.Context(), erasure(1, "1"), erasure(2, "2")); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, left := range [][]byte{whole[:len(whole)/2], nil} {
		if err := os.WriteFile(file, left, 0o600); err != nil {
			t.Fatal(err)
		}
		end := verification.Erasure{}
		if err := l.EachErasure(t.Context(), func(e verification.Erasure) bool {
			end = e
			return true
		}); err != nil || end.Kind != verification.ErasureCounted || end.Number != 2 || end.Ledger != "l" {
			t.Errorf("%d bytes: the end is %+v, %v; want number 2", len(left), end, err)
		}
	}
}

func TestARepairKeepsTheDamagedFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "erasures")
	l := blob.LedgerFile(file)
	damaged := []byte("<html>\n")
	for n := range 2 {
		if err := os.WriteFile(file, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := l.NoteErasures(t.Context(), erasure(1, "1")); err != nil {
			t.Fatal(err)
		}
		if found := readAll(t, l); found != "unreadable 1 counted" {
			t.Errorf("before: %s", found)
		}
		if err := l.RepairErasures(t.Context(), "l"); err != nil {
			t.Fatal(err)
		}
		if found := readAll(t, l); found != "1" {
			t.Errorf("after: %s", found)
		}
		aside := file + ".damaged-" + string(rune('1'+n))
		if raw, err := os.ReadFile(aside); err != nil || !bytes.HasPrefix(raw, damaged) {
			t.Errorf("%s has %q, %v", aside, raw, err)
		}
	}
}
