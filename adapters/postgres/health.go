// How the database and what is kept in it are doing, for operators.

package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// Health is how things stand at one moment, over all tenants.
type Health struct {
	// ServerVersion is that of PostgreSQL.
	ServerVersion string
	// ClockSkew is how far the clock of the database is ahead of ours, give or
	// take half a round trip.
	ClockSkew time.Duration
	// Superuser tells that row-level security does not hold our role, so that
	// nothing but the statements keeps tenants apart.
	Superuser bool
	// Connections are those of everybody to the server, which takes at most
	// MaxConnections.
	Connections, MaxConnections int
	// Overdue is how many pieces of work have been due for longer than
	// OverdueAfter, the oldest since OldestDue, which is zero when there is none.
	Overdue   int64
	OldestDue time.Time
	// LosingLeases is how many pieces of work have lost two leases or more in a
	// row: the hosts that took them stopped, or could not save what they did.
	LosingLeases int64
	// Expired is how many runs are live in their history though their deadline
	// passed longer than OverdueAfter ago.
	Expired int64
	// PendingDeliveries wait for another try; DeadDeliveries have none left.
	PendingDeliveries, DeadDeliveries int64
}

// OverdueAfter is how late work may be before something is wrong.
const OverdueAfter = 30 * time.Second

// Health asks the database how things stand; now is our clock. It costs no more
// than what it counts.
func (s *Store) Health(ctx context.Context, now func() time.Time) (Health, error) {
	var h Health
	err := s.read(ctx, everyTenant, func(ctx context.Context, tx bun.Tx) error {
		h = Health{}
		for _, ask := range []func(context.Context, bun.Tx, time.Time) error{h.server, h.backlog, h.deliveries} {
			if err := ask(ctx, tx, now()); err != nil {
				return err
			}
		}
		var err error
		h.ClockSkew, err = clockSkew(ctx, tx, now)
		return err
	})
	if err != nil {
		return Health{}, translate("ask for the health of the database", err)
	}
	return h, nil
}

func (h *Health) server(ctx context.Context, tx bun.Tx, _ time.Time) error {
	const server = `
SELECT current_setting('server_version'), current_setting('max_connections')::int,
    (SELECT sum(numbackends) FROM pg_stat_database)::int,
    (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user)`
	return tx.NewRaw(server).Scan(ctx, &h.ServerVersion, &h.MaxConnections, &h.Connections, &h.Superuser)
}

func (h *Health) backlog(ctx context.Context, tx bun.Tx, now time.Time) error {
	const (
		work    = "SELECT count(*), min(due) FROM verifyd.work WHERE kind IN ('advance', 'announce') AND due < ?"
		losing  = "SELECT count(*) FROM verifyd.work WHERE lost_leases >= 2"
		expired = "SELECT count(*) FROM verifyd.runs WHERE ended = '' AND expires_at < ?"
	)
	late := now.Add(-OverdueAfter)
	var oldest sql.NullTime
	if err := tx.NewRaw(work, late).Scan(ctx, &h.Overdue, &oldest); err != nil {
		return err
	}
	h.OldestDue = utc(oldest.Time)
	if err := tx.NewRaw(losing).Scan(ctx, &h.LosingLeases); err != nil {
		return err
	}
	return tx.NewRaw(expired, late).Scan(ctx, &h.Expired)
}

func (h *Health) deliveries(ctx context.Context, tx bun.Tx, _ time.Time) error {
	// It steps from tenant to tenant along the index: what was delivered is not
	// looked at.
	const deliveries = `
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
	return tx.NewRaw(deliveries).Scan(ctx, &h.PendingDeliveries, &h.DeadDeliveries)
}

// clockSkew takes the clock of the database to have been read half way between
// asking and being answered.
func clockSkew(ctx context.Context, tx bun.Tx, now func() time.Time) (time.Duration, error) {
	var theirs time.Time
	asked := now()
	if err := tx.NewRaw("SELECT clock_timestamp()").Scan(ctx, &theirs); err != nil {
		return 0, err
	}
	answered := now()
	return theirs.Sub(asked.Add(answered.Sub(asked) / 2)), nil
}

// CheckCounts counts every run and lists, a line each, where the counts that
// lists show differ; none when all is well. It reads all runs, however long
// that takes.
func (s *Store) CheckCounts(ctx context.Context) ([]string, error) {
	const differences = `
SELECT tenant_id::text, workflow_id::text, status, decision, coalesce(k.runs, 0)::bigint AS kept, coalesce(c.runs, 0)::bigint AS counted
FROM (SELECT tenant_id, workflow_id, status, decision, sum(runs) AS runs FROM verifyd.run_counts GROUP BY 1, 2, 3, 4) AS k
FULL JOIN (SELECT tenant_id, workflow_id, status, decision, count(*) AS runs FROM verifyd.runs GROUP BY 1, 2, 3, 4) AS c
    USING (tenant_id, workflow_id, status, decision)
WHERE coalesce(k.runs, 0) <> coalesce(c.runs, 0)
ORDER BY tenant_id, workflow_id, status, decision`
	var rows []struct {
		TenantID, WorkflowID, Status, Decision string
		Kept, Counted                          int64
	}
	o := &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	err := s.db.RunInTx(ctx, o, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.ExecContext(ctx, "SELECT set_config('verifyd.tenant', ?, true)", everyTenant); err != nil {
			return err
		}
		return tx.NewRaw(differences).Scan(ctx, &rows)
	})
	if err != nil {
		return nil, translate("count runs", err)
	}
	var lines []string
	for _, r := range rows {
		lines = append(lines, fmt.Sprintf("tenant %s, workflow %s, status %q, decision %q: the count is %d, the runs are %d",
			r.TenantID, r.WorkflowID, r.Status, r.Decision, r.Kept, r.Counted))
	}
	return lines, nil
}
