// The cost of runs relative to the floor.

package bench_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/pgtest"
	"github.com/verifyd/verifyd/verification"
)

// BenchmarkFiveChecks runs five immediate checks, six steps each.
func BenchmarkFiveChecks(b *testing.B) {
	for _, clients := range []int{32, 1} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			measure(b, clients, postgres.Options{}, (*host).runChecks)
		})
	}
}

// BenchmarkReview is the same with a verdict in the middle, seven steps.
func BenchmarkReview(b *testing.B) {
	for _, clients := range []int{32, 1} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			measure(b, clients, postgres.Options{}, (*host).runReviewed)
		})
	}
}

// BenchmarkWriters is BenchmarkFiveChecks with other numbers of writers.
func BenchmarkWriters(b *testing.B) {
	for _, n := range []int{1, 2, 3, 4, 6} {
		b.Run(fmt.Sprintf("writers=%d", n), func(b *testing.B) {
			measure(b, 32, postgres.Options{Writers: n}, (*host).runChecks)
		})
	}
}

// The durations of a benchmark: an interval is a time of runs between two times of
// the floor, and a round is several intervals.
const (
	intervals   = 6
	runsLasting = 2 * time.Second
	floorAround = 300 * time.Millisecond
)

// runOnce runs one run and returns the time until it completed.
type runOnce func(*host, context.Context) (time.Duration, error)

func measure(b *testing.B, clients int, o postgres.Options, run runOnce) {
	b.Helper()
	p := newDatabase(b)
	measureAt(b, p, newHost(b, p.url, o), clients, run)
}

// measureAt runs clients, and the floor before and after each interval.
func measureAt(b *testing.B, p database, h *host, clients int, run runOnce) {
	b.Helper()
	step := newFloor(b, p, clients)
	do := func(ctx context.Context, _ int) (time.Duration, error) { return run(h, ctx) }
	p.checkpoint(b)
	busy(b, clients, runsLasting, do)
	busy(b, clients, floorAround, step)
	var all []interval
	for b.Loop() {
		for range intervals {
			all = append(all, runInterval(b, p, h, clients, do, step))
		}
	}
	report(b, quietest(all))
}

// interval is the result of one interval.
type interval struct {
	runs, floor tally
	steps       int64
	used        usage // by the runs
	others      float64
}

func runInterval(b *testing.B, p database, h *host, clients int, do, step act) (t interval) {
	b.Helper()
	first := p.used(b)
	t.floor = busy(b, clients, floorAround, step)
	before, steps := p.used(b), h.store.steps.Load()
	t.runs = busy(b, clients, runsLasting, do)
	after := p.used(b)
	t.used, t.steps = after.minus(before), h.store.steps.Load()-steps
	t.floor.add(busy(b, clients, floorAround, step))
	t.others = p.used(b).minus(first).others()
	return t
}

// quietest sums the third of the intervals with the least other load of the machine.
func quietest(all []interval) (sum interval) {
	slices.SortFunc(all, func(a, b interval) int { return cmp.Compare(a.others, b.others) })
	kept := all[:(len(all)+2)/3]
	for _, t := range kept {
		sum.runs.add(t.runs)
		sum.floor.add(t.floor)
		sum.steps += t.steps
		sum.used = sum.used.plus(t.used)
		sum.others += t.others / float64(len(kept))
	}
	return sum
}

func report(b *testing.B, t interval) {
	b.Helper()
	n := float64(len(t.runs.took))
	rate := float64(t.steps) / t.runs.elapsed.Seconds()
	perThousand := func(d time.Duration) float64 { return float64(d.Milliseconds()) / n * 1000 }
	b.ReportMetric(0, "ns/op") // one op is a whole round
	b.ReportMetric(rate/t.floor.rate(), "ratio")
	b.ReportMetric(t.runs.rate(), "runs/s")
	b.ReportMetric(rate, "steps/s")
	b.ReportMetric(float64(t.steps)/n, "steps/run")
	b.ReportMetric(t.floor.rate(), "floor-commits/s")
	b.ReportMetric(t.runs.percentile(50), "p50-ms")
	b.ReportMetric(t.runs.percentile(99), "p99-ms")
	b.ReportMetric(t.floor.percentile(50), "floor-p50-ms")
	b.ReportMetric(t.floor.percentile(99), "floor-p99-ms")
	b.ReportMetric(float64(t.used.commits)/n, "commits/run")
	b.ReportMetric(float64(t.used.log)/n, "WAL-B/run")
	b.ReportMetric(perThousand(t.used.host), "host-CPU-ms/1000runs")
	if t.used.server > 0 {
		b.ReportMetric(perThousand(t.used.server), "postgres-CPU-ms/1000runs")
		b.ReportMetric(max(100*t.others, 0), "others-CPU-%") // the meters differ by a little
	}
}

func TestTheRunsOfTheBenchmarksComplete(t *testing.T) {
	for name, c := range map[string]struct {
		run   runOnce
		steps int64
	}{
		"five checks": {(*host).runChecks, 6},
		"with review": {(*host).runReviewed, 7},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, pgtest.Database(t), postgres.Options{})
			const clients, each = 10, 5
			var all sync.WaitGroup
			for range clients {
				all.Go(func() {
					for range each {
						if took, err := c.run(h, t.Context()); err != nil || took <= 0 {
							t.Errorf("a run took %s, %v", took, err)
						}
					}
				})
			}
			all.Wait()
			if steps := h.store.steps.Load(); steps != clients*each*c.steps {
				t.Errorf("%d runs had %d steps, want %d each", clients*each, steps, c.steps)
			}
			q := verification.RunQuery{
				PageQuery: verification.PageQuery{Limit: 50}, Status: verification.StatusCompleted, Now: time.Now(),
			}
			p, err := h.store.List(t.Context(), tenant, q)
			if err != nil || p.Total != clients*each {
				t.Errorf("%d runs are completed, %v; want %d", p.Total, err, clients*each)
			}
		})
	}
}
