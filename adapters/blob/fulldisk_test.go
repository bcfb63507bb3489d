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

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/verification"
)

// fullDisk names the folder that a process of this test fills up.
const fullDisk = "VERIFYD_TEST_FULL_DISK"

// TestAFullDiskIsAFaultAndLeavesNothing runs itself in another process, where
// the kernel writes no file beyond 100,000 bytes.
func TestAFullDiskIsAFaultAndLeavesNothing(t *testing.T) {
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
	s, err := blob.Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.SaveDocument(t.Context(), someRun(1), upload(1), nil, bytes.NewReader(somePDF(1<<20)))
	var expected *verification.Error
	if !errors.Is(err, syscall.EFBIG) || errors.As(err, &expected) {
		t.Errorf("SaveDocument: %v, want the fault of the disk", err)
	}
}
