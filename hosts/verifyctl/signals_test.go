package main

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/process"
)

// asProgram is the variable that makes the test binary run verifyctl.
const asProgram = "VERIFYCTL_TEST_AS_PROGRAM"

// program starts verifyctl as a process.
func program(t *testing.T, args ...string) (p *process.Process, stderr *bytes.Buffer) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], args...)
	c.Env = append(os.Environ(), asProgram+"=1")
	stderr = new(bytes.Buffer)
	c.Stderr = stderr
	p, err := process.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	return p, stderr
}

// pipe makes a file that is read only while somebody writes to it.
func pipe(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "w.yaml")
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// feed opens a pipe once the process reads it, and writes a text.
func feed(t *testing.T, p *process.Process, file, text string) *os.File {
	t.Helper()
	opened := make(chan *os.File, 1)
	go func() {
		f, _ := os.OpenFile(file, os.O_WRONLY, 0) // returns when the program reads the file
		opened <- f
	}()
	var f *os.File
	select {
	case f = <-opened:
	case <-p.Ended():
		t.Fatalf("the program ended: %v", p.Err())
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	return f
}

// signalUntilItEnds sends a signal until the process ends, or for two minutes.
func signalUntilItEnds(t *testing.T, p *process.Process, s syscall.Signal) {
	t.Helper()
	late := time.After(2 * time.Minute)
	for {
		_ = p.Cmd.Process.Signal(s) // fails when it has ended
		select {
		case <-p.Ended():
			return
		case <-late:
			_ = p.Cmd.Process.Kill()
			t.Fatalf("%v does not end the process", s)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func TestASecondSignalEndsTheProgram(t *testing.T) {
	// A process ignores the signals that its parent ignores, as a shell has jobs in the background ignore SIGINT.
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(heard)
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		file := pipe(t)
		p, _ := program(t, "workflow", "validate", file)
		f := feed(t, p, file, "workflow: w\n") // the program waits for the rest, and looks at no context
		signalUntilItEnds(t, p, s)
		_ = f.Close()
		if status, ok := p.Cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != s {
			t.Errorf("the program ended with %v, want %v", p.Err(), s)
		}
	}
}

// large returns a valid workflow that takes a second to validate.
func large() string {
	var b strings.Builder
	b.WriteString("workflow: w\nname: W\nstart: c\nnodes:\n  c: {type: check, provider: sandbox, next: b0}\n  done: {type: end}\n")
	for i := range 490 {
		name, next := "b"+strconv.Itoa(i), "b"+strconv.Itoa(i+1)
		if i == 489 {
			next = "done"
		}
		b.WriteString("  " + name + ": {type: branch, rules: [{when: \"steps.c.dispatches > " + strconv.Itoa(i) + " || steps.c.passed\", next: done}, {when: \"steps.c.status == 'failed'\", next: done}], else: " + next + "}\n")
	}
	return b.String()
}

func TestValidationStopsAtTheFirstSignal(t *testing.T) {
	file := pipe(t)
	p, stderr := program(t, "workflow", "validate", file)
	f := feed(t, p, file, large())
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = f.Close() // the validation begins, with the signal under way
	select {
	case <-p.Ended():
	case <-time.After(2 * time.Minute):
		_ = p.Cmd.Process.Kill()
		t.Fatal("the program did not end")
	}
	if code, want := p.Cmd.ProcessState.ExitCode(), "verifyctl: context canceled\n"; code != exitUsage || stderr.String() != want {
		t.Errorf("the program ended with %d, %q; want %d, %q", code, stderr, exitUsage, want)
	}
}
