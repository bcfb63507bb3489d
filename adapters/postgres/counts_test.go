// Tests of the totals of lists.

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

func runNumber(n int) verification.RunID {
	return verification.RunID(fmt.Sprintf("d0000000-0000-7000-8000-%012x", n))
}

// life is a history of some length, one of several kinds.
func life(n, kind, length int) []rules.Event {
	started := rules.Started{
		Workflow: verification.WorkflowID(fmt.Sprintf("c0000000-0000-7000-8000-%012x", n%3)), WorkflowName: "Onboarding",
		Version: 1, VersionHash: "hash", ReferenceID: "customer", RunTTLSeconds: 3600, AbandonTimeoutSeconds: 600,
	}
	awaited := rules.CustomerAwaited{Node: "consent", Type: workflow.NodeConsent, Signal: "consent_submitted"}
	asked := rules.ReviewAsked{Node: "review"}
	verdict := func(d rules.Decision) rules.Fact {
		return rules.VerdictRecorded{Node: "review", Decision: d}
	}
	lives := [][]rules.Fact{
		{started, awaited, rules.JourneyOpened{Node: "consent"}, rules.Cancelled{}},
		{started, asked, verdict(rules.DecisionApprove), rules.Completed{Node: "done"}},
		{started, asked, verdict(rules.DecisionReject), rules.Completed{Node: "done"}},
		{started, rules.Failed{Node: "pan", Error: rules.RunError{Code: rules.CodeCheckFailed, Message: "The check failed."}}},
		{started, rules.Expired{Error: rules.RunError{Code: rules.CodeRunExpired}}},
		{started, rules.Completed{Node: "done"}},
	}
	facts := lives[kind%len(lives)]
	facts = facts[:1+length%len(facts)]
	var history []rules.Event
	for i, f := range facts {
		history = append(history, rules.Event{At: noon().Add(time.Duration(n+i) * time.Minute), Fact: f})
	}
	return history
}

// queries returns all combinations of filters at a time.
func queries(now time.Time) []store.RunQuery {
	var all []store.RunQuery
	for _, w := range []verification.WorkflowID{"", flow, "c0000000-0000-7000-8000-000000000002"} {
		for _, s := range append(rules.Statuses(), "") {
			for _, d := range []rules.Decision{"", rules.DecisionReview, rules.DecisionApprove, rules.DecisionReject} {
				all = append(all, store.RunQuery{
					PageQuery: store.PageQuery{Limit: 7}, Workflow: w, Status: s, Decision: d, Now: now,
				})
			}
		}
	}
	return all
}

// Random appends, refreshes and lists at any times: the lists equal those of the
// memory store.
func TestListsEqualThoseOfTheMemoryStore(t *testing.T) {
	ctx, s, tenants := t.Context(), fresh(t), 0
	rapid.Check(t, func(rt *rapid.T) {
		tenants++
		tenant := verification.TenantID(fmt.Sprintf("a0000000-0000-7000-8000-%012x", tenants))
		m := memory.New()
		seqs := map[int]int{}
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				n := rapid.IntRange(0, 19).Draw(rt, "run")
				history := life(n, n, rapid.IntRange(0, 3).Draw(rt, "length"))
				if len(history) <= seqs[n] {
					return
				}
				a := store.Commit{Events: history[seqs[n]:], Summary: rules.Fold(runNumber(n), history).Summary(), Work: store.DueWork{}}
				if err := errors.Join(s.Append(ctx, tenant, runNumber(n), seqs[n], a), m.Append(ctx, tenant, runNumber(n), seqs[n], a)); err != nil {
					rt.Fatal(err)
				}
				seqs[n] = len(history)
			},
			"maintenance": func(rt *rapid.T) {
				if err := s.Refresh(ctx, tenant, noon().Add(time.Duration(rapid.IntRange(0, 120).Draw(rt, "minutes"))*time.Minute)); err != nil {
					rt.Fatal(err)
				}
			},
			"list": func(rt *rapid.T) {
				now := noon().Add(time.Duration(rapid.IntRange(0, 120).Draw(rt, "minutes")) * time.Minute)
				q := rapid.SampledFrom(queries(now)).Draw(rt, "query")
				q.Offset = rapid.IntRange(0, 22).Draw(rt, "offset")
				got, err := s.List(ctx, tenant, q)
				if err != nil {
					rt.Fatal(err)
				}
				want, err := m.List(ctx, tenant, q)
				if err != nil {
					rt.Fatal(err)
				}
				if len(got.Data) == 0 {
					got.Data, want.Data = nil, want.Data[:0:0]
				}
				if diff := cmp.Diff(fmt.Sprint(want.Total, idsOf(want)), fmt.Sprint(got.Total, idsOf(got))); diff != "" {
					rt.Fatalf("List(%+v) (-memory +postgres):\n%s", q, diff)
				}
			},
		})
	})
}

