// Copies: the records of the store, in pages by their keys.

package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

var _ store.CopyStore = (*Store)(nil)

const (
	// maxRecords is how many records are read at once, and maxRunRecords how many runs, unless
	// their histories together have more than maxRunBytes.
	maxRecords, maxRunRecords, maxRunBytes = 1000, 200, 16 << 20
)

// recordPages reads records of one kind.
type recordPages[R any] struct {
	columns string            // of the key, in its order
	limit   int               // of a page; 0 means maxRecords
	key     func(row R) []any // the values of the columns
	filter  string            // a condition; empty for none
	records func(ctx context.Context, q querier, rows []R) iter.Seq2[store.Record, error]
}

// each returns the function of a recordPages that converts each row.
func each[R any](convert func(R) store.Record) func(context.Context, querier, []R) iter.Seq2[store.Record, error] {
	return func(_ context.Context, _ querier, rows []R) iter.Seq2[store.Record, error] {
		return func(yield func(store.Record, error) bool) {
			for _, r := range rows {
				if !yield(convert(r), nil) {
					return
				}
			}
		}
	}
}

// read yields the records page by page; with a key, only the record with it.
func (p recordPages[R]) read(ctx context.Context, from querier, key []string) iter.Seq2[store.Record, error] {
	limit := p.limit
	if limit == 0 {
		limit = maxRecords
	}
	return func(yield func(store.Record, error) bool) {
		var after []any
		for {
			q, tenants := from.db.NewSelect().Model((*R)(nil)), everyTenant
			if key != nil {
				q, tenants = q.Where("(?) = ?", bun.Safe(p.columns), bun.Tuple(key)), key[0]
			} else {
				q = q.OrderExpr(p.columns).Limit(int64(limit))
			}
			if after != nil {
				q = q.Where("(?) > ?", bun.Safe(p.columns), bun.Tuple(after))
			}
			if p.filter != "" {
				q = q.Where(p.filter)
			}
			rows, err := selectAll(ctx, from, tenants, q.String(), func(r R) R { return r })
			if err != nil {
				yield(nil, pgerror.Translate("read records", err))
				return
			}
			for r, err := range p.records(ctx, from, rows) {
				if !yield(r, pgerror.Translate("read records", err)) || err != nil {
					return
				}
			}
			if len(rows) < limit {
				return
			}
			after = p.key(rows[len(rows)-1])
		}
	}
}

// Records yields the records of a kind in the order of their keys.
func (s *Store) Records(ctx context.Context, kind store.RecordKind) iter.Seq2[store.Record, error] {
	if kind != store.RecordMeasure {
		return recordsOf(ctx, s.querier(), kind, nil)
	}
	return func(yield func(store.Record, error) bool) {
		if err := s.foldMeasures(ctx, everyTenant); err != nil {
			yield(nil, err)
			return
		}
		recordsOf(ctx, s.querier(), kind, nil)(yield)
	}
}

