package journal_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/internal/memory/memstore"
	"github.com/verifyd/verifyd/internal/rig/storereads"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// A snapshot has nothing of deleted runs.
func TestAFolderShrinksWithDeletions(t *testing.T) {
	const runs = 400
	dir := t.TempDir()
	s := openIn(t, dir, journal.Options{})
	storereads.Fill(t, s, runs)
	size := func() (bytes int64) {
		if err := s.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.snapshot"))
		if err != nil || len(files) != 1 {
			t.Fatalf("the folder has the snapshots %v, %v", files, err)
		}
		info, err := os.Stat(files[0])
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	before := size()
	for n := range runs / 2 {
		history, err := s.Load(t.Context(), storereads.Tenant, storereads.RunID(n), 0)
		if err == nil {
			err = s.Append(t.Context(), storereads.Tenant, storereads.RunID(n), len(history), store.Commit{Delete: true})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if after := size(); float64(after) > 0.52*float64(before) {
		t.Errorf("without half of its runs the snapshot has %d of %d bytes", after, before)
	}
	closed(t, s)
}

// filesWith returns the names of the files in a folder that have a text.
func filesWith(t *testing.T, dir, text string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(raw, []byte(text)) {
			names = append(names, e.Name())
		}
	}
	return names
}

// What the store no longer has is in no file of the folder after a snapshot.
func TestASnapshotKeepsNothingThatIsGone(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	s := openIn(t, dir, journal.Options{})
	fine := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	logo := verification.NewLogo("image/png", []byte("\x89PNG the old logo"))
	request := store.IdempotencyRecord{
		IdempotencyKey: store.IdempotencyKey{Scope: store.ScopeSignal, Key: "key-that-goes"}, ID: "1", Fingerprint: "a", At: start(),
	}
	_, err := store.Tables{RowStore: s}.ClaimIdempotencyKey(ctx, tenant, request)
	fine(err)
	fine(s.SaveTenant(ctx, verification.Tenant{ID: tenant, Name: "Bank", Logo: logo}))
	fine(startRun(ctx, s, 0))
	gone := []string{base64.StdEncoding.EncodeToString(logo.Content), logo.Name, "key-that-goes"}
	for _, text := range gone {
		if len(filesWith(t, dir, text)) == 0 {
			t.Fatalf("%q is in no file before it has gone", text)
		}
	}
	fine(s.Snapshot(ctx)) // the snapshot has it too
	for _, text := range gone {
		if got := filesWith(t, dir, text); len(got) != 1 || !strings.HasSuffix(got[0], ".snapshot") {
			t.Errorf("%q is in %q, want in the snapshot", text, got)
		}
	}
	fine(store.Tables{RowStore: s}.ReleaseIdempotencyKey(ctx, tenant, request))
	fine(s.SaveTenant(ctx, verification.Tenant{ID: tenant, Name: "Bank"}))
	fine(s.Snapshot(ctx))
	for _, text := range gone {
		if got := filesWith(t, dir, text); len(got) > 0 {
			t.Errorf("%q is still in %q", text, got)
		}
	}
	if got := filesWith(t, dir, "customer-0"); len(got) != 1 {
		t.Errorf("the run is in %q, want in the snapshot", got)
	}
}

// Calls go on while a snapshot is written. It has what the store had when it began, and the
// segments have what came later.
func TestCallsGoOnDuringASnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 400
		d, n, wanted := newFakeDisk(), storereads.NewNames(), memstore.New()
		s, err := journal.OpenDisk(t.Context(), d, journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		both := func(s store.Store) error {
			var failed error
			for i := range many {
				failed = errors.Join(failed, startRun(t.Context(), s, i))
			}
			_, err := s.HoldPass(t.Context(), store.RescreenPass{List: "sanctions", Version: "1", Holder: "a", HeldUntil: start()}, start())
			return errors.Join(failed, err, store.Tables{RowStore: s}.SaveDelivery(t.Context(), tenant, rules.Delivery{Run: runID(1), State: rules.DeliveryPending}))
		}
		if err := errors.Join(both(storereads.Noted{Store: s, Names: n}), both(wanted)); err != nil {
			t.Fatal(err)
		}
		d.gate, d.gated = make(chan struct{}), ".part"
		var snapshot sync.WaitGroup
		snapshot.Go(func() {
			if err := s.Snapshot(t.Context()); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait() // it has read some of the runs, and waits for the disk
		later := func(s store.Store) error {
			var failed error
			for i := range many {
				change := completeRun
				if i%2 == 0 || i < many/2 {
					change = reviewRun
				}
				failed = errors.Join(failed, change(t.Context(), s, i+many/2))
			}
			return errors.Join(failed, store.Tables{RowStore: s}.SaveDelivery(t.Context(), tenant, rules.Delivery{Run: runID(1), State: rules.DeliveryDelivered}))
		}
		if err := later(storereads.Noted{Store: s, Names: n}); err != nil {
			t.Error(err)
		}
		close(d.gate)
		snapshot.Wait()
		if again, err := journal.OpenDisk(t.Context(), d.afterKill(), journal.Options{}); err != nil {
			t.Error(err)
		} else {
			sameReads(t, n, s.Memory(), again)
			closed(t, again)
		}
		only := d.afterKill()
		for _, name := range slices.Collect(maps.Keys(only.files)) {
			if !strings.HasSuffix(name, ".snapshot") {
				delete(only.files, name)
			}
		}
		for _, snapshot := range slices.Collect(maps.Values(only.files)) {
			only.put(journal.EndFile, journal.NoMark(snapshot.data))
		}
		before, err := journal.OpenDisk(t.Context(), only, journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		sameReads(t, n, wanted, before)
		closed(t, before)
		closed(t, s)
	})
}

// A journal of any length needs room in proportion to what the store has.
func TestSnapshotsAreTakenWhenDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeDisk()
		s, err := journal.OpenDisk(t.Context(), d, journal.Options{SegmentBytes: 4000, SnapshotBytes: 20_000})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 400 {
			err := s.SaveTenant(t.Context(), verification.Tenant{ID: tenant, Name: strings.Repeat("a", i%100)})
			if err != nil {
				t.Error(err)
			}
		}
		synctest.Wait() // for the snapshot that is being taken
		if size := d.size(); size > 30_000 {
			t.Errorf("the files have %d bytes", size)
		}
		closed(t, s)
		again, err := journal.OpenDisk(t.Context(), d.afterPowerLoss(), journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer closed(t, again)
		if found := again.Recovery(); found.Records > 300 {
			t.Errorf("%d changes are made again, want only those since the last snapshot", found.Records)
		}
		if got, err := again.Tenant(t.Context(), tenant); err != nil || len(got.Name) != 99 {
			t.Errorf("Tenant = %+v, %v", got, err)
		}
	})
}

func TestDamagedSnapshotsAreRefusedAndNamed(t *testing.T) {
	d := newFakeDisk()
	s, err := journal.OpenDisk(t.Context(), d, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		if err := startRun(t.Context(), s, n); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	name := journal.SnapshotName(1)
	raw := d.files[name].data
	frames := journal.Frames(raw)
	refused := func(changed []byte, frame journal.Frame, how string, at int) {
		t.Helper()
		after := d.afterKill()
		after.files[name].data = changed
		_, err := journal.OpenDisk(t.Context(), after, journal.Options{})
		if want := name + " cannot be read at offset "; err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("%s at %d: Open = %v, want %q", how, at, err, want)
		}
		if strings.Contains(frame.Payload, `"run":"`) && at > frame.Offset+100 && !strings.Contains(err.Error(), "(record of run d0000000") {
			t.Errorf("%s at %d: Open = %v, want the run", how, at, err)
		}
	}
	for at := 0; at < len(raw); at += 3 {
		i := slices.IndexFunc(frames, func(f journal.Frame) bool { return at < f.Offset+f.Size })
		damaged := bytes.Clone(raw)
		damaged[at] ^= 0x20
		refused(damaged, frames[i], "another byte", at)
		refused(bytes.Clone(raw[:at]), frames[i], "cut", at)
	}
	last := frames[len(frames)-1]
	refused(append(bytes.Clone(raw), raw[frames[1].Offset:frames[2].Offset]...), last, "more", len(raw))
}

// Close does not wait for a snapshot, and what a snapshot has left is removed later.
func TestAClosedStoreEndsItsSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeDisk()
		s, err := journal.OpenDisk(t.Context(), d, journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 400 {
			if err := startRun(t.Context(), s, n); err != nil {
				t.Fatal(err)
			}
		}
		gate := make(chan struct{})
		d.gate, d.gated = gate, ".part"
		ended := make(chan error, 1)
		go func() { ended <- s.Snapshot(context.WithoutCancel(t.Context())) }()
		synctest.Wait()
		killed := d.afterKill() // with the part
		go func() {
			synctest.Wait()
			close(gate)
		}()
		closed(t, s)
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Snapshot = %v, want context.Canceled", err)
		}
		again, err := journal.OpenDisk(t.Context(), killed, journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := again.Recovery().Runs; got != 400 {
			t.Errorf("%d runs, want all", got)
		}
		closed(t, again)
		for name := range killed.files {
			if strings.HasSuffix(name, ".part") {
				t.Errorf("%s is left", name)
			}
		}
	})
}

