// Retention: runs by their start, marks, and the removal of old records.

package postgres

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// startedRuns selects $6 runs of the workflow $2 that started before $5, after the position $3, $4. The index has the
// runs of each status in order, so the statement merges one query for each.
func startedRuns() string {
	const order = " ORDER BY started_at, id LIMIT $6"
	var all []string
	for _, status := range rules.Statuses() {
		all = append(all, "(SELECT "+runColumns+" FROM verifyd.runs AS r"+
			" WHERE tenant_id = $1::uuid AND workflow_id = $2::uuid AND status = '"+string(status)+"'"+
			" AND (started_at, id) > ($3::timestamptz, $4::uuid) AND started_at < $5::timestamptz"+order+")")
	}
	return "SELECT * FROM (" + strings.Join(all, " UNION ALL ") + ") AS r" + order
}

// startedArgs returns the arguments of startedRuns, or an error if an id is not a UUID.
func startedArgs(
	t verification.TenantID, w verification.WorkflowID, after store.StartedPosition, before time.Time, limit int,
) ([]any, error) {
	tenant, of, err := keyOf(verification.RunRef{Tenant: t, Run: verification.RunID(w)})
	from := pgtype.UUID{Valid: true} // before every other
	if err == nil && after.Run != "" {
		from, err = uuidOf(string(after.Run))
	}
	at := pgtype.Timestamptz{Time: after.StartedAt, Valid: true}
	if after.StartedAt.IsZero() {
		at.InfinityModifier = pgtype.NegativeInfinity
	}
	return []any{tenant, of, at, from, before, limit}, err
}

// StartedRuns returns runs of a workflow that started before a time, the earliest first.
func (s *Store) StartedRuns(
	ctx context.Context, t verification.TenantID, w verification.WorkflowID, after store.StartedPosition, before time.Time, limit int,
) ([]rules.Summary, error) {
	args, err := startedArgs(t, w, after, before, limit)
	if err != nil {
		return nil, nil //nolint:nilerr // no run has such ids
	}
	var found []rules.Summary
	err = s.querier().hotBatch(ctx, string(t), func(b *pgx.Batch) error {
		b.Queue(startedRuns(), args...).Query(func(rows pgx.Rows) error {
			all, err := scanRuns(rows)
			for _, r := range all {
				run, bad := r.summary()
				if bad != nil {
					return bad
				}
				found = append(found, run)
			}
			return err
		})
		return nil
	})
	return found, pgerror.Translate("list the runs of workflow "+string(w)+" by their start", err)
}

// markRow is a row of verifyd.retention_marks.
type markRow struct {
	bun.BaseModel `bun:"table:verifyd.retention_marks,alias:m"`

	TenantID   verification.TenantID   `bun:",pk"`
	WorkflowID verification.WorkflowID `bun:",pk"`
	Mark       string
}

// markRecords yields marks. The ids in their columns count.
func markRecords(_ context.Context, _ querier, rows []markRow) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for _, r := range rows {
			var m store.RetentionMark
			err := json.Unmarshal([]byte(r.Mark), &m)
			m.Tenant, m.Workflow = r.TenantID, r.WorkflowID
			if !yield(store.RetentionMarkRecord{Mark: m}, err) || err != nil {
				return
			}
		}
	}
}

// markSave returns the statement that saves the mark of a workflow.
func (s *Store) markSave(m store.RetentionMark) (string, error) {
	if _, _, err := keyOf(verification.RunRef{Tenant: m.Tenant, Run: verification.RunID(m.Workflow)}); err != nil {
		return "", err
	}
	raw, err := json.Marshal(m)
	return s.db.NewInsert().Model(&markRow{TenantID: m.Tenant, WorkflowID: m.Workflow, Mark: string(raw)}).
		On("CONFLICT (tenant_id, workflow_id) DO UPDATE").String(), err
}