// recordsOf yields the records of a kind; with a key, only the record with it.
func recordsOf(ctx context.Context, q querier, kind store.RecordKind, key []string) iter.Seq2[store.Record, error] {
	switch kind {
	case store.RecordTenant:
		return recordPages[savedTenantRow]{
			columns: "tenant_id", limit: 20, // their logos are large
			key: func(r savedTenantRow) []any { return []any{r.TenantID} },
			records: each(func(r savedTenantRow) store.Record {
				t := r.tenant()
				t.Logo.Content = r.LogoContent
				return store.TenantRecord{Tenant: t}
			}),
		}.read(ctx, q, key)
	case store.RecordAccount:
		return recordPages[accountRow]{
			columns: "client_id",
			key:     func(r accountRow) []any { return []any{r.ClientID} },
			records: each(func(r accountRow) store.Record { return store.AccountRecord{Account: r.account()} }),
		}.read(ctx, q, key)
	case store.RecordWorkflow:
		return recordPages[workflowRow]{
			columns: "tenant_id, id", limit: 20,
			key:     func(r workflowRow) []any { return []any{r.TenantID, r.ID} },
			records: workflowRecords,
		}.read(ctx, q, key)
	case store.RecordRun:
		return recordPages[runRow]{
			columns: "tenant_id, id", limit: maxRunRecords,
			key:     func(r runRow) []any { return []any{r.TenantID, r.ID} },
			records: runRecords,
		}.read(ctx, q, key)
	case store.RecordMeasure:
		return measureRecords(ctx, q)
	case store.RecordIdempotencyKey:
		return recordPages[idempotencyRow]{
			columns: "tenant_id, scope, key",
			key:     func(r idempotencyRow) []any { return []any{r.TenantID, r.Scope, r.Key} },
			records: each(func(r idempotencyRow) store.Record {
				return store.IdempotencyKeyRecord{Tenant: r.TenantID, Request: r.record()}
			}),
		}.read(ctx, q, key)
	case store.RecordDelivery:
		return recordPages[deliveryRow]{
			columns: "tenant_id, run_id, seq",
			key:     func(r deliveryRow) []any { return []any{r.TenantID, r.RunID, r.Seq} },
			records: each(deliveryRow.record),
		}.read(ctx, q, key)
	case store.RecordPass:
		return recordPages[passRow]{
			columns: "list",
			// If the work of a pass is not queued yet, a copy begins the pass again.
			filter:  "queued",
			key:     func(r passRow) []any { return []any{r.List} },
			records: each(passRow.record),
		}.read(ctx, q, key)
	case store.RecordRetentionMark:
		return recordPages[markRow]{
			columns: "tenant_id, workflow_id",
			key:     func(r markRow) []any { return []any{r.TenantID, r.WorkflowID} },
			records: markRecords,
		}.read(ctx, q, key)
	case store.RecordAudit:
		return recordPages[auditRow]{
			columns: "tenant_id, id",
			key:     func(r auditRow) []any { return []any{r.TenantID, r.ID} },
			records: each(func(r auditRow) store.Record { return store.AuditRecord{Entry: r.entry()} }),
		}.read(ctx, q, key)
	case store.RecordLedger:
		return ledgerRecords(ctx, q)
	case store.RecordLogo, store.RecordCopy: // no copy has them
	}
	return func(yield func(store.Record, error) bool) {
		yield(nil, fmt.Errorf("postgres: unknown records %q", kind))
	}
}

// workflowRecords yields workflows with their versions.
func workflowRecords(ctx context.Context, q querier, rows []workflowRow) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for _, r := range rows {
			record, err := workflowRecord(ctx, q, r)
			if !yield(record, err) || err != nil {
				return
			}
		}
	}
}

func workflowRecord(ctx context.Context, q querier, r workflowRow) (store.WorkflowRecord, error) {
	record := store.WorkflowRecord{Tenant: r.TenantID, Workflow: r.workflow()}
	versions, err := selectAll(ctx, q, everyTenant, q.db.NewSelect().Model((*versionRow)(nil)).
		Where("tenant_id = ?", r.TenantID).Where("workflow_id = ?", r.ID).OrderExpr("number, hash").String(), func(v versionRow) versionRow { return v })
	for _, v := range versions {
		version := workflow.Version{Hash: v.Hash, Number: v.Number, CreatedAt: v.CreatedAt.UTC()}
		if err := json.Unmarshal([]byte(v.Definition), &version.Definition); err != nil {
			return record, err
		}
		record.Versions = append(record.Versions, version)
	}
	return record, err
}

// The rows of the runs from $2 up to $3 of the tenant $1. A range of pairs of tenants and runs would be read from its
// beginning up to the last run of the tenant.
const (
	copiedRuns = "SELECT " + runColumns + `, r.review_since, r.review_due, r.causes, r.review, c.claimed_by, c.name, c.claimed_at, c.until
FROM verifyd.runs r LEFT JOIN verifyd.claims c ON c.tenant_id = r.tenant_id AND c.run_id = r.id AND c.since = r.review_since
WHERE r.tenant_id = $1 AND r.id >= $2 AND r.id <= $3 ORDER BY r.tenant_id, r.id`

	ofCopiedRuns = " WHERE tenant_id = $1 AND run_id >= $2 AND run_id <= $3 ORDER BY tenant_id, run_id, "

	copiedEvents   = "SELECT tenant_id, run_id, events FROM verifyd.run_events" + ofCopiedRuns + "seq"
	copiedKeys     = "SELECT tenant_id, run_id, key FROM verifyd.search_keys" + ofCopiedRuns + "key"
	copiedScreened = "SELECT tenant_id, run_id, list, version FROM verifyd.screened_runs" + ofCopiedRuns + "list"
	copiedWork     = "SELECT tenant_id, run_id, kind, seq, due_at, attempt, leased, lost_leases, alone, left_at FROM verifyd.work" + ofCopiedRuns + "kind, seq"
)

// copiedRow is a row of one of the tables of runs.
type copiedRow struct {
	TenantID verification.TenantID
	RunID    verification.RunID

	Events string

	Key pgtype.UUID

	List, Version string

	Kind       string
	Seq        int
	DueAt      pgtype.Timestamptz
	Attempt    int
	Leased     bool
	LostLeases int
	Alone      int
	LeftAt     pgtype.Timestamptz
}

