// The size of a database in which retention deletes old runs while new ones start.

package bench_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// BenchmarkDeletions saves runs, deletes a part of them in the order of their start, and saves as many again, while the
// server vacuums and a host maintains the store. It reports how large the database is afterwards, compared with before.
func BenchmarkDeletions(b *testing.B) {
	runs, err := strconv.Atoi(cmp.Or(os.Getenv(envRuns), "20000"))
	if err != nil {
		b.Fatalf("%s: %v", envRuns, err)
	}
	for name, deleted := range map[string]int{"all": runs, "a-tenth": runs / 10} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				db, s := openVacuumed(b)
				startRuns(b, s, runs)
				before := measureTables(b, db, "before")
				began := time.Now()
				deleteRuns(b, s, deleted)
				b.ReportMetric(float64(time.Since(began).Microseconds())/float64(deleted), "µs/deletion")
				measureTables(b, db, "after the deletions")
				startRuns(b, s, deleted)
				after := measureTables(b, db, "after as many starts")
				b.ReportMetric(float64(after)/float64(before), "of-before")
			}
		})
	}
}

// openVacuumed returns a database that is vacuumed and maintained often: the rows of a minute of a large database are
// here those of a second.
func openVacuumed(b *testing.B) (database, *postgres.Store) {
	b.Helper()
	db := newDatabase(b)
	s, err := postgres.Open(b.Context(), db.url, postgres.Options{SingleHost: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	for _, setting := range []string{"ALTER SYSTEM SET autovacuum_naptime = '1s'", "SELECT pg_reload_conf()"} {
		if _, err := db.admin.Exec(b.Context(), setting); err != nil {
			b.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(b.Context())
	var maintenance sync.WaitGroup
	maintenance.Go(func() {
		for ctx.Err() == nil {
			if err := s.Maintain(ctx, time.Now()); err != nil && ctx.Err() == nil {
				b.Error(err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	})
	b.Cleanup(func() {
		stop()
		maintenance.Wait()
	})
	return db, s
}

const (
	retained     = verification.TenantID("f1110000-0000-7000-8000-000000000002")
	retainedFlow = verification.WorkflowID("f1110000-0000-7000-8000-000000000003")
)

// each calls f for numbers up to n, on several goroutines.
func each(b *testing.B, n int, f func(i int) error) {
	b.Helper()
	const workers = 32
	errs := make([]error, workers)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < n && errs[w] == nil; i += workers {
				errs[w] = f(i)
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		b.Fatal(err)
	}
}

// startRuns saves completed runs as hosts do: in three appends, with search keys.
func startRuns(b *testing.B, s *postgres.Store, n int) {
	b.Helper()
	person := strings.Repeat("Asha Rao, 12 Example Road; ", 20)
	each(b, n, func(int) error {
		id, at := verification.RunID(uuid.Must(uuid.NewV7()).String()), time.Now().UTC()
		var history []rules.Event
		for _, f := range []rules.Fact{
			rules.Started{
				Workflow: retainedFlow, WorkflowName: "Onboarding", Version: 1, VersionHash: "hash", ReferenceID: string(id),
				Input: verification.DataOf(map[string]any{"name": person}), RunTTLSeconds: 86400,
			},
			rules.Dispatched{Node: "pan", Key: "pan", Label: "PAN", Provider: "sandbox", Dispatch: 1, Visit: 1},
			rules.ResultRecorded{Node: "pan", Passed: true, Data: verification.DataOf(map[string]any{"name": person, "score": 0.5})},
			rules.Completed{Node: "done"},
		} {
			history = append(history, rules.Event{At: at, Fact: f})
		}
		from := 0
		for _, to := range []int{1, 3, 4} {
			c := store.NewCommit(rules.Fold(id, history[:from]), rules.Fold(id, history[:to]), history[from:to], time.UTC)
			switch to {
			case 1:
				c.Keys = []store.SearchKey{store.SearchKey(uuid.New()), store.SearchKey(uuid.New())}
				c.Work[store.WorkKey{Kind: store.WorkAdvance}] = at.Add(time.Minute)
			case 3:
				c.Work = nil
			case 4:
				c.Work[store.WorkKey{Kind: store.WorkAdvance}] = time.Time{}
			}
			if err := s.Append(b.Context(), retained, id, from, c); err != nil {
				return err
			}
			from = to
		}
		return nil
	})
}

// deleteRuns deletes the runs that started first.
func deleteRuns(b *testing.B, s *postgres.Store, n int) {
	b.Helper()
	var after store.StartedPosition
	for n > 0 {
		runs, err := s.StartedRuns(b.Context(), retained, retainedFlow, after, time.Now(), min(n, 1000))
		if err != nil || len(runs) == 0 {
			b.Fatalf("StartedRuns = %d runs, %v", len(runs), err)
		}
		each(b, len(runs), func(i int) error {
			return s.Append(b.Context(), retained, runs[i].ID, 4, store.Commit{Delete: true})
		})
		n -= len(runs)
		after = store.StartedPosition{StartedAt: runs[len(runs)-1].StartedAt, Run: runs[len(runs)-1].ID}
	}
}

// measureTables returns the size of the database, and logs those of its largest tables, once autovacuum is done.
func measureTables(b *testing.B, db database, when string) (bytes int64) {
	b.Helper()
	<-time.After(10 * time.Second) // the wall clock: for autovacuum
	var tables string
	const query = `
SELECT pg_database_size(current_database()), (SELECT string_agg(t, ', ') FROM (
    SELECT relname || ' ' || pg_table_size(relid) / 1024 || '+' || pg_indexes_size(relid) / 1024 || ' KiB, ' || n_live_tup || ' rows, ' || n_dead_tup || ' dead' AS t
    FROM pg_stat_user_tables WHERE schemaname = 'verifyd' ORDER BY pg_total_relation_size(relid) DESC LIMIT 6) AS largest)`
	if err := db.admin.QueryRow(b.Context(), query).Scan(&bytes, &tables); err != nil {
		b.Fatal(err)
	}
	b.Logf("%s: %d bytes: %s", when, bytes, tables)
	return bytes
}
