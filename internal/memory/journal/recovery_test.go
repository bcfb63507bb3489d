package journal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/internal/rig/storereads"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

const (
	tenant      = storereads.Tenant
	theWorkflow = storereads.Workflow
)

func start() time.Time { return storereads.Start() }

func runID(n int) verification.RunID { return storereads.RunID(n) }

// started returns the first commit of run number n.
func started(n int) store.Commit {
	events := []rules.Event{{At: start().Add(time.Duration(n) * time.Second), Fact: rules.Started{
		Workflow: theWorkflow, WorkflowName: "Onboarding", Version: 1, VersionHash: "first", ReferenceID: fmt.Sprint("customer-", n),
	}}}
	after := rules.Fold(runID(n), events)
	c := store.NewCommit(rules.Run{}, after, events, time.UTC)
	c.Work[store.WorkKey{Kind: store.WorkAdvance}] = events[0].At.Add(time.Minute)
	return c
}

func startRun(ctx context.Context, s store.Store, n int) error {
	return s.Append(ctx, tenant, runID(n), 0, started(n))
}

// runs returns how many runs the store has, and fails the test unless they are the first
// ones.
func runs(t testing.TB, s store.Store) int {
	t.Helper()
	p, err := s.List(t.Context(), tenant, store.RunQuery{PageQuery: store.PageQuery{Limit: store.MaxLimit}, Now: start()})
	if err != nil {
		t.Fatal(err)
	}
	for i, run := range p.Data { // newest first
		if want := runID(p.Total - 1 - i); run.ID != want {
			t.Fatalf("run %d of %d is %s, want %s", i, p.Total, run.ID, want)
		}
	}
	return p.Total
}

// segmentWith writes a journal with runs and returns its folder and its only segment.
func segmentWith(t *testing.T, n int) (dir string, raw []byte) {
	t.Helper()
	dir = t.TempDir()
	s := openIn(t, dir, journal.Options{})
	for i := range n {
		if err := startRun(t.Context(), s, i); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, s)
	raw, err := os.ReadFile(filepath.Join(dir, journal.SegmentName(1)))
	if err != nil {
		t.Fatal(err)
	}
	return dir, raw
}

// written returns the disk of a journal with one segment, whose mark is as old as it may be.
func written(raw []byte) *fakeDisk {
	d := newFakeDisk()
	d.put(journal.SegmentName(1), raw)
	d.put(journal.EndFile, journal.NoMark(raw))
	return d
}

func TestATornTailIsCutAtEveryByte(t *testing.T) {
	_, raw := segmentWith(t, 6)
	frames := journal.Frames(raw)
	for size := range len(raw) + 1 {
		whole := -1 // without the first record of the segment
		for _, f := range frames {
			if f.Offset+f.Size <= size {
				whole++
			}
		}
		var log bytes.Buffer
		d := written(raw[:size])
		s, err := journal.OpenDisk(t.Context(), d, journal.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatalf("cut at %d: %v", size, err)
		}
		if got := runs(t, s); got != max(whole, 0) {
			t.Errorf("cut at %d: %d runs, want %d", size, got, whole)
		}
		if found := s.Recovery(); found.Runs != max(whole, 0) || found.Records != max(whole, 0) {
			t.Errorf("cut at %d: recovery says %+v, want %d runs and records", size, found, whole)
		}
		torn := size != 0 && !endsAt(frames, size) || size == 0
		if logged := strings.Contains(log.String(), "file="+journal.SegmentName(1)); logged != torn {
			t.Errorf("cut at %d: a cut is logged: %t, want %t\n%s", size, logged, torn, &log)
		}
		// The store goes on, and what is written then is found.
		if err := startRun(t.Context(), s, max(whole, 0)); err != nil {
			t.Errorf("cut at %d: Append: %v", size, err)
		}
		closed(t, s)
		again, err := journal.OpenDisk(t.Context(), d.afterPowerLoss(), journal.Options{})
		if err != nil {
			t.Fatalf("cut at %d, opened again: %v", size, err)
		}
		if got := runs(t, again); got != max(whole, 0)+1 {
			t.Errorf("cut at %d, opened again: %d runs, want %d", size, got, max(whole, 0)+1)
		}
		closed(t, again)
	}
}

