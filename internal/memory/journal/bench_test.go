package journal_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/internal/memory/memstore"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// completeRun appends the history of a run of five checks as an engine does: one append for
// each step, under a lease, and then its notice is sent.
func completeRun(ctx context.Context, s store.Store, n int) error {
	at := start().Add(time.Duration(n) * time.Second)
	steps := [][]rules.Fact{{rules.Started{
		Workflow: theWorkflow, WorkflowName: "Onboarding", Version: 1, VersionHash: "first", ReferenceID: fmt.Sprint("customer-", n),
	}}}
	data := verification.Data(`{"registered_name":"ASHA RAO","status":"valid","pan":"ABCPR1234F","name_match":0.97,"last_updated":"2026-01-05"}`)
	for _, node := range []verification.NodeID{"a", "b", "c", "d", "e"} {
		last := len(steps) - 1
		steps[last] = append(steps[last], rules.Dispatched{Node: node, Key: string(node), Label: "Check", Provider: "sandbox", Dispatch: 1, Visit: 1})
		steps = append(steps, []rules.Fact{rules.ResultRecorded{Node: node, Passed: true, Data: data}})
	}
	steps[len(steps)-1] = append(steps[len(steps)-1], rules.Completed{Node: "done"})
	run, seq := rules.Run{ID: runID(n)}, 0
	for i, facts := range steps {
		var events []rules.Event
		for _, f := range facts {
			events = append(events, rules.Event{At: at, Fact: f})
		}
		after := run.EvolveAll(events)
		if i == 0 {
			after = rules.Fold(runID(n), events)
		}
		c := store.NewCommit(run, after, events, time.UTC)
		switch i {
		case 0:
			c.Hold, c.Work[store.WorkKey{Kind: store.WorkAdvance}] = store.Leased, at.Add(20*time.Second)
		case len(steps) - 1:
			c.Work[store.WorkKey{Kind: store.WorkAnnounce}] = at
		default:
			c.Work = nil
		}
		if err := s.Append(ctx, tenant, runID(n), seq, c); err != nil {
			return err
		}
		run, seq = after, seq+len(events)
	}
	work, _, err := s.Take(ctx, store.TakeRequest{Kind: store.WorkAnnounce, Now: at, Lease: time.Minute, Max: 1, MaxPerTenant: 1})
	for _, w := range work {
		err = s.Finish(ctx, w)
	}
	return err
}

// reviewRun asks for a review of a run that was started or not.
func reviewRun(ctx context.Context, s store.Store, n int) error {
	history, err := s.Load(ctx, tenant, runID(n), 0)
	if errors.Is(err, verification.ErrNotFound) {
		if err := startRun(ctx, s, n); err != nil {
			return err
		}
		history = started(n).Events
	} else if err != nil {
		return err
	}
	before := rules.Fold(runID(n), history)
	events := []rules.Event{{At: start().Add(time.Hour), Fact: rules.ReviewAsked{Node: "review", Label: "Review", Reason: "A hit."}}}
	if err := s.Append(ctx, tenant, runID(n), len(history), store.NewCommit(before, before.EvolveAll(events), events, time.UTC)); err != nil {
		return err
	}
	at := start().Add(time.Hour)
	_, err = s.Claim(ctx, tenant, runID(n), rules.Claim{By: "asha", Name: "Asha", At: at, Until: at.Add(time.Hour)})
	return err
}

// completeRuns completes the runs after one number up to another, with several clients at once.
func completeRuns(ctx context.Context, s store.Store, after, runs, clients int) error {
	var next atomic.Int64
	next.Store(int64(after))
	errs := make(chan error, clients)
	for range clients {
		go func() {
			var err error
			for err == nil {
				n := int(next.Add(1))
				if n > runs {
					break
				}
				err = completeRun(ctx, s, n)
			}
			errs <- err
		}()
	}
	var failed error
	for range clients {
		failed = errors.Join(failed, <-errs)
	}
	return failed
}

