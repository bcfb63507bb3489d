// Tests of group commit.

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// appendix is the first append of run number n.
func appendix(n int) store.Commit {
	history := life(n, 5, 0)
	return store.Commit{Events: history, Summary: rules.Fold(runNumber(n), history).Summary(), Work: store.DueWork{}}
}

// lockHistory blocks appends to run 1 until release is called.
func lockHistory(t *testing.T, url string) (release func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), pgtest.Admin(t, url))
	if err != nil {
		t.Fatal(err)
	}
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const take = "INSERT INTO verifyd.run_events (tenant_id, run_id, seq, next_seq, events) VALUES ($1, $2, 0, 1, '[]')"
	if _, err := tx.Exec(t.Context(), take, string(ours), string(runNumber(1))); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := errors.Join(tx.Rollback(context.WithoutCancel(t.Context())), conn.Close(context.WithoutCancel(t.Context()))); err != nil {
			t.Error(err)
		}
	}
}

func TestAFailingAppendFailsAlone(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{})
	release := lockHistory(t, url)
	var done sync.WaitGroup
	errs := make([]error, 40)
	for n := range errs {
		done.Go(func() {
			a := appendix(n)
			if n == 2 { // which the database cannot keep
				a.Summary.ReferenceID = "a\x00b"
			}
			errs[n] = s.Append(t.Context(), ours, runNumber(n), 0, a)
		})
	}
	done.Wait()
	release()
	for n, err := range errs {
		want := map[int]error{1: verification.ErrUnavailable, 2: verification.ErrInvalid}[n]
		if !errors.Is(err, want) {
			t.Errorf("append %d = %v, want %v", n, err, want)
		}
	}
	if err := s.Append(t.Context(), ours, runNumber(1), 0, appendix(1)); err != nil {
		t.Errorf("the append to the run that was held, once it is free = %v", err)
	}
}

func TestAnAppendThatGaveUpIsNotCommitted(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{})
	release := lockHistory(t, url)
	first := make(chan error, 1)
	go func() { first <- s.Append(t.Context(), ours, runNumber(1), 0, appendix(1)) }()
	eventually(t, "a writer at work", func() bool { return s.Pool().Stat().AcquiredConns() > 0 })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	second := s.Append(ctx, ours, runNumber(5), 0, appendix(5))
	release()
	if err := <-first; err != nil && !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("the append that waited for the run = %v", err)
	}
	_, err := s.Load(t.Context(), ours, runNumber(5), 0)
	if kept := err == nil; kept != (second == nil) {
		t.Errorf("the append of a caller who gave up = %v, and then it was loaded: %v", second, err)
	}
}