func TestASetupThatWasCutIsNotThereAtAll(t *testing.T) {
	dir, set := t.TempDir(), theSetup()
	s := openIn(t, dir, journal.Options{})
	if err := s.SaveSetup(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	raw, err := os.ReadFile(filepath.Join(dir, journal.SegmentName(1)))
	if err != nil {
		t.Fatal(err)
	}
	frames := journal.Frames(raw)
	if len(frames) != 2 || frames[1].Kind != "setup" {
		t.Fatalf("the journal has %d records, want one of the setup", len(frames)-1)
	}
	for size := frames[1].Offset; size <= len(raw); size++ {
		s, err := journal.OpenDisk(t.Context(), written(raw[:size]), journal.Options{})
		if err != nil {
			t.Fatalf("cut at %d: %v", size, err)
		}
		saved := 0
		for _, c := range set.Workflows {
			_, tenant := s.Tenant(t.Context(), c.Tenant)
			_, account := s.Account(t.Context(), set.Accounts[0].ClientID)
			_, workflow := s.Workflow(t.Context(), c.Tenant, c.Workflow.ID)
			_, version := s.Version(t.Context(), c.Tenant, c.Workflow.ID, c.Added.Hash)
			trail, _ := s.AuditEntries(t.Context(), c.Tenant, store.AuditQuery{Limit: 10})
			for _, err := range []error{tenant, account, workflow, version} {
				if err == nil {
					saved++
				}
			}
			saved += len(trail)
		}
		if want := 5 * min(1, size/len(raw)); saved != want {
			t.Errorf("cut at %d of %d bytes: %d of 5 things are there, want %d", size, len(raw), saved, want)
		}
		closed(t, s)
	}
}

func endsAt(frames []journal.Frame, offset int) bool {
	for _, f := range frames {
		if f.Offset+f.Size == offset {
			return true
		}
	}
	return false
}

func TestDamageIsRefusedAndNamed(t *testing.T) {
	_, raw := segmentWith(t, 6)
	frames := journal.Frames(raw)
	last := frames[len(frames)-1]
	for at := range last.Offset {
		damaged := bytes.Clone(raw)
		damaged[at] ^= 0x20
		s, err := journal.OpenDisk(t.Context(), written(damaged), journal.Options{})
		if err == nil {
			closed(t, s)
			t.Fatalf("a journal with another byte at %d was opened", at)
		}
		n := 0
		for frames[n].Offset+frames[n].Size <= at {
			n++
		}
		want := fmt.Sprintf("%s cannot be read at offset %d (", journal.SegmentName(1), frames[n].Offset)
		if !strings.Contains(err.Error(), want) {
			t.Errorf("another byte at %d: %v, want %q", at, err, want)
		}
		inFrame := at - frames[n].Offset
		if n > 0 && inFrame != 12 && (inFrame < 18 || inFrame > 18+60) { // the kind and the run are not what is damaged
			want := fmt.Sprintf("(append of run %s)", runID(n-1))
			if !strings.Contains(err.Error(), want) {
				t.Errorf("another byte at %d: %v, want %q", at, err, want)
			}
		}
	}
}

func TestDamageOutsideRunsNamesNoRun(t *testing.T) {
	d := newFakeDisk()
	s, err := journal.OpenDisk(t.Context(), d, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SaveTenant(t.Context(), verification.Tenant{ID: tenant, Name: "A tenant"}); err != nil {
		t.Fatal(err)
	}
	if err := startRun(t.Context(), s, 0); err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	frames := journal.Frames(d.files[journal.SegmentName(1)].data)
	damaged := written(d.files[journal.SegmentName(1)].data)
	damaged.files[journal.SegmentName(1)].data[frames[1].Offset+30] ^= 1
	_, err = journal.OpenDisk(t.Context(), damaged, journal.Options{})
	if err == nil || !strings.Contains(err.Error(), "(rows)") {
		t.Errorf("Open = %v, want an error about the row of the tenant", err)
	}
}

// Records of later builds are refused, because what they say would be lost.
func TestRecordsOfLaterBuildsAreRefused(t *testing.T) {
	_, raw := segmentWith(t, 1)
	frames := journal.Frames(raw)
	head, run := raw[:frames[1].Offset], frames[1].Payload
	for want, frame := range map[string][]byte{
		"version 3":       journal.AppendFrame(nil, 2, 3, frames[1].Previous, run),
		"unknown kind 99": journal.AppendFrame(nil, 99, 2, frames[1].Previous, run),
		"colour":          journal.AppendFrame(nil, 2, 2, frames[1].Previous, strings.Replace(run, `{"run"`, `{"colour":"red","run"`, 1)),
	} {
		_, err := journal.OpenDisk(t.Context(), written(append(bytes.Clone(head), frame...)), journal.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), fmt.Sprintf("offset %d", len(head))) {
			t.Errorf("Open = %v, want an error with %q and the offset", err, want)
		}
	}
}

// A crash may leave the pages of the last group on disk in any order.
func TestAGroupWithAHoleIsATornTail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, gate := newFakeDisk(), make(chan struct{})
		s, err := journal.OpenDisk(t.Context(), d, journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d.gate = gate
		for n := range 9 { // the first is written, and the others are the next group
			go func() {
				if err := startRun(t.Context(), s, n); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		close(gate)
		synctest.Wait()
		closed(t, s)
		raw := d.files[journal.SegmentName(1)].data
		frames := journal.Frames(raw)
		if frames[9].Group != frames[2].Offset {
			t.Fatalf("the groups are not 1 and 8 runs: %+v", frames)
		}
		for hole := 2; hole <= 9; hole++ {
			torn := written(raw)
			clear(torn.files[journal.SegmentName(1)].data[frames[hole].Offset : frames[hole].Offset+20])
			again, err := journal.OpenDisk(t.Context(), torn, journal.Options{})
			if err != nil {
				t.Fatalf("without run %d: %v", hole-1, err)
			}
			if got := runs(t, again); got != hole-1 {
				t.Errorf("without run %d: %d runs, want %d", hole-1, got, hole-1)
			}
			closed(t, again)
		}
		// The first run was on disk before.
		damaged := written(raw)
		clear(damaged.files[journal.SegmentName(1)].data[frames[1].Offset : frames[1].Offset+20])
		if _, err := journal.OpenDisk(t.Context(), damaged, journal.Options{}); err == nil {
			t.Error("a journal without an acknowledged run was opened")
		}
	})
}

func TestAMissingSegmentIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir, journal.Options{SegmentBytes: 1})
	for n := range 4 {
		if err := startRun(t.Context(), s, n); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, s)
	if err := os.Remove(filepath.Join(dir, journal.SegmentName(2))); err != nil {
		t.Fatal(err)
	}
	_, err := journal.Open(t.Context(), dir, journal.Options{})
	if err == nil || !strings.Contains(err.Error(), journal.SegmentName(2)+" is missing") {
		t.Errorf("Open = %v, want an error that names %s", err, journal.SegmentName(2))
	}
}

func TestASecondHostIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir, journal.Options{OpenedAt: start()})
	_, err := journal.Open(t.Context(), dir, journal.Options{})
	if !errors.Is(err, verification.ErrConflict) {
		t.Fatalf("Open of a folder that is open = %v, want ErrConflict", err)
	}
	for _, want := range []string{fmt.Sprintf("another host has the folder: process %d on ", os.Getpid()), " since 2026-03-01T09:00:00Z"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Open = %v, want %s", err, want)
		}
	}
	if err := startRun(t.Context(), s, 0); err != nil {
		t.Errorf("Append by the holder: %v", err)
	}
	if err := journal.Held(dir); !errors.Is(err, verification.ErrConflict) || !strings.Contains(err.Error(), fmt.Sprintf(": process %d on ", os.Getpid())) {
		t.Errorf("Held = %v, want the process", err)
	}
	closed(t, s)
	for _, free := range []string{dir, t.TempDir()} {
		if err := journal.Held(free); err != nil {
			t.Errorf("Held of a folder that no process has: %v", err)
		}
	}
	if raw, err := os.ReadFile(filepath.Join(dir, "lock")); err != nil || len(raw) > 0 {
		t.Errorf("the lock of a closed journal has %q, %v; want nothing", raw, err)
	}
	again := openIn(t, dir, journal.Options{})
	if got := runs(t, again); got != 1 {
		t.Errorf("%d runs, want 1", got)
	}
}

