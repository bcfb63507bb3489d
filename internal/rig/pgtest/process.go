// A process of PostgreSQL, which ends with the test binary.

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/verifyd/verifyd/internal/rig/process"
)

// nobody is the user that runs PostgreSQL, which refuses to run as root.
const nobody = 65534

// program is a running program of PostgreSQL.
type program struct {
	*process.Process
	log *process.Log
}

// launch starts a program of PostgreSQL.
func launch(folder, file string, args ...string) (*program, error) {
	cmd := exec.CommandContext(context.Background(), file, args...)
	cmd.Dir = folder // the user nobody may not have access to ours
	cmd.Env = environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	// All children write to the same pipe: it ends with the last of them.
	log := &process.Log{}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.WaitDelay = waitTimeout / 6
	p, err := process.Start(cmd)
	return &program{p, log}, err
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
func (p *program) wait(ctx context.Context) error {
	select {
	case <-p.Ended():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// signal sends a signal; it is no error if the process has ended.
func (p *program) signal(s syscall.Signal) error {
	if err := p.Cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %s: %w", p.Cmd.Path, err)
	}
	return nil
}

// kill kills the process and its children. It first stops the process, so that it
// starts no more children and no id of a child is reused.
func (p *program) kill() error {
	if p.Cmd.Process.Signal(syscall.SIGSTOP) == nil {
		pids, err := children(p.Cmd.Process.Pid)
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
