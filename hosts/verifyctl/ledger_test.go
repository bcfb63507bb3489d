// Tests of what verifyctl says about the ledger of erasures in a folder.

package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

func TestADamagedLedgerIsFoundInAFolder(t *testing.T) {
	w := onFolder(t)
	w.env["ACME_API_KEY"] = "a-key-for-local-use-only"
	folder := datadir.Folder(w.env["VERIFYD_DATA_DIR"])
	w.ctl("apply testdata/bootstrap.yaml")
	w.stop()
	if err := os.MkdirAll(folder.Documents(), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := journal.Open(t.Context(), folder.Journal(), journal.Options{OpenedAt: time.Now()})
	if err == nil {
		err = s.SaveLedgerMark(t.Context(), store.LedgerMark{}, store.LedgerMark{ID: "l", Last: 2, Applied: 2}, nil)
	}
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	entry := func(n int64) verification.Erasure {
		return verification.Erasure{Ledger: "l", Number: n, Kind: verification.ErasureOpened, At: time.Unix(1, 0).UTC()}
	}
	ledger := blob.LedgerFile(folder.Erasures())
	says := func(command, want string, exits bool) {
		t.Helper()
		w.transcript()
		w.ctl(command)
		if got := string(w.transcript()); !strings.Contains(got, want) || strings.Contains(got, "exit 1") != exits {
			t.Errorf("%s says %s, want %q", command, got, want)
		}
	}
	const damaged = "the ledger of erasures is damaged: "
	says("store check "+string(folder), damaged+"2 of 2 entries are missing, the first has the number 1", true)
	says("doctor", damaged+"2 of 2 entries are missing", true)
	for n := int64(1); n <= 2; n++ {
		if err := ledger.NoteErasures(t.Context(), entry(n)); err != nil {
			t.Fatal(err)
		}
	}
	says("store check "+string(folder), "segments", false)
	w.transcript()
	w.ctl("doctor")
	if got := string(w.transcript()); strings.Contains(got, damaged) {
		t.Errorf("the doctor says %s", got)
	}
	if err := ledger.NoteErasures(t.Context(), entry(3)); err != nil {
		t.Fatal(err)
	}
	says("store check "+string(folder), "the ledger of erasures has 3 entries, and the journal knows 2", false)
	if err := os.WriteFile(folder.Erasures(), []byte("<html>\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	says("store check "+string(folder), damaged+"1 entries cannot be read; 3 of 3 entries are missing", true)
}
