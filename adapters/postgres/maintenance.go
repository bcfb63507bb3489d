// Maintenance: what one host of the fleet does from time to time for all.

package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/verification"
)

const (
	refileMax    = 500             // stale rows indexed anew in one transaction
	refileRounds = 50              // transactions of one call of refile
	refileAfter  = 5 * time.Second // most runs whose status changes by the clock are appended to soon
	forgetMax    = 1000            // old claims removed in one transaction
)

// Maintain indexes stale rows anew, folds the counts of connections that are gone,
// and forgets idempotency keys that are old enough and hosts that died long ago.
// Stale rows have a bound for each tenant: the rest is left to the next call.
// Lists are slower without it, and not wrong. One host at a time is enough.
func (s *Store) Maintain(ctx context.Context, now time.Time) error {
	var errs []error
	turned, err := s.tenantsTurned(ctx, now.Add(-refileAfter))
	errs = append(errs, err)
	for _, t := range turned {
		_, err := s.refile(ctx, t, now.Add(-refileAfter))
		errs = append(errs, err)
	}
	errs = append(errs, s.foldCounts(ctx), s.forgetHosts(ctx))
	_, err = s.forgetKeys(ctx, now.Add(-verification.IdempotencyKeyLife), forgetMax)
	return errors.Join(append(errs, err)...)
}

// tenantsTurned returns the tenants that have stale rows.
func (s *Store) tenantsTurned(ctx context.Context, now time.Time) (tenants []verification.TenantID, err error) {
	err = s.transact(ctx, everyTenant, nil, func(ctx context.Context, tx bun.Tx) error {
		return tx.NewSelect().TableExpr("verifyd.tenants AS t").Column("t.tenant_id").
			Where("EXISTS (SELECT 1 FROM verifyd.runs r WHERE r.tenant_id = t.tenant_id AND r.filed_until < ?)", now).
			Scan(ctx, &tenants)
	})
	return tenants, translate("find tenants with stale rows", err)
}

// refile indexes the stale rows of a tenant as they read at now, which may lie
// before the last one, and returns how many there were, at most refileRounds
// times refileMax of each kind. It skips runs that are being appended to.
func (s *Store) refile(ctx context.Context, t verification.TenantID, now time.Time) (n int, err error) {
	for _, stale := range []string{"filed_until < ?", "filed_since >= ?"} {
		for range refileRounds {
			var rows []row
			err := s.write(ctx, t, func(ctx context.Context, tx bun.Tx) error {
				rows = nil
				err := tx.NewSelect().Model(&rows).Where("tenant_id = ?", t).Where(stale, now).
					Limit(refileMax).For("UPDATE SKIP LOCKED").Scan(ctx)
				if err != nil || len(rows) == 0 {
					return err
				}
				return saveFilings(ctx, tx, t, rows, now)
			})
			n += len(rows)
			if err != nil {
				return n, translate("index runs anew", err)
			}
			if len(rows) < refileMax {
				break
			}
		}
	}
	return n, nil
}

// filed is a row of the update that saves filings.
type filed struct {
	ID       verification.RunID    `bun:"id,type:uuid"`
	Status   verification.Status   `bun:"status,type:text"`
	Decision verification.Decision `bun:"decision,type:text"`
	Since    pgtype.Timestamptz    `bun:"since,type:timestamptz"`
	Until    pgtype.Timestamptz    `bun:"until,type:timestamptz"`
}

func saveFilings(ctx context.Context, tx bun.Tx, t verification.TenantID, rows []row, now time.Time) error {
	filings := make([]filed, len(rows))
	for i, r := range rows {
		s, err := r.summary()
		if err != nil {
			return err
		}
		in := s.IntervalAt(now)
		filings[i] = filed{r.ID, in.Status, in.Decision, moment(in.From), moment(in.Until)}
	}
	_, err := tx.NewUpdate().With("f", tx.NewValues(&filings)).Model((*row)(nil)).TableExpr("f").
		Set("status = f.status").Set("decision = f.decision").
		Set("filed_since = f.since").Set("filed_until = f.until").
		Where("r.tenant_id = ?", t).Where("r.id = f.id").Exec(ctx)
	return err
}

// foldCounts adds what connections counted that are gone to slot 0. Writers do
// not wait for it, nor it for them.
func (s *Store) foldCounts(ctx context.Context) error {
	const (
		alone = "SELECT pg_try_advisory_xact_lock(hashtext('verifyd.run_counts'))"
		fold  = `
WITH gone AS (
    SELECT ctid FROM verifyd.run_counts
    WHERE slot <> 0 AND slot NOT IN (SELECT pid FROM pg_stat_activity WHERE pid IS NOT NULL)
    FOR UPDATE SKIP LOCKED
), folded AS (
    DELETE FROM verifyd.run_counts c USING gone g WHERE c.ctid = g.ctid
    RETURNING c.tenant_id, c.workflow_id, c.status, c.decision, c.runs
)
INSERT INTO verifyd.run_counts AS c
SELECT tenant_id, workflow_id, status, decision, 0, sum(runs) FROM folded GROUP BY 1, 2, 3, 4
ON CONFLICT (tenant_id, workflow_id, status, decision, slot) DO UPDATE SET runs = c.runs + excluded.runs`
	)
	err := s.transact(ctx, everyTenant, nil, func(ctx context.Context, tx bun.Tx) error {
		var mine bool
		if err := tx.NewRaw(alone).Scan(ctx, &mine); err != nil || !mine {
			return err
		}
		_, err := tx.NewRaw(fold).Exec(ctx)
		return err
	})
	return translate("fold counts", err)
}
