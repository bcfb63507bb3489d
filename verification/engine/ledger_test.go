// Tests of the ledger of erasures: what stands in it, and holds and restrictions that a restore keeps.

package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// ledgerKinds returns the kinds of the entries of a run, in the order of their numbers, which must have no gap.
func ledgerKinds(t *testing.T, l verification.ErasureLedger, run verification.RunID) (kinds []verification.ErasureKind) {
	t.Helper()
	for i, e := range noted(t, l) {
		if e.Number != int64(i)+1 || e.Ledger == "" {
			t.Errorf("entry %d has the number %d of the ledger %q", i+1, e.Number, e.Ledger)
		}
		if e.Run == run {
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}

// TestHoldsAndRestrictionsSurviveARestore goes through what may be done to a run after a backup, and restores it.
func TestHoldsAndRestrictionsSurviveARestore(t *testing.T) {
	by := verification.Person{Name: "Ravi", Identity: "ravi"}
	acts := map[string]func(e *engine.Engine, run verification.RunID) error{
		"hold": func(e *engine.Engine, run verification.RunID) error {
			return e.HoldRun(t.Context(), enginetest.Tenant, run, rules.HoldRun{Reason: "Asha is in dispute", By: "Ravi", Identity: "ravi"})
		},
		"release": func(e *engine.Engine, run verification.RunID) error {
			return e.EndHold(t.Context(), enginetest.Tenant, run, rules.EndHold{By: "Ravi", Identity: "ravi"})
		},
		"restrict": func(e *engine.Engine, run verification.RunID) error {
			_, err := e.Restrict(t.Context(), enginetest.Tenant, run, "Asha objects", by)
			return err
		},
		"lift": func(e *engine.Engine, run verification.RunID) error {
			_, err := e.LiftRestriction(t.Context(), enginetest.Tenant, run, "Asha agrees", by)
			return err
		},
		"redact": func(e *engine.Engine, run verification.RunID) error {
			_, err := e.Redact(t.Context(), enginetest.Tenant, run, "", by)
			return err
		},
	}
	for _, row := range []struct{ before, after, entries string }{
		{"", "hold", "held"},
		{"", "restrict", "restricted"},
		{"", "hold restrict", "held restricted"},
		{"", "restrict hold", "restricted held"},
		{"", "hold release", "held hold_ended"},
		{"", "restrict lift", "restricted restriction_lifted"},
		{"hold", "release", "held hold_ended"},
		{"restrict", "lift", "restricted restriction_lifted"},
		{"hold", "release hold", "held hold_ended held"},
		{"restrict", "lift restrict", "restricted restriction_lifted restricted"},
		{"", "hold release redact", "held hold_ended redacted"},
		{"", "restrict redact", "restricted redacted"},
		{"hold restrict", "release lift redact", "held restricted hold_ended restriction_lifted redacted"},
	} {
		t.Run(row.before+"|"+row.after, func(t *testing.T) {
			ledger := blob.MemoryLedger()
			k := enginetest.New(t, holding, func(p *engine.Ports, _ *engine.Options) { p.Ledger = ledger })
			if _, err := k.Engine.ApplyErasures(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			run := lived(t, k, "Asha")
			do := func(names string) {
				t.Helper()
				for _, name := range strings.Fields(names) {
					k.Advance(time.Second)
					if err := acts[name](k.Engine, run); err != nil {
						t.Fatalf("%s: %v", name, err)
					}
				}
			}
			do(row.before)
			restoredTo := backup(t, k.Store)
			do(row.after)
			var want []verification.ErasureKind
			for _, kind := range strings.Fields(row.entries) {
				want = append(want, verification.ErasureKind(kind))
			}
			if kinds := ledgerKinds(t, ledger, run); !slices.Equal(kinds, want) {
				t.Errorf("the ledger has %v, want %v", kinds, want)
			}
			for _, e := range noted(t, ledger) {
				if line, err := e.Line(); err != nil || strings.Contains(string(line), "Asha") || strings.Contains(string(line), "Ravi") {
					t.Errorf("the ledger has %s, %v", line, err)
				}
			}
			state := func(s store.Store) (held, restricted, redacted bool) {
				t.Helper()
				events, err := s.Load(t.Context(), enginetest.Tenant, run, 0)
				if err != nil {
					t.Fatal(err)
				}
				r := rules.Fold(run, events)
				return r.Hold != (rules.Hold{}), !r.RestrictedAt.IsZero(), !r.RedactedAt.IsZero()
			}
			trail := func(s store.Store) (actions []store.AuditAction) {
				t.Helper()
				entries, err := s.AuditEntries(t.Context(), enginetest.Tenant, store.AuditQuery{Run: run, Limit: store.MaxAuditLimit})
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range slices.Backward(entries) {
					actions = append(actions, e.Action)
				}
				return actions
			}
			host := restored(t, k, restoredTo, ledger)
			for range 2 {
				applied, err := host.ApplyErasures(t.Context(), "")
				if err != nil || applied.Failed > 0 {
					t.Fatalf("ApplyErasures = %+v, %v", applied, err)
				}
				aHeld, aRestricted, aRedacted := state(k.Store)
				if held, restricted, redacted := state(restoredTo); held != aHeld || restricted != aRestricted || redacted != aRedacted {
					t.Errorf("restored: held %t, restricted %t, redacted %t; want %t, %t, %t", held, restricted, redacted, aHeld, aRestricted, aRedacted)
				}
				if diff := cmp.Diff(trail(k.Store), trail(restoredTo)); diff != "" {
					t.Errorf("the trail of the restored run (-want +got):\n%s", diff)
				}
			}
			if strings.HasSuffix(row.after, "hold") {
				if err := acts["redact"](host, run); !errors.Is(err, rules.ErrHeld) {
					t.Errorf("a redaction of the restored run = %v, want ErrHeld", err)
				}
			}
			if n := len(noted(t, ledger)); n != len(want)+1 {
				t.Errorf("the restore made %d entries of %d", n, len(want)+1)
			}
		})
	}
}

// failingLedger cannot be written while it is away.
type failingLedger struct {
	verification.ErasureLedger
	away error
}

func (l *failingLedger) NoteErasures(ctx context.Context, entries ...verification.Erasure) error {
	if l.away != nil {
		return l.away
	}
	return l.ErasureLedger.NoteErasures(ctx, entries...)
}

func TestWhatTheLedgerIsOwedIsWrittenLater(t *testing.T) {
	ledger := &failingLedger{ErasureLedger: blob.MemoryLedger()}
	k := enginetest.New(t, holding, func(p *engine.Ports, _ *engine.Options) { p.Ledger = ledger })
	if _, err := k.Engine.ApplyErasures(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	first, second := lived(t, k, "Asha"), lived(t, k, "Bela")
	ledger.away = errors.New("away")
	redact(t, k, first)
	redact(t, k, second)
	if n := len(noted(t, ledger)); n != 1 {
		t.Fatalf("%d entries while the ledger is away", n)
	}
	k.Advance(time.Hour)
	if at := k.Run(first).ErasedAt; !at.IsZero() {
		t.Error("the redaction is complete although the ledger does not have it")
	}
	if _, err := engine.CheckLedger(t.Context(), k.Store.Tables, ledger); err != nil {
		t.Errorf("what is owed is a gap: %v", err)
	}
	host := restored(t, k, backup(t, k.Store), ledger)
	if _, err := host.ApplyErasures(t.Context(), ""); !errors.Is(err, ledger.away) {
		t.Errorf("a start while the ledger cannot be written = %v", err)
	}
	ledger.away = nil
	if _, err := host.ApplyErasures(t.Context(), ""); err != nil {
		t.Error(err)
	}
	if a, b := ledgerKinds(t, ledger, first), ledgerKinds(t, ledger, second); len(a) != 1 || len(b) != 1 {
		t.Errorf("the entries are %v and %v, want one each", a, b)
	}
	k.Advance(time.Hour)
	if at := k.Run(first).ErasedAt; at.IsZero() {
		t.Error("the redaction is not complete")
	}
}

// TestAnEarlierLedgerIsCountedOnce has entries of a build that gave them no number.
func TestAnEarlierLedgerIsCountedOnce(t *testing.T) {
	ledger := blob.MemoryLedger()
	k := enginetest.New(t, holding)
	var runs []verification.RunID
	for _, name := range []string{"Asha", "Bela", "Chitra"} {
		run := lived(t, k, name)
		runs = append(runs, run)
		if err := ledger.NoteErasures(t.Context(), verification.Erasure{
			Tenant: enginetest.Tenant, Run: run, Kind: verification.ErasureRedacted, At: k.Clock.Now(), StartedAt: k.Run(run).StartedAt,
		}); err != nil {
			t.Fatal(err)
		}
	}
	at := backup(t, k.Store)
	host := restored(t, k, at, ledger)
	for n, want := range []engine.AppliedErasures{{Redacted: 3}, {}} {
		if got, err := host.ApplyErasures(t.Context(), ""); err != nil || got != want {
			t.Errorf("start %d: %+v, %v; want %+v", n+1, got, err, want)
		}
	}
	if mark, err := at.LedgerMark(t.Context()); err != nil || mark.Last != 4 || mark.Applied != 4 {
		t.Errorf("the mark is %+v, %v; want 4 entries", mark, err)
	}
	lost := blob.MemoryLedger()
	for _, e := range noted(t, ledger)[1:] {
		if err := lost.NoteErasures(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	damaged := (*engine.LedgerError)(nil)
	if _, err := restored(t, k, at, lost).ApplyErasures(t.Context(), ""); !errors.As(err, &damaged) {
		t.Errorf("without one of the entries: %v, want a LedgerError", err)
	}
	if len(runs) != 3 {
		t.Error("no runs")
	}
}

// TestAStoreWithALedgerNeedsIt starts a host without a ledger on a store that has one.
func TestAStoreWithALedgerNeedsIt(t *testing.T) {
	k := enginetest.New(t, holding, func(p *engine.Ports, _ *engine.Options) { p.Ledger = blob.MemoryLedger() })
	if _, err := k.Engine.ApplyErasures(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	host := restored(t, k, backup(t, k.Store), nil)
	damaged := (*engine.LedgerError)(nil)
	if _, err := host.ApplyErasures(t.Context(), ""); !errors.As(err, &damaged) {
		t.Fatalf("ApplyErasures = %v, want a LedgerError", err)
	}
	for _, accept := range []string{damaged.Name, ""} {
		if _, err := host.ApplyErasures(t.Context(), accept); err != nil {
			t.Errorf("once that is accepted: %v", err)
		}
	}
}
