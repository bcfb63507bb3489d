// The memory limit of the process, and what uploads and caches may take of it.

package server

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// limitMemory sets the soft memory limit of the Go runtime to 90 % of what limit
// returns, unless GOMEMLIMIT is set. Without a limit it changes nothing.
func limitMemory(limit memlimit.Provider, log *slog.Logger) {
	_, err := memlimit.Set(memlimit.WithRatio(0.9), memlimit.WithProvider(limit))
	if err != nil && !errors.Is(err, memlimit.ErrNoCgroup) && !errors.Is(err, memlimit.ErrCgroupsNotSupported) {
		log.Warn("the memory limit of the cgroup cannot be read; set GOMEMLIMIT", "error", err)
	}
}

// memoryLimit returns the soft memory limit for a log line.
func memoryLimit() string {
	if n := debug.SetMemoryLimit(-1); n < math.MaxInt64 {
		return fmt.Sprintf("%dMiB", n>>20)
	}
	return "none"
}

// memoryLimit returns what the process may need of memory in bytes; 0 for no limit.
func (s Settings) memoryLimit() int64 {
	if s.StoreMemory == 0 {
		return 0
	}
	return memoryOf(memlimit.FromSystem)
}

// maxDocumentMemory is the maximum size of all uploads in memory, in bytes.
const maxDocumentMemory = 512 << 20

// documentMemory returns maxDocumentMemory, or a quarter of the soft memory limit if
// that is less.
func documentMemory() int64 { return min(maxDocumentMemory, debug.SetMemoryLimit(-1)/4) }

// cacheMemory returns the maximum size of a cache in bytes: most, or a 64th of the soft memory limit if that is less.
func cacheMemory(most int64) int { return int(min(most, debug.SetMemoryLimit(-1)/64)) }
