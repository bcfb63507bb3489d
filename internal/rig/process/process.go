// Package process runs programs that end with the tests: verifyd as operators run it,
// and any other.
package process

import (
	"os/exec"
	"runtime"
	"syscall"
)

// Process is a started program.
type Process struct {
	Cmd *exec.Cmd

	ended chan struct{}
	err   error
}

// Start starts a program. On Linux the kernel kills it when this process ends. Elsewhere
// it then has to be ended by hand.
func Start(c *exec.Cmd) (*Process, error) {
	if c.SysProcAttr == nil {
		c.SysProcAttr = &syscall.SysProcAttr{}
	}
	endWithParent(c.SysProcAttr)
	p := &Process{Cmd: c, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel kills the program when the thread that started it ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.Start()
		started <- err
		if err == nil {
			p.err = c.Wait()
			close(p.ended)
		}
	}()
	return p, <-started
}

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Err returns how the process ended; it waits until then.
func (p *Process) Err() error {
	<-p.ended
	return p.err
}
