// A host as a process that is started, stopped and killed.

package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"syscall"
	"time"
)

// timeout bounds the start and the stop of a host, also on a machine that runs much else.
const timeout = 3 * time.Minute

// HostOptions say how to start a host. Program is required.
type HostOptions struct {
	Program string // the path of verifyd
	Name    string // for messages and the name of the log file
	// Env is the environment of the host besides PATH, HOME and TMPDIR.
	Env []string
	// LogFolder is where the whole log is written; if empty, only its end is kept.
	LogFolder string
	// Stderr takes the log in place of Host.Log; nil for none.
	Stderr *os.File
	// MaxDataBytes is a hard limit of the memory that the host may allocate; the host
	// crashes when it needs more. 0 means no limit.
	MaxDataBytes int64
}

// Host is one process of `verifyd serve` that has become ready.
type Host struct {
	*Process

	Name string
	// API and Admin are the URLs of its servers; API is empty for a worker.
	API, Admin string
	// Log is the log of the host.
	Log *Log
}

// StartHost starts a host and waits until it is ready. The caller must call Kill or
// Stop. On Linux the host also ends with this process.
func StartHost(o HostOptions) (*Host, error) {
	log, err := newLog(o.LogFolder, o.Name)
	if err != nil {
		return nil, err
	}
	cmd := Command(context.Background(), o.MaxDataBytes, o.Program, "serve")
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.Getenv("TMPDIR"),
	}, o.Env...)
	out, printed := io.Pipe()
	cmd.Stdout, cmd.Stderr = printed, log
	if o.Stderr != nil {
		cmd.Stderr = o.Stderr
	}
	h := &Host{Name: o.Name, Log: log}
	if h.Process, err = Start(cmd); err != nil {
		return nil, err
	}
	line := make(chan string, 1)
	go func() {
		reader := bufio.NewReader(out)
		first, _ := reader.ReadString('\n') // if there is no line, the process has ended with an error
		line <- first
		_, _ = io.Copy(io.Discard, reader)
	}()
	go func() {
		<-h.Ended()
		_ = printed.Close()
	}()
	select {
	case said := <-line:
		if err := h.read(said); err != nil {
			return nil, err
		}
		return h, nil
	case <-time.After(timeout):
		return nil, errors.Join(fmt.Errorf("%s is not ready after %s: %s", h.Name, timeout, h.Log), h.Kill())
	}
}

// read parses the addresses in the ready line.
func (h *Host) read(line string) error {
	found := regexp.MustCompile(`^verifyd ready api=(\S+) admin=(\S+) store=.+\n$`).FindStringSubmatch(line)
	if found == nil {
		return errors.Join(fmt.Errorf("%s printed %q: %s", h.Name, line, h.Log), h.Kill())
	}
	h.Admin = found[2]
	if found[1] != "none" {
		h.API = found[1]
	}
	return nil
}

// Kill kills the process, as kill -9 does.
func (h *Host) Kill() error {
	if err := h.Cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", h.Name, err)
	}
	<-h.Ended()
	return nil
}

// Stop terminates the process. It returns an error unless the exit code is 0.
func (h *Host) Stop() error {
	if err := h.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop %s: %w: %s", h.Name, err, h.Log)
	}
	select {
	case <-h.Ended():
		if err := h.Err(); err != nil {
			return fmt.Errorf("stop %s: %w: %s", h.Name, err, h.Log)
		}
		return nil
	case <-time.After(timeout):
		return errors.Join(fmt.Errorf("%s did not stop within %s: %s", h.Name, timeout, h.Log), h.Kill())
	}
}

// MaxRSS returns the largest resident memory that the process has had, in bytes. It
// works only on Linux and while the process runs.
func (h *Host) MaxRSS() (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.Cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`).FindSubmatch(status)
	if found == nil {
		return 0, fmt.Errorf("%s has ended", h.Name)
	}
	kilobytes, err := strconv.ParseInt(string(found[1]), 10, 64)
	return kilobytes << 10, err
}