func TestCloseWaitsForQueuedAppends(t *testing.T) {
	url := pgtest.Database(t)
	s, err := postgres.Open(t.Context(), url, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	errs := make([]error, 50)
	for n := range errs {
		done.Go(func() { errs[n] = s.Append(t.Context(), ours, runNumber(n), 0, appendix(n)) })
	}
	s.Close()
	done.Wait()
	again := openAt(t, url, postgres.Options{})
	for n, err := range errs {
		_, missing := again.Load(t.Context(), ours, runNumber(n), 0)
		if (err == nil) != (missing == nil) || err != nil && !errors.Is(err, verification.ErrUnavailable) {
			t.Errorf("append %d = %v, and then Load = %v", n, err, missing)
		}
	}
	for what, err := range map[string]error{
		"Append": s.Append(t.Context(), ours, runNumber(99), 0, appendix(99)),
		"Tenant": func() error { _, err := s.Tenant(t.Context(), ours); return err }(),
		"List": func() error {
			_, err := s.List(t.Context(), ours, store.RunQuery{PageQuery: store.PageQuery{Limit: 1}, Now: noon()})
			return err
		}(),
	} {
		if !errors.Is(err, verification.ErrUnavailable) {
			t.Errorf("%s of a store that is closed = %v, want unavailable", what, err)
		}
	}
}

func TestAGroupKeepsItsTenantsApart(t *testing.T) {
	s := fresh(t)
	var done sync.WaitGroup
	for n := range 60 {
		done.Go(func() {
			tenant := verification.TenantID(fmt.Sprintf("a0000000-0000-7000-8000-%012x", n%6))
			if err := s.Append(t.Context(), tenant, runNumber(n), 0, appendix(n)); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	for n := range 6 {
		tenant := verification.TenantID(fmt.Sprintf("a0000000-0000-7000-8000-%012x", n))
		p, err := s.List(t.Context(), tenant, store.RunQuery{PageQuery: store.PageQuery{Limit: 100}, Now: noon()})
		if err != nil || p.Total != 10 || len(p.Data) != 10 {
			t.Errorf("tenant %d has %d runs, %v; want 10", n, p.Total, err)
		}
	}
}

func TestAGroupKeepsWhatItsAppendsKeepAlone(t *testing.T) {
	ctx, s := t.Context(), fresh(t)
	const runs = 12
	together, alone := tenantNumber(1), tenantNumber(2)
	lengths := make([]int, runs)
	rows := func(tenant verification.TenantID, columns, table string) (all string) {
		t.Helper()
		must(t, pgx.BeginFunc(ctx, s.Pool(), func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, postgres.SetTenantHot, string(tenant)); err != nil {
				return err
			}
			return tx.QueryRow(ctx, "SELECT coalesce(string_agg(r::text, E'\n' ORDER BY r::text), '') FROM (SELECT "+columns+" FROM verifyd."+table+") AS r").Scan(&all)
		}))
		return all
	}
	for _, tenant := range []verification.TenantID{together, alone} {
		for n := range 3 {
			must(t, s.SaveWorkflow(ctx, tenant, workflow.Workflow{ID: rules.Fold(runNumber(n), life(n, 0, 0)).Summary().Workflow, Revision: 1}, nil))
		}
		waiting := life(runs, 1, 1) // its review stays in the queue
		must(t, s.Append(ctx, tenant, runNumber(runs), 0,
			store.NewCommit(rules.Run{}, rules.Fold(runNumber(runs), waiting), waiting, time.UTC)))
	}
	take := func() []store.Work {
		t.Helper()
		work, _, err := s.Take(ctx, store.TakeRequest{Kind: store.WorkAdvance, Now: noon(), Max: 100, MaxPerTenant: 100})
		must(t, err)
		return work
	}
	seen := map[string]bool{}
	for step := range 3 { // of each kind of life, twice
		var ids []verification.RunID
		var seqs []int
		var commits []store.Commit
		for n := range runs {
			history := life(n, n, step)
			if len(history) <= lengths[n] {
				continue
			}
			before := rules.Fold(runNumber(n), history[:lengths[n]])
			c := store.NewCommit(before, before.EvolveAll(history[lengths[n]:]), history[lengths[n]:], time.UTC)
			if c.Summary.Ended == "" {
				c.Work[store.WorkKey{Kind: store.WorkAdvance}] = noon()
			} else {
				c.Work[store.WorkKey{Kind: store.WorkAnnounce}] = noon()
			}
			if n%2 == 0 {
				c.Summary.RedactedAt = noon().Add(time.Duration(step) * time.Hour)
			}
			c.WorkflowRevision = 1
			if step == 2 && n%6 == 0 {
				c.Work = nil
			}
			ids, seqs, commits = append(ids, runNumber(n)), append(seqs, lengths[n]), append(commits, c)
			must(t, s.Append(ctx, alone, runNumber(n), lengths[n], c))
			lengths[n] = len(history)
		}
		old := slices.Clone(commits[1:3])
		old[0].WorkflowRevision, old[1].WorkflowRevision = 2, 2
		if got, err := s.AppendTogether(together, ids[1:3], seqs[1:3], old); err != nil || got != 0 {
			t.Errorf("a group for another revision of the workflow appended %d, %v; want none", got, err)
		}
		refused := 0
		if step == 1 { // one append of the first half is refused
			must(t, s.Append(ctx, together, ids[1], seqs[1], commits[1]))
			refused = 1
		}
		half := len(ids) / 2
		if got, err := s.AppendTogether(together, ids[:half], seqs[:half], commits[:half]); err != nil || got != half-refused {
			t.Fatalf("a group of %d appended %d, %v; want %d", half, got, err, half-refused)
		}
		if got, err := s.AppendTogether(together, ids[half:], seqs[half:], commits[half:]); err != nil || got != len(ids)-half {
			t.Fatalf("a group of %d appended %d, %v; want all", len(ids)-half, got, err)
		}
		if got, err := s.AppendTogether(together, ids[:2], seqs[:2], commits[:2]); step > 0 && (err != nil || got != 0) {
			t.Errorf("a group at old positions appended %d, %v; want none", got, err)
		}
		for table, columns := range map[string]string{
			"run_events":  "run_id, seq, next_seq, events",
			"runs":        "id, workflow_id, reference_id, started_at, expires_at, abandon_at, waiting, signal, wait, ended, completed_at, outcome, error, verdict, flagged, status, decision, status_until, redacted_at, review_since, review_due, review_until, causes, review",
			"work":        "run_id, kind, due_at, workflow_id, leased, lease_id IS NULL, attempt, lost_leases",
			"measure_log": "count(*) > 0",
		} {
			want, got := rows(alone, columns, table), rows(together, columns, table)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s after step %d (-alone +together):\n%s", table, step, diff)
			}
			seen[table] = seen[table] || want != ""
			seen["reviews"] = seen["reviews"] || strings.Contains(want, "review_step")
		}
		for _, w := range take() { // what the next step replaces has an attempt, a lease and a lost one
			must(t, s.Postpone(ctx, w, noon()))
		}
		take()
		take()
	}
	if len(seen) != 5 || !seen["reviews"] || !seen["work"] {
		t.Errorf("tables with rows: %v, want all", seen)
	}
	q := store.MeasureQuery{
		Names: []store.MeasureName{store.MeasureStarted, store.MeasureEnded, store.MeasureVerdict},
		First: today(), Last: today(),
	}
	want, err := s.Measures(ctx, alone, q)
	must(t, err)
	got, err := s.Measures(ctx, together, q)
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
		t.Errorf("measures (-alone +together):\n%s", diff)
	}
}
