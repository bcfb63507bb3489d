// Listing processes on Linux.

package pgtest

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// letters is a locale with the letters of all languages.
const letters = "C.UTF-8"

// children returns the child processes of a process. /proc/PID/stat is
// "pid (name) state parent ...", where name may contain anything.
func children(parent int) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has gone
		}
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) > 1 && string(fields[1]) == strconv.Itoa(parent) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
