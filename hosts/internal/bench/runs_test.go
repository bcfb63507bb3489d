// The cost of runs relative to the floor.

package bench_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// BenchmarkFiveChecks runs five immediate checks with data, six steps each.
func BenchmarkFiveChecks(b *testing.B) {
	for _, clients := range []int{32, 1} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			measure(b, clients, postgres.Options{}, fiveChecks())
		})
	}
}

// BenchmarkReview runs two checks, a review and one check, five steps each.
func BenchmarkReview(b *testing.B) {
	for _, clients := range []int{32, 1} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			measure(b, clients, postgres.Options{}, withReview())
		})
	}
}

// BenchmarkWriters is BenchmarkFiveChecks with other numbers of writers.
func BenchmarkWriters(b *testing.B) {
	for _, n := range []int{1, 2, 3, 4, 6} {
		b.Run(fmt.Sprintf("writers=%d", n), func(b *testing.B) {
			measure(b, 32, postgres.Options{Writers: n}, fiveChecks())
		})
	}
}

// workload is what every client repeats.
type workload struct {
	// run runs one run and returns the time until it completed.
	run func(*host, context.Context) (time.Duration, error)
	// payloads are the appends of one run in the skeleton.
	payloads []string
}

func fiveChecks() workload {
	return workload{(*host).runChecks, []string{"{}", checkData, checkData, checkData, checkData, checkData}}
}

func withReview() workload {
	return workload{(*host).runReviewed, []string{"{}", checkData, checkData, "{}", checkData}}
}

// The durations of a benchmark. An interval is a slice of runs, a slice of the
// skeleton and a slice of the floor; a round is several intervals.
const (
	intervals       = 12
	runsLasting     = time.Second
	skeletonLasting = 600 * time.Millisecond
	floorLasting    = 300 * time.Millisecond
)

func measure(b *testing.B, clients int, o postgres.Options, w workload) {
	b.Helper()
	p := newDatabase(b)
	measureAt(b, p, newHost(b, p.url, o), clients, w)
}

// measureAt runs clients of the host, the skeleton and the floor in turn.
func measureAt(b *testing.B, p database, h *host, clients int, w workload) {
	b.Helper()
	m := measurement{
		database: p, host: h, clients: clients,
		runs:     func(ctx context.Context, _ int) (time.Duration, error) { return w.run(h, ctx) },
		skeleton: newSkeleton(b, p, clients, w.payloads),
		floor:    newFloor(b, p, clients),
	}
	p.checkpoint(b)
	busy(b, clients, 2*runsLasting, m.runs)
	busy(b, clients, skeletonLasting, m.skeleton)
	var all []interval
	for b.Loop() {
		for range intervals {
			all = append(all, m.interval(b))
		}
	}
	report(b, all)
}

// measurement is what one benchmark compares.
type measurement struct {
	database
	host                  *host
	clients               int
	runs, skeleton, floor act
}

// interval is the result of one interval.
type interval struct {
	runs, skeleton part
	floor          tally
	steps          float64 // of the runs, a second
}

// part is the result of one slice.
type part struct {
	tally
	used usage
}

func (m measurement) interval(b *testing.B) (t interval) {
	b.Helper()
	steps := m.host.store.steps.Load()
	t.runs = m.part(b, runsLasting, m.runs)
	t.steps = float64(m.host.store.steps.Load()-steps) / t.runs.elapsed.Seconds()
	t.skeleton = m.part(b, skeletonLasting, m.skeleton)
	t.floor = busy(b, m.clients, floorLasting, m.floor)
	return t
}

func (m measurement) part(b *testing.B, lasting time.Duration, do act) (t part) {
	b.Helper()
	before := m.used(b)
	before.host = hostCPU(b) // without the processor time of used itself
	t.tally = busy(b, m.clients, lasting, do)
	t.used = m.used(b).minus(before)
	return t
}

// report reports ratios as medians of the intervals, and the rest as sums of them.
func report(b *testing.B, all []interval) {
	b.Helper()
	var runs, skeleton part
	var ratios, floors, others []float64
	for _, t := range all {
		ratios = append(ratios, t.runs.rate()/t.skeleton.rate())
		floors = append(floors, t.steps/t.floor.rate())
		others = append(others, 100*t.runs.used.others())
		runs.add(t.runs)
		skeleton.add(t.skeleton)
	}
	b.ReportMetric(0, "ns/op") // one op is a whole round
	b.ReportMetric(median(ratios), "ratio")
	b.ReportMetric(median(floors), "steps/floor-commits")
	b.ReportMetric(median(others), "others-CPU-%")
	r, s := runs.costs(), skeleton.costs()
	for unit, cost := range r {
		b.ReportMetric(cost, unit)
		b.ReportMetric(s[unit], "skeleton-"+unit)
		if s[unit] > 0 && (unit == "p99-ms" || strings.Contains(unit, "CPU")) {
			b.ReportMetric(cost/s[unit], "ratio-"+unit)
		}
	}
}

func (t *part) add(more part) {
	t.tally.add(more.tally)
	t.used = t.used.plus(more.used)
}

// costs returns the metrics of the part by unit.
func (t *part) costs() map[string]float64 {
	n := float64(len(t.took))
	return map[string]float64{
		"runs/s":              t.rate(),
		"p50-ms":              t.percentile(50),
		"p99-ms":              t.percentile(99),
		"commits/run":         float64(t.used.commits) / n,
		"WAL-B/run":           float64(t.used.log) / n,
		"host-CPU-µs/run":     float64(t.used.host.Microseconds()) / n,
		"postgres-CPU-µs/run": float64(t.used.server.Microseconds()) / n,
	}
}

func TestTheRunsOfTheBenchmarksComplete(t *testing.T) {
	for name, w := range map[string]workload{
		"five checks": fiveChecks(),
		"with review": withReview(),
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, pgtest.Database(t), postgres.Options{})
			const clients, each = 10, 5
			var all sync.WaitGroup
			for range clients {
				all.Go(func() {
					for range each {
						if took, err := w.run(h, t.Context()); err != nil || took <= 0 {
							t.Errorf("a run took %s, %v", took, err)
						}
					}
				})
			}
			all.Wait()
			if steps := h.store.steps.Load(); steps != int64(clients*each*len(w.payloads)) {
				t.Errorf("%d runs had %d steps, want %d each, as the skeleton", clients*each, steps, len(w.payloads))
			}
			q := store.RunQuery{
				PageQuery: store.PageQuery{Limit: 50}, Status: rules.StatusCompleted, Now: time.Now(),
			}
			p, err := h.store.List(t.Context(), tenant, q)
			if err != nil || p.Total != clients*each {
				t.Errorf("%d runs are completed, %v; want %d", p.Total, err, clients*each)
			}
		})
	}
}
