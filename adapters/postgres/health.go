// The state of the database and the queue, for operators and metrics.

package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/verification/store"
)

// Health is the state of the database at one time, over all tenants.
type Health struct {
	// ServerVersion is the version of PostgreSQL.
	ServerVersion string
	// ClockSkew is how far the clock of the database is ahead of the clock of the
	// caller, give or take half a round trip.
	ClockSkew time.Duration
	// BypassesRLS reports whether the role of the store bypasses row-level security,
	// so that only the statements keep tenants apart.
	BypassesRLS bool `bun:"bypasses_rls"`
	// Connections is the number of connections of all clients to the server, which
	// accepts at most MaxConnections.
	Connections, MaxConnections int
	// LateWork is how many pieces of work have been due for longer than
	// LateAfter. OldestDue is the earliest due time of these; zero for none.
	LateWork  int64
	OldestDue time.Time
	// RepeatedlyLost is how many pieces of work have lost two leases or more in a
	// row: the hosts that took them stopped, or could not save the result.
	RepeatedlyLost int64
	// OverdueRuns is the number of runs whose deadline passed more than LateAfter ago
	// and whose expiry is not recorded.
	OverdueRuns int64
	// PendingDeliveries wait for another attempt; FailedDeliveries have failed for good.
	PendingDeliveries, FailedDeliveries int64
}

// LateAfter is how late work may be in normal operation.
const LateAfter = 30 * time.Second

// Health returns the state of the database; now is the clock of the caller. Its
// cost grows only with the rows that it counts.
func (s *Store) Health(ctx context.Context, now func() time.Time) (Health, error) {
	var h Health
	err := s.transact(ctx, everyTenant, snapshot(), func(ctx context.Context, tx bun.Tx) error {
		late := now().Add(-LateAfter)
		work := func(column string) *bun.SelectQuery {
			return tx.NewSelect().TableExpr("verifyd.work").ColumnExpr(column).
				Where("kind IN (?)", bun.List([]store.WorkKind{store.WorkAdvance, store.WorkAnnounce})).Where("due_at < ?", late)
		}
		lost := tx.NewSelect().TableExpr("verifyd.work").ColumnExpr("count(*)").Where("lost_leases >= 2")
		// A piece that a host has taken is due at the end of its lease.
		overdue := tx.NewSelect().TableExpr("verifyd.work AS w").Join("JOIN verifyd.runs AS r ON r.tenant_id = w.tenant_id AND r.id = w.run_id").
			ColumnExpr("count(*)").Where("w.kind = ?", store.WorkExpire).Where("w.due_at < ?", now().Add(LateAfter)).Where("r.expires_at < ?", late)
		h = Health{}
		err := tx.NewSelect().
			ColumnExpr("current_setting('server_version') AS server_version").
			ColumnExpr("current_setting('max_connections')::int AS max_connections").
			ColumnExpr("(SELECT sum(numbackends) FROM pg_stat_database)::int AS connections").
			ColumnExpr("(SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user) AS bypasses_rls").
			ColumnExpr("(?) AS late_work", work("count(*)")).ColumnExpr("(?) AS oldest_due", work("min(due_at)")).
			ColumnExpr("(?) AS repeatedly_lost", lost).ColumnExpr("(?) AS overdue_runs", overdue).
			Scan(ctx, &h)
		if err != nil {
			return err
		}
		h.OldestDue = utc(h.OldestDue)
		if err := tx.NewRaw(countDeliveries).Scan(ctx, &h.PendingDeliveries, &h.FailedDeliveries); err != nil {
			return err
		}
		h.ClockSkew, err = clockSkew(ctx, tx, now)
		return err
	})
	if err != nil {
		return Health{}, translate("read the health of the database", err)
	}
	return h, nil
}

// countDeliveries steps from tenant to tenant along an index, so that it does not
// read delivered notices.
const countDeliveries = `
WITH RECURSIVE tenants AS (
    (SELECT tenant_id FROM verifyd.deliveries ORDER BY tenant_id LIMIT 1)
    UNION ALL
    SELECT (SELECT d.tenant_id FROM verifyd.deliveries d WHERE d.tenant_id > t.tenant_id ORDER BY d.tenant_id LIMIT 1)
    FROM tenants t WHERE t.tenant_id IS NOT NULL
)
SELECT coalesce(sum(pending), 0)::bigint, coalesce(sum(failed), 0)::bigint
FROM tenants t CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE state = 'pending') AS pending, count(*) FILTER (WHERE state = 'failed') AS failed
    FROM verifyd.deliveries d WHERE d.tenant_id = t.tenant_id AND d.state IN ('pending', 'failed')
) AS of_tenant`

// ClockSkew returns how far the clock of the database is ahead of the clock now of the
// caller, give or take half a round trip.
func (s *Store) ClockSkew(ctx context.Context, now func() time.Time) (skew time.Duration, err error) {
	err = s.transact(ctx, noTenant, nil, func(ctx context.Context, tx bun.Tx) (err error) {
		skew, err = clockSkew(ctx, tx, now)
		return err
	})
	return skew, translate("read the clock of the database", err)
}