// historySizes selects the bytes of the histories of runs.
const historySizes = "SELECT run_id, sum(octet_length(events))::bigint AS bytes FROM verifyd.run_events" +
	" WHERE tenant_id = $1 AND run_id >= $2 AND run_id <= $3 GROUP BY tenant_id, run_id"

// boundsOf returns the tenant of runs, and the ids of the first and the last one.
func boundsOf(rows []runRow) []any {
	return []any{string(rows[0].TenantID), string(rows[0].ID), string(rows[len(rows)-1].ID)}
}

// runRecords yields runs, tenant by tenant.
func runRecords(ctx context.Context, q querier, rows []runRow) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for len(rows) > 0 {
			n := 1
			for n < len(rows) && rows[n].TenantID == rows[0].TenantID {
				n++
			}
			for r, err := range tenantRuns(ctx, q, rows[:n]) {
				if !yield(r, err) || err != nil {
					return
				}
			}
			rows = rows[n:]
		}
	}
}

// tenantRuns yields runs of one tenant, with no more bytes of histories at once than maxRunBytes, or one run.
func tenantRuns(ctx context.Context, q querier, rows []runRow) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		sizes := map[verification.RunID]int64{}
		err := q.hotBatch(ctx, everyTenant, func(b *pgx.Batch) error {
			b.Queue(historySizes, boundsOf(rows)...).Query(func(found pgx.Rows) error {
				var id verification.RunID
				var bytes int64
				_, err := pgx.ForEachRow(found, []any{&id, &bytes}, func() error {
					sizes[id] = bytes
					return nil
				})
				return err
			})
			return nil
		})
		if err != nil {
			yield(nil, err)
			return
		}
		for len(rows) > 0 {
			n, bytes := 1, sizes[rows[0].ID]
			for n < len(rows) && bytes+sizes[rows[n].ID] <= maxRunBytes {
				bytes += sizes[rows[n].ID]
				n++
			}
			all, err := wholeRuns(ctx, q, rows[:n])
			if err != nil {
				yield(nil, err)
				return
			}
			for _, r := range all {
				if !yield(r, nil) {
					return
				}
			}
			rows = rows[n:]
		}
	}
}

// wholeRuns returns runs of one tenant with all that belongs to them, in one round trip.
func wholeRuns(ctx context.Context, q querier, rows []runRow) (all []store.Record, err error) {
	runs := make([]*store.RunRecord, 0, len(rows))
	byRef := make(map[verification.RunRef]*store.RunRecord, len(rows))
	bounds := boundsOf(rows)
	err = q.hotBatch(ctx, everyTenant, func(b *pgx.Batch) error {
		b.Queue(copiedRuns, bounds...).Query(func(rows pgx.Rows) error {
			found, err := pgx.CollectRows(rows, pgx.RowToStructByNameLax[queueRow])
			for _, r := range found {
				summary, bad := r.summary()
				if bad != nil {
					return bad
				}
				record := &store.RunRecord{Run: verification.RunRef{Tenant: r.TenantID, Run: r.ID}, Summary: summary}
				if v := summary.Review; v != nil {
					record.Claim, v.Claim = v.Claim, rules.Claim{}
				}
				runs, byRef[record.Run] = append(runs, record), record
			}
			return err
		})
		add := func(statement string, f func(to *store.RunRecord, r copiedRow) error) {
			b.Queue(statement, bounds...).Query(func(rows pgx.Rows) error {
				found, err := pgx.CollectRows(rows, pgx.RowToStructByNameLax[copiedRow])
				for _, r := range found {
					if to := byRef[verification.RunRef{Tenant: r.TenantID, Run: r.RunID}]; to != nil && err == nil {
						err = f(to, r)
					}
				}
				return err
			})
		}
		add(copiedEvents, func(to *store.RunRecord, r copiedRow) error {
			events, err := rules.DecodeEvents([]byte(r.Events))
			to.Events = append(to.Events, events...)
			return err
		})
		add(copiedKeys, func(to *store.RunRecord, r copiedRow) error {
			to.Keys = append(to.Keys, r.Key.Bytes)
			return nil
		})
		add(copiedScreened, func(to *store.RunRecord, r copiedRow) error {
			to.Screened = append(to.Screened, rules.ScreenedList{List: r.List, Version: r.Version})
			return nil
		})
		add(copiedWork, func(to *store.RunRecord, r copiedRow) error {
			to.Work = append(to.Work, store.WorkRecord{
				WorkKey: store.ParseWorkKey(r.Kind, r.Seq), Due: utc(r.DueAt.Time), Attempt: r.Attempt, Lost: r.LostLeases, Alone: r.Alone,
				LeftAt: utc(r.LeftAt.Time), Leased: r.Leased,
			})
			return nil
		})
		return nil
	})
	for _, r := range runs {
		all = append(all, *r)
	}
	return all, err
}

