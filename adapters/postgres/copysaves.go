// Copies: saving records.

package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// SaveRecords saves records, each in place of the one with its kind and key. Runs are saved
// in the groups in which appends are committed.
func (s *Store) SaveRecords(ctx context.Context, records []store.Record) error {
	var runs []store.RunRecord
	var measures []sumRow
	var keys []idempotencyRow
	var deliveries []deliveryRow
	var audit []auditRow
	for _, r := range records {
		var err error
		switch r := r.(type) {
		case store.WorkflowRecord:
			err = s.saveWorkflowRecord(ctx, r)
		case store.RunRecord:
			err = store.Commit{Events: r.Events}.CheckLevel(s.Level())
			runs = append(runs, r)
		case store.MeasureRecord:
			measures = append(measures, sumRow{
				TenantID: string(r.Tenant), WorkflowID: string(r.Workflow), Name: string(r.Name), Day: r.Day,
				Key: r.MeasureKey.Key, Version: r.Version, Count: r.Count,
			})
		case store.IdempotencyKeyRecord:
			var row *idempotencyRow
			if row, err = newIdempotencyRow(r.Tenant, r.Request); err == nil {
				keys = append(keys, *row)
			}
		case store.DeliveryRecord:
			var row deliveryRow
			if row, err = newDeliveryRow(r.Tenant, r.Delivery); err == nil {
				deliveries = append(deliveries, row)
			}
		case store.AuditRecord:
			var row auditRow
			if row, err = newAuditRow(r.Entry); err == nil {
				audit = append(audit, row)
			}
		case store.LedgerRecord:
			err = s.saveLedgerRecord(ctx, r)
		default:
			err = s.Change(ctx, []store.Record{r})
		}
		if err != nil {
			return pgerror.Translate("save a record", err)
		}
	}
	err := s.saveRunRecords(ctx, runs)
	if err == nil {
		err = saveRows(measures, func(rows []sumRow) error { return s.saveMeasureRecords(ctx, rows) })
	}
	if err == nil {
		err = saveRows(keys, func(rows []idempotencyRow) error {
			return s.querier().exec(ctx, everyTenant, s.db.NewInsert().Model(&rows).On("CONFLICT (tenant_id, scope, key) DO UPDATE").String())
		})
	}
	if err == nil {
		err = saveRows(deliveries, func(rows []deliveryRow) error {
			return s.querier().exec(ctx, everyTenant, s.db.NewInsert().Model(&rows).On("CONFLICT (tenant_id, run_id, seq) DO UPDATE").String())
		})
	}
	if err == nil {
		err = saveRows(audit, func(rows []auditRow) error {
			return s.querier().exec(ctx, everyTenant, s.db.NewInsert().Model(&rows).On("CONFLICT (tenant_id, id) DO UPDATE").String())
		})
	}
	return pgerror.Translate("save records", err)
}

// saveRows calls save with parts of the rows.
func saveRows[R any](rows []R, save func([]R) error) error {
	for part := range slices.Chunk(rows, maxSumRows) {
		if err := save(part); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) saveWorkflowRecord(ctx context.Context, r store.WorkflowRecord) error {
	row, err := newWorkflowRow(r.Tenant, r.Workflow)
	if err != nil {
		return err
	}
	versions := make([]*versionRow, len(r.Versions))
	for i, v := range r.Versions {
		if versions[i], err = newVersionRow(r.Tenant, r.Workflow.ID, v); err != nil {
			return err
		}
	}
	return s.write(ctx, r.Tenant, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.NewInsert().Model(&row).On("CONFLICT (tenant_id, id) DO UPDATE").Exec(ctx); err != nil || len(versions) == 0 {
			return err
		}
		_, err := tx.NewInsert().Model(&versions).On("CONFLICT DO NOTHING").Exec(ctx)
		return err
	})
}

