// The cost of a page of a list, for a tenant with few runs and one with many.

package bench_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/bench"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// envRuns is the environment variable for the number of runs of the large tenant.
const envRuns = "VERIFYD_BENCH_RUNS"

const (
	smallTenant = verification.TenantID("c0000000-0000-7000-8000-000000000003")
	bigTenant   = verification.TenantID("d0000000-0000-7000-8000-000000000004")
	smallRuns   = 1_000
)

// BenchmarkLists lists a page of 50 and its total with every combination of filters,
// for both tenants in one database.
func BenchmarkLists(b *testing.B) {
	big := 1_000_000
	if n := os.Getenv(envRuns); n != "" {
		var err error
		if big, err = strconv.Atoi(n); err != nil {
			b.Fatalf("%s: %v", envRuns, err)
		}
	}
	p := newDatabase(b)
	now := time.Now().UTC().Truncate(time.Microsecond)
	s := fillBoth(b, p, now, big)
	b.Run("page", func(b *testing.B) { listPages(b, s, now) })
	for _, offset := range []int{1_000, big / 10} {
		b.Run(fmt.Sprintf("offset=%d", offset), func(b *testing.B) { listFar(b, s, now, offset) })
	}
	b.Run("appends", func(b *testing.B) {
		measureAt(b, p, newHost(b, p.url, postgres.Options{}), 32, fiveChecks())
	})
}

func fillBoth(b *testing.B, p database, now time.Time, big int) *postgres.Store {
	b.Helper()
	s, err := postgres.Open(b.Context(), p.url, postgres.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	began := time.Now()
	for _, o := range []bench.FillOptions{
		{Tenant: smallTenant, Runs: smallRuns, Now: now},
		{Tenant: bigTenant, Runs: big, Now: now},
	} {
		if err := bench.Fill(b.Context(), s, o); err != nil {
			b.Fatal(err)
		}
	}
	p.checkpoint(b)
	var table, indexes, all string
	const sizes = `SELECT pg_size_pretty(pg_table_size('verifyd.runs')), pg_size_pretty(pg_indexes_size('verifyd.runs')),
		pg_size_pretty(pg_database_size(current_database()))`
	if err := p.admin.QueryRow(b.Context(), sizes).Scan(&table, &indexes, &all); err != nil {
		b.Fatal(err)
	}
	b.Logf("filled with %d runs in %s: runs %s, their indexes %s, the database %s",
		big, time.Since(began).Round(time.Second), table, indexes, all)
	return s
}

// repeats is the number of calls for each combination.
const repeats = 15

// listed is the result of one combination.
type listed struct {
	query      store.RunQuery
	small, big time.Duration // the median
	total      int           // of the big tenant
}

func (l listed) ratio() float64 { return float64(l.big) / float64(l.small) }

func listPages(b *testing.B, s *postgres.Store, now time.Time) {
	var all []listed
	for b.Loop() {
		all = nil
		small := combinations(workflow.DeriveWorkflowID(smallTenant, "filled-3"))
		for i, q := range combinations(workflow.DeriveWorkflowID(bigTenant, "filled-3")) {
			q.Now, small[i].Now = now, now
			l := listed{query: q}
			var smallTimes, bigTimes []time.Duration
			for range repeats { // alternating
				took, _ := list(b, s, smallTenant, small[i])
				smallTimes = append(smallTimes, took)
				took, l.total = list(b, s, bigTenant, q)
				bigTimes = append(bigTimes, took)
			}
			l.small, l.big = median(smallTimes), median(bigTimes)
			all = append(all, l)
		}
	}
	for _, l := range all {
		b.Logf("%-45s %9d runs %7.2f ms, %7.2f ms of %d: %.2f", nameOf(l.query), l.total, ms(l.big), ms(l.small), smallRuns, l.ratio())
	}
	pick := func(less func(a, b listed) int) listed { return slices.MaxFunc(all, less) }
	worst := pick(func(a, b listed) int { return cmp.Compare(a.big, b.big) })
	steepest := pick(func(a, b listed) int { return cmp.Compare(a.ratio(), b.ratio()) })
	b.Logf("worst: %s; steepest: %s", nameOf(worst.query), nameOf(steepest.query))
	var small, big []time.Duration
	for _, l := range all {
		small, big = append(small, l.small), append(big, l.big)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(median(big))/float64(median(small)), "ratio")
	b.ReportMetric(steepest.ratio(), "worst-ratio")
	b.ReportMetric(ms(median(big)), "big-ms")
	b.ReportMetric(ms(worst.big), "big-worst-ms")
	b.ReportMetric(ms(median(small)), "small-ms")
	b.ReportMetric(ms(slices.Max(small)), "small-worst-ms")
}

// listFar lists a page far from the first, of all runs and of completed runs.
func listFar(b *testing.B, s *postgres.Store, now time.Time, offset int) {
	q := store.RunQuery{PageQuery: store.PageQuery{Limit: store.DefaultLimit, Offset: offset}, Now: now}
	completed := q
	completed.Status = rules.StatusCompleted
	var allTimes, completedTimes []time.Duration
	for b.Loop() {
		took, _ := list(b, s, bigTenant, q)
		allTimes = append(allTimes, took)
		took, _ = list(b, s, bigTenant, completed)
		completedTimes = append(completedTimes, took)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ms(median(allTimes)), "all-ms")
	b.ReportMetric(ms(median(completedTimes)), "completed-ms")
}

func list(b *testing.B, s *postgres.Store, of verification.TenantID, q store.RunQuery) (took time.Duration, total int) {
	b.Helper()
	began := time.Now()
	p, err := s.List(context.WithoutCancel(b.Context()), of, q)
	if err != nil {
		b.Fatal(err)
	}
	return time.Since(began), p.Total
}

// combinations returns queries with every combination of filters: a workflow or
// none, each status or none, each decision or none.
func combinations(w verification.WorkflowID) (all []store.RunQuery) {
	decisions := []rules.Decision{
		rules.DecisionNone, rules.DecisionReview, rules.DecisionApprove, rules.DecisionReject,
	}
	for _, workflow := range []verification.WorkflowID{"", w} {
		for _, status := range append([]rules.Status{""}, rules.Statuses()...) {
			for _, decision := range decisions {
				all = append(all, store.RunQuery{
					PageQuery: store.PageQuery{Limit: store.DefaultLimit},
					Workflow:  workflow, Status: status, Decision: decision,
				})
			}
		}
	}
	return all
}

func nameOf(q store.RunQuery) string {
	name := "all"
	if q.Workflow != "" {
		name = "workflow"
	}
	if q.Status != "" {
		name += " " + string(q.Status)
	}
	if q.Decision != "" {
		name += " decision=" + string(q.Decision)
	}
	return name
}

func median[T cmp.Ordered](all []T) T {
	slices.Sort(all)
	return all[len(all)/2]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
