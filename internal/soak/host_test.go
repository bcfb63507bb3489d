// A host as a real process: started, asked to stop, killed.

package soak_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// host is one process of verifyd, with a network of its own to the database.
type host struct {
	name  string // what the database knows it by
	roles string
	line  *line
	// Where it serves; api is empty for a worker.
	api, admin string

	cmd   *exec.Cmd
	log   *hostLog
	ended chan struct{} // closed when the process has gone
	err   error         // how it ended; to be read when ended is closed
}

// patience is how long a host may take to get ready or to stop.
const patience = 40 * time.Second

// launch starts the program and waits until it is ready. The kernel ends it
// with the thread that started it, so that this thread is kept for as long.
func launch(program string, env []string, h *host) error {
	h.cmd = exec.Command(program, "serve")
	h.cmd.Env, h.cmd.Stderr, h.cmd.SysProcAttr = env, h.log, attributes()
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	h.ended = make(chan struct{})
	started, ready := make(chan error), make(chan string, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := h.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		said := bufio.NewReader(out)
		line, _ := said.ReadString('\n') // an end without a line is told by how the process ended
		ready <- line
		_, _ = io.Copy(io.Discard, said)
		h.err = h.cmd.Wait()
		close(h.ended)
	}()
	if err := <-started; err != nil {
		return err
	}
	select {
	case line := <-ready:
		return h.read(line)
	case <-time.After(patience):
		return errors.Join(fmt.Errorf("%s is not ready after %s: %s", h.name, patience, h.log), h.kill())
	}
}

// read takes the addresses from the ready line.
func (h *host) read(line string) error {
	found := regexp.MustCompile(`^verifyd ready api=(\S+) admin=(\S+) store=postgres\n$`).FindStringSubmatch(line)
	if found == nil {
		return errors.Join(fmt.Errorf("%s said %q: %s", h.name, line, h.log), h.kill())
	}
	h.admin = found[2]
	if found[1] != "none" {
		h.api = found[1]
	}
	return nil
}

// kill ends the process at once, as kill -9 does.
func (h *host) kill() error {
	if err := h.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", h.name, err)
	}
	<-h.ended
	return nil
}

// stop asks the process to stop; it must do so by itself, and exit with 0.
func (h *host) stop() error {
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop %s: %w: %s", h.name, err, h.log)
	}
	select {
	case <-h.ended:
		if h.err != nil {
			return fmt.Errorf("stop %s: %w: %s", h.name, h.err, h.log)
		}
		return nil
	case <-time.After(patience):
		return errors.Join(fmt.Errorf("%s did not stop within %s: %s", h.name, patience, h.log), h.kill())
	}
}

// hostLog keeps the end of what a host logs, and all of it in a file if there
// is one.
type hostLog struct {
	mu   sync.Mutex
	text []byte
	file *os.File
}

// newHostLog also writes to a file when a folder is named.
func newHostLog(folder, name string) (*hostLog, error) {
	if folder == "" {
		return &hostLog{}, nil
	}
	f, err := os.Create(filepath.Join(folder, name+".log"))
	return &hostLog{file: f}, err
}

func (l *hostLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_, _ = l.file.Write(p)
	}
	l.text = append(l.text, p...)
	const most = 32 << 10
	if over := len(l.text) - most; over > 0 {
		l.text = append([]byte(nil), l.text[over:]...)
	}
	return len(p), nil
}

// String is the last of what was logged.
func (l *hostLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	const most = 2 << 10
	return string(l.text[max(0, len(l.text)-most):])
}

// crashed tells whether the host panicked.
func (l *hostLog) crashed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := string(l.text)
	return strings.Contains(text, "panic:") || strings.Contains(text, "fatal error:")
}