func idsOf(p store.Page[rules.Summary]) (ids []verification.RunID) {
	for _, s := range p.Data {
		ids = append(ids, s.ID)
	}
	return ids
}

// wrongCounts returns how many counters, of all days and of single days, differ from counting the runs.
func wrongCounts(t *testing.T, s *postgres.Store) (n int) {
	t.Helper()
	const key = "tenant_id, workflow_id, status, decision, "
	const query = `SELECT count(*) FROM (SELECT FROM (
			SELECT ` + key + `NULL::date AS day, runs AS n FROM verifyd.run_counts
			UNION ALL SELECT ` + key + `NULL, -1 FROM verifyd.runs
			UNION ALL SELECT ` + key + `day, runs FROM verifyd.run_counts WHERE slot <> 0
			UNION ALL SELECT ` + key + `month + i - 1, runs[i] - coalesce(runs[i - 1], 0) FROM verifyd.run_months, generate_series(1, 31) AS i
			UNION ALL SELECT ` + key + `(started_at AT TIME ZONE 'UTC')::date, -1 FROM verifyd.runs
		) AS changes GROUP BY ` + key + `day HAVING sum(n) <> 0) AS wrong`
	must(t, named(t, s, "all", func(ctx context.Context, tx pgx.Tx) error { return tx.QueryRow(ctx, query).Scan(&n) }))
	return n
}

func TestCountsStayExactUnderConcurrentWriters(t *testing.T) {
	url := pgtest.Database(t)
	stores := []*postgres.Store{openAt(t, url, postgres.Options{}), openAt(t, url, postgres.Options{Writers: 4})}
	if err := stores[0].SaveTenant(t.Context(), verification.Tenant{ID: ours, Name: "Ours"}); err != nil {
		t.Fatal(err)
	}
	const writers, each = 16, 60
	var done sync.WaitGroup
	stop := make(chan struct{})
	maintenance := make(chan struct{})
	go func() { // beside the writers
		defer close(maintenance)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := stores[1].Maintain(context.WithoutCancel(t.Context()), noon().Add(time.Hour)); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for w := range writers {
		done.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			for range each {
				// Runs are shared, so that some appends meet and one of them is refused.
				n := random.IntN(writers * each / 3)
				history := life(n, n, 3)
				for seq := range history {
					run := rules.Fold(runNumber(n), history[:seq+1])
					a := store.Commit{Events: history[seq : seq+1], Summary: run.Summary(), Work: store.DueWork{}}
					err := stores[random.IntN(2)].Append(t.Context(), ours, runNumber(n), seq, a)
					if err != nil && !errors.Is(err, verification.ErrConflict) {
						t.Error(err)
					}
				}
			}
		})
	}
	done.Wait()
	close(stop)
	<-maintenance
	if n := wrongCounts(t, stores[0]); n > 0 {
		t.Fatalf("%d counts differ from counting", n)
	}
	for _, now := range []time.Time{noon(), noon().Add(25 * time.Minute), noon().Add(1000 * time.Hour)} {
		for _, q := range queries(now) {
			q.Limit = store.MaxLimit
			p, err := stores[0].List(t.Context(), ours, q)
			if err != nil {
				t.Fatal(err)
			}
			seen := len(p.Data)
			for q.Offset = store.MaxLimit; q.Offset < p.Total; q.Offset += store.MaxLimit {
				more, err := stores[0].List(t.Context(), ours, q)
				if err != nil {
					t.Fatal(err)
				}
				seen += len(more.Data)
			}
			if seen != p.Total {
				t.Errorf("List(%q, %q, %q) has %d runs and a total of %d", q.Workflow, q.Status, q.Decision, seen, p.Total)
			}
		}
	}
}

func TestAListRefreshesManyStaleRowsFirst(t *testing.T) {
	s := fresh(t)
	const many = 2_100 // more than a list looks at one by one
	var done sync.WaitGroup
	for w := range 8 {
		done.Go(func() {
			for n := w; n < many; n += 8 {
				history := life(0, 0, 1)
				a := store.Commit{Events: history, Summary: rules.Fold(runNumber(n), history).Summary(), Work: store.DueWork{}}
				if err := s.Append(t.Context(), ours, runNumber(n), 0, a); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	q := store.RunQuery{PageQuery: store.PageQuery{Limit: 10}, Status: rules.StatusAbandoned, Now: noon().Add(30 * time.Minute)}
	for _, want := range []struct {
		at    time.Duration
		total int
	}{{30 * time.Minute, many}, {0, 0}, {30 * time.Minute, many}, {2 * time.Hour, 0}} {
		q.Now = noon().Add(want.at)
		p, err := s.List(t.Context(), ours, q)
		if err != nil || p.Total != want.total {
			t.Errorf("abandoned runs after %s: %d, %v; want %d", want.at, p.Total, err, want.total)
		}
	}
}