// saveSumRows replaces sums of workflows, and changes those of all workflows by as much.
const saveSumRows = `
WITH given AS MATERIALIZED (
    SELECT i.*, i.count - coalesce(m.count, 0) AS more
    FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::int[], $5::text[], $6::int[], $7::bigint[])
        AS i (tenant_id, workflow_id, name, day, key, version, count)
    LEFT JOIN verifyd.measures m ON m.tenant_id = i.tenant_id AND m.workflow_id = i.workflow_id AND m.name = i.name
        AND m.day = i.day AND m.key_hash = md5(i.key)::uuid AND m.version = i.version
), of_workflows AS (
    INSERT INTO verifyd.measures AS m (tenant_id, workflow_id, name, day, key, version, count, key_hash)
    SELECT tenant_id, workflow_id, name, day, key, version, more, md5(key)::uuid FROM given
    ON CONFLICT (tenant_id, workflow_id, name, day, key_hash, version) DO UPDATE SET count = m.count + excluded.count
)
INSERT INTO verifyd.measures AS m (tenant_id, workflow_id, name, day, key, version, count, key_hash)
SELECT tenant_id, '` + everyWorkflow + `', name, day, key, 0, sum(more), md5(key)::uuid FROM given WHERE version = 0
GROUP BY tenant_id, name, day, key ORDER BY tenant_id, name, day, key
ON CONFLICT (tenant_id, workflow_id, name, day, key_hash, version) DO UPDATE SET count = m.count + excluded.count`

func (s *Store) saveMeasureRecords(ctx context.Context, rows []sumRow) error {
	var tenants, workflows, names, keys []string
	var days, versions []int32
	var counts []int64
	for _, r := range rows {
		tenants, workflows, names, keys = append(tenants, r.TenantID), append(workflows, r.WorkflowID), append(names, r.Name), append(keys, r.Key)
		days, versions, counts = append(days, int32(r.Day)), append(versions, int32(r.Version)), append(counts, int64(r.Count))
	}
	if !storable(names...) || !storable(keys...) {
		return notStorable("measure")
	}
	return s.querier().exec(ctx, everyTenant, saveSumRows, tenants, workflows, names, days, keys, versions, counts)
}

// The statements that save runs, besides those of appends.
const (
	removeCopied = " WHERE (tenant_id, run_id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))"

	removeCopiedRuns = "DELETE FROM verifyd.runs WHERE (tenant_id, id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))"

	insertPart = "INSERT INTO verifyd.run_events (tenant_id, run_id, seq, next_seq, events) VALUES ($1, $2, $3, $4, $5)"

	insertScreened = `
INSERT INTO verifyd.screened_runs (tenant_id, run_id, list, version) SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[])`

	updateWork = `
UPDATE verifyd.work w SET attempt = i.attempt, leased = i.leased, lost_leases = i.lost, left_at = i.left_at, alone = i.alone
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::int[], $5::int[], $6::bool[], $7::int[], $8::timestamptz[], $9::int[])
    AS i (tenant_id, run_id, kind, seq, attempt, leased, lost, left_at, alone)
WHERE w.tenant_id = i.tenant_id AND w.run_id = i.run_id AND (w.kind || '') = i.kind AND w.seq = i.seq`

	insertClaims = `
INSERT INTO verifyd.claims (tenant_id, run_id, since, claimed_by, name, claimed_at, until)
SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::text[], $5::text[], $6::timestamptz[], $7::timestamptz[])`
)

// copiedTables returns the tables with rows of runs, besides the runs.
func copiedTables() []string {
	return []string{"run_events", "deleted_runs", "work", "claims", "search_keys", "screened_runs"}
}

// saveRunRecords saves runs in groups, each in one transaction.
func (s *Store) saveRunRecords(ctx context.Context, records []store.RunRecord) error {
	var group []*pendingAppend
	size, from := 0, 0
	var rest []pendingAppend
	for i, r := range records {
		parts, err := copiedParts(r)
		if err != nil {
			return err
		}
		group, rest = append(group, &parts[0]), append(rest, parts[1:]...)
		for _, p := range parts {
			size += len(p.events)
		}
		if size < maxGroupBytes && len(group) < maxGroup && i < len(records)-1 {
			continue
		}
		if err := s.saveRunGroup(ctx, group, rest, records[from:i+1]); err != nil {
			return err
		}
		group, rest, size, from = nil, nil, 0, i+1
	}
	return nil
}

