// The benchmark of a large list.

package screening_test

import (
	"maps"
	"runtime"
	"runtime/metrics"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/internal/realnames"
)

// busy returns the processor time of this process, which does not depend on what else
// the machine does.
func busy() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkAMillionEntries measures loading a list of real names and searching it: processor
// time, with that of the garbage collector. GOMAXPROCS=1 keeps it on one core.
func BenchmarkAMillionEntries(b *testing.B) {
	const entries = 1_000_000
	runtime.GC()
	peak := memoryPeak()
	began := busy()
	l, some := realList(b, entries, 1000)
	load := busy() - began
	most := peak()
	runtime.GC()
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	p := realnames.New(realnames.For(b), 2)
	var subjects []screening.Subject
	for _, number := range slices.Sorted(maps.Keys(some)) {
		n := some[number]
		text, ok := p.Alter(realnames.Classes()[len(subjects)%len(realnames.Classes())], n)
		if !ok {
			text = n.String()
		}
		subjects = append(subjects, screening.Subject{Kind: kindOf(n), Name: text})
		if n = p.Person(); len(subjects)%5 == 0 {
			n = p.Company()
		}
		subjects = append(subjects, screening.Subject{Kind: kindOf(n), Name: n.String()})
	}
	var took []time.Duration
	hits := 0
	for b.Loop() {
		s := subjects[len(took)%len(subjects)]
		began := busy()
		found, err := l.Search(s, 0.85)
		took = append(took, busy()-began)
		if err != nil {
			b.Fatal(err)
		}
		hits += len(found.Hits)
	}
	slices.Sort(took)
	b.ReportMetric(load.Seconds(), "load-s")
	b.ReportMetric(float64(most)/(1<<20), "peak-MiB")
	b.ReportMetric(float64(after.HeapAlloc)/(1<<20), "MiB")
	b.ReportMetric(float64(l.Names), "names")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
	b.ReportMetric(float64(hits)/float64(len(took)), "hits/query")
	runtime.KeepAlive(l)
}

// memoryPeak looks at the memory of this process every few milliseconds. The function that it
// returns ends that, and returns the most that the process held: what the system gave it,
// less what it gave back.
func memoryPeak() func() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	stop, most := make(chan struct{}), make(chan uint64)
	go func() {
		top := uint64(0)
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			metrics.Read(samples)
			top = max(top, samples[0].Value.Uint64()-samples[1].Value.Uint64())
			select {
			case <-stop:
				most <- top
				return
			case <-tick.C:
			}
		}
	}()
	return func() uint64 {
		close(stop)
		return <-most
	}
}
