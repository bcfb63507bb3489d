//go:build !linux

// How processes are counted where there is no Linux.

package pgtest

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
)

// letters is the locale that knows the letters of all languages.
const letters = "en_US.UTF-8"

// attributes ask for nothing. A server that is left over ends within a minute
// after the next tests have removed its files.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// children lists the processes that a process has started.
func children(parent int) ([]int, error) {
	table, err := exec.CommandContext(context.Background(), "ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var pids []int
	for line := range strings.Lines(string(table)) {
		var pid, ppid int
		if _, err := fmt.Sscan(line, &pid, &ppid); err == nil && ppid == parent {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
