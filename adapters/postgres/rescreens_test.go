// Tests of re-screening by hosts that share a database.

package postgres_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/internal/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

// screener is a provider whose checks find no hit, and whose re-screenings find one for
// everybody.
type screener struct {
	mu      sync.Mutex
	version string
	calls   []verification.RunID
}

func (s *screener) Check(context.Context, verification.CheckRequest) (verification.CheckResult, error) {
	return verification.CheckResult{
		Outcome: verification.OutcomePassed, Data: map[string]any{"list": "sanctions", "list_version": s.ListVersions()["sanctions"]},
	}, nil
}

func (s *screener) ListVersions() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]string{"sanctions": s.version}
}

func (s *screener) Rescreen(_ context.Context, _ string, r verification.CheckRequest) (verification.Rescreening, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, r.Run)
	return verification.Rescreening{ListVersion: s.version, Hits: []verification.Hit{{ID: "e-1", Name: "Ivan Testov", Score: 0.9}}}, nil
}

func screeningEngine(t *testing.T, store *postgres.Store, s *screener) *engine.Engine {
	t.Helper()
	keys, err := token.NewKeys()
	must(t, err)
	e, err := engine.New(engine.Ports{
		Store: store, Providers: map[string]verification.Provider{"screen": s},
		Expressions: expression.New(), Links: token.NewLinks(keys), Clock: clock.System{},
		NewID: func() string { return uuid.Must(uuid.NewV7()).String() },
	}, engine.Options{QueueInterval: time.Hour, StartWait: 5 * time.Second})
	must(t, err)
	return e
}

func TestTwoHostsRescreenEachCompletedRunOnce(t *testing.T) {
	url := pgtest.Database(t)
	store := openAt(t, url, postgres.Options{})
	must(t, store.SaveTenant(t.Context(), verification.Tenant{ID: ours, Name: "Ours"}))
	s := &screener{version: "v1"}
	before := screeningEngine(t, store, s)
	applied, err := before.Apply(t.Context(), ours, verification.Definition{
		Workflow: "screened", Name: "Screened", Start: "a",
		Nodes: map[verification.NodeID]verification.Node{
			"a": {
				Type: verification.NodeCheck, Provider: "screen", Next: "done",
				Rescreen: &verification.Rescreen{List: "sanctions", Every: verification.RescreenOnChange},
			},
			"done": {Type: verification.NodeEnd},
		},
	})
	must(t, err)
	e := &embedder{store: store, engine: before}
	var runs []verification.RunID
	for range 30 {
		v, err := before.Start(t.Context(), ours, applied.Workflow.ID, engine.StartRequest{ReferenceID: "x"})
		must(t, err)
		e.wait(t, v.ID, func(d verification.RunDetail) bool { return d.Status == verification.StatusCompleted })
		runs = append(runs, v.ID)
	}
	must(t, before.Close(t.Context()))
	s.version = "v2"
	for range 2 {
		other := openAt(t, url, postgres.Options{})
		host := screeningEngine(t, other, s)
		serveMember(t, other, host)
		e = &embedder{store: other, engine: host}
	}
	for _, id := range runs {
		e.wait(t, id, func(d verification.RunDetail) bool { return d.Decision == verification.DecisionReview })
		history, err := store.Load(t.Context(), ours, id, 0)
		must(t, err)
		hits := slices.DeleteFunc(history, func(e verification.Event) bool { return e.Kind() != "hits_found" })
		if len(hits) != 1 {
			t.Errorf("run %s has %d hits_found events, want 1", id, len(hits))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.calls)
	slices.Sort(runs)
	if !slices.Equal(s.calls, runs) {
		t.Errorf("%d calls for %d runs, want each run once", len(s.calls), len(runs))
	}
}

func TestOutdatedRunsAreFoundInAnIndex(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{SingleHost: true})
	admin, err := pgx.Connect(t.Context(), pgtest.Admin(t, url))
	must(t, err)
	defer func() { _ = admin.Close(t.Context()) }()
	for _, sql := range []string{
		`INSERT INTO verifyd.screened_runs SELECT ('a0000000-0000-7000-8000-' || lpad(to_hex(n % 50), 12, '0'))::uuid, gen_random_uuid(), 'sanctions', 7
		FROM generate_series(1, 60000) AS n`, "VACUUM ANALYZE verifyd.screened_runs",
	} {
		_, err := admin.Exec(t.Context(), sql)
		must(t, err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	_, err = conn.Exec(t.Context(), "SELECT set_config('verifyd.tenant', 'all', false)")
	must(t, err)
	query, err := s.OutdatedQuery(verification.OutdatedQuery{List: "sanctions", Pass: 7, After: ours, Limit: 100})
	must(t, err)
	if plan := explain(t, conn, query); strings.Contains(plan, "Seq Scan") || !strings.Contains(plan, "screened_runs_by_pass") {
		t.Errorf("OutdatedRuns scans the table:\n%s", plan)
	}
}
