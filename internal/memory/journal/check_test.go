package journal_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// segmentsWith writes a journal with runs in several segments, and returns its folder.
func segmentsWith(t *testing.T, n int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	s := openIn(t, dir, journal.Options{SegmentBytes: 2500})
	for i := range n {
		if err := startRun(t.Context(), s, i); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, s)
	return dir
}

// damage inverts a byte of a segment.
func damage(t *testing.T, dir string, segment, offset int) {
	t.Helper()
	file := filepath.Join(dir, journal.SegmentName(segment))
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	raw[offset] ^= 0xff
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

// content returns the files of a folder.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "lock" {
			return err
		}
		raw, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func check(t *testing.T, dir string) journal.Report {
	t.Helper()
	r, err := journal.Check(t.Context(), dir, false)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCheckFindsWhatOpenRefuses(t *testing.T) {
	dir := segmentsWith(t, 9)
	load := func() (d *fakeDisk, offsets map[int][]byte) {
		d, offsets = newFakeDisk(), map[int][]byte{}
		for n := 1; ; n++ {
			raw, err := os.ReadFile(filepath.Join(dir, journal.SegmentName(n)))
			if err != nil {
				return d, offsets
			}
			name := journal.SegmentName(n)
			d.put(name, raw)
			offsets[n] = raw
			if n == 1 {
				d.put(journal.EndFile, journal.NoMark(raw))
			}
		}
	}
	_, raw := load()
	if len(raw) < 3 {
		t.Fatalf("%d segments, want several", len(raw))
	}
	damaged, torn := 0, 0
	for segment := range raw {
		for offset := 0; offset < len(raw[segment]); offset += 11 {
			d, _ := load()
			d.files[journal.SegmentName(segment)].data[offset] ^= 0xff
			before := bytes.Clone(d.files[journal.SegmentName(segment)].data)
			report, err := journal.CheckDisk(t.Context(), d)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(before, d.files[journal.SegmentName(segment)].data) {
				t.Fatalf("Check changed the segment %d", segment)
			}
			s, err := journal.OpenDisk(t.Context(), d, journal.Options{})
			if (err != nil) != (len(report.Damage) > 0) {
				t.Errorf("byte %d of segment %d: Open = %v, and Check finds %+v", offset, segment, err, report.Damage)
			}
			if err == nil {
				torn++
				if found := s.Recovery(); found.CutBytes != report.TornBytes || found.Runs != report.Runs {
					t.Errorf("byte %d of segment %d: Open finds %+v, and Check %+v", offset, segment, found, report)
				}
				closed(t, s)
				continue
			}
			damaged++
			first := report.Damage[0]
			if first.File != journal.SegmentName(segment) || int64(offset) < first.Offset || int64(offset) >= first.Offset+first.Bytes ||
				!strings.Contains(err.Error(), first.Reason) {
				t.Errorf("byte %d of segment %d: Open = %v, and Check finds %+v", offset, segment, err, first)
			}
		}
	}
	if damaged == 0 || torn == 0 {
		t.Errorf("%d times damaged and %d times torn, want both", damaged, torn)
	}
}

func TestCheckFindsAllDamage(t *testing.T) {
	dir := segmentsWith(t, 20)
	sound := check(t, dir)
	if len(sound.Damage) != 0 || sound.Runs != 20 || sound.Records["append"] != 20 || sound.TornBytes != 0 || sound.Segments < 4 {
		t.Fatalf("Check = %+v, want 20 runs and no damage", sound)
	}
	first, err := os.ReadFile(filepath.Join(dir, journal.SegmentName(1)))
	if err != nil {
		t.Fatal(err)
	}
	frames := journal.Frames(first)
	damage(t, dir, 3, 0)
	if got := check(t, dir).Kept; got == nil || got.Runs == 0 || got.Records != got.Runs {
		t.Errorf("before the first damage there is %+v, want the runs of two segments", got)
	}
	damage(t, dir, 1, frames[1].Offset+5)
	damage(t, dir, 1, frames[3].Offset+100)
	if err := os.Remove(filepath.Join(dir, journal.SegmentName(2))); err != nil {
		t.Fatal(err)
	}
	got := check(t, dir)
	var found []string
	for _, d := range got.Damage {
		found = append(found, d.File+" "+d.Kind+" "+d.Run)
	}
	want := []string{
		journal.SegmentName(1) + " append " + string(runID(0)), journal.SegmentName(1) + " append " + string(runID(2)),
		journal.SegmentName(2) + "  ", journal.SegmentName(3) + " segment ",
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("damage differs (-want +got):\n%s", diff)
	}
	if want := (journal.Kept{}); *got.Kept != want {
		t.Errorf("before the first damage there is %+v, want nothing", got.Kept)
	}
	if got.Damage[0].Offset != int64(frames[1].Offset) || got.Damage[0].Bytes != int64(frames[1].Size) {
		t.Errorf("the first damage is %+v, want that of %+v", got.Damage[0], frames[1])
	}
}

func TestCheckOfAJournalThatIsWritten(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir, journal.Options{SegmentBytes: 3000, SnapshotBytes: 30_000})
	ctx, stop := context.WithCancel(t.Context())
	var written atomic.Int64
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			for n := w; ctx.Err() == nil; n += 3 {
				if err := startRun(context.WithoutCancel(ctx), s, n); err != nil {
					t.Error(err)
				}
				written.Add(1)
			}
		})
	}
	for written.Load() < 400 && !t.Failed() {
		if r := check(t, dir); len(r.Damage) > 0 {
			t.Errorf("Check = %+v, want no damage", r)
		}
	}
	stop()
	writers.Wait()
	closed(t, s)
}

