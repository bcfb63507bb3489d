// A process of PostgreSQL, which ends with the test binary.

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// nobody is the user that runs PostgreSQL, which refuses to run as root.
const nobody = 65534

type process struct {
	cmd  *exec.Cmd
	log  *tail
	done chan struct{} // closed when the process and all its children have ended
	err  error         // how it ended; set when done is closed
}

// launch starts a program. On Linux the kernel kills it when the thread that
// started it ends, so that thread is kept while the program runs.
func launch(folder, program string, args ...string) (*process, error) {
	p := &process{
		cmd:  exec.CommandContext(context.Background(), program, args...),
		log:  &tail{},
		done: make(chan struct{}),
	}
	p.cmd.Dir = folder // the user nobody may not have access to ours
	p.cmd.Env = environment()
	p.cmd.SysProcAttr = attributes()
	if os.Geteuid() == 0 {
		p.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	// All children write to the same pipe: it ends with the last of them.
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.WaitDelay = waitTimeout / 6
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// environment returns our environment without the variables for PostgreSQL and the
// language.
func environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(line string) bool {
		return strings.HasPrefix(line, "PG") || strings.HasPrefix(line, "LC_") || strings.HasPrefix(line, "LANG")
	})
	return append(env, "LC_ALL=C", "TZ=UTC")
}

// wait waits until the process has ended, for any reason.
func (p *process) wait(ctx context.Context) error {
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// signal sends a signal; it is no error if the process has ended.
func (p *process) signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %s: %w", p.cmd.Path, err)
	}
	return nil
}

// kill kills the process and its children. It first stops the process, so that it
// starts no more children and no id of a child is reused.
func (p *process) kill() error {
	if p.cmd.Process.Signal(syscall.SIGSTOP) == nil {
		pids, err := children(p.cmd.Process.Pid)
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have gone
		}
		if err := errors.Join(err, p.signal(syscall.SIGKILL)); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout/3)
	defer cancel()
	return p.wait(ctx)
}

// tail is the end of a log.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(line []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, line...)
	const most = 8 << 10
	if over := len(t.text) - most; over > 0 {
		t.text = slices.Delete(t.text, 0, over)
	}
	return len(line), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
