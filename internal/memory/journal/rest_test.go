package journal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/internal/rig/storereads"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// judge appends verdicts with notes of a length to a completed run.
func judge(t *testing.T, s store.RunStore, n, verdicts, notes int) {
	t.Helper()
	history, err := s.Load(t.Context(), tenant, runID(n), 0)
	if err != nil {
		t.Fatal(err)
	}
	run, seq := rules.Fold(runID(n), history), len(history)
	for i := range verdicts {
		event := rules.Event{At: start().Add(time.Hour), Fact: rules.VerdictRecorded{
			Decision: rules.DecisionApprove, Notes: fmt.Sprintf("%0*d", notes, i),
		}}
		after := run.Evolve(event)
		if err := s.Append(t.Context(), tenant, runID(n), seq, store.NewCommit(run, after, []rules.Event{event}, time.UTC)); err != nil {
			t.Fatal(err)
		}
		run, seq = after, seq+1
	}
}

// The history has more bytes than a record may have. Its events were written before anything
// bounded them.
func TestALongHistoryIsSnapshotted(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir, journal.Options{})
	for i := range 3 {
		if err := completeRun(t.Context(), s, i); err != nil {
			t.Fatal(err)
		}
	}
	const verdicts, notes = 1750, 40_000
	judge(t, s, 1, verdicts, notes)
	want, err := s.Load(t.Context(), tenant, runID(1), 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second one writes what the first one restored
		if err := s.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
		closed(t, s)
		s = openIn(t, dir, journal.Options{})
	}
	got, err := s.Load(t.Context(), tenant, runID(1), 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Fatal("the restored history differs from the history")
	}
	judge(t, s, 1, 1, 10)
	if err := s.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	copied := openIn(t, t.TempDir(), journal.Options{Copying: true})
	for _, kind := range store.RecordKinds() {
		for r, err := range s.Records(t.Context(), kind) {
			if err := errors.Join(err, copied.SaveRecords(t.Context(), []store.Record{r})); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, err := copied.Load(t.Context(), tenant, runID(1), 0); err != nil || len(got) != len(want)+1 {
		t.Errorf("the copy has %d events, want %d (%v)", len(got), len(want)+1, err)
	}
}

// partsOf fills a store whose large records have a few events or versions each.
func partsOf(t *testing.T, s *journal.Store) *storereads.Names {
	t.Helper()
	s.CutParts(2000)
	n := storereads.NewNames()
	noted := storereads.Noted{Store: s, Names: n}
	for i := range 2 {
		if err := completeRun(t.Context(), noted, i); err != nil {
			t.Fatal(err)
		}
	}
	judge(t, noted, 0, 5, 1000)
	judge(t, noted, 1, 2, 5000)
	w := workflow.Workflow{ID: theWorkflow, Slug: "onboarding"}
	for i := range 20 {
		w.Revision++
		v := workflow.Version{Hash: fmt.Sprint("hash", i), Number: i + 1, CreatedAt: start(), Definition: workflow.Definition{Workflow: "onboarding"}}
		if err := noted.SaveWorkflow(t.Context(), tenant, w, &v); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

func TestPartsOfRecordsAreRestored(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir, journal.Options{})
	n := partsOf(t, s)
	if err := s.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := readsOf(t, n, s.Memory())
	closed(t, s)
	again := openIn(t, dir, journal.Options{})
	sameAs(t, n, before, again)
	copied := openIn(t, t.TempDir(), journal.Options{Copying: true})
	copied.CutParts(2000)
	for _, kind := range store.RecordKinds() {
		for r, err := range again.Records(t.Context(), kind) {
			for range 2 { // in place of the first one
				if err := errors.Join(err, copied.SaveRecords(t.Context(), []store.Record{r})); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	sameAs(t, n, before, copied)
	if got, want := copied.Kept(), again.Kept(); got < want/2 || got > 2*want {
		t.Errorf("the copy keeps %d bytes, and the source %d", got, want)
	}
}

// Each record of a snapshot is left out in turn.
func TestASnapshotWithoutAPartIsDamaged(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir, journal.Options{})
	partsOf(t, s)
	if err := s.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	path := filepath.Join(dir, journal.SnapshotName(1))
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	frames, tried := journal.Frames(raw), 0
	for i, f := range frames {
		if f.Kind != "rest of a record" {
			continue
		}
		tried++
		var without []byte
		for j, f := range frames[:len(frames)-1] {
			if j != i {
				without = append(without, raw[f.Offset:f.Offset+f.Size]...)
			}
		}
		without = journal.AppendFrame(without, 16, 2, 0, fmt.Sprintf(`{"records":%d}`, len(frames)-1))
		if err := os.WriteFile(path, without, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := journal.Open(t.Context(), dir, journal.Options{}); err == nil || !strings.Contains(err.Error(), "rest") {
			t.Errorf("without record %d of %d: %v, want what is missing", i, len(frames), err)
		}
		if found, err := journal.Check(t.Context(), dir, false); err != nil || len(found.Damage) == 0 {
			t.Errorf("without record %d of %d: check found %v (%v)", i, len(frames), found.Damage, err)
		}
	}
	if tried < 4 {
		t.Errorf("%d records have a rest, want more", tried)
	}
}

func TestAChangeLargerThanARecordIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir, journal.Options{})
	if err := startRun(t.Context(), s, 0); err != nil {
		t.Fatal(err)
	}
	run := rules.Fold(runID(0), started(0).Events)
	event := rules.Event{At: start(), Fact: rules.NoteAdded{Notes: strings.Repeat("x", 64<<20), By: "a"}}
	err := s.Append(t.Context(), tenant, runID(0), 1, store.NewCommit(run, run.Evolve(event), []rules.Event{event}, time.UTC))
	if !errors.Is(err, verification.ErrInvalid) || !strings.Contains(err.Error(), "67108864") {
		t.Errorf("append = %v, want how much a record may have", err)
	}
	if got, err := s.Load(t.Context(), tenant, runID(0), 0); err != nil || len(got) != 1 {
		t.Errorf("the run has %d events (%v), want 1", len(got), err)
	}
	if err := startRun(t.Context(), s, 1); err != nil {
		t.Error(err)
	}
	closed(t, s)
	if got := runs(t, openIn(t, dir, journal.Options{})); got != 2 {
		t.Errorf("%d runs after the refusal, want 2", got)
	}
}
