// Tests of the file of the next segment, on real disks.

package journal_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/memory/journal"
)

// room returns how many bytes of the disk a file takes; 0 if there is none.
func room(t *testing.T, file string) int64 {
	t.Helper()
	var s syscall.Stat_t
	if err := syscall.Stat(file, &s); err != nil && !errors.Is(err, syscall.ENOENT) {
		t.Fatal(err)
	}
	return s.Blocks * 512
}

// awaitRoom waits until the file of the next segment has room.
func awaitRoom(t *testing.T, dir string, want int64) {
	t.Helper()
	for range 1000 {
		if room(t, filepath.Join(dir, journal.SpareFile)) >= want {
			return
		}
		time.Sleep(10 * time.Millisecond) //nolint:forbidigo // the disk has no other clock
	}
	t.Fatal("the next segment has no room after 10 s")
}

func TestTheNextSegmentHasItsRoomBefore(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "journal")
	if probe, err := os.CreateTemp(t.TempDir(), ""); err != nil || syscall.Fallocate(int(probe.Fd()), 0, 0, 1) != nil {
		t.Skip("the file system gives no file room before it is written")
	}
	const size = 1 << 20
	s := openIn(t, dir, journal.Options{SegmentBytes: size})
	awaitRoom(t, dir, size)
	if err := errors.Join(startRun(t.Context(), s, 0), s.Snapshot(t.Context()), startRun(t.Context(), s, 1)); err != nil {
		t.Fatal(err)
	}
	awaitRoom(t, dir, size)
	newest := filepath.Join(dir, journal.SegmentName(2))
	if got := room(t, newest); got < size {
		t.Errorf("the newest segment takes %d bytes of the disk, want the room that it got before", got)
	}
	if r, err := journal.Check(t.Context(), dir, false); err != nil || len(r.Damage) > 0 || r.TornBytes > 0 || r.Runs != 2 {
		t.Errorf("Check = %+v, %v; want two runs and no damage", r, err)
	}
	// Another process finds the folder as a process leaves it that is killed.
	killed := filepath.Join(t.TempDir(), "journal")
	if err := copyFolder(dir, killed); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(killed, journal.SegmentName(2))
	f, err := os.OpenFile(left, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	const keepSize = 1
	if err := errors.Join(syscall.Fallocate(int(f.Fd()), keepSize, 0, size), f.Close()); err != nil {
		t.Fatal(err)
	}
	again := openIn(t, killed, journal.Options{SegmentBytes: size})
	if got := runs(t, again); got != 2 {
		t.Errorf("%d runs, want 2", got)
	}
	if got := room(t, left); got >= size {
		t.Errorf("a segment of a process that was killed takes %d bytes of the disk", got)
	}
	closed(t, s)
	if got := room(t, newest); got >= size {
		t.Errorf("a complete segment takes %d bytes of the disk", got)
	}
	if got := room(t, filepath.Join(dir, journal.SpareFile)); got < size {
		t.Errorf("after a stop, the next segment takes %d bytes of the disk, want its room kept for the next start", got)
	}
}

// shortOf is the variable that makes a test the process with a limit: it names the folder.
const shortOf = "VERIFYD_TEST_SHORT_OF"

// limited runs a test again in a process of its own.
func limited(t *testing.T) (dir string) {
	t.Helper()
	if dir := os.Getenv(shortOf); dir != "" {
		return dir
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), shortOf+"="+filepath.Join(t.TempDir(), "journal"))
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS")) {
		t.Errorf("in a process of its own: %v\n%s", err, out)
	}
	return ""
}

// segments returns how many segments there are.
func segmentsIn(t *testing.T, dir string) int {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*.journal"))
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// A process without a free descriptor begins the next segment, and goes on in it for longer than
// a segment is.
func TestSegmentsNeedNoFreeDescriptor(t *testing.T) {
	dir := limited(t)
	if dir == "" {
		return
	}
	const size = 64 << 10
	s := openIn(t, dir, journal.Options{SegmentBytes: size, Fail: func(err error) { t.Error(err) }})
	awaitRoom(t, dir, size)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 64, Max: 64}); err != nil {
		t.Fatal(err)
	}
	var taken []*os.File
	takeAll := func() {
		for {
			f, err := os.Open(os.DevNull)
			if err != nil {
				return
			}
			taken = append(taken, f)
		}
	}
	const n = 600
	for i := range n {
		takeAll() // also the one of a segment that is complete
		if err := startRun(t.Context(), s, i); err != nil {
			t.Fatalf("run %d: %v", i, err)
		}
	}
	if err := s.Snapshot(t.Context()); !errors.Is(err, syscall.EMFILE) {
		t.Errorf("Snapshot = %v, want too many open files", err)
	}
	for _, f := range taken {
		_ = f.Close() // nothing was written
	}
	if got := segmentsIn(t, dir); got != 2 {
		t.Errorf("there are %d segments, want the first and the one that was prepared", got)
	}
	if err := errors.Join(startRun(t.Context(), s, n), s.Snapshot(t.Context())); err != nil {
		t.Errorf("with descriptors again: %v", err)
	}
	closed(t, s)
	if got := runs(t, openIn(t, dir, journal.Options{})); got != n+1 {
		t.Errorf("%d runs, want %d", got, n+1)
	}
}

// The kernel writes no file beyond a size: the next segment is used, and the journal ends only
// where a segment cannot be longer.
func TestALimitOfFilesEndsNoSegment(t *testing.T) {
	dir := limited(t)
	if dir == "" {
		return
	}
	signal.Ignore(syscall.SIGXFSZ) // so that the write fails instead
	const size = 64 << 10
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 2 * size, Max: 2 * size}); err != nil {
		t.Fatal(err)
	}
	s := openIn(t, dir, journal.Options{SegmentBytes: size})
	const n = 600
	for i := range n {
		if err := startRun(t.Context(), s, i); err != nil {
			t.Fatalf("run %d: %v", i, err)
		}
	}
	closed(t, s)
	if got := segmentsIn(t, dir); got < 3 {
		t.Errorf("there are %d segments, want more", got)
	}
}
