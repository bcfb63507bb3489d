// Tests of re-screening by hosts that share a database.

package postgres_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
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
		Outcome:   verification.OutcomePassed,
		Screening: &verification.ScreeningResult{List: "sanctions", ListVersion: s.ListVersions()["sanctions"]},
	}, nil
}

func (s *screener) ListVersions() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]string{"sanctions": s.version}
}

func (s *screener) Rescreen(_ context.Context, _ string, r verification.CheckRequest) (verification.ScreeningResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, r.Run)
	return verification.ScreeningResult{
		List: "sanctions", ListVersion: s.version, Hits: []verification.Hit{{ID: "e-1", Name: "Ivan Testov", Score: 0.9}},
	}, nil
}

func screeningEngine(t *testing.T, of *postgres.Store, s *screener) *engine.Engine {
	t.Helper()
	keys, err := token.NewKeys()
	must(t, err)
	e, err := engine.New(engine.Ports{
		Store: of, Providers: map[string]verification.Provider{"screen": s},
		Expressions: expression.New(), Links: token.NewLinks(keys), Clock: clock.System{},
		NewID: func() string { return uuid.Must(uuid.NewV7()).String() },
	}, engine.Options{QueueInterval: time.Hour, StartWait: 5 * time.Second})
	must(t, err)
	return e
}

func TestTwoHostsRescreenEachCompletedRunOnce(t *testing.T) {
	url := pgtest.Database(t)
	first := openAt(t, url, postgres.Options{})
	must(t, first.SaveTenant(t.Context(), verification.Tenant{ID: ours, Name: "Ours"}))
	s := &screener{version: "v1"}
	before := screeningEngine(t, first, s)
	applied, err := before.Apply(t.Context(), ours, workflow.Definition{
		Workflow: "screened", Name: "Screened", Start: "a",
		Nodes: map[verification.NodeID]workflow.Node{
			"a": {
				Type: workflow.NodeCheck, Provider: "screen", Next: "done",
				Rescreen: &workflow.Rescreen{List: "sanctions", Every: workflow.RescreenOnChange},
			},
			"done": {Type: workflow.NodeEnd},
		},
	})
	must(t, err)
	e := &embedder{store: first, engine: before}
	var runs []verification.RunID
	for range 30 {
		v, err := before.Start(t.Context(), ours, applied.Workflow.ID, engine.StartRequest{ReferenceID: "x"})
		must(t, err)
		e.wait(t, v.ID, func(d rules.RunDetail) bool { return d.Status == rules.StatusCompleted })
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
		e.wait(t, id, func(d rules.RunDetail) bool { return d.Decision == rules.DecisionReview })
		history, err := first.Load(t.Context(), ours, id, 0)
		must(t, err)
		hits := slices.DeleteFunc(history, func(e rules.Event) bool { return e.Kind() != "hits_found" })
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

// screenedRun appends a run that was screened against version v1 of a list and is completed.
func screenedRun(ctx context.Context, s engine.TxStore, id verification.RunID) error {
	return s.Append(ctx, ours, id, 0, store.Commit{
		Events: []rules.Event{{At: noon(), Fact: rules.Started{Workflow: flow}}},
		Summary: rules.Summary{
			ID: id, Workflow: flow, StartedAt: noon(), Ended: rules.StatusCompleted, CompletedAt: noon(),
		},
		Work: store.DueWork{}, Screened: []rules.ScreenedList{{List: "sanctions", Version: "v1"}},
	})
}

// An append that began before a pass has not seen its version, and the pass cannot see its
// run before it is committed.
func TestAPassWaitsForAppendsThatBeganBefore(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{SingleHost: true})
	pool, err := pgxpool.New(t.Context(), url)
	must(t, err)
	defer pool.Close()
	tx, err := pool.Begin(t.Context())
	must(t, err)
	must(t, screenedRun(t.Context(), s.Within(tx), runNumber(1)))
	type result struct {
		pass store.RescreenPass
		err  error
	}
	began := make(chan result)
	go func() {
		p, err := s.HoldPass(t.Context(), store.RescreenPass{List: "sanctions", Version: "v2", Holder: "a", HeldUntil: noon()}, noon())
		began <- result{p, err}
	}()
	eventually(t, "the version of the pass is saved", func() bool {
		passes, err := s.RescreenPasses(t.Context())
		must(t, err)
		return len(passes) == 1
	})
	must(t, screenedRun(t.Context(), s, runNumber(2))) // it sees the version
	select {
	case r := <-began:
		t.Fatalf("HoldPass = %+v, %v before the append is committed", r.pass, r.err)
	case <-time.After(50 * time.Millisecond):
	}
	must(t, tx.Commit(t.Context()))
	r := <-began
	must(t, r.err)
	work, _, err := s.Take(t.Context(), store.TakeRequest{
		Kind: store.WorkRescreen, List: "sanctions", Now: noon(), Lease: time.Minute, Max: 10, MaxPerTenant: 10,
	})
	if err != nil || len(work) != 2 || r.pass.Runs != 2 {
		t.Errorf("the pass has %d runs, and %d pieces of work are queued, %v; want 2", r.pass.Runs, len(work), err)
	}
}

// A host may die, or lose its database, between the two transactions of a pass.
func TestAPassWhoseWorkIsNotQueuedIsQueuedLater(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{SingleHost: true})
	must(t, screenedRun(t.Context(), s, runNumber(1)))
	execute(t, pgtest.Admin(t, url), `INSERT INTO verifyd.rescreen_passes (list, version, holder, held_until, started_at)
		VALUES ('sanctions', 'v2', 'the host that died', '2026-01-01', '2026-01-01')`)
	for range 2 { // the second changes nothing
		pass, err := s.HoldPass(t.Context(), store.RescreenPass{List: "sanctions", Version: "v2", Holder: "b", HeldUntil: noon()}, noon())
		if err != nil || pass.Runs != 1 || !pass.EndedAt.IsZero() {
			t.Errorf("HoldPass = %+v, %v; want a pass of one run", pass, err)
		}
	}
}