// clockSkew assumes that the database reads its clock halfway between the request
// and the response.
func clockSkew(ctx context.Context, tx bun.Tx, now func() time.Time) (time.Duration, error) {
	var theirs time.Time
	sent := now()
	if err := tx.NewSelect().ColumnExpr("clock_timestamp()").Scan(ctx, &theirs); err != nil {
		return 0, err
	}
	received := now()
	return theirs.Sub(sent.Add(received.Sub(sent) / 2)), nil
}

// CheckCounts counts all runs and returns one line of text for each counter that is wrong.
// It reads every row, however long that takes.
func (s *Store) CheckCounts(ctx context.Context) ([]string, error) {
	const key = "tenant_id, workflow_id, status, decision"
	const byDay = key + ", (started_at AT TIME ZONE 'UTC')::date AS day"
	type row struct {
		TenantID, WorkflowID, Status, Decision string
		Day                                    time.Time
		Counter, Counted                       int64
	}
	var totals, days []row
	err := s.db.RunInTx(ctx, snapshot(), func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.ExecContext(ctx, "SELECT set_config('verifyd.tenant', ?, true)", everyTenant); err != nil {
			return err
		}
		compare := func(rows *[]row, key string, counters, counted *bun.SelectQuery) error {
			return tx.NewSelect().TableExpr("(?) AS k FULL JOIN (?) AS c USING ("+key+")",
				tx.NewSelect().TableExpr("(?) AS all_counters", counters).ColumnExpr(key+", sum(runs) AS runs").GroupExpr(key),
				tx.NewSelect().TableExpr("(?) AS all_runs", counted).ColumnExpr(key+", count(*) AS runs").GroupExpr(key)).
				ColumnExpr(key).ColumnExpr("coalesce(k.runs, 0)::bigint AS counter").ColumnExpr("coalesce(c.runs, 0)::bigint AS counted").
				Where("coalesce(k.runs, 0) <> coalesce(c.runs, 0)").OrderExpr(key).Scan(ctx, rows)
		}
		counters := tx.NewSelect().TableExpr("verifyd.run_counts")
		runs := tx.NewSelect().TableExpr("verifyd.runs").ColumnExpr(byDay)
		if err := compare(&totals, key, counters, runs); err != nil {
			return err
		}
		months := tx.NewSelect().TableExpr("verifyd.run_months, generate_series(1, 31) AS n").
			ColumnExpr(key + ", month + n - 1 AS day, runs[n] - coalesce(runs[n - 1], 0) AS runs").Where("runs[n] <> coalesce(runs[n - 1], 0)")
		return compare(&days, key+", day", tx.NewSelect().TableExpr("verifyd.run_counts").
			ColumnExpr(key+", day, runs").Where("slot <> 0").UnionAll(months), runs)
	})
	if err != nil {
		return nil, translate("count runs", err)
	}
	var lines []string
	for _, r := range append(totals, days...) {
		when := ""
		if !r.Day.IsZero() {
			when = r.Day.Format(", started on 2006-01-02")
		}
		lines = append(lines, fmt.Sprintf("tenant %s, workflow %s, status %q, decision %q%s: the counter is %d, but there are %d runs",
			r.TenantID, r.WorkflowID, r.Status, r.Decision, when, r.Counter, r.Counted))
	}
	return lines, nil
}

// Gauges is the state of this host and of the queue.
type Gauges struct {
	// Connections is the number of connections of this host to the database. Busy
	// is the number of those in use, and MaxConnections their limit.
	Connections, Busy, MaxConnections int
	// Waiting is how many appends wait for a writer on this host.
	Waiting int
	// Lateness is how long the oldest piece of work of any host has been due; 0
	// when none is.
	Lateness time.Duration
}

// Gauges returns the state of this host and of the queue. It reads two index entries.
func (s *Store) Gauges(ctx context.Context, now time.Time) (Gauges, error) {
	pool := s.pool.Stat()
	g := Gauges{
		Connections: int(pool.TotalConns()), Busy: int(pool.AcquiredConns()), MaxConnections: int(pool.MaxConns()),
		Waiting: s.writers.waitingAppends(),
	}
	earliest := func(kind store.WorkKind) *bun.SelectQuery {
		return s.db.NewSelect().TableExpr("verifyd.work").ColumnExpr("min(due_at)").Where("kind = ?", kind)
	}
	row, err := selectRow[struct{ DueAt pgtype.Timestamptz }](ctx, s.querier(), everyTenant, s.db.NewSelect().
		ColumnExpr("least((?), (?)) AS due_at", earliest(store.WorkAdvance), earliest(store.WorkAnnounce)).String())
	if err == nil && row.DueAt.Valid {
		g.Lateness = max(0, now.Sub(row.DueAt.Time))
	}
	return g, translate("read the queue", err)
}
