// Command testlog runs go test with its arguments and prints the result of each package as
// soon as the package ends. Go test itself prints packages in order, so that one slow
// package holds back the lines of all later ones.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run runs go test; the error says which packages failed.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	fmt.Fprintln(stdout, "Compiling. A line for each package follows when its tests end.")
	unlock, err := ownFolder(args)
	if err != nil {
		return err
	}
	defer unlock()
	c := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	c.Stderr = os.Stderr
	events, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	start := time.Now()
	failed, err := report(events, stdout, slices.Contains(args, "-v"))
	if err := errors.Join(err, c.Wait()); err != nil {
		return fmt.Errorf("go test: %w; failed after %.0fs: %s", err, time.Since(start).Seconds(), strings.Join(failed, ", "))
	}
	return nil
}

// maxRuns bounds the runs of the tests in one checkout at the same time.
const maxRuns = 8

// ownFolder locks the folder of the test binaries, the value of -o in args, until unlock is
// called. If another run has locked it, ownFolder changes the value to a folder beside it.
func ownFolder(args []string) (unlock func(), err error) {
	at := slices.Index(args, "-o") + 1
	if at == 0 || at == len(args) {
		return func() {}, nil
	}
	folder := strings.TrimSuffix(args[at], "/")
	for n := 1; n <= maxRuns; n++ {
		if n > 1 {
			args[at] = fmt.Sprintf("%s-%d/", folder, n)
		}
		if err := os.MkdirAll(args[at], 0o750); err != nil {
			return nil, err
		}
		f, err := os.OpenFile(filepath.Join(args[at], ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if _ = f.Close(); !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
	}
	return nil, fmt.Errorf("%d runs of the tests have locked %s and the folders beside it: wait until one ends", maxRuns, folder)
}

// event is a line that go test -json prints; see go doc test2json.
type event struct {
	Action, Package, Test, Output string
}

// output is what one package has printed, without the tests that passed.
type output struct{ lines []event }

// report prints the lines of each package when it ends: without those of the tests that
// passed, unless all is true. It returns the packages that failed. It prints at once what is
// not an event, and what the compiler says.
func report(events io.Reader, stdout io.Writer, all bool) (failed []string, err error) {
	packages := map[string]*output{}
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		switch {
		case len(line) == 0:
		case json.Unmarshal(line, &e) != nil:
			fmt.Fprintf(stdout, "%s", line)
		case e.Package == "" || all && e.Action == "output":
			fmt.Fprint(stdout, e.Output)
		default:
			if packages[e.Package] == nil {
				packages[e.Package] = &output{}
			}
			if packages[e.Package].add(e, stdout) {
				failed = append(failed, e.Package)
			}
		}
		if errors.Is(err, io.EOF) {
			return failed, nil
		} else if err != nil {
			return failed, err
		}
	}
}

// add adds an event of the package; at its end it prints the lines, and reports whether it failed.
func (o *output) add(e event, stdout io.Writer) (failed bool) {
	switch {
	case e.Action == "output":
		o.lines = append(o.lines, e)
	case e.Test != "" && (e.Action == "pass" || e.Action == "skip"):
		o.lines = slices.DeleteFunc(o.lines, func(l event) bool { return l.Test == e.Test })
	case e.Test == "" && slices.Contains([]string{"pass", "skip", "fail"}, e.Action):
		for _, l := range o.lines {
			if l.Output != "PASS\n" && !strings.HasPrefix(l.Output, "=== ") {
				fmt.Fprint(stdout, l.Output)
			}
		}
		o.lines = nil
		return e.Action == "fail"
	}
	return false
}
