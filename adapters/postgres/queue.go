// The work queue: what is due, and who has it.

package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/verifyd/verifyd/verification"
)

// maxTake bounds what one statement takes, whatever is asked for: a limit that
// the planner knows keeps the plan the same however much waits.
const maxTake = 256

// takeWork leases due work. Where no more is due than may be taken, all of it is
// taken in the order in which it falls due; otherwise tenants take turns, and
// the first pieces of each are found by steps along an index, so that the cost
// grows with the tenants that have work and not with the work that waits.
const takeWork = `
WITH RECURSIVE head AS MATERIALIZED (
    SELECT ctid AS id, tenant_id FROM verifyd.work WHERE kind = $1 AND due <= $2 ORDER BY due LIMIT 257
), few AS MATERIALIZED (
    SELECT count(*) <= least($4::int, $5::int) AS yes FROM head
), tenants AS (
    (SELECT w.tenant_id FROM verifyd.work w WHERE w.kind = $1 AND NOT (SELECT yes FROM few) ORDER BY w.tenant_id LIMIT 1)
    UNION ALL
    SELECT (SELECT w.tenant_id FROM verifyd.work w WHERE w.kind = $1 AND w.tenant_id > t.tenant_id ORDER BY w.tenant_id LIMIT 1)
    FROM tenants t WHERE t.tenant_id IS NOT NULL
), first AS MATERIALIZED (
    SELECT w.id, w.tenant_id, w.turn FROM tenants t CROSS JOIN LATERAL (
        SELECT d.id, d.tenant_id, row_number() OVER (ORDER BY d.due) AS turn FROM (
            SELECT ctid AS id, tenant_id, due FROM verifyd.work
            WHERE kind = $1 AND tenant_id = t.tenant_id AND due <= $2 ORDER BY due LIMIT 257) AS d
    ) AS w
    WHERE t.tenant_id <> ALL ($6::uuid[]) AND w.turn <= $5::int + 1
), ordered AS (
    SELECT id, turn, row_number() OVER (ORDER BY turn, tenant_id <= $7::uuid, tenant_id) AS place
    FROM first WHERE turn <= $5::int ORDER BY place LIMIT 256
), chosen AS MATERIALIZED (
    SELECT id, 1 AS turn FROM head WHERE (SELECT yes FROM few) AND tenant_id <> ALL ($6::uuid[])
    UNION ALL
    SELECT id, turn FROM ordered WHERE place <= $4::int
), ready AS (
    SELECT w.id, c.turn FROM chosen c CROSS JOIN LATERAL (
        SELECT ctid AS id FROM verifyd.work WHERE ctid = c.id AND kind = $1 AND due <= $2 FOR UPDATE SKIP LOCKED) AS w
), leased AS (
    UPDATE verifyd.work w SET lease_id = $8, leased = true, lost_leases = w.lost_leases + w.leased::int, due = $3
    FROM ready r WHERE w.ctid = r.id
    RETURNING w.kind, w.tenant_id, w.run_id, w.workflow_id, w.attempt, w.lost_leases, r.turn
)
SELECT l.kind, l.tenant_id::text, l.run_id::text, l.workflow_id::text, l.attempt, l.lost_leases,
    (SELECT count(*) FROM chosen) > (SELECT count(*) FROM leased)
        OR (SELECT count(*) FROM first) > (SELECT count(*) FROM leased) AS more
FROM (SELECT 1) AS one LEFT JOIN leased l ON true
ORDER BY l.turn, l.tenant_id <= $7::uuid, l.tenant_id`

// dueAfter finds when the first piece of a kind falls due that is not due yet.
const dueAfter = "SELECT min(due) FROM verifyd.work WHERE kind = $1 AND due > $2"

// The statements that change pieces of work that are known. Each finds them by
// the primary key: (kind || ”) keeps the planner from the indexes that begin
// with kind, which it would take while it knows a small queue, and along which
// it would read the whole backlog of a tenant.
const (
	renewWork = `
WITH held AS (
    SELECT w.id FROM unnest($1::uuid[], $2::uuid[]) AS r (tenant_id, run_id) CROSS JOIN LATERAL (
        SELECT ctid AS id FROM verifyd.work
        WHERE tenant_id = r.tenant_id AND run_id = r.run_id AND (kind || '') = 'advance' FOR UPDATE SKIP LOCKED) AS w
)
UPDATE verifyd.work w SET due = $3 FROM held h WHERE w.ctid = h.id`

	releaseWork = `
WITH held AS (
    SELECT w.id FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[]) AS r (tenant_id, run_id, kind, lease_id)
    CROSS JOIN LATERAL (
        SELECT ctid AS id FROM verifyd.work
        WHERE tenant_id = r.tenant_id AND run_id = r.run_id AND (kind || '') = r.kind
            AND (r.lease_id IS NULL OR lease_id = r.lease_id)
        FOR UPDATE SKIP LOCKED) AS w
)
UPDATE verifyd.work w SET due = $5, lease_id = NULL, leased = false FROM held h WHERE w.ctid = h.id`

	finishWork = `DELETE FROM verifyd.work
WHERE tenant_id = $1::uuid AND run_id = $2::uuid AND (kind || '') = $3 AND lease_id = $4`

	postponeWork = `UPDATE verifyd.work SET due = $5, lease_id = NULL, leased = false, lost_leases = 0, attempt = attempt + 1
WHERE tenant_id = $1::uuid AND run_id = $2::uuid AND (kind || '') = $3 AND lease_id = $4`
)