func TestRepairKeepsWhatIsBeforeTheDamage(t *testing.T) {
	dir := segmentsWith(t, 20)
	if _, err := journal.Repair(t.Context(), dir, false, start(), true); !errors.Is(err, verification.ErrConflict) {
		t.Errorf("Repair of a sound journal = %v, want ErrConflict", err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, journal.SegmentName(2)))
	if err != nil {
		t.Fatal(err)
	}
	frames := journal.Frames(raw)
	kept := len(journal.Frames([]byte(content(t, dir)[journal.SegmentName(1)]))) - 1 + 1 // without the first of each
	damage(t, dir, 2, frames[2].Offset+200)
	before := content(t, dir)
	proposed, err := journal.Repair(t.Context(), dir, false, start(), false)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, content(t, dir)); diff != "" {
		t.Errorf("a proposal changed the journal (-before +after):\n%s", diff)
	}
	if _, err := journal.Open(t.Context(), dir, journal.Options{}); err == nil {
		t.Fatal("Open = nil, want that it refuses the damage")
	}
	done, err := journal.Repair(t.Context(), dir, false, start(), true)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(proposed.Runs, done.Runs); diff != "" || proposed.First != done.First || proposed.Records != done.Records || done.Folder != "lost-1" {
		t.Errorf("Repair did %+v, and proposed %+v", done, proposed)
	}
	if done.Unreadable != 1 || len(done.Runs) != 20-kept || !slices.Contains(done.Runs, string(runID(kept))) {
		t.Errorf("Repair removed %+v, want the runs from number %d on", done, kept)
	}
	if r := check(t, dir); len(r.Damage) > 0 || r.Runs != kept {
		t.Errorf("Check after Repair = %+v, want %d runs and no damage", r, kept)
	}
	after := content(t, dir)
	for name, text := range before {
		if name >= journal.SegmentName(2) && after[filepath.Join("lost-1", name)] != text {
			t.Errorf("%s is not kept as it was", name)
		}
	}
	lines := strings.Split(strings.TrimSpace(after[filepath.Join("lost-1", journal.LostRecords)]), "\n")
	if len(lines) != done.Records+done.Unreadable || !strings.Contains(lines[0], `"reason":"the checksum does not match"`) ||
		!strings.Contains(lines[1], `"record":{"run":"`+string(runID(kept+1))+`"`) {
		t.Errorf("%s has\n%s", journal.LostRecords, strings.Join(lines, "\n"))
	}
	s := openIn(t, dir, journal.Options{})
	if got := runs(t, s); got != kept {
		t.Errorf("%d runs after Repair, want %d", got, kept)
	}
	if err := startRun(t.Context(), s, kept); err != nil {
		t.Error(err)
	}
	if _, err := journal.Repair(t.Context(), dir, false, start(), true); !errors.Is(err, verification.ErrConflict) {
		t.Errorf("Repair of a journal that is open = %v, want ErrConflict", err)
	}
}

