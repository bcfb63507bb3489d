// The cost of every read of the console's pages, with many runs.

package bench_test

import (
	"cmp"
	"context"
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

// envDatabase is the environment variable for the URL of a database that command fill has
// filled. Without it BenchmarkFilled fills one.
const envDatabase = "VERIFYD_BENCH_DATABASE"

// filledTenant is the tenant of command fill.
const filledTenant = verification.TenantID("f1110000-0000-7000-8000-000000000001")

// BenchmarkFilled reads the review queue, the numbers and the lists with a start time, and
// reports the median of each. The runs of a database that it fills started within a year.
func BenchmarkFilled(b *testing.B) {
	url := os.Getenv(envDatabase)
	if url == "" {
		url = newDatabase(b).url
	}
	s, err := postgres.Open(b.Context(), url, postgres.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	if os.Getenv(envDatabase) == "" {
		runs, err := strconv.Atoi(cmp.Or(os.Getenv(envRuns), "100000"))
		if err != nil {
			b.Fatalf("%s: %v", envRuns, err)
		}
		if err := bench.Fill(b.Context(), s, bench.FillOptions{Tenant: filledTenant, Runs: runs, Spread: 365 * 24 * time.Hour}); err != nil {
			b.Fatal(err)
		}
	}
	newest, err := s.List(b.Context(), filledTenant, store.RunQuery{PageQuery: store.PageQuery{Limit: 1}, Now: time.Now()})
	if err != nil || len(newest.Data) == 0 {
		b.Fatalf("no run in the database: %v", err)
	}
	now := newest.Data[0].StartedAt
	if err := s.Maintain(b.Context(), now); err != nil {
		b.Fatal(err)
	}
	flow := workflow.DeriveWorkflowID(filledTenant, "filled-3")
	for _, r := range slices.Concat(queueReads(now, flow), listReads(now, flow), numberReads(now, flow)) {
		b.Run(r.name, func(b *testing.B) {
			var took []time.Duration
			var n int
			for b.Loop() {
				began := time.Now()
				if n, err = r.read(b.Context(), s); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(ms(median(took)), "ms")
			b.ReportMetric(ms(slices.Min(took)), "min-ms")
			b.ReportMetric(float64(n), "found")
		})
	}
}

// filledRead is one read, which returns how many it found.
type filledRead struct {
	name string
	read func(context.Context, *postgres.Store) (int, error)
}

func queueReads(now time.Time, flow verification.WorkflowID) (all []filledRead) {
	type query = store.RunQuery
	add := func(name string, change func(*query)) {
		for _, order := range []store.RunOrder{store.OldestFirst, store.DueFirst} {
			q := query{PageQuery: store.PageQuery{Limit: 50}, Now: now, Order: order}
			change(&q)
			all = append(all, filledRead{"queue/" + string(order) + "/" + name, func(ctx context.Context, s *postgres.Store) (int, error) {
				p, err := s.List(ctx, filledTenant, q)
				return p.Total, err
			}})
		}
	}
	add("all", func(*query) {})
	add("offset=20000", func(q *query) { q.Offset = 20_000 })
	add("workflow", func(q *query) { q.Workflow = flow })
	add("cause", func(q *query) { q.Cause = rules.CauseReviewStep })
	add("cause,workflow", func(q *query) { q.Cause, q.Workflow = rules.CauseSource, flow })
	add("age", func(q *query) { q.SinceBefore = now.AddDate(0, 0, -100) })
	add("age,cause,workflow", func(q *query) {
		q.SinceBefore, q.Cause, q.Workflow = now.AddDate(0, 0, -7), rules.CauseReviewStep, flow
	})
	add("unclaimed", func(q *query) { q.Unclaimed = true })
	add("mine", func(q *query) { q.ClaimedBy = "asha" })
	add("prefix=person-", func(q *query) { q.ReferencePrefix = "person-" })
	add("prefix=person-12", func(q *query) { q.ReferencePrefix = "person-12" })
	add("prefix=person-12,workflow", func(q *query) { q.ReferencePrefix, q.Workflow = "person-12", flow })
	add("run", func(q *query) { q.Run = "d0000000-0000-7000-8000-000000000001" })
	return append(all, filledRead{"queue/of all tenants", func(ctx context.Context, s *postgres.Store) (int, error) {
		p, err := s.List(ctx, "", query{Now: now, Order: store.OldestFirst})
		return p.Total, err
	}}, filledRead{"queue/overdue of all tenants", func(ctx context.Context, s *postgres.Store) (int, error) {
		p, err := s.List(ctx, "", query{Now: now, Order: store.OldestFirst, DueBefore: now})
		return p.Total, err
	}})
}

func listReads(now time.Time, flow verification.WorkflowID) (all []filledRead) {
	add := func(name string, change func(*store.RunQuery)) {
		q := store.RunQuery{PageQuery: store.PageQuery{Limit: 50}, Now: now}
		change(&q)
		all = append(all, filledRead{"runs/" + name, func(ctx context.Context, s *postgres.Store) (int, error) {
			p, err := s.List(ctx, filledTenant, q)
			return p.Total, err
		}})
	}
	add("all", func(*store.RunQuery) {})
	add("offset=1000000", func(q *store.RunQuery) { q.Offset = 1_000_000 })
	add("offset=500000,workflow", func(q *store.RunQuery) { q.Offset, q.Workflow = 500_000, flow })
	add("prefix=person-1234", func(q *store.RunQuery) { q.ReferencePrefix = "person-1234" })
	add("reference_id", func(q *store.RunQuery) { q.ReferenceID = "person-1234" })
	add("started_after=300d", func(q *store.RunQuery) { q.StartedAfter = now.AddDate(0, 0, -300).Add(-11 * time.Hour) })
	add("started_before=100d", func(q *store.RunQuery) { q.StartedBefore = now.AddDate(0, 0, -100).Add(-11 * time.Hour) })
	add("started=300d-20d", func(q *store.RunQuery) {
		q.StartedAfter, q.StartedBefore = now.AddDate(0, 0, -300).Add(-11*time.Hour), now.AddDate(0, 0, -20).Add(5*time.Hour)
	})
	add("started=300d-20d,workflow,completed", func(q *store.RunQuery) {
		q.StartedAfter, q.StartedBefore = now.AddDate(0, 0, -300).Add(-11*time.Hour), now.AddDate(0, 0, -20).Add(5*time.Hour)
		q.Workflow, q.Status = flow, rules.StatusCompleted
	})
	add("started_after=300d,review", func(q *store.RunQuery) {
		q.StartedAfter, q.Decision = now.AddDate(0, 0, -300).Add(-11*time.Hour), rules.DecisionReview
	})
	add("started=20h", func(q *store.RunQuery) { q.StartedAfter = now.Add(-20 * time.Hour) })
	return all
}

func numberReads(now time.Time, flow verification.WorkflowID) (all []filledRead) {
	today := store.DayOf(now, time.UTC)
	daily := []store.MeasureName{
		store.MeasureStarted, store.MeasureEnded, store.MeasureVerdict, store.MeasureVerdictTime,
	}
	whole := []store.MeasureName{store.MeasureVerdictReason, store.MeasureDispatchFailed, store.MeasureDispatchTime}
	ofWorkflow := append(slices.Clone(whole), store.MeasureTransition, store.MeasureStopped)
	for _, days := range []int{30, 365} {
		for _, w := range []struct {
			name  string
			flow  verification.WorkflowID
			whole []store.MeasureName
		}{{"all", "", whole}, {"workflow", flow, ofWorkflow}} {
			q := store.MeasureQuery{Workflow: w.flow, Names: daily, Totals: w.whole, First: today - store.Day(days) + 1, Last: today} // as the engine has it
			all = append(all, filledRead{"numbers/" + strconv.Itoa(days) + "/" + w.name, func(ctx context.Context, s *postgres.Store) (int, error) {
				found, err := s.Measures(ctx, filledTenant, q)
				return len(found), err
			}})
		}
	}
	return all
}