// measureRecords yields the sums. The rows of the log that are not added up yet are added to them here.
func measureRecords(ctx context.Context, q querier) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		var sums []sumRow
		logged := map[sumKey]int{}
		rows, err := selectAll(ctx, q, everyTenant, "SELECT tenant_id::text, measures FROM verifyd.measure_log WHERE NOT broken", func(r logRow) logRow { return r })
		if err == nil {
			sums, err = selectAll(ctx, q, everyTenant, "SELECT * FROM verifyd.measures", func(r sumRow) sumRow { return r })
		}
		if err != nil {
			yield(nil, pgerror.Translate("read measures", err))
			return
		}
		for _, r := range rows {
			_ = addUp(logged, r.TenantID, r.Measures) // what cannot be decoded stays in the log, see foldMeasures
		}
		for k, n := range logged {
			sums = append(sums, sumRow{TenantID: k.tenant, WorkflowID: k.workflow, Name: string(k.Name), Day: k.day, Key: k.Key, Version: k.Version, Count: n})
		}
		all := map[string]store.MeasureRecord{}
		for _, r := range sums {
			m := r.record()
			if r.WorkflowID != everyWorkflow {
				m.Count += all[store.KeyOf(m)].Count
				all[store.KeyOf(m)] = m
			}
		}
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if m := all[key]; m.Count != 0 && !yield(m, nil) {
				return
			}
		}
	}
}

func (r sumRow) record() store.MeasureRecord {
	return store.MeasureRecord{
		Tenant: verification.TenantID(r.TenantID), Workflow: verification.WorkflowID(r.WorkflowID),
		Measure: store.Measure{
			MeasureKey: store.MeasureKey{Name: store.MeasureName(r.Name), Key: r.Key, Version: r.Version}, Day: r.Day, Count: r.Count,
		},
	}
}

// Snapshot calls f with the records of the store as they are at one moment, also while hosts change the store. They are
// read in one transaction, which ends with f.
func (s *Store) Snapshot(ctx context.Context, f func(records func(context.Context, store.RecordKind) iter.Seq2[store.Record, error]) error) error {
	if err := s.foldMeasures(ctx, everyTenant); err != nil && !errors.Is(err, verification.ErrUnavailable) { // a short log is read sooner
		return err
	}
	var failed error // of f, which says what it did
	err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		failed = f(func(ctx context.Context, kind store.RecordKind) iter.Seq2[store.Record, error] {
			return recordsOf(ctx, querier{to: tx, db: s.db}, kind, nil)
		})
		return failed
	})
	if failed != nil {
		return failed
	}
	return pgerror.Translate("read all records", err)
}

// unfinishedCopyName is the name of the row of shared_values with the source of a copy.
const unfinishedCopyName = "unfinished_copy"

// loadCopy returns the source of an unfinished copy, or ErrNotFound.
func (s *Store) loadCopy(ctx context.Context) (store.Record, error) {
	r, err := selectRow[sharedRow](ctx, s.querier(), noTenant, s.db.NewSelect().Model(&sharedRow{Name: unfinishedCopyName}).WherePK().String())
	if isMissing(err) {
		err = verification.NotFound(string(store.RecordCopy))
	}
	return store.UnfinishedCopyRecord{Source: r.Value}, pgerror.Translate("look for an unfinished copy", err)
}

func (s *Store) copySave(r store.UnfinishedCopyRecord) (string, error) {
	if !storable(r.Source) {
		return "", notStorable("source")
	}
	return s.db.NewInsert().Model(&sharedRow{Name: unfinishedCopyName, Value: r.Source}).On("CONFLICT (name) DO UPDATE").String(), nil
}

// refuseUnfinishedCopy returns ErrConflict if the store has a part of a copy.
func (s *Store) refuseUnfinishedCopy(ctx context.Context) error {
	source, err := s.UnfinishedCopy(ctx)
	if err == nil && source != "" {
		err = verification.Conflict("database", "it has a part of a copy of "+source+": finish the copy, or use an empty database")
	}
	return err
}
