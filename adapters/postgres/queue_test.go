// Tests of the cost of taking work from a backlog.

package postgres_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// backlog queues many due pieces for one tenant, and one for each of some others.
const backlog = `
INSERT INTO verifyd.work (tenant_id, run_id, kind, due_at, workflow_id)
SELECT '%[1]s', gen_random_uuid(), 'advance', timestamptz '2026-01-01' + n * interval '1 millisecond', gen_random_uuid()
FROM generate_series(1, %[2]d) AS n;
INSERT INTO verifyd.work (tenant_id, run_id, kind, due_at, workflow_id)
SELECT gen_random_uuid(), gen_random_uuid(), 'advance', timestamptz '2026-01-02', gen_random_uuid()
FROM generate_series(1, 20)`

// queued opens a store with a backlog of n pieces of one tenant.
func queued(tb testing.TB, n int) (*postgres.Store, *pgx.Conn) {
	tb.Helper()
	url := pgtest.Database(tb)
	s := openAt(tb, url, postgres.Options{SingleHost: true})
	// The plan is made while the queue is empty, and kept.
	if _, _, err := s.Take(tb.Context(), request()); err != nil {
		tb.Fatal(err)
	}
	admin, err := pgx.Connect(tb.Context(), pgtest.Admin(tb, url))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = admin.Close(tb.Context()) })
	if _, err := admin.Exec(tb.Context(), fmt.Sprintf(backlog, ours, n)); err != nil {
		tb.Fatal(err)
	}
	return s, admin
}

func request() store.TakeRequest {
	return store.TakeRequest{Kind: store.WorkAdvance, Now: noon(), Lease: time.Minute, Max: 64, MaxPerTenant: 16}
}

func TestTakingWorkReadsNoBacklog(t *testing.T) {
	s, admin := queued(t, 30000)
	for name, except := range map[string][]string{"": {}, ", the tenant of the backlog excepted": {string(ours)}} {
		var raw []byte
		r := request()
		tx, err := admin.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = tx.Exec(t.Context(), "DEALLOCATE ALL; PREPARE hot AS "+postgres.SetTenantHot+"; EXECUTE hot('all'); PREPARE take AS "+postgres.TakeWork)
		if err != nil {
			t.Fatal(err)
		}
		err = tx.QueryRow(t.Context(), fmt.Sprintf("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE take('%s', '%s', '%s', %d, %d, '{%s}', '%s', '%s', '{%s}', '{%s}')",
			r.Kind, r.Now.Format(time.RFC3339), r.Now.Add(r.Lease).Format(time.RFC3339), r.Max, r.MaxPerTenant,
			strings.Join(except, ","), theirs, uuid.New(), uuid.New(), ours), pgx.QueryExecModeSimpleProtocol).Scan(&raw)
		if err := errors.Join(err, tx.Rollback(t.Context())); err != nil { // the plan was carried out
			t.Fatal(err)
		}
		// The backlog and its indexes have over 1,000 blocks; 36 pieces are updated in four of them.
		if got := blocksOf(t, raw); got > 1200 {
			t.Errorf("taking work%s touches %d blocks\n%s", name, got, raw)
		}
	}
	work, next, err := s.Take(t.Context(), request())
	if err != nil || !next.Equal(noon()) {
		t.Fatalf("Take = %v, %v, want to be called again at once", next, err)
	}
	tenants := map[verification.TenantID]int{}
	for _, w := range work {
		tenants[w.Tenant]++
	}
	if len(tenants) != 21 || tenants[ours] != 16 {
		t.Errorf("Take gives %d pieces of the tenant with the backlog, of %d tenants; want 16 of 21", tenants[ours], len(tenants))
	}
}

// blocksOf returns how many blocks a statement has touched, from the output of
// EXPLAIN.
func blocksOf(t *testing.T, raw []byte) int {
	t.Helper()
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	if err := json.Unmarshal(raw, &plans); err != nil {
		t.Fatal(err)
	}
	return plans[0].Plan.Hit + plans[0].Plan.Read
}

func TestChangingKnownWorkReadsNoBacklog(t *testing.T) {
	url := pgtest.Database(t)
	openAt(t, url, postgres.Options{SingleHost: true})
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	exec := func(statement string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), statement, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
	exec("SELECT set_config('verifyd.tenant', 'all', false)")
	exec("PREPARE hot AS " + postgres.SetTenantHot)
	args := map[string]string{
		"renew": "'{%[1]s}', '{%[2]s}', now(), false", "release": "'{%[1]s}', '{%[2]s}', '{advance}', '{NULL}', now(), '{NULL}', '{0}'",
		"finish": "'%[1]s', '%[2]s', 'advance', gen_random_uuid(), 0", "postpone": "'%[1]s', '%[2]s', 'advance', gen_random_uuid(), now(), 0",
	}
	types := map[string]string{
		"renew": "uuid[], uuid[], timestamptz, bool", "release": "uuid[], uuid[], text[], uuid[], timestamptz, timestamptz[], int[]",
		"finish": "uuid, uuid, text, uuid, int", "postpone": "uuid, uuid, text, uuid, timestamptz, int",
	}
	explain := func(name, run string) (raw []byte) {
		t.Helper()
		exec("BEGIN")
		exec("EXECUTE hot('all')")
		err := conn.QueryRow(t.Context(), fmt.Sprintf("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE "+name+"("+args[name]+")", ours, run),
			pgx.QueryExecModeSimpleProtocol).Scan(&raw)
		if err != nil {
			t.Fatal(err)
		}
		exec("ROLLBACK")
		return raw
	}
	for name, statement := range postgres.WorkStatements() {
		exec("PREPARE " + name + " (" + types[name] + ") AS " + statement)
		explain(name, string(ours)) // the plan is made while the queue is empty, and kept
	}
	exec(fmt.Sprintf(backlog, ours, 30000))
	var run string
	if err := conn.QueryRow(t.Context(), "SELECT run_id::text FROM verifyd.work WHERE tenant_id = $1", ours).Scan(&run); err != nil {
		t.Fatal(err)
	}
	for name := range postgres.WorkStatements() {
		if raw := explain(name, run); blocksOf(t, raw) > 50 {
			t.Errorf("%s touches %d blocks for one piece of work\n%s", name, blocksOf(t, raw), raw)
		}
	}
}

func BenchmarkTake(b *testing.B) {
	for _, n := range []int{1000, 1000000} {
		b.Run(fmt.Sprintf("backlog=%d", n), func(b *testing.B) {
			s, _ := queued(b, n)
			r := request()
			r.Except = []verification.TenantID{ours} // others are served beside the backlog
			for b.Loop() {
				work, _, err := s.Take(b.Context(), r)
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Release(b.Context(), work, noon()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
