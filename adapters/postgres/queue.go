// The work queue: due work, and its leases.

package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// maxTake bounds the pieces of one Take, whatever the request says: a limit that
// the planner knows keeps the plan the same however large the backlog is.
const maxTake = 256

// takeWork leases due work. When no more is due than the limits allow, it takes all
// of it in the order of due times. Otherwise it takes work of the tenants round
// robin, and finds the first pieces of each tenant by steps along an index, so the
// cost grows with the number of tenants that have work, not with the backlog.
const takeWork = `
WITH RECURSIVE head AS MATERIALIZED (
    SELECT ctid AS id, tenant_id FROM verifyd.work
    WHERE kind = $1 AND due_at <= $2 AND (run_id <> ALL ($9::uuid[]) OR tenant_id <> ALL ($10::uuid[])) ORDER BY due_at LIMIT 257
), few AS MATERIALIZED (
    SELECT count(*) <= least($4::int, $5::int) AS yes FROM head
), tenants AS (
    (SELECT w.tenant_id FROM verifyd.work w WHERE w.kind = $1 AND NOT (SELECT yes FROM few) ORDER BY w.tenant_id LIMIT 1)
    UNION ALL
    SELECT (SELECT w.tenant_id FROM verifyd.work w WHERE w.kind = $1 AND w.tenant_id > t.tenant_id ORDER BY w.tenant_id LIMIT 1)
    FROM tenants t WHERE t.tenant_id IS NOT NULL
), first AS MATERIALIZED (
    SELECT w.id, w.tenant_id, w.round FROM tenants t CROSS JOIN LATERAL (
        SELECT d.id, d.tenant_id, row_number() OVER (ORDER BY d.due_at) AS round FROM (
            SELECT ctid AS id, tenant_id, due_at FROM verifyd.work
            WHERE kind = $1 AND tenant_id = t.tenant_id AND due_at <= $2
                AND (run_id <> ALL ($9::uuid[]) OR tenant_id <> ALL ($10::uuid[])) ORDER BY due_at LIMIT 257) AS d
    ) AS w
    WHERE t.tenant_id <> ALL ($6::uuid[]) AND w.round <= $5::int + 1
), ordered AS (
    SELECT id, round, row_number() OVER (ORDER BY round, tenant_id <= $7::uuid, tenant_id) AS ord
    FROM first WHERE round <= $5::int ORDER BY ord LIMIT 256
), picked AS MATERIALIZED (
    SELECT id, 1 AS round FROM head WHERE (SELECT yes FROM few) AND tenant_id <> ALL ($6::uuid[])
    UNION ALL
    SELECT id, round FROM ordered WHERE ord <= $4::int
), unlocked AS (
    SELECT w.id, c.round FROM picked c CROSS JOIN LATERAL (
        SELECT ctid AS id FROM verifyd.work WHERE ctid = c.id AND kind = $1 AND due_at <= $2 FOR UPDATE SKIP LOCKED) AS w
), leased AS (
    UPDATE verifyd.work w SET lease_id = $8, leased = true, lost_leases = w.lost_leases + w.leased::int, due_at = $3
    FROM unlocked r WHERE w.ctid = r.id
    RETURNING w.kind, w.tenant_id, w.run_id, w.seq, w.workflow_id, w.attempt, w.lost_leases, w.alone, w.left_at, r.round
)
SELECT l.kind, l.tenant_id::text, l.run_id::text, l.seq, l.workflow_id::text, l.attempt, l.lost_leases, l.alone, l.left_at,
    (SELECT count(*) FROM picked) > (SELECT count(*) FROM leased)
        OR (SELECT count(*) FROM first) > (SELECT count(*) FROM leased) AS more
FROM (SELECT 1) AS one LEFT JOIN leased l ON true
ORDER BY l.round, l.tenant_id <= $7::uuid, l.tenant_id`

// dueAfter selects the earliest due time of a kind after a time.
const dueAfter = "SELECT min(due_at) FROM verifyd.work WHERE kind = $1 AND due_at > $2"