// TestNothingAcknowledgedIsLost fails each operation of a disk in turn, in each way, also
// while a snapshot is taken, and opens the journal again after the process was killed and after
// a loss of power.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	const many = 5
	var snapshots []error // that have failed
	work := func(d *fakeDisk) (acknowledged, submitted int, failures []error, err error) {
		snapshots = nil
		s, err := journal.OpenDisk(t.Context(), d, journal.Options{SegmentBytes: 1500, Fail: func(err error) { failures = append(failures, err) }})
		if err != nil {
			return 0, 0, nil, err
		}
		for submitted < many && err == nil {
			submitted++
			if err = startRun(t.Context(), s, submitted-1); err == nil {
				acknowledged++
			}
			if submitted%2 == 0 && err == nil {
				if failed := s.Snapshot(t.Context()); failed != nil {
					snapshots = append(snapshots, failed)
				}
			}
		}
		if err != nil { // then nothing is served any more
			if !errors.Is(err, verification.ErrUnavailable) || strings.Contains(err.Error(), errNoSpace.Error()) {
				t.Errorf("Append = %v, want ErrUnavailable without its cause", err)
			}
			_, read := s.Tenants(t.Context())
			if again := startRun(t.Context(), s, many); !errors.Is(again, verification.ErrUnavailable) || !errors.Is(read, verification.ErrUnavailable) {
				t.Errorf("after a failure, Append and Tenants = %v and %v, want ErrUnavailable", again, read)
			}
		}
		return acknowledged, submitted, failures, errors.Join(err, s.Close())
	}
	sound := newFakeDisk()
	if acknowledged, _, _, err := work(sound); err != nil || acknowledged != many {
		t.Fatalf("on a sound disk: %d runs, %v", acknowledged, err)
	}
	if len(snapshots) > 0 || !slices.ContainsFunc(sound.ops, func(op string) bool { return strings.HasPrefix(op, "rename") }) {
		t.Fatalf("on a sound disk: snapshots %v", snapshots)
	}
	for at, op := range sound.ops {
		for _, short := range []bool{false, true} {
			d := newFakeDisk()
			d.failAt, d.short = at, short
			acknowledged, submitted, failures, err := work(d)
			if err == nil && len(snapshots) == 0 {
				t.Errorf("%q failed, and nobody is told", op)
			}
			if serving := submitted > 0 && acknowledged < submitted; serving != (len(failures) == 1) || len(failures) > 1 {
				t.Errorf("%q failed: Fail was called with %v", op, failures)
			}
			if all := errors.Join(append(snapshots, err)...); !short && !errors.Is(all, errNoSpace) {
				t.Errorf("%q failed: Open or Close = %v, want the cause", op, err)
			}
			for how, after := range map[string]*fakeDisk{"a kill": d.afterKill(), "a loss of power": d.afterPowerLoss()} {
				s, err := journal.OpenDisk(t.Context(), after, journal.Options{})
				if err != nil {
					t.Errorf("%q failed, then %s: %v", op, how, err)
					continue
				}
				if got := runs(t, s); got < acknowledged || got > submitted {
					t.Errorf("%q failed, then %s: %d runs, want %d acknowledged to %d submitted", op, how, got, acknowledged, submitted)
				}
				closed(t, s)
			}
		}
	}
}

func TestAFailedRecoveryLosesNothing(t *testing.T) {
	_, raw := segmentWith(t, 4)
	frames := journal.Frames(raw)
	for whole, size := range map[int]int{0: frames[0].Size - 1, 3: len(raw) - 1, 4: len(raw)} {
		sound := written(raw[:size])
		s, err := journal.OpenDisk(t.Context(), sound, journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		opening := len(sound.ops)
		closed(t, s)
		for at, op := range sound.ops[:opening] {
			d := written(raw[:size])
			d.failAt = at
			if _, err := journal.OpenDisk(t.Context(), d, journal.Options{}); !errors.Is(err, errNoSpace) {
				t.Errorf("%d runs, %q failed: Open = %v, want the cause", whole, op, err)
			}
			for how, after := range map[string]*fakeDisk{"a kill": d.afterKill(), "a loss of power": d.afterPowerLoss()} {
				s, err := journal.OpenDisk(t.Context(), after, journal.Options{})
				if err != nil {
					t.Errorf("%d runs, %q failed, then %s: %v", whole, op, how, err)
					continue
				}
				if got := runs(t, s); got != whole {
					t.Errorf("%d runs, %q failed, then %s: %d runs", whole, op, how, got)
				}
				closed(t, s)
			}
		}
	}
}

func TestClosedStoresAnswerUnavailable(t *testing.T) {
	s := openIn(t, t.TempDir(), journal.Options{})
	closed(t, s)
	closed(t, s)
	_, err := s.Tenants(t.Context())
	if again := startRun(t.Context(), s, 1); !errors.Is(err, verification.ErrUnavailable) || !errors.Is(again, verification.ErrUnavailable) {
		t.Errorf("after Close, Tenants and Append = %v and %v, want ErrUnavailable", err, again)
	}
}
