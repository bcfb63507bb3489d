// The state of the database and the queue.

package pgadmin

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification/store"
)

// Health is the state of the database at one time, over all tenants.
type Health struct {
	// Level is the level of the store.
	Level int
	// ServerVersion is the version of PostgreSQL.
	ServerVersion string
	// ClockSkew is how far the clock of the database is ahead of the clock of the
	// caller, give or take half a round trip.
	ClockSkew time.Duration
	// BypassesRLS reports whether the role of the store bypasses row-level security,
	// so that only the statements keep tenants apart.
	BypassesRLS bool
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
	// MeasuresWait is how long the oldest measures wait to be added up; 0 for none. BrokenMeasures is how many rows of
	// measures cannot be added up.
	MeasuresWait   time.Duration
	BrokenMeasures int64
}

// LateAfter is how late work may be in normal operation.
const LateAfter = 30 * time.Second

// readHealth counts late work. $1 is LateAfter before now, and $2 is LateAfter after now.
// A piece that a host has taken is due at the end of its lease.
const readHealth = `
SELECT current_setting('server_version'),
    current_setting('max_connections')::int,
    (SELECT sum(numbackends) FROM pg_stat_database)::int,
    (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user),
    (SELECT count(*) FROM verifyd.work WHERE ` + lateWork + `),
    (SELECT min(due_at) FROM verifyd.work WHERE ` + lateWork + `),
    (SELECT count(*) FROM verifyd.work WHERE lost_leases >= 2),
    (SELECT count(*) FROM verifyd.work w JOIN verifyd.runs r ON r.tenant_id = w.tenant_id AND r.id = w.run_id
        WHERE w.kind = '` + string(store.WorkExpire) + `' AND w.due_at < $2 AND r.expires_at < $1),
    coalesce(extract(epoch FROM now() - (SELECT min(logged_at) FROM verifyd.measure_log WHERE NOT broken)), 0)::float8,
    (SELECT count(*) FROM verifyd.measure_log WHERE broken)`

const lateWork = "kind IN ('" + string(store.WorkAdvance) + "', '" + string(store.WorkAnnounce) + "') AND due_at < $1"

// Health returns the state of the database; now is the clock of the caller. Its
// cost grows only with the rows that it counts.
func (d Database) Health(ctx context.Context, now func() time.Time) (Health, error) {
	var h Health
	err := d.bounded(ctx, everyTenant, snapshot(), func(ctx context.Context, tx pgx.Tx) error {
		at := now()
		var oldest pgtype.Timestamptz
		var measures float64
		err := tx.QueryRow(ctx, readHealth, at.Add(-LateAfter), at.Add(LateAfter)).Scan(&h.ServerVersion, &h.MaxConnections,
			&h.Connections, &h.BypassesRLS, &h.LateWork, &oldest, &h.RepeatedlyLost, &h.OverdueRuns, &measures, &h.BrokenMeasures)
		if err != nil {
			return err
		}
		h.MeasuresWait = time.Duration(max(0, measures) * float64(time.Second))
		if oldest.Valid {
			h.OldestDue = oldest.Time.UTC()
		}
		if err := tx.QueryRow(ctx, countDeliveries).Scan(&h.PendingDeliveries, &h.FailedDeliveries); err != nil {
			return err
		}
		h.ClockSkew, err = clockSkew(ctx, tx, now)
		return err
	})
	if err != nil {
		return Health{}, pgerror.Translate("read the health of the database", err)
	}
	h.Level = d.store.Level()
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
func (d Database) ClockSkew(ctx context.Context, now func() time.Time) (skew time.Duration, err error) {
	err = d.bounded(ctx, noTenant, pgx.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		skew, err = clockSkew(ctx, tx, now)
		return err
	})
	return skew, pgerror.Translate("read the clock of the database", err)
}

// clockSkew assumes that the database reads its clock halfway between the request
// and the response.
func clockSkew(ctx context.Context, tx pgx.Tx, now func() time.Time) (time.Duration, error) {
	var theirs time.Time
	sent := now()
	if err := tx.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&theirs); err != nil {
		return 0, err
	}
	received := now()
	return theirs.Sub(sent.Add(received.Sub(sent) / 2)), nil
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

// earliestDue reads two index entries.
const earliestDue = "SELECT least((SELECT min(due_at) FROM verifyd.work WHERE kind = '" + string(store.WorkAdvance) +
	"'), (SELECT min(due_at) FROM verifyd.work WHERE kind = '" + string(store.WorkAnnounce) + "'))"

// Gauges returns the state of this host and of the queue. It reads two index entries.
// Without an answer of the database, it returns the state of this host and an error.
func (d Database) Gauges(ctx context.Context, now time.Time) (Gauges, error) {
	pool := d.store.Pool().Stat()
	g := Gauges{
		Connections: int(pool.TotalConns()), Busy: int(pool.AcquiredConns()), MaxConnections: int(pool.MaxConns()),
		Waiting: d.store.WaitingAppends(),
	}
	err := d.bounded(ctx, everyTenant, pgx.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		var due pgtype.Timestamptz
		err := tx.QueryRow(ctx, earliestDue).Scan(&due)
		if err == nil && due.Valid {
			g.Lateness = max(0, now.Sub(due.Time))
		}
		return err
	})
	return g, pgerror.Translate("read the queue", err)
}
