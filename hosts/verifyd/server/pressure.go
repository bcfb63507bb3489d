// How much memory the process needs, whatever the store counts.

package server

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	runtime "runtime/metrics"
	"strconv"
	"sync"
	"time"

	"github.com/verifyd/verifyd/adapters/pdfpage"
	"github.com/verifyd/verifyd/internal/memory/memstore"
)

// processMemory says how much memory the process needs: what would be left after a collection.
// It is not safe for concurrent use.
type processMemory struct {
	samples []runtime.Sample
	kept    func() int64 // what the store counts; nil for nothing

	collections uint64 // so far
	keptThen    int64  // what the store counted at the last collection
}

func newProcessMemory(kept func() int64) *processMemory {
	p := &processMemory{kept: kept}
	for _, name := range []string{
		"/gc/heap/live:bytes", "/gc/cycles/total:gc-cycles", "/memory/classes/total:bytes", "/memory/classes/heap/released:bytes",
		"/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes", "/memory/classes/heap/free:bytes",
	} {
		p.samples = append(p.samples, runtime.Sample{Name: name})
	}
	return p
}

// needed returns the bytes that the process needs: the objects that were live at the last
// collection, what the store has added since, the stacks and tables of the runtime, and memory
// outside of the runtime, such as mapped code.
func (p *processMemory) needed() int64 {
	runtime.Read(p.samples)
	value := func(i int) int64 { return int64(p.samples[i].Value.Uint64()) }
	live, total, released := value(0), value(2), value(3)
	heap := value(4) + value(5) + value(6)
	var kept int64
	if p.kept != nil {
		kept = p.kept()
	}
	if n := p.samples[1].Value.Uint64(); n != p.collections {
		p.collections, p.keptThen = n, kept
	}
	outside := max(0, residentBytes()-(total-released))
	return live + max(0, kept-p.keptThen) + (total - released - heap) + outside
}

// residentBytes returns how many bytes of the process are in memory and belong to no file; 0 if
// the system does not tell.
func residentBytes() int64 {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		if rest, ok := bytes.CutPrefix(lines.Bytes(), []byte("RssAnon:")); ok {
			n, err := strconv.ParseInt(string(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte(" kB"))), 10, 64)
			if err != nil {
				return 0
			}
			return n << 10
		}
	}
	return 0
}

// transient is what the host needs for a moment beside what it keeps: the page of a PDF, and
// reports, requests and garbage.
const transient = pdfpage.DrawBytes + 24<<20

// thresholds has the bytes that the process needs at each pressure.
type thresholds [memstore.LeaveWork + 1]int64

// newThresholds returns the thresholds for a process that may need limit bytes.
func newThresholds(limit int64) (t thresholds) {
	t[memstore.RefuseAnswers] = max(limit/2, min(limit*17/20, limit-transient))
	t[memstore.RefuseRuns] = t[memstore.RefuseAnswers] - limit/10
	t[memstore.LeaveWork] = t[memstore.RefuseAnswers] + (limit-t[memstore.RefuseAnswers])/2
	return t
}

// at returns the pressure when the process needs some bytes. A pressure stays until the process
// needs a little less, so that the host does not waver.
func (t thresholds) at(needed int64, before memstore.Pressure) memstore.Pressure {
	for p := memstore.LeaveWork; p > memstore.NoPressure; p-- {
		limit := t[p]
		if p <= before {
			limit -= limit / 20
		}
		if needed >= limit {
			return p
		}
	}
	return memstore.NoPressure
}

// fitEvery is the time between two looks at the memory of a host that starts.
const fitEvery = 20 * time.Millisecond

// fitting returns a context that ends when the process needs nearly limit bytes, before the system
// kills it; 0 means no limit. done must be called.
func fitting(ctx context.Context, limit int64) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	if limit > 0 {
		watching.Go(func() {
			tick := time.NewTicker(fitEvery)
			defer tick.Stop()
			for process := newProcessMemory(nil); ; {
				if needed := process.needed(); needed >= limit-limit/40 {
					cancel(&doesNotFit{needed, limit})
				}
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
			}
		})
	}
	return ctx, func() { cancel(nil); watching.Wait() }
}

// doesNotFit says that what a folder has needs more memory than there is.
type doesNotFit struct{ needed, limit int64 }

func (e *doesNotFit) Error() string {
	return fmt.Sprintf("the runs do not fit into the memory of this process: it needed %d MiB of the %d MiB that it may before all were read; "+
		"raise the limit of the container or GOMEMLIMIT, or copy the data to PostgreSQL on a machine with more memory (verifyctl store copy)",
		e.needed>>20, e.limit>>20)
}
