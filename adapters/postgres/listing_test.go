// Tests of lists that are slow, concurrent or deep, or whose counters are wrong.

package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// lock locks a table, also against readers, until unlock is called or the test ends.
func lock(t *testing.T, url, table string) (unlock func()) {
	t.Helper()
	tx, err := connect(t, pgtest.Admin(t, url)).Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), "LOCK TABLE "+table+" IN ACCESS EXCLUSIVE MODE")
	must(t, err)
	return func() { must(t, tx.Rollback(t.Context())) }
}

func TestListsOfATenantDelayNothingElse(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{MaxConns: 8, ListTimeout: time.Minute, QueryTimeout: time.Minute})
	// A new connection prepares its statements, which would wait for the table.
	eventually(t, "a connection is ready for the list and one for the appends", func() bool { return s.Pool().Stat().IdleConns() > 1 })
	unlock := lock(t, url, "verifyd.deliveries")
	const many = 40
	listed := make(chan error, many)
	for range many {
		go func() {
			_, err := s.Deliveries(t.Context(), ours, "", store.PageQuery{Limit: 1})
			listed <- err
		}()
	}
	eventually(t, "a list waits for the table", func() bool { return s.Pool().Stat().AcquiredConns() > 0 })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for n := range 20 {
		if err := s.Append(ctx, theirs, runNumber(n), 0, started(n, noon(), false)); err != nil {
			t.Fatalf("an append beside the lists of another tenant: %v", err)
		}
	}
	q := store.RunQuery{PageQuery: store.PageQuery{Limit: 1}, Now: noon()}
	if p, err := s.List(ctx, theirs, q); err != nil || p.Total != 20 {
		t.Fatalf("a list beside those of another tenant: %d runs, %v", p.Total, err)
	}
	if busy := s.Pool().Stat().AcquiredConns(); busy > 1 {
		t.Errorf("the lists of one tenant hold %d of 8 connections, want 1", busy)
	}
	unlock()
	for range many {
		must(t, <-listed)
	}
}

// slowRuns makes each row of a list of runs take some seconds, and saves one.
func slowRuns(t *testing.T, url string, s *postgres.Store, seconds string) {
	t.Helper()
	must(t, s.Append(t.Context(), ours, runNumber(1), 0, started(1, noon(), false)))
	_, err := connect(t, pgtest.Admin(t, url)).Exec(t.Context(),
		"CREATE POLICY slow ON verifyd.runs AS RESTRICTIVE USING (pg_sleep("+seconds+")::text IS NOT NULL)")
	must(t, err)
}

func listOne(t *testing.T, s *postgres.Store) (subject string) {
	t.Helper()
	_, err := s.List(t.Context(), ours, store.RunQuery{PageQuery: store.PageQuery{Limit: 1}, Now: noon()})
	var got *verification.Error
	if err != nil && (!errors.Is(err, verification.ErrUnavailable) || !errors.As(err, &got)) {
		t.Fatalf("List = %v, want ErrUnavailable", err)
	}
	if got == nil {
		return ""
	}
	return got.Subject
}

func TestAListThatTakesTooLongIsUnavailable(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{ListTimeout: time.Second})
	slowRuns(t, url, s, "3")
	if about := listOne(t, s); about != "list" {
		t.Errorf("the error is about the %q, want the list, so that the client reads less", about)
	}
}

func TestAListThatWaitsForALockDidNotTakeTooLong(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{ListTimeout: time.Second})
	unlock := lock(t, url, "verifyd.runs")
	if about := listOne(t, s); about != "database" {
		t.Errorf("the error is about the %q, want the database", about)
	}
	unlock()
	if about := listOne(t, s); about != "" {
		t.Errorf("after the lock the list is refused: %q", about)
	}
}

func TestAListThatIsCanceledDidNotTakeTooLong(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{ListTimeout: time.Minute, QueryTimeout: time.Minute})
	slowRuns(t, url, s, "60")
	about, admin := make(chan string, 1), connect(t, pgtest.Admin(t, url))
	go func() { about <- listOne(t, s) }()
	eventually(t, "the list is canceled", func() (canceled bool) {
		must(t, admin.QueryRow(t.Context(),
			"SELECT coalesce(bool_or(pg_cancel_backend(pid)), false) FROM pg_stat_activity WHERE wait_event = 'PgSleep'").Scan(&canceled))
		return canceled
	})
	if got := <-about; got != "database" {
		t.Errorf("the error is about the %q, want the database", got)
	}
}