// Take leases due work of one kind, see takeWork. What another host is taking at
// this moment is left to it.
func (s *Store) Take(ctx context.Context, r verification.TakeRequest) (work []verification.Work, next time.Time, err error) {
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
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	lease := uuid.New()
	var more bool
	var at pgtype.Timestamptz
	err = s.link().askHot(ctx, everyTenant, func(b *pgx.Batch) error {
		b.Queue(stmtTake, r.Kind, r.Now, r.Now.Add(r.Lease), min(r.Max, maxTake), min(r.MaxPerTenant, maxTake), except, after, pgtype.UUID{Bytes: lease, Valid: true}).Query(func(rows pgx.Rows) error {
			work, more, err = readWork(rows, verification.LeaseID(lease.String()))
			return err
		})
		b.Queue(stmtDueAfter, r.Kind, r.Now).QueryRow(func(row pgx.Row) error { return row.Scan(&at) })
		return nil
	})
	switch {
	case err != nil:
		return nil, time.Time{}, translate("take work", err)
	case more:
		return work, r.Now, nil
	case at.Valid:
		next = at.Time.UTC()
	}
	return work, next, nil
}

// readWork reads the leased pieces; one row without a piece says that there are
// none.
func readWork(rows pgx.Rows, lease verification.LeaseID) (work []verification.Work, more bool, err error) {
	var kind, tenant, run, workflow pgtype.Text
	var attempt, lost pgtype.Int4
	_, err = pgx.ForEachRow(rows, []any{&kind, &tenant, &run, &workflow, &attempt, &lost, &more}, func() error {
		if kind.Valid {
			work = append(work, verification.Work{
				Kind:     verification.WorkKind(kind.String),
				RunRef:   verification.RunRef{Tenant: verification.TenantID(tenant.String), Run: verification.RunID(run.String)},
				Workflow: verification.WorkflowID(workflow.String),
				Attempt:  int(attempt.Int32), Lost: int(lost.Int32), Lease: lease,
			})
		}
		return nil
	})
	return work, more, err
}

// Renew moves the lease of runs that are being driven to until. A run that is
// being appended to at this moment is passed over: its append says when it is
// due.
func (s *Store) Renew(ctx context.Context, runs []verification.RunRef, until time.Time) error {
	if err := ctx.Err(); err != nil || len(runs) == 0 {
		return err
	}
	tenants, ids := make([]pgtype.UUID, 0, len(runs)), make([]pgtype.UUID, 0, len(runs))
	for _, ref := range runs {
		d, err := newAddition(ref.Tenant, ref.Run, 0, verification.Commit{})
		if err != nil {
			continue // there is no such run
		}
		tenants, ids = append(tenants, d.tenant), append(ids, d.run)
	}
	return s.settle(ctx, "renew leases", everyTenant, renewWork, tenants, ids, until)
}

// Finish removes a piece of work, if it is still as it was taken.
func (s *Store) Finish(ctx context.Context, w verification.Work) error {
	lease, err := uuidOf(string(w.Lease))
	if err != nil {
		return nil //nolint:nilerr // no piece has such a lease
	}
	return s.settle(ctx, "finish work", string(w.Tenant), finishWork, w.Tenant, w.Run, w.Kind, lease)
}

// Postpone makes a piece of work due at a moment, if it is still as it was
// taken, and tells the other hosts.
func (s *Store) Postpone(ctx context.Context, w verification.Work, at time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	lease, err := uuidOf(string(w.Lease))
	if err != nil {
		return nil //nolint:nilerr // no piece has such a lease
	}
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		err := link{to: tx}.askHot(ctx, string(w.Tenant), func(b *pgx.Batch) error {
			b.Queue(postponeWork, w.Tenant, w.Run, w.Kind, lease, at)
			return nil
		})
		if err != nil {
			return err
		}
		return s.alarms.ring(ctx, tx, s.alarms.at(w, at), map[verification.RunRef]bool{w.RunRef: true})
	})
	return translate("postpone work", err)
}

// Release gives leases up: the pieces that are still as they were taken are due
// again at a time. Hosts that poll find them; none is woken.
func (s *Store) Release(ctx context.Context, work []verification.Work, at time.Time) error {
	if err := ctx.Err(); err != nil || len(work) == 0 {
		return err
	}
	var tenants, runs []pgtype.UUID
	var kinds []string
	var leases []pgtype.UUID
	for _, w := range work {
		d, err := newAddition(w.Tenant, w.Run, 0, verification.Commit{})
		var lease pgtype.UUID
		if w.Lease != "" && err == nil {
			lease, err = uuidOf(string(w.Lease))
		}
		if err != nil {
			continue // there is no such run or lease
		}
		tenants, runs = append(tenants, d.tenant), append(runs, d.run)
		kinds, leases = append(kinds, string(w.Kind)), append(leases, lease)
	}
	return s.settle(ctx, "release work", everyTenant, releaseWork, tenants, runs, kinds, leases, at)
}

// settle changes pieces of work that may no longer be there. Its statements find
// each by the primary key, however much waits.
func (s *Store) settle(ctx context.Context, doing, tenants, statement string, args ...any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	return translate(doing, s.link().askHot(ctx, tenants, func(b *pgx.Batch) error {
		b.Queue(statement, args...)
		return nil
	}))
}