// The statements that change known pieces of work find them by the primary key.
// The concatenation of kind with an empty string keeps the planner from the indexes that begin with
// kind: it would choose one while the queue is small, and the statement would then
// read the whole backlog of a tenant.
const (
	renewWork = `
WITH held AS (
    SELECT w.id FROM unnest($1::uuid[], $2::uuid[]) AS r (tenant_id, run_id) CROSS JOIN LATERAL (
        SELECT ctid AS id FROM verifyd.work
        WHERE tenant_id = r.tenant_id AND run_id = r.run_id AND (kind || '') = 'advance' FOR UPDATE SKIP LOCKED) AS w
)
UPDATE verifyd.work w SET due_at = $3, alone = CASE WHEN $4::bool THEN w.alone + 1 ELSE 0 END FROM held h WHERE w.ctid = h.id`

	// releaseWork returns the numbers of the pieces that another transaction locks.
	releaseWork = `
WITH leased AS MATERIALIZED (
    SELECT r.n, r.lease_id, r.left_at, w.id
    FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $6::timestamptz[], $7::int[]) WITH ORDINALITY AS r (tenant_id, run_id, kind, lease_id, left_at, seq, n)
    CROSS JOIN LATERAL (
        SELECT ctid AS id FROM verifyd.work
        WHERE tenant_id = r.tenant_id AND run_id = r.run_id AND (kind || '') = r.kind AND seq = r.seq
            AND (r.lease_id IS NULL OR lease_id = r.lease_id)) AS w
), unlocked AS MATERIALIZED (
    SELECT l.n, l.left_at, w.id FROM leased l CROSS JOIN LATERAL (
        SELECT ctid AS id FROM verifyd.work
        WHERE ctid = l.id AND (l.lease_id IS NULL OR lease_id = l.lease_id) FOR UPDATE SKIP LOCKED) AS w
), released AS (
    UPDATE verifyd.work w SET due_at = $5, lease_id = NULL, leased = false, left_at = u.left_at FROM unlocked u WHERE w.ctid = u.id
)
SELECT n FROM leased EXCEPT SELECT n FROM unlocked`

	releaseOne = `UPDATE verifyd.work SET due_at = $5, lease_id = NULL, leased = false, left_at = $6
WHERE tenant_id = $1 AND run_id = $2 AND (kind || '') = $3 AND seq = $7 AND ($4::uuid IS NULL OR lease_id = $4)`

	finishWork = `DELETE FROM verifyd.work
WHERE tenant_id = $1::uuid AND run_id = $2::uuid AND (kind || '') = $3 AND lease_id = $4 AND seq = $5`

	postponeWork = `UPDATE verifyd.work SET due_at = $5, lease_id = NULL, leased = false, lost_leases = 0, attempt = attempt + 1
WHERE tenant_id = $1::uuid AND run_id = $2::uuid AND (kind || '') = $3 AND lease_id = $4 AND seq = $6`
)

// Take leases due work of one kind. Tenants take turns if more is due than the limits
// allow. It skips work that another host is taking at the same time.
func (s *Store) Take(ctx context.Context, r store.TakeRequest) (work []store.Work, next time.Time, err error) {
	except := make([]pgtype.UUID, 0, len(r.Except))
	for _, t := range r.Except {
		id, err := uuidOf(string(t))
		if err != nil {
			return nil, time.Time{}, err
		}
		except = append(except, id)
	}
	after := pgtype.UUID{Valid: true} // below every other
	if r.After != "" {
		if after, err = uuidOf(string(r.After)); err != nil {
			return nil, time.Time{}, err
		}
	}
	tenants, runs := uuidsOf(r.ExceptRuns)
	lease, kind := uuid.New(), store.WorkKey{Kind: r.Kind, List: r.List}.KindText()
	var more bool
	var at pgtype.Timestamptz
	err = s.querier().hotBatch(ctx, everyTenant, func(b *pgx.Batch) error {
		b.Queue(stmtTake, kind, r.Now, r.Now.Add(r.Lease), min(r.Max, maxTake), min(r.MaxPerTenant, maxTake),
			except, after, pgtype.UUID{Bytes: lease, Valid: true}, runs, tenants).Query(func(rows pgx.Rows) error {
			work, more, err = readWork(rows, store.LeaseID(lease.String()))
			return err
		})
		b.Queue(stmtDueAfter, kind, r.Now).QueryRow(func(row pgx.Row) error { return row.Scan(&at) })
		return nil
	})
	switch {
	case err != nil:
		return nil, time.Time{}, pgerror.Translate("take work", err)
	case more:
		return work, r.Now, nil
	case at.Valid:
		next = at.Time.UTC()
	}
	return work, next, nil
}

// readWork reads the leased pieces. The row of an empty result has only nulls and
// more.
func readWork(rows pgx.Rows, lease store.LeaseID) (work []store.Work, more bool, err error) {
	var kind, tenant, run, workflow pgtype.Text
	var seq, attempt, lost, alone pgtype.Int4
	var left pgtype.Timestamptz
	_, err = pgx.ForEachRow(rows, []any{&kind, &tenant, &run, &seq, &workflow, &attempt, &lost, &alone, &left, &more}, func() error {
		if kind.Valid {
			work = append(work, store.Work{
				WorkKey:  store.ParseWorkKey(kind.String, int(seq.Int32)),
				RunRef:   verification.RunRef{Tenant: verification.TenantID(tenant.String), Run: verification.RunID(run.String)},
				Workflow: verification.WorkflowID(workflow.String),
				Attempt:  int(attempt.Int32), Lost: int(lost.Int32), Alone: int(alone.Int32), Lease: lease,
			})
			if left.Valid {
				work[len(work)-1].LeftAt = left.Time.UTC()
			}
		}
		return nil
	})
	return work, more, err
}

