// Tests of the level of a journal: builds of two releases on one folder.

package journal_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// The builds of two releases.
const earlier, later = store.Level, store.Level + 1

func TestAFolderIsReadByBothReleasesUntilItIsRaised(t *testing.T) {
	dir, runs := t.TempDir(), 0
	for _, step := range []struct {
		name         string
		reads, raise int
		snapshot     bool
		from, level  int // 0: the build is refused
	}{
		{"the earlier release makes the folder", earlier, 0, false, 1, 1},
		{"the later release takes over", later, 0, false, 1, 1},
		{"back", earlier, 0, false, 1, 1},
		{"the later release takes a snapshot", later, 0, true, 1, 1},
		{"back after the snapshot", earlier, 0, true, 1, 1},
		{"the folder is raised", later, later, false, 1, later},
		{"it is raised again", later, later, false, later, later},
		{"back is refused", earlier, 0, false, 0, 0},
		{"forward after the point", later, 0, false, later, later},
		{"a snapshot keeps the level", later, 0, true, later, later},
		{"back is still refused", earlier, 0, false, 0, 0},
		{"forward after the snapshot", later, 0, false, later, later},
	} {
		s, err := journal.Open(t.Context(), dir, journal.Options{Level: step.raise}.Reading(step.reads))
		if step.level == 0 {
			if !errors.Is(err, store.ErrLevel) || !strings.Contains(err.Error(), "it was upgraded to level 2, and this build reads level 1") {
				t.Errorf("%s: Open = %v, want ErrLevel", step.name, err)
			}
			if s != nil {
				closed(t, s)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if s.Recovery().Level != step.from || s.Level() != step.level || s.Recovery().Runs != runs {
			t.Errorf("%s: from level %d to %d with %d runs, want %d, %d and %d", step.name, s.Recovery().Level, s.Level(), s.Recovery().Runs, step.from, step.level, runs)
		}
		if step.raise == 0 { // a raise leaves a segment without records
			if err := startRun(t.Context(), s, runs); err != nil {
				t.Fatal(err)
			}
			runs++
		}
		if step.snapshot {
			if err := s.Snapshot(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		closed(t, s)
	}
}

func TestNoReadOfAFolderMistakesItsLevelForDamage(t *testing.T) {
	dir := t.TempDir()
	closed(t, openIn(t, dir, journal.Options{Level: later}.Reading(later)))
	for name, read := range map[string]func() error{
		"Check": func() error { _, err := journal.Check(t.Context(), dir, false); return err },
		"Stored": func() error {
			_, _, _, err := journal.Stored(t.Context(), dir, false)
			return err
		},
		"Read":   func() error { _, _, _, err := journal.Read(t.Context(), dir, false); return err },
		"Repair": func() error { _, err := journal.Repair(t.Context(), dir, false, time.Now(), true); return err },
	} {
		if err := read(); !errors.Is(err, store.ErrLevel) || strings.Contains(err.Error(), "damage") {
			t.Errorf("%s = %v, want ErrLevel", name, err)
		}
	}
}

func TestAFolderOfLevel1HasNoLevel(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir, journal.Options{})
	if err := startRun(t.Context(), s, 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	files, err := filepath.Glob(filepath.Join(dir, "0*"))
	if err != nil || len(files) < 2 {
		t.Fatalf("files = %v, %v; want a segment and a snapshot", files, err)
	}
	for _, file := range files {
		if raw, err := os.ReadFile(file); err != nil || bytes.Contains(raw, []byte(`"level"`)) {
			t.Errorf("%s names its level, or cannot be read: %v", file, err)
		}
	}
}

// A host that dies while it begins a segment in place of an empty one must not lower the level.
func TestADeathDuringAStartKeepsTheLevel(t *testing.T) {
	died := 0
	for _, found := range []func(*fakeDisk) *fakeDisk{(*fakeDisk).afterKill, (*fakeDisk).afterPowerLoss} {
		for at, done := 0, false; !done; at, died = at+1, died+1 {
			d := newFakeDisk()
			s, err := journal.OpenDisk(t.Context(), d, journal.Options{Level: later}.Reading(later))
			if err != nil {
				t.Fatal(err)
			}
			closed(t, s)
			d = d.afterKill()
			d.failAt = at
			s, err = journal.OpenDisk(t.Context(), d, journal.Options{}.Reading(later))
			if err == nil {
				_ = s.Close() // perhaps the operation that fails
			}
			done = len(d.ops) <= at
			s, err = journal.OpenDisk(t.Context(), found(d), journal.Options{}.Reading(later))
			if err != nil {
				t.Fatal(err)
			}
			if s.Level() != later {
				t.Errorf("after a death in operation %d of %q, the level is %d, want %d", at, d.ops, s.Level(), later)
			}
			closed(t, s)
		}
	}
	if died < 10 {
		t.Errorf("the starts have %d operations: are they counted?", died)
	}
}

func TestWhatIsNewIsNotWrittenBelowItsLevel(t *testing.T) {
	s := openIn(t, t.TempDir(), journal.Options{})
	if err := startRun(t.Context(), s, 1); err != nil {
		t.Fatal(err)
	}
	s.SetLevel(0) // every kind is newer
	ctx, id := context.Background(), runID(1)
	event := rules.Event{At: time.Now(), Fact: rules.Expired{}}
	for want, call := range map[string]func() error{
		"the event expired may be written since level 1": func() error {
			return s.Append(ctx, tenant, id, 1, store.Commit{Events: []rules.Event{event}})
		},
		"the record claim may be written since level 1": func() error {
			_, err := s.Claim(ctx, tenant, id, rules.Claim{})
			return err
		},
		"the record snapshot may be written since level 1": func() error { return s.Snapshot(ctx) },
		"the event started may be written since level 1": func() error {
			return s.SaveRecords(ctx, []store.Record{store.RunRecord{Events: []rules.Event{{Fact: rules.Started{}}}}})
		},
	} {
		err := call()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
		if expected := (*verification.Error)(nil); errors.As(err, &expected) {
			t.Errorf("%v is shown to clients, want an internal error", err)
		}
	}
	s.SetLevel(1)
	if events, err := s.Load(ctx, tenant, id, 0); err != nil || len(events) != 1 {
		t.Errorf("after the refusals the run has %d events, %v; want 1", len(events), err)
	}
}
