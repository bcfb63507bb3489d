package storecopy_test

import (
	"testing"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/hosts/internal/storecopy"
	"github.com/verifyd/verifyd/internal/rig/storereads"
)

// BenchmarkCopy copies and verifies 10,000 runs with 19 events each, and their deliveries.
func BenchmarkCopy(b *testing.B) {
	const runs = 10_000
	source, d := memory.New(), openDatabase(b)
	storereads.Fill(b, source, runs)
	journal := openJournal(b, b.TempDir())
	copied(b, source, journal)
	measure := func(from, to func() storecopy.Target) func(*testing.B) {
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
	b.Run("journal to PostgreSQL", measure(func() storecopy.Target { return journal }, func() storecopy.Target { return d.empty(b) }))
	b.Run("PostgreSQL to journal", measure(func() storecopy.Target { return d.Store }, func() storecopy.Target { return openJournal(b, b.TempDir()) }))
	if err := journal.Close(); err != nil {
		b.Fatal(err)
	}
}