// BenchmarkRuns completes runs in memory, and on the journal. Each run needs recordsOfRun
// records. Beside the journal, a loop writes and syncs as many bytes as the journal did for each
// sync: alone, and while as many clients use a store in memory, because a sync takes longer
// while the processors are busy. The floors are how many runs such a loop would have room for. Compare
// the results of one execution only.
func BenchmarkRuns(b *testing.B) {
	for _, clients := range []int{1, 32} {
		b.Run(fmt.Sprintf("memory/clients=%d", clients), func(b *testing.B) { benchRuns(b, memstore.New(), clients) })
		b.Run(fmt.Sprintf("journal/clients=%d", clients), func(b *testing.B) {
			folder, err := journal.FolderDisk(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			d := &countingDisk{Disk: folder}
			s, err := journal.OpenDisk(b.Context(), d, journal.Options{SnapshotBytes: math.MaxInt64})
			if err != nil {
				b.Fatal(err)
			}
			defer closed(b, s)
			d.syncs.Store(0)
			d.bytes.Store(0)
			benchRuns(b, s, clients)
			syncs, size := d.syncs.Load(), d.bytes.Load()/d.syncs.Load()
			b.StopTimer()
			b.ReportMetric(float64(b.N*recordsOfRun)/float64(syncs), "records/sync")
			runs := float64(b.N) / float64(syncs) // for each sync
			b.ReportMetric(runs*syncsPerSecond(b, size), "floor-runs/s")
			stop := useMemory(b, clients)
			b.ReportMetric(runs*syncsPerSecond(b, size), "busy-floor-runs/s")
			stop()
		})
	}
}

// recordsOfRun is the number of records of completeRun: six commits, and that the notice is
// taken and finished.
const recordsOfRun = 8

// countingDisk counts the syncs of segments and their bytes.
type countingDisk struct {
	journal.Disk
	syncs, bytes atomic.Int64
}

func (d *countingDisk) Prepare(name string, size int64) (journal.File, error) {
	f, err := d.Disk.Prepare(name, size)
	if f == nil {
		return nil, err
	}
	return countedFile{f, d}, err
}

type countedFile struct {
	journal.File
	disk *countingDisk
}

func (f countedFile) Write(b []byte) (int, error) {
	f.disk.bytes.Add(int64(len(b)))
	return f.File.Write(b)
}

func (f countedFile) Sync() error {
	f.disk.syncs.Add(1)
	return f.File.Sync()
}

// syncsPerSecond returns how often a file can be appended to and synced.
func syncsPerSecond(b *testing.B, size int64) float64 {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "file"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	record, start := make([]byte, size), time.Now()
	const syncs = 2000
	for range syncs {
		if _, err := f.Write(record); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	return syncs / time.Since(start).Seconds()
}

// useMemory completes runs in memory until stop is called.
func useMemory(b *testing.B, clients int) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			_ = completeRuns(ctx, memstore.New(), 0, 10_000, clients) // fails at the end
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

func benchRuns(b *testing.B, s store.Store, clients int) {
	b.Helper()
	b.ReportAllocs()
	if err := completeRuns(b.Context(), s, 0, b.N, clients); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
}

// BenchmarkOpen opens a journal of completed runs, of which a snapshot has half and the segments
// after it have half, and a journal of which a snapshot has all, and takes snapshots of it. The pause
// is how long calls wait for a snapshot to begin.
func BenchmarkOpen(b *testing.B) {
	const completed = 100_000
	dir := b.TempDir()
	opened := func(b *testing.B, o journal.Options) *journal.Store { // openIn keeps the store until the end
		b.Helper()
		s, err := journal.Open(b.Context(), dir, o)
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	still := journal.Options{SnapshotBytes: math.MaxInt64} // takes no snapshots by itself
	func() {
		s := opened(b, still)
		defer closed(b, s)
		if err := completeRuns(b.Context(), s, 0, completed/2, 1000); err != nil {
			b.Fatal(err)
		}
		if err := s.Snapshot(b.Context()); err != nil {
			b.Fatal(err)
		}
		if err := completeRuns(b.Context(), s, completed/2, completed, 1000); err != nil {
			b.Fatal(err)
		}
	}()
	open := func(b *testing.B) {
		b.Helper()
		for b.Loop() {
			closed(b, opened(b, still))
		}
		b.ReportMetric(float64(sizeOf(b, dir))/completed, "bytes/run")
		b.ReportMetric(float64(b.N)*completed/b.Elapsed().Seconds(), "runs/s")
	}
	b.Run("half", open)
	b.Run("snapshot", func(b *testing.B) {
		s := opened(b, still)
		defer closed(b, s)
		var pause time.Duration
		for b.Loop() {
			at := time.Now()
			d, err := memstore.NewDump(s.Memory())
			if err != nil {
				b.Fatal(err)
			}
			pause += time.Since(at)
			d.Close()
			if err := s.Snapshot(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(pause.Seconds()*1000/float64(b.N), "pause-ms/op")
	})
	b.Run("all", open)
	b.Run("memory", func(b *testing.B) {
		heap := func() uint64 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		for b.Loop() {
			before := heap()
			s := opened(b, still)
			b.ReportMetric(float64(heap()-before)/completed, "bytes/run")
			closed(b, s)
		}
	})
}

// sizeOf returns the size of the files in a folder.
func sizeOf(b *testing.B, dir string) (n int64) {
	b.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			b.Fatal(err)
		}
		n += info.Size()
	}
	return n
}
