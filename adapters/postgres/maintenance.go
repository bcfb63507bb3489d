// Maintenance: what one host at a time does for all.

package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

const (
	maxRefresh       = 500             // stale rows refreshed in one transaction
	maxRefreshRounds = 50              // transactions of one refresh
	refreshAfter     = 5 * time.Second // most runs whose status changes by the clock are soon appended to
	maxFoldedCounts  = 2000            // counters of closed connections added up in one transaction
	maxForget        = 1000            // idempotency keys removed in one transaction
)

// Maintain refreshes stale rows, adds up the counters of closed connections, and
// removes old idempotency keys, claims that are over, dead hosts and what is left of deleted runs. It refreshes a bounded number of
// rows of each tenant; the next call continues. Without it lists are slower, not
// wrong. One host at a time is enough.
func (s *Store) Maintain(ctx context.Context, now time.Time) error {
	var errs []error
	tenants, err := s.tenantsWith(ctx, "SELECT 1 FROM verifyd.runs r WHERE r.tenant_id = t.tenant_id AND r.status_until < ?", now.Add(-refreshAfter))
	errs = append(errs, pgerror.Translate("find tenants with stale rows", err))
	for _, t := range tenants {
		_, err := s.refresh(ctx, t, now.Add(-refreshAfter))
		errs = append(errs, err)
	}
	errs = append(errs, s.foldCounts(ctx), s.forgetClaims(ctx, now.Add(-day)),
		s.foldMeasures(ctx, everyTenant), s.removeDeadHosts(ctx), s.removeDeleted(ctx))
	_, err = s.forgetKeys(ctx, now.Add(-store.IdempotencyKeyTTL), maxForget)
	return errors.Join(append(errs, err)...)
}

// refresh updates the status intervals of the rows of a tenant that are stale at
// now, which may be earlier than that of the last call. It returns how many it
// updated (the limit is maxRefresh times maxRefreshRounds of each kind), and skips runs
// that are being appended to.
func (s *Store) refresh(ctx context.Context, t verification.TenantID, now time.Time) (n int, err error) {
	for _, stale := range []string{"status_until < ?", "status_from >= ?"} {
		for range maxRefreshRounds {
			var rows []runRow
			err := s.write(ctx, t, func(ctx context.Context, tx bun.Tx) error {
				rows = nil
				err := tx.NewSelect().Model(&rows).Where("tenant_id = ?", t).Where(stale, now).
					Limit(maxRefresh).For("UPDATE SKIP LOCKED").Scan(ctx)
				if err != nil || len(rows) == 0 {
					return err
				}
				return updateIntervals(ctx, tx, t, rows, now)
			})
			n += len(rows)
			if err != nil {
				return n, pgerror.Translate("refresh stale rows", err)
			}
			if len(rows) < maxRefresh {
				break
			}
		}
	}
	return n, nil
}

// intervalRow is a row of the update of updateIntervals.
type intervalRow struct {
	ID          verification.RunID `bun:"id,type:uuid"`
	Status      rules.Status       `bun:"status,type:text"`
	Decision    rules.Decision     `bun:"decision,type:text"`
	StatusFrom  pgtype.Timestamptz `bun:"status_from,type:timestamptz"`
	StatusUntil pgtype.Timestamptz `bun:"status_until,type:timestamptz"`
}

func updateIntervals(ctx context.Context, tx bun.Tx, t verification.TenantID, rows []runRow, now time.Time) error {
	intervals := make([]intervalRow, len(rows))
	for i, r := range rows {
		s, err := r.summary()
		if err != nil {
			return err
		}
		in := s.IntervalAt(now)
		intervals[i] = intervalRow{r.ID, in.Status, in.Decision, orNull(in.From), orNull(in.Until)}
	}
	_, err := tx.NewUpdate().With("i", tx.NewValues(&intervals)).Model((*runRow)(nil)).TableExpr("i").
		Set("status = i.status").Set("decision = i.decision").
		Set("status_from = i.status_from").Set("status_until = i.status_until").
		Where("r.tenant_id = ?", t).Where("r.id = i.id").Exec(ctx)
	return err
}

// foldRunCounts moves the counters of closed connections to slot 0 and to months.
const foldRunCounts = `
WITH closed AS (
    SELECT ctid FROM verifyd.run_counts
    WHERE slot <> 0 AND slot NOT IN (SELECT pid FROM pg_stat_activity WHERE pid IS NOT NULL)
    LIMIT ? FOR UPDATE SKIP LOCKED
), folded AS (
    DELETE FROM verifyd.run_counts c USING closed g WHERE c.ctid = g.ctid
    RETURNING c.*
), by_day AS (
    SELECT tenant_id, workflow_id, status, decision, date_trunc('month', day)::date AS month, upto,
        coalesce(sum(runs) FILTER (WHERE extract(day FROM day) <= upto), 0)::bigint AS runs
    FROM folded CROSS JOIN generate_series(1, 31) AS upto GROUP BY 1, 2, 3, 4, 5, 6
), by_month AS (
    INSERT INTO verifyd.run_months AS m
    SELECT tenant_id, workflow_id, status, decision, month, array_agg(runs ORDER BY upto) FROM by_day GROUP BY 1, 2, 3, 4, 5
    ON CONFLICT (tenant_id, workflow_id, status, decision, month) DO UPDATE
    SET runs = ARRAY(SELECT a + b FROM unnest(m.runs, excluded.runs) WITH ORDINALITY AS u (a, b, n) ORDER BY n)
), in_total AS (
    INSERT INTO verifyd.run_counts AS c
    SELECT tenant_id, workflow_id, status, decision, '-infinity', 0, sum(runs) FROM folded GROUP BY 1, 2, 3, 4
    ON CONFLICT (tenant_id, workflow_id, status, decision, day, slot) DO UPDATE SET runs = c.runs + excluded.runs
)
SELECT count(*) FROM folded`

// foldCounts adds up the counters of closed connections, in several transactions. It
// neither blocks writers nor waits for them.
func (s *Store) foldCounts(ctx context.Context) error {
	const lock = "SELECT pg_try_advisory_xact_lock(hashtext('verifyd.run_counts'))"
	for range maxFolds {
		folded := 0
		err := s.transact(ctx, everyTenant, nil, func(ctx context.Context, tx bun.Tx) error {
			var locked bool
			if err := tx.NewRaw(lock).Scan(ctx, &locked); err != nil || !locked {
				return err
			}
			return tx.NewRaw(foldRunCounts, maxFoldedCounts).Scan(ctx, &folded)
		})
		if err != nil || folded < maxFoldedCounts {
			return pgerror.Translate("add up the counters of runs", err)
		}
	}
	return nil
}

// forgetClaims removes claims that ended before a time.
func (s *Store) forgetClaims(ctx context.Context, ended time.Time) error {
	err := s.querier().exec(ctx, everyTenant, "DELETE FROM verifyd.claims WHERE until < $1", ended)
	return pgerror.Translate("remove claims that are over", err)
}