func TestRepairNamesAllThatIsLost(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir, journal.Options{})
	ctx := t.Context()
	acme := verification.Account{ClientID: "acme", Tenant: "a0000000-0000-7000-8000-000000000001"}
	other, disabled := acme, acme
	other.ClientID, disabled.Disabled = "other", true
	for _, err := range []error{
		s.SaveTenant(ctx, verification.Tenant{ID: acme.Tenant, Name: "Bank"}), s.SaveAccount(ctx, acme), startRun(ctx, s, 1),
		s.SaveAccount(ctx, disabled), s.SaveTenant(ctx, verification.Tenant{ID: acme.Tenant, Name: "Bank 2"}),
		s.SaveRecords(ctx, []store.Record{store.AccountRecord{Account: other}}),
		s.SaveWorkflow(ctx, acme.Tenant, workflow.Workflow{ID: "c0000000-0000-7000-8000-000000000001", Slug: "onboarding", Revision: 1}, nil),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	closed(t, s)
	file := filepath.Join(dir, journal.SegmentName(1))
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damage(t, dir, 1, journal.Frames(raw)[3].Offset+200)
	r, err := journal.Repair(ctx, dir, false, start(), false)
	if err != nil {
		t.Fatal(err)
	}
	got := [][]string{r.Accounts, r.Disabled, r.Tenants, r.Workflows}
	if diff := cmp.Diff([][]string{{"acme", "other"}, {"acme"}, {"Bank 2"}, {"onboarding"}}, got); diff != "" {
		t.Errorf("lost accounts, disabled accounts, tenants and workflows (-want +got):\n%s", diff)
	}
	if want := (journal.Kept{Records: 2}); r.Kept != want {
		t.Errorf("kept %+v, want %+v", r.Kept, want)
	}
}

func TestRepairGoesOnAfterACrash(t *testing.T) {
	dir := segmentsWith(t, 20)
	damage(t, dir, 2, 0)
	last := check(t, dir).Segments
	// The process died after it had copied the files and removed the last one.
	if err := os.Mkdir(filepath.Join(dir, "lost-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, journal.SegmentName(last))); err != nil {
		t.Fatal(err)
	}
	r, err := journal.Repair(t.Context(), dir, false, time.Time{}, true)
	if err != nil || r.Folder != "lost-2" {
		t.Fatalf("Repair = %+v, %v, want the folder lost-2", r, err)
	}
	if left := check(t, dir); left.Segments != 1 || len(left.Damage) > 0 {
		t.Errorf("Check = %+v, want the first segment", left)
	}
}

func TestCheckReadsTheSnapshot(t *testing.T) {
	dir := segmentsWith(t, 20)
	s := openIn(t, dir, journal.Options{})
	if err := s.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := startRun(t.Context(), s, 20); err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	sound := check(t, dir)
	if len(sound.Damage) != 0 || sound.Runs != 21 || sound.Records["record"] != 21 || sound.Segments != 1 || !strings.HasSuffix(sound.Snapshot, ".snapshot") {
		t.Fatalf("Check = %+v, want a snapshot with 20 runs and a measure, and a segment with a run", sound)
	}
	file := filepath.Join(dir, sound.Snapshot)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	frames := journal.Frames(raw)
	for offset := 0; offset <= len(raw); offset += 61 {
		spoiled := slices.Clone(raw)
		if offset%2 == 0 || offset == len(raw) {
			spoiled = spoiled[:frames[offset%len(frames)].Offset]
		} else {
			spoiled[offset] ^= 0xff
		}
		if err := os.WriteFile(file, spoiled, 0o600); err != nil {
			t.Fatal(err)
		}
		report := check(t, dir)
		if len(report.Damage) == 0 || report.Damage[0].File != sound.Snapshot || report.Kept != nil {
			t.Errorf("byte %d of a snapshot: Check = %+v, want its damage", offset, report)
		}
		if _, err := journal.Open(t.Context(), dir, journal.Options{}); err == nil || !strings.Contains(err.Error(), report.Damage[0].Reason) {
			t.Errorf("byte %d of a snapshot: Open = %v, want %+v", offset, err, report.Damage[0])
		}
	}
	if _, err := journal.Repair(t.Context(), dir, false, start(), true); !errors.Is(err, verification.ErrConflict) || !strings.Contains(err.Error(), "restore the folder from a backup") {
		t.Errorf("Repair of a damaged snapshot = %v, want ErrConflict", err)
	}
}

func TestRepairOfAMissingMark(t *testing.T) {
	dir := segmentsWith(t, 5)
	if err := os.Remove(filepath.Join(dir, journal.EndFile)); err != nil {
		t.Fatal(err)
	}
	if r := check(t, dir); len(r.Damage) != 1 || r.Damage[0].File != journal.EndFile {
		t.Errorf("Check without a mark = %+v, want the damage of %s", r.Damage, journal.EndFile)
	}
	if _, err := journal.Open(t.Context(), dir, journal.Options{}); err == nil || !strings.Contains(err.Error(), journal.EndFile) {
		t.Errorf("Open without a mark = %v, want a refusal that names %s", err, journal.EndFile)
	}
	done, err := journal.Repair(t.Context(), dir, false, start(), true)
	if err != nil || len(done.Runs) > 0 {
		t.Errorf("Repair = %+v, %v; want no run lost", done, err)
	}
	if got := runs(t, openIn(t, dir, journal.Options{})); got != 5 {
		t.Errorf("%d runs after Repair, want 5", got)
	}
}
