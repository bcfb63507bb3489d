//go:build unix

package blob_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/verification"
)

// fullDisk is the environment variable that makes this test the child process: it names
// the folder to save to.
const fullDisk = "VERIFYD_TEST_FULL_DISK"

// TestAFullDiskIsUnavailableAndLeavesNothing runs itself in another process, where
// the kernel writes no file beyond 100,000 bytes.
func TestAFullDiskIsUnavailableAndLeavesNothing(t *testing.T) {
	if dir := os.Getenv(fullDisk); dir != "" {
		fillDisk(t, dir)
		return
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), fullDisk+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS")) {
		t.Errorf("on a full disk: %v\n%s", err, out)
	}
	for path := range files(t, dir) {
		if path != ".incoming" {
			t.Errorf("there is %s left, want nothing", path)
		}
	}
}

func fillDisk(t *testing.T, dir string) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ) // so that the write fails instead
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 100_000, Max: 100_000}); err != nil {
		t.Fatal(err)
	}
	s, err := blob.Folder(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.SaveDocument(t.Context(), someRun(1), upload(1), bytes.NewReader(somePDF(1<<20)))
	if !errors.Is(err, verification.ErrUnavailable) || !errors.Is(err, syscall.EFBIG) {
		t.Errorf("SaveDocument: %v, want unavailable, and the cause for the log", err)
	}
}

func TestEveryErrorOfAFullDiskIsUnavailable(t *testing.T) {
	s := folder(t, t.TempDir())
	save := func(code syscall.Errno) error {
		broken := iotest.ErrReader(&os.PathError{Op: "write", Path: "content", Err: code})
		_, err := s.SaveDocument(t.Context(), someRun(1), upload(1), broken)
		return err
	}
	for _, code := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if err := save(code); !errors.Is(err, verification.ErrUnavailable) || !errors.Is(err, code) {
			t.Errorf("%v: %v, want unavailable", code, err)
		}
	}
	if err := save(syscall.EIO); !errors.Is(err, syscall.EIO) || errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("EIO: %v, want an internal error", err)
	}
}