// copiedParts returns the appends that save a run: the first one, and one for each further part
// of a long history, which is several rows as it was before.
func copiedParts(r store.RunRecord) (parts []pendingAppend, err error) {
	due := store.DueWork{}
	for _, w := range r.Work {
		due[w.WorkKey] = w.Due
	}
	add := func(from, to int) error {
		c := store.Commit{Events: r.Events[from:to], Summary: r.Summary, Work: due, Keys: r.Keys}
		p, err := newPendingAppend(r.Run.Tenant, r.Run.Run, from, c)
		parts = append(parts, *p)
		return err
	}
	if err := add(0, len(r.Events)); err != nil || len(parts[0].events) <= maxGroupBytes {
		return parts, err
	}
	parts = nil
	from, size := 0, 0
	for i := range r.Events {
		raw, err := rules.EncodeEvents(r.Events[i : i+1])
		if err != nil {
			return nil, err
		}
		if i > from && size+len(raw) > maxGroupBytes {
			if err := add(from, i); err != nil {
				return nil, err
			}
			from, size = i, 0
		}
		size += len(raw)
	}
	return parts, add(from, len(r.Events))
}

// saveRunGroup saves runs, and the rest of long histories.
func (s *Store) saveRunGroup(ctx context.Context, group []*pendingAppend, rest []pendingAppend, records []store.RunRecord) error {
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	appended := make(map[verification.RunRef]bool, len(group))
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		q := querier{to: tx, db: s.db}
		return q.hotBatch(ctx, everyTenant, func(b *pgx.Batch) error {
			tenants, runs := make([]pgtype.UUID, len(group)), make([]pgtype.UUID, len(group))
			for i, p := range group {
				tenants[i], runs[i] = p.tenant, p.run
			}
			b.Queue(removeCopiedRuns, tenants, runs)
			for _, table := range copiedTables() {
				b.Queue("DELETE FROM verifyd."+table+removeCopied, tenants, runs)
			}
			sorted := slices.SortedFunc(slices.Values(group), func(a, b *pendingAppend) int {
				return slices.Compare(a.tenant.Bytes[:], b.tenant.Bytes[:])
			})
			if err := queueAppends(q, b, sorted, appended); err != nil {
				return err
			}
			for _, p := range rest {
				b.Queue(insertPart, p.tenant, p.run, p.seq, p.nextSeq(), p.events)
			}
			queueRest(b, group, records)
			return nil
		})
	})
	if err == nil && len(appended) != len(group) {
		err = fmt.Errorf("%d of %d runs were saved", len(appended), len(group))
	}
	return err
}

// queueRest queues what appends do not save.
func queueRest(b *pgx.Batch, group []*pendingAppend, records []store.RunRecord) {
	type rows struct {
		tenants, runs []pgtype.UUID
		a, b          []string
	}
	var screened, claims, work rows
	var since, at, until, left []pgtype.Timestamptz
	var seqs, attempts, lost, alone []int32
	var leased []bool
	add := func(to *rows, p *pendingAppend, first, second string) {
		to.tenants, to.runs, to.a, to.b = append(to.tenants, p.tenant), append(to.runs, p.run), append(to.a, first), append(to.b, second)
	}
	for i, p := range group {
		r := records[i]
		if at := r.Summary.RestrictedAt; !at.IsZero() {
			b.Queue(replaceReference, p.tenant, p.run, r.Summary.ReferenceID, orNull(at))
		}
		for _, l := range r.Screened {
			add(&screened, p, l.List, l.Version)
		}
		if c := r.Claim; c != (rules.Claim{}) && r.Summary.Review != nil {
			add(&claims, p, c.By, c.Name)
			since, at, until = append(since, orNull(r.Summary.Review.Since)), append(at, orNull(c.At)), append(until, orNull(c.Until))
		}
		for _, w := range r.Work {
			if w.Attempt == 0 && w.Lost == 0 && w.Alone == 0 && w.LeftAt.IsZero() && !w.Leased {
				continue // as the append leaves it
			}
			add(&work, p, w.KindText(), "")
			seqs, attempts, lost = append(seqs, int32(w.Seq)), append(attempts, int32(w.Attempt)), append(lost, int32(w.Lost))
			leased, left, alone = append(leased, w.Leased), append(left, orNull(w.LeftAt)), append(alone, int32(w.Alone))
		}
	}
	if screened.runs != nil {
		b.Queue(insertScreened, screened.tenants, screened.runs, screened.a, screened.b)
	}
	if claims.runs != nil {
		b.Queue(insertClaims, claims.tenants, claims.runs, since, claims.a, claims.b, at, until)
	}
	if work.runs != nil {
		b.Queue(updateWork, work.tenants, work.runs, work.a, seqs, attempts, leased, lost, left, alone)
	}
}
