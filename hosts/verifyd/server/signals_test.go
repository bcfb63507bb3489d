package server_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/process"
)

// asProgram is the variable that makes the test binary run verifyd.
const asProgram = "VERIFYD_TEST_AS_PROGRAM"

// starting starts verifyd as a process with a bootstrap file of one workflow. It returns
// the workflow's file, a pipe that the process has opened.
func starting(t *testing.T) (p *process.Process, workflow *os.File, stderr *bytes.Buffer) {
	t.Helper()
	folder := t.TempDir()
	file, bootstrap := filepath.Join(folder, "w.yaml"), filepath.Join(folder, "bootstrap.yaml")
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	text := "tenants: [{id: 0191f3c0-0000-7000-8000-00000000000a, name: A, workflows: [w.yaml]}]\n"
	if err := os.WriteFile(bootstrap, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), os.Args[0], "serve", "--memory", "--bootstrap", bootstrap, "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0")
	c.Env = append(os.Environ(), asProgram+"=1")
	stderr = new(bytes.Buffer)
	c.Stdout, c.Stderr = stderr, stderr
	p, err := process.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	opened := make(chan *os.File, 1)
	go func() {
		f, _ := os.OpenFile(file, os.O_WRONLY, 0) // returns when the host reads the file
		opened <- f
	}()
	select {
	case workflow = <-opened:
	case <-p.Ended():
		t.Fatalf("the host ended: %v, %s", p.Err(), stderr)
	}
	return p, workflow, stderr
}

func TestASecondSignalEndsAHost(t *testing.T) {
	// A process ignores the signals that its parent ignores, as a shell has jobs in the background ignore SIGINT.
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(heard)
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		p, workflow, _ := starting(t) // the host waits for the workflow, and looks at no context
		late := time.After(2 * time.Minute)
		for ended := false; !ended; {
			_ = p.Cmd.Process.Signal(s) // fails when it has ended
			select {
			case <-p.Ended():
				ended = true
			case <-late:
				_ = p.Cmd.Process.Kill()
				t.Fatalf("%v does not end the host", s)
			case <-time.After(50 * time.Millisecond):
			}
		}
		_ = workflow.Close()
		if status, ok := p.Cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != s {
			t.Errorf("the host ended with %v, want %v", p.Err(), s)
		}
	}
}

func TestAHostStopsWhileItValidates(t *testing.T) {
	p, workflow, printed := starting(t)
	var b strings.Builder
	b.WriteString("workflow: w\nname: W\nstart: c\nnodes:\n  done: {type: end}\n  b490: {type: end}\n  c: {type: check, provider: sandbox, next: b0}\n")
	for i := range 490 {
		fmt.Fprintf(&b, "  b%d: {type: branch, rules: [{when: \"steps.c.dispatches > %d || steps.c.passed\", next: done}, {when: \"steps.c.status == 'failed'\", next: done}], else: b%d}\n", i, i, i+1)
	}
	if _, err := workflow.WriteString(b.String()); err != nil {
		t.Fatal(err)
	}
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = workflow.Close() // the validation begins, with the signal under way
	select {
	case <-p.Ended():
	case <-time.After(2 * time.Minute):
		_ = p.Cmd.Process.Kill()
		t.Fatal("the host did not end")
	}
	if code := p.Cmd.ProcessState.ExitCode(); code != 1 || !strings.HasSuffix(printed.String(), "context canceled\n") {
		t.Errorf("the host ended with %d, %q; want 1, and that its context was cancelled", code, printed)
	}
}
