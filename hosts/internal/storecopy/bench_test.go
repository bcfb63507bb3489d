package storecopy_test

import (
	"testing"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/internal/rig/storereads"
	"github.com/verifyd/verifyd/verification/store"
)

// BenchmarkCopy copies and verifies 10,000 runs with 19 events each, and their deliveries.
func BenchmarkCopy(b *testing.B) {
	const runs = 10_000
	source, d := memory.New(), openDatabase(b)
	storereads.Fill(b, source, runs)
	journal := openJournal(b, b.TempDir())
	copied(b, source, journal)
	measure := func(from, to func() store.CopyStore) func(*testing.B) {
		return func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				source, target := from(), to()
				b.StartTimer()
				copied(b, source, target)
			}
			b.ReportMetric(float64(runs*b.N)/b.Elapsed().Seconds(), "runs/s")
		}
	}
	b.Run("journal to PostgreSQL", measure(func() store.CopyStore { return journal }, func() store.CopyStore { return d.empty(b) }))
	b.Run("PostgreSQL to journal", measure(func() store.CopyStore { return d.Store }, func() store.CopyStore { return openJournal(b, b.TempDir()) }))
	if err := journal.Close(); err != nil {
		b.Fatal(err)
	}
}