// Soon after a run is rewritten or deleted, no file of the folder has what it was: also if the process stops before.
func TestARewrittenRunIsSoonInNoFile(t *testing.T) {
	const canary = "Kanarienvogel"
	begun := []rules.Event{
		{At: start(), Fact: rules.Started{Workflow: "a0000000-0000-7000-8000-0000000000ff", ReferenceID: canary, Input: verification.Data(`{"name":"` + canary + `"}`)}},
		{At: start(), Fact: rules.Cancelled{}},
	}
	rewritten, err := rules.Redact(runID(0), begun, "", verification.Person{}, start())
	if err != nil {
		t.Fatal(err)
	}
	rewrite := store.Commit{Events: rewritten, Summary: rules.Fold(runID(0), rewritten).Summary(), Work: store.DueWork{}, Rewrite: true}
	for name, c := range map[string]struct {
		commit    store.Commit
		restarted bool
	}{
		"rewritten": {rewrite, false}, "rewritten, after a restart": {rewrite, true},
		"deleted": {store.Commit{Delete: true}, false}, "deleted, after a restart": {store.Commit{Delete: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, o := newFakeDisk(), journal.Options{EraseWithin: time.Hour}
				open := func() *journal.Store {
					s, err := journal.OpenDisk(t.Context(), d, o)
					if err != nil {
						t.Fatal(err)
					}
					return s
				}
				s := open()
				err := errors.Join(
					s.Append(t.Context(), tenant, runID(0), 0, store.NewCommit(rules.Run{}, rules.Fold(runID(0), begun), begun, time.UTC)),
					s.Append(t.Context(), tenant, runID(0), len(begun), c.commit))
				if err != nil {
					t.Fatal(err)
				}
				wait := time.Hour
				mark := func() int64 { mark, _, _ := s.Removed(t.Context(), 0); return mark }
				gone := func(mark int64) bool { _, gone, _ := s.Removed(t.Context(), mark); return gone }
				if c.restarted {
					closed(t, s)
					s, wait = open(), time.Minute
				}
				time.Sleep(wait - time.Second) //nolint:forbidigo // the clock of synctest
				removed := mark()
				if len(d.filesWith(canary)) == 0 || gone(removed) {
					t.Errorf("nothing is left to erase, or said to be: %t", gone(removed))
				}
				time.Sleep(2 * time.Second) //nolint:forbidigo // the clock of synctest
				if left := d.filesWith(canary); len(left) > 0 {
					t.Errorf("the files %q still have it", left)
				}
				if !gone(removed) || !gone(mark()) {
					t.Error("the store says that something is left")
				}
				got, err := s.Load(t.Context(), tenant, runID(0), 0)
				if gone := errors.Is(err, verification.ErrNotFound); gone != c.commit.Delete || len(got) != len(c.commit.Events) {
					t.Errorf("the run has %d events, %v, want %d", len(got), err, len(c.commit.Events))
				}
				closed(t, s)
			})
		})
	}
}

// filesWith returns the names of the files that have a text.
func (d *fakeDisk) filesWith(text string) (names []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, f := range d.files {
		if bytes.Contains(f.data, []byte(text)) {
			names = append(names, name)
		}
	}
	return names
}
