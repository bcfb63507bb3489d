// A test of a process that is killed.

package journal_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/memory/journal"
)

// A process is killed while it adds runs. The next start has each run that it acknowledged, and refuses
// a damaged record of an acknowledged run that no mark names yet.
func TestAKillLosesNoAcknowledgedRun(t *testing.T) {
	if dir := os.Getenv(shortOf); dir != "" {
		s := openIn(t, dir, journal.Options{})
		for i := 0; ; i++ {
			if err := startRun(t.Context(), s, i); err != nil {
				t.Fatal(err)
			}
			_, _ = fmt.Fprintln(os.Stdout, "acknowledged")
		}
	}
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "journal")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), shortOf+"="+dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	acknowledged := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), "acknowledged") {
			acknowledged++
		}
		if acknowledged == 20 {
			_ = cmd.Process.Kill() // the rest of what it has printed is read
		}
	}
	if err := cmd.Wait(); acknowledged < 20 || cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("the process ended with %v after %d runs, want that it was killed", err, acknowledged)
	}
	damaged := filepath.Join(t.TempDir(), "journal")
	if err := copyFolder(dir, damaged); err != nil {
		t.Fatal(err)
	}
	if got := runs(t, openIn(t, dir, journal.Options{})); got < acknowledged {
		t.Errorf("%d runs, and %d were acknowledged", got, acknowledged)
	}
	file := filepath.Join(damaged, journal.SegmentName(1))
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	raw[journal.Frames(raw)[acknowledged-2].Offset+40] ^= 1
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := journal.Check(t.Context(), damaged, false); err != nil || len(r.Damage) == 0 {
		t.Errorf("Check = %+v, %v; want damage", r, err)
	}
	if s, err := journal.Open(t.Context(), damaged, journal.Options{}); err == nil {
		closed(t, s)
		t.Error("a damaged record of an acknowledged run was opened")
	}
}
