//go:build !linux

// Processes and memory on other systems.

package pgtest

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// letters is a locale with the letters of all languages.
const letters = "en_US.UTF-8"

// children returns the child processes of a process.
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

// memory is a folder of files that are kept in memory.
const memory = ""

func hasMemory() bool { return false }
