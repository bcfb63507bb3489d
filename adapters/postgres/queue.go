// The work queue: what is due, and who has it.

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/verifyd/verifyd/verification"
)

// Take leases up to most pieces of due work, the earliest due first, and tells
// when the first of all that is in the queue falls due; a leased piece does at
// the end of its lease. What another host is taking now is passed over.
func (s *Store) Take(
	ctx context.Context, now time.Time, lease time.Duration, most int,
) (work []verification.Work, next time.Time, err error) {
	const (
		// Two takings of a piece at one moment are told apart by a microsecond.
		take = `
WITH ready AS (
    SELECT tenant_id, run_id, kind FROM verifyd.work WHERE due <= $1 ORDER BY due LIMIT $3 FOR UPDATE SKIP LOCKED
), leased AS (
    UPDATE verifyd.work w SET taken = true,
        until = CASE WHEN w.until >= $2 AND w.until < $2 + interval '1 second' THEN w.until + interval '1 microsecond' ELSE $2 END,
        due = CASE WHEN w.until >= $2 AND w.until < $2 + interval '1 second' THEN w.until + interval '1 microsecond' ELSE $2 END
    FROM ready r WHERE w.tenant_id = r.tenant_id AND w.run_id = r.run_id AND w.kind = r.kind
    RETURNING w.kind, w.tenant_id, w.run_id, w.attempt, w.until
)
SELECT kind, tenant_id::text, run_id::text, attempt, until FROM leased`
		first = "SELECT min(due) FROM verifyd.work"
	)
	ctx, cancel := s.patience(ctx)
	defer cancel()
	var at pgtype.Timestamptz
	until := now.Add(lease)
	err = s.link().ask(ctx, everyTenant, func(b *pgx.Batch) error {
		b.Queue(take, now, until, most).Query(func(rows pgx.Rows) error {
			var w verification.Work
			_, err := pgx.ForEachRow(rows, []any{&w.Kind, &w.Tenant, &w.Run, &w.Attempt, &w.Until}, func() error {
				w.Until = w.Until.UTC()
				work = append(work, w)
				return nil
			})
			return err
		})
		b.Queue(first).QueryRow(func(row pgx.Row) error { return row.Scan(&at) })
		return nil
	})
	if err != nil {
		return nil, time.Time{}, translate("take work", err)
	}
	if at.Valid {
		next = at.Time.UTC()
	}
	return work, next, nil
}

// Renew moves the lease of runs that are being driven to until. A run that is
// being appended to at this moment is passed over: its append says when it is
// due.
func (s *Store) Renew(ctx context.Context, runs []verification.RunRef, until time.Time) error {
	const renew = `
WITH held AS (
    SELECT w.tenant_id, w.run_id FROM verifyd.work w
    JOIN unnest($1::uuid[], $2::uuid[]) AS r (tenant_id, run_id) USING (tenant_id, run_id)
    WHERE w.kind = 'advance' FOR UPDATE OF w SKIP LOCKED
)
UPDATE verifyd.work w SET due = $3 FROM held h
WHERE w.tenant_id = h.tenant_id AND w.run_id = h.run_id AND w.kind = 'advance'`
	if err := ctx.Err(); err != nil || len(runs) == 0 {
		return err
	}
	tenants, ids := make([]pgtype.UUID, 0, len(runs)), make([]pgtype.UUID, 0, len(runs))
	for _, ref := range runs {
		d, err := newAddition(ref.Tenant, ref.Run, 0, verification.Appendix{})
		if err != nil {
			continue // there is no such run
		}
		tenants, ids = append(tenants, d.tenant), append(ids, d.run)
	}
	return s.settle(ctx, "renew leases", everyTenant, renew, tenants, ids, until)
}

// Finish removes a piece of work, if it is still as it was taken.
func (s *Store) Finish(ctx context.Context, w verification.Work) error {
	const finish = `DELETE FROM verifyd.work
		WHERE tenant_id = $1::uuid AND run_id = $2::uuid AND kind = $3 AND taken AND until = $4`
	return s.settle(ctx, "finish work", string(w.Tenant), finish, w.Tenant, w.Run, w.Kind, w.Until)
}

// Postpone makes a piece of work due at a moment, if it is still as it was
// taken, and tells the other hosts.
func (s *Store) Postpone(ctx context.Context, w verification.Work, at time.Time) error {
	const postpone = `UPDATE verifyd.work SET due = $5, taken = false, attempt = attempt + 1
		WHERE tenant_id = $1::uuid AND run_id = $2::uuid AND kind = $3 AND taken AND until = $4`
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := s.patience(ctx)
	defer cancel()
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		err := link{to: tx}.ask(ctx, string(w.Tenant), func(b *pgx.Batch) error {
			b.Queue(postpone, w.Tenant, w.Run, w.Kind, w.Until, at)
			return nil
		})
		if err != nil {
			return err
		}
		return s.alarms.ring(ctx, tx, s.alarms.at(w, at), map[verification.RunRef]bool{w.RunRef: true})
	})
	return translate("postpone work", err)
}

// settle changes something that may no longer be there.
func (s *Store) settle(ctx context.Context, doing, tenants, statement string, args ...any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := s.patience(ctx)
	defer cancel()
	return translate(doing, s.link().ask(ctx, tenants, func(b *pgx.Batch) error {
		b.Queue(statement, args...)
		return nil
	}))
}
