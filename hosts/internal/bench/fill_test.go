// Tests that a filled database is consistent.

package bench_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/bench"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

const neighbour = verification.TenantID("b0000000-0000-7000-8000-000000000002")

func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// fill fills a new database and opens its store.
func fill(t *testing.T, all ...bench.FillOptions) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), pgtest.Database(t), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	for _, o := range all {
		if err := bench.Fill(t.Context(), s, o); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestTheCountsOfAFilledDatabaseAreExact(t *testing.T) {
	s := fill(t,
		bench.FillOptions{Tenant: tenant, Runs: 2_500, Now: noon()},
		bench.Remaking(bench.FillOptions{Tenant: tenant, Runs: 500, Now: noon(), Seed: 1}),
		bench.FillOptions{Tenant: neighbour, Runs: 40, Now: noon()})
	if off, err := pgadmin.Of(s).CheckCounts(t.Context()); err != nil || len(off) > 0 {
		t.Errorf("counts that differ from counting: %v, %v", off, err)
	}
	all := everyRun(t, s, tenant, noon())
	if len(all) != 3_000 {
		t.Fatalf("the tenant has %d runs, want 3000", len(all))
	}
	for _, now := range []time.Time{noon(), noon().Add(5 * time.Minute), noon().Add(-time.Minute), noon().Add(30 * 24 * time.Hour)} {
		for _, q := range combinations(workflow.DeriveWorkflowID(tenant, "filled-3")) {
			q.Now = now
			var want []verification.RunID
			for _, r := range all {
				if q.Matches(r) {
					want = append(want, r.ID)
				}
			}
			got, err := s.List(t.Context(), tenant, q)
			if err != nil || got.Total != len(want) {
				t.Errorf("%s at %s: %d runs, %v; want %d", nameOf(q), now, got.Total, err, len(want))
			}
			var ids []verification.RunID
			for _, r := range got.Data {
				ids = append(ids, r.ID)
			}
			if diff := cmp.Diff(want[:min(q.Limit, len(want))], ids); diff != "" && len(want) > 0 {
				t.Errorf("%s at %s (-want +got):\n%s", nameOf(q), now, diff)
			}
		}
	}
}

func TestHistoriesOfAFilledDatabaseFoldToItsSummaries(t *testing.T) {
	s := fill(t, bench.FillOptions{Tenant: tenant, Runs: 600, Histories: 1, Now: noon()})
	for _, r := range everyRun(t, s, tenant, noon()) {
		history, err := s.Load(t.Context(), tenant, r.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rules.Fold(r.ID, history).Summary(), r, cmpopts.IgnoreFields(rules.Summary{}, "Review")); diff != "" {
			t.Errorf("run %s (-history +list):\n%s", r.ID, diff)
		}
		if last := history[len(history)-1].At; last.After(noon()) {
			t.Errorf("the last event of run %s is at %s, want none after %s", r.ID, last, noon())
		}
	}
}

func TestAFilledDatabaseAgreesWithItsHistories(t *testing.T) {
	s, m := fill(t, bench.FillOptions{Tenant: tenant, Runs: 2_000, Histories: 1, Now: noon(), Spread: 365 * 24 * time.Hour}), memory.New()
	for _, r := range everyRun(t, s, tenant, noon()) {
		history, err := s.Load(t.Context(), tenant, r.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		c := store.NewCommit(rules.Run{}, rules.Fold(r.ID, history), history, time.UTC)
		if err := m.Append(t.Context(), tenant, r.ID, 0, c); err != nil {
			t.Fatal(err)
		}
	}
	flow := workflow.DeriveWorkflowID(tenant, "filled-3")
	q := store.RunQuery{PageQuery: store.PageQuery{Limit: 1000}, Now: noon(), Order: store.DueFirst}
	names := []store.MeasureName{
		store.MeasureStarted, store.MeasureEnded, store.MeasureVerdict, store.MeasureVerdictTime,
		store.MeasureDispatchTime, store.MeasureTransition, store.MeasureStopped,
	}
	today := store.DayOf(noon(), time.UTC)
	for _, q.Workflow = range []verification.WorkflowID{"", flow} {
		got, err := s.List(t.Context(), tenant, q)
		if err != nil {
			t.Fatal(err)
		}
		want, err := m.List(t.Context(), tenant, q)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(rules.Review{}, "Claim")); err != nil || diff != "" || got.Total == 0 {
			t.Errorf("the queue of %q has %d runs, %v (-histories +filled):\n%s", q.Workflow, got.Total, err, diff)
		}
		mq := store.MeasureQuery{Workflow: q.Workflow, Names: names, First: today - 366, Last: today}
		measured, err := s.Measures(t.Context(), tenant, mq)
		if err != nil {
			t.Fatal(err)
		}
		wanted, err := m.Measures(t.Context(), tenant, mq)
		if diff := cmp.Diff(wanted, measured); err != nil || diff != "" || len(measured) == 0 {
			t.Errorf("measures of %q, %v (-histories +filled):\n%s", q.Workflow, err, diff)
		}
	}
}

func TestADatabaseIsFilledBesideAHostThatHasCounted(t *testing.T) {
	s := fill(t)
	host, err := postgres.Open(t.Context(), s.Pool().Config().ConnString(), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	begun := rules.Summary{ID: "d0000000-0000-7000-8000-0000000000ff", Workflow: workflow.DeriveWorkflowID(tenant, "other"), ReferenceID: "x", StartedAt: noon()}
	err = host.Append(t.Context(), tenant, begun.ID, 0, store.Commit{
		Events: []rules.Event{{At: noon(), Fact: rules.Started{Workflow: begun.Workflow}}}, Summary: begun,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := bench.Fill(t.Context(), s, bench.FillOptions{Tenant: tenant, Runs: 10, Now: noon()}); err != nil {
		t.Fatalf("fill beside a host: %v", err)
	}
	if off, err := pgadmin.Of(s).CheckCounts(t.Context()); err != nil || len(off) > 0 {
		t.Errorf("counts that differ from counting: %v, %v", off, err)
	}
}

func TestAFilledDatabaseHasRunsOfEveryKind(t *testing.T) {
	s := fill(t, bench.FillOptions{Tenant: tenant, Runs: 8_000, Now: noon(), Seed: 1})
	all := everyRun(t, s, tenant, noon())
	kinds := map[[2]string]int{}
	over, idle, due := 0, 0, 0
	for _, r := range all {
		kinds[[2]string{string(r.StatusAt(noon())), string(r.DecisionAt(noon()))}]++
		if r.Ended != "" {
			over++
		}
		if tomorrow := r.StatusAt(noon().Add(24 * time.Hour)); tomorrow != r.StatusAt(noon()) {
			if tomorrow == rules.StatusExpired {
				due++
			} else {
				idle++
			}
		}
	}
	for _, kind := range [][2]string{
		{"completed", ""},
		{"completed", "approve"},
		{"completed", "reject"},
		{"completed", "review"},
		{"failed", ""},
		{"failed", "reject"},
		{"expired", ""},
		{"expired", "approve"},
		{"cancelled", ""},
		{"cancelled", "reject"},
		{"in_progress", ""},
		{"in_progress", "review"},
		{"in_progress", "approve"},
		{"in_progress", "reject"},
		{"abandoned", ""},
		{"abandoned", "approve"},
		{"abandoned", "reject"},
	} {
		if kinds[kind] == 0 {
			t.Errorf("no run reads %q with decision %q", kind[0], kind[1])
		}
	}
	if over < 7_200 || over > 7_600 || idle < 1 || due < 10 {
		t.Errorf("%d runs of 8000 are over, %d are soon abandoned and %d soon expire; want about 7400, 2 and 14", over, idle, due)
	}
}

func TestAFillingLeavesTheSchemaAsItWas(t *testing.T) {
	s := fill(t)
	before := indexes(t, s)
	if err := bench.Fill(t.Context(), s, bench.Remaking(bench.FillOptions{Tenant: tenant, Runs: 10})); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, indexes(t, s)); diff != "" || len(before) == 0 {
		t.Errorf("indexes (-before +after):\n%s", diff)
	}
}

func TestTheWorkflowsOfAFilledDatabaseCompile(t *testing.T) {
	s := fill(t, bench.FillOptions{Tenant: tenant, Runs: 10, Workflows: 2})
	p, err := s.Workflows(t.Context(), tenant, store.PageQuery{Limit: 10})
	if err != nil || p.Total != 2 {
		t.Fatalf("there are %d workflows, %v; want 2", p.Total, err)
	}
	for _, w := range p.Data {
		v, err := s.Version(t.Context(), tenant, w.ID, w.Current())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := workflow.Compile(t.Context(), w.ID, v, expression.New(), []string{"sandbox"}, nil); err != nil {
			t.Errorf("workflow %s: %v", w.Slug, err)
		}
	}
}

// everyRun returns all runs of a tenant in the order of lists.
func everyRun(t *testing.T, s *postgres.Store, of verification.TenantID, now time.Time) (all []rules.Summary) {
	t.Helper()
	q := store.RunQuery{PageQuery: store.PageQuery{Limit: store.MaxLimit}, Now: now}
	for {
		p, err := s.List(t.Context(), of, q)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p.Data...)
		q.Offset += q.Limit
		if q.Offset >= p.Total {
			break
		}
	}
	if !slices.IsSortedFunc(all, func(a, b rules.Summary) int {
		if store.Newer(a, b) {
			return -1
		}
		return 1
	}) {
		t.Error("runs are not listed newest first")
	}
	return all
}

func indexes(t *testing.T, s *postgres.Store) []string {
	t.Helper()
	const definitions = "SELECT indexdef FROM pg_indexes WHERE schemaname = 'verifyd' ORDER BY 1"
	rows, err := s.Pool().Query(context.WithoutCancel(t.Context()), definitions)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return all
}