func TestOneDeepListAtATimeForATenant(t *testing.T) {
	acquire := postgres.AcquireList(16)
	must(t, acquire(t.Context(), "a", postgres.DeepOffset))
	waits := func(what string, tenant verification.TenantID, offset int) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if err := acquire(ctx, tenant, offset); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, want it to wait", what, err)
		}
	}
	waits("a second deep list of a tenant", "a", postgres.DeepOffset)
	must(t, acquire(t.Context(), "a", postgres.DeepOffset-1))
	must(t, acquire(t.Context(), "b", postgres.DeepOffset))
	must(t, acquire(t.Context(), "c", 0))
	waits("a fifth list on 16 connections", "d", 0)
}

func TestTheTotalIncludesThePageWhateverTheCounters(t *testing.T) {
	s := fresh(t)
	const runs = 12
	for n := range runs {
		begin(t, s, ours, runNumber(n), rules.Summary{StartedAt: noon().Add(time.Duration(n) * time.Second), AbandonAt: noon().Add(time.Duration(n%3) * time.Hour), Waiting: rules.ActionCustomerInput})
	}
	for _, kept := range []int{-5, 0, 1, runs - 3, runs, runs + 30} {
		err := s.Tenanted(t.Context(), ours, "UPDATE verifyd.run_counts SET runs = ?", kept)
		must(t, err)
		for _, status := range []rules.Status{"", rules.StatusAbandoned, rules.StatusInProgress} {
			q := store.RunQuery{PageQuery: store.PageQuery{Limit: 7}, Status: status, Now: noon().Add(90 * time.Minute)}
			for q.Offset = 0; q.Offset < runs+32; q.Offset += 3 {
				p, err := s.List(t.Context(), ours, q)
				must(t, err)
				if kept > 0 && status == "" && q.Offset == 0 && len(p.Data) != q.Limit {
					t.Fatalf("with a count of %d, the first page has %d runs, want %d", kept, len(p.Data), q.Limit)
				}
				if p.Total < 0 || len(p.Data) > 0 && p.Total < q.Offset+len(p.Data) {
					t.Fatalf("with a count of %d, List(%+v) has %d runs of a total of %d", kept, q, len(p.Data), p.Total)
				}
			}
		}
	}
}

func TestAListIsUnavailableWhileItsStaleRowsAreLocked(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{})
	conn := connect(t, pgtest.Admin(t, url))
	const stale = `
INSERT INTO verifyd.runs (tenant_id, id, workflow_id, reference_id, started_at, abandon_at, waiting, signal, wait,
    ended, error, verdict, flagged, status, decision, status_until)
SELECT $1, gen_random_uuid(), gen_random_uuid(), 'x', $2::timestamptz, $2, 'customer_input', '', 0, '', '', '', false, 'in_progress', '', $2
FROM generate_series(1, 2100)`
	_, err := conn.Exec(t.Context(), stale, string(ours), noon())
	must(t, err)
	tx, err := conn.Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), "SELECT 1 FROM verifyd.runs FOR UPDATE")
	must(t, err)
	q := store.RunQuery{PageQuery: store.PageQuery{Limit: 1}, Status: rules.StatusAbandoned, Now: noon().Add(time.Hour)}
	if _, err := s.List(t.Context(), ours, q); !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("List while another transaction locks too many stale rows = %v, want ErrUnavailable", err)
	}
	must(t, tx.Rollback(t.Context()))
	if p, err := s.List(t.Context(), ours, q); err != nil || p.Total != 2100 {
		t.Errorf("List = %d runs, %v, want 2100", p.Total, err)
	}
}

func TestAFullPageOfRejectedRunsHasTheirTotal(t *testing.T) {
	s := fresh(t)
	for n := range 5 {
		history := life(n, 1+n%2, 3) // of five runs two are rejected
		after := rules.Fold(runNumber(n), history)
		must(t, s.Append(t.Context(), ours, runNumber(n), 0, store.NewCommit(rules.Run{}, after, history, time.UTC)))
	}
	for limit := range 4 {
		for offset := range 3 {
			q := store.RunQuery{PageQuery: store.PageQuery{Limit: limit, Offset: offset}, ReferenceID: "customer", Rejected: true, Now: noon()}
			p, err := s.List(t.Context(), ours, q)
			if want := max(0, min(limit, 2-offset)); err != nil || p.Total != 2 || len(p.Data) != want {
				t.Errorf("%d runs from the %d. are %d of %d, %v; want %d of 2", limit, offset, len(p.Data), p.Total, err, want)
			}
		}
	}
}
