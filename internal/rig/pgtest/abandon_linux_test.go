// Test of a test binary that is killed: its server ends, its files go later.

package pgtest_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/pgtest"
)

func TestATestBinaryThatIsKilledLeavesNothing(t *testing.T) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), envAbandon+"=1")
	hold, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hold.Close() }()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	folder, err := bufio.NewReader(out).ReadString('\n')
	folder = strings.TrimSpace(folder)
	if _, stat := os.Stat(folder); err != nil || stat != nil {
		t.Fatalf("folder = %q, %v, %v", folder, err, stat)
	}
	_ = server(t, pgtest.Options{})
	if _, err := os.Stat(folder); err != nil {
		t.Errorf("the folder of a server that runs: %v", err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	gone(t, folder)
	_ = server(t, pgtest.Options{})
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of a server that was left: %v, want none", err)
	}
}

// gone waits for the end of the process that the folder names: the kernel ends it.
func gone(t *testing.T, folder string) {
	t.Helper()
	raw, err := os.ReadFile(folder + "/data/postmaster.pid")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for range 6000 {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		<-again.C
	}
	t.Errorf("process %d is still there", pid)
}
