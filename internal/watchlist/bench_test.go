// The benchmark of a large list.

package watchlist_test

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/realnames"
	"github.com/verifyd/verifyd/internal/watchlist"
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
	var subjects []watchlist.Subject
	for _, number := range slices.Sorted(maps.Keys(some)) {
		n := some[number]
		text, ok := p.Alter(realnames.Classes()[len(subjects)%len(realnames.Classes())], n)
		if !ok {
			text = n.String()
		}
		subjects = append(subjects, watchlist.Subject{Kind: kindOf(n), Name: text})
		if n = p.Person(); len(subjects)%5 == 0 {
			n = p.Company()
		}
		subjects = append(subjects, watchlist.Subject{Kind: kindOf(n), Name: n.String()})
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

// BenchmarkAReload searches while a list is loaded again. The pause is the longest time of a search
// beyond the usual time of the same search, and the peak is that of both versions together.
func BenchmarkAReload(b *testing.B) {
	for _, entries := range []int{100_000, 1_000_000} {
		b.Run(strconv.Itoa(entries), func(b *testing.B) {
			for b.Loop() {
				reloadWhileSearching(b, entries)
			}
		})
	}
}

func reloadWhileSearching(b *testing.B, entries int) {
	path := filepath.Join(b.TempDir(), "list.csv")
	locales := realnames.For(b)
	p := realnames.New(locales, 2)
	write := func(seed uint64, changed time.Time) {
		file, err := os.Create(path)
		if err != nil {
			b.Fatal(err)
		}
		if err := errors.Join(writeReal(file, realnames.New(locales, seed), entries, func(uint32, realnames.Name) {}), file.Close(), os.Chtimes(path, changed, changed)); err != nil {
			b.Fatal(err)
		}
	}
	write(1, start)
	lists, err := watchlist.Open(b.Context(), []watchlist.Source{{Name: "list", Path: path, Format: watchlist.Format{Type: watchlist.OpenSanctions}}},
		watchlist.Options{Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	subjects := make([]watchlist.Subject, 500)
	for i := range subjects {
		n := p.Person()
		if i%5 == 0 {
			n = p.Company()
		}
		subjects[i] = watchlist.Subject{Kind: kindOf(n), Name: n.String()}
	}
	search := func(i int) time.Duration {
		l, _ := lists.List("list", start)
		began := time.Now()
		if _, err := l.Search(subjects[i], 0.85); err != nil {
			b.Error(err)
		}
		return time.Since(began)
	}
	usual := make([]time.Duration, len(subjects))
	for i := range subjects {
		usual[i] = max(search(i), search(i))
	}
	old, _ := lists.List("list", start)
	write(3, start.Add(time.Minute))
	lists.Refresh(b.Context())
	peak := memoryPeak()
	reloaded := make(chan struct{})
	go func() {
		defer close(reloaded)
		lists.Refresh(b.Context())
	}()
	var beyond []time.Duration
	for i := 0; ; i++ {
		select {
		case <-reloaded:
			most := peak()
			if l, _ := lists.List("list", start); l == old {
				b.Fatal("the list was not loaded again")
			}
			slices.Sort(beyond)
			b.ReportMetric(float64(most)/(1<<20), "peak-MiB")
			b.ReportMetric(float64(len(beyond)), "searches")
			b.ReportMetric(float64(beyond[len(beyond)*99/100].Microseconds())/1000, "p99-pause-ms")
			b.ReportMetric(float64(beyond[len(beyond)-1].Microseconds())/1000, "pause-ms")
			return
		default:
			beyond = append(beyond, max(0, search(i%len(subjects))-usual[i%len(subjects)]))
		}
	}
}