// Renew makes the leases of runs end at the time until, and counts a trial of each if alone is
// true. It skips runs that are being appended to: their append sets the due time.
func (s *Store) Renew(ctx context.Context, runs []verification.RunRef, until time.Time, alone bool) error {
	if len(runs) == 0 {
		return ctx.Err()
	}
	tenants, ids := uuidsOf(runs)
	return s.changeWork(ctx, "renew leases", everyTenant, renewWork, tenants, ids, until, alone)
}

// uuidsOf returns the ids of runs, without those that are not UUIDs: no run has another id.
func uuidsOf(runs []verification.RunRef) (tenants, ids []pgtype.UUID) {
	tenants, ids = make([]pgtype.UUID, 0, len(runs)), make([]pgtype.UUID, 0, len(runs))
	for _, ref := range runs {
		if tenant, run, err := keyOf(ref); err == nil {
			tenants, ids = append(tenants, tenant), append(ids, run)
		}
	}
	return tenants, ids
}

// Finish removes a piece of work, unless w.Lease is no longer its lease.
func (s *Store) Finish(ctx context.Context, w store.Work) error {
	lease, err := uuidOf(string(w.Lease))
	if err != nil {
		return nil //nolint:nilerr // no piece has such a lease
	}
	return s.changeWork(ctx, "finish work", string(w.Tenant), finishWork, w.Tenant, w.Run, w.KindText(), lease, w.Seq)
}

// Postpone makes a piece of work due at a time, unless w.Lease is no longer its lease,
// and wakes the other hosts then.
func (s *Store) Postpone(ctx context.Context, w store.Work, at time.Time) error {
	lease, err := uuidOf(string(w.Lease))
	if err != nil {
		return nil // no piece has such a lease
	}
	args := []any{w.Tenant, w.Run, w.KindText(), lease, at, w.Seq}
	if s.wakeups.client == nil || !wakes(w.Kind) {
		return s.changeWork(ctx, "postpone work", string(w.Tenant), postponeWork, args...)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := (querier{to: tx}).execHot(ctx, string(w.Tenant), postponeWork, args...); err != nil {
			return err
		}
		all := []wakeup{newWakeup(w.Kind, w.RunRef, at)}
		return s.wakeups.enqueue(ctx, tx, all, map[verification.RunRef]bool{w.RunRef: true})
	})
	return pgerror.Translate("postpone work", err)
}

// Release ends leases: the pieces that still have their lease are due again at the given
// time. It wakes no host; hosts that query the queue at an interval find the work.
//
// Pieces that another transaction has locked are released one by one, each in its own
// transaction, because a transaction that waits for several locks can deadlock.
func (s *Store) Release(ctx context.Context, work []store.Work, at time.Time) error {
	if len(work) == 0 {
		return ctx.Err()
	}
	var tenants, runs, leases []pgtype.UUID
	var kinds []string
	var left []pgtype.Timestamptz
	var seqs []int32
	for _, w := range work {
		tenant, run, err := keyOf(w.RunRef)
		var lease pgtype.UUID
		if w.Lease != "" && err == nil {
			lease, err = uuidOf(string(w.Lease))
		}
		if err != nil {
			continue // there is no such run or lease
		}
		tenants, runs, leases = append(tenants, tenant), append(runs, run), append(leases, lease)
		kinds, seqs = append(kinds, w.KindText()), append(seqs, int32(w.Seq))
		left = append(left, pgtype.Timestamptz{Time: w.LeftAt, Valid: !w.LeftAt.IsZero()})
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	var locked []int
	err := s.querier().hotBatch(ctx, everyTenant, func(b *pgx.Batch) error {
		b.Queue(releaseWork, tenants, runs, kinds, leases, at, left, seqs).Query(func(rows pgx.Rows) (err error) {
			locked, err = pgx.CollectRows(rows, pgx.RowTo[int])
			return err
		})
		return nil
	})
	for _, n := range locked {
		err = errors.Join(err, s.querier().execHot(ctx, everyTenant, releaseOne, tenants[n-1], runs[n-1], kinds[n-1], leases[n-1], at, left[n-1], seqs[n-1]))
	}
	return pgerror.Translate("release work", err)
}

// changeWork sends a statement about pieces of work that may be gone.
func (s *Store) changeWork(ctx context.Context, doing, tenants, statement string, args ...any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return pgerror.Translate(doing, s.querier().execHot(ctx, tenants, statement, args...))
}