// The statements of Forget remove $2 records at most. They are hot, so that they use indexes whatever the statistics are.
const (
	forgetDeliveries = `
DELETE FROM verifyd.deliveries WHERE ctid = ANY (ARRAY(
    SELECT d.ctid FROM verifyd.tenants t
    CROSS JOIN (VALUES ('` + string(rules.DeliveryDelivered) + `'), ('` + string(rules.DeliveryFailed) + `')) AS ended (state)
    CROSS JOIN LATERAL (
        SELECT d.ctid FROM verifyd.deliveries d WHERE d.tenant_id = t.tenant_id AND d.state = ended.state AND d.last_at < $1
        ORDER BY d.last_at LIMIT $2) AS d
    LIMIT $2))`

	forgetKeys = `
DELETE FROM verifyd.idempotency_keys WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM verifyd.idempotency_keys WHERE claimed_at < $1 ORDER BY claimed_at LIMIT $2 FOR UPDATE SKIP LOCKED))`

	forgetAudit = `
DELETE FROM verifyd.audit_entries WHERE ctid = ANY (ARRAY(
    SELECT a.ctid FROM verifyd.tenants t
    CROSS JOIN LATERAL (
        SELECT a.ctid FROM verifyd.audit_entries a WHERE a.tenant_id = t.tenant_id AND a.id < $1 AND a.action <> ALL ($3) ORDER BY a.id LIMIT $2) AS a
    LIMIT $2))`

	forgetReads = `
DELETE FROM verifyd.audit_entries WHERE ctid = ANY (ARRAY(
    SELECT a.ctid FROM verifyd.tenants t
    CROSS JOIN unnest($3::text[]) AS reads (action)
    CROSS JOIN LATERAL (
        SELECT a.ctid FROM verifyd.audit_entries a WHERE a.tenant_id = t.tenant_id AND a.action = reads.action AND a.id < $1
            AND coalesce(a.last_at, a.at) < $4
        ORDER BY a.id LIMIT $2) AS a
    LIMIT $2))`

	// forgetMeasures takes what it removes from the sums of all workflows; forgetSums then removes those sums
	// of which nothing is left.
	forgetMeasures = `
WITH removed AS (
    DELETE FROM verifyd.measures WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM verifyd.measures WHERE day + 0 < $1::int AND workflow_id <> '` + everyWorkflow + `' ORDER BY day + 0 LIMIT $2))
    RETURNING tenant_id, name, day, key, version, count
), less AS (
    UPDATE verifyd.measures m SET count = m.count - r.count
    FROM (SELECT tenant_id, name, day, key, sum(count)::bigint AS count FROM removed WHERE version = 0 GROUP BY 1, 2, 3, 4) AS r
    WHERE m.tenant_id = r.tenant_id AND m.workflow_id = '` + everyWorkflow + `' AND m.name = r.name AND m.day = r.day
        AND md5(m.key) = md5(r.key) AND m.version = 0
)
SELECT count(*) FROM removed`
	forgetSums = "DELETE FROM verifyd.measures WHERE day + 0 < $1::int AND workflow_id = '" + everyWorkflow + "' AND count = 0"
)

// Forget removes old records of all tenants, at most limit.
func (s *Store) Forget(ctx context.Context, before store.Ages, limit int) (n int, err error) {
	remove := func(at time.Time, statement string, bound any, more ...any) {
		if err != nil || at.IsZero() || n >= limit {
			return
		}
		err = s.querier().hotBatch(ctx, everyTenant, func(b *pgx.Batch) error {
			b.Queue(statement, append([]any{bound, limit - n}, more...)...).Exec(func(removed pgconn.CommandTag) error {
				n += int(removed.RowsAffected())
				return nil
			})
			return nil
		})
	}
	remove(before.Deliveries, forgetDeliveries, before.Deliveries)
	remove(before.Keys, forgetKeys, before.Keys)
	var reads []string
	for _, a := range store.AuditReads() {
		reads = append(reads, string(a))
	}
	remove(before.Audit, forgetAudit, store.AuditID(before.Audit, ""), reads)
	remove(before.Reads, forgetReads, store.AuditID(before.Reads, ""), reads, before.Reads)
	if err == nil && !before.Measures.IsZero() && n < limit {
		err = s.foldMeasures(ctx, everyTenant)
		day, removed := int32(store.DayOf(before.Measures, time.UTC)), 0
		if err == nil {
			err = s.querier().hotBatch(ctx, everyTenant, func(b *pgx.Batch) error {
				b.Queue(forgetMeasures, day, limit-n).QueryRow(func(row pgx.Row) error { return row.Scan(&removed) })
				b.Queue(forgetSums, day)
				return nil
			})
		}
		n += removed
	}
	return n, pgerror.Translate("remove old records", err)
}
