// What the store knows of the ledger of erasures.

package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"math"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

const (
	// oweErasure gives the entry $3 its number, if the append to the run $2 of the tenant $1 was not refused. It
	// comes last in its transaction, since it locks the one row of the mark.
	oweErasure = `WITH given AS (
    UPDATE verifyd.erasure_ledger SET last = last + 1, applied = applied + (applied = last)::int WHERE ` + ifAppended + `
    RETURNING last
) INSERT INTO verifyd.owed_erasures (tenant_id, number, entry) SELECT $1::uuid, last, $3::text FROM given`

	selectLedgerMark = "SELECT id, last, applied FROM verifyd.erasure_ledger"
	insertLedgerMark = "INSERT INTO verifyd.erasure_ledger (id, last, applied) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
	updateLedgerMark = "UPDATE verifyd.erasure_ledger SET id = $1, last = $2, applied = $3 WHERE id = $4 AND last = $5 AND applied = $6"
	deleteLedgerMark = "DELETE FROM verifyd.erasure_ledger WHERE id = $1 AND last = $2 AND applied = $3"
	insertOwed       = `INSERT INTO verifyd.owed_erasures (tenant_id, number, entry) VALUES ($1::uuid, $2, $3)
ON CONFLICT (tenant_id, number) DO UPDATE SET entry = excluded.entry`
	deleteOwed = "DELETE FROM verifyd.owed_erasures WHERE number = ANY($1::bigint[])"

	// noTenantID is the tenant of entries of no run.
	noTenantID = "00000000-0000-0000-0000-000000000000"
)

// queueErasure queues the entry of an append that is in a batch before it.
func (p *pendingAppend) queueErasure(b *pgx.Batch) error {
	if p.commit.Erasure == nil {
		return nil
	}
	raw, err := json.Marshal(p.commit.Erasure)
	if err == nil {
		b.Queue(oweErasure, p.tenant, p.run, string(raw))
	}
	return err
}

// loadLedger returns the mark of the ledger, or ErrNotFound.
func loadLedger(ctx context.Context, q querier) (store.LedgerRecord, error) {
	m, err := selectRow[store.LedgerMark](ctx, q, noTenant, selectLedgerMark)
	if isMissing(err) {
		err = verification.NotFound(string(store.RecordLedger))
	}
	return store.LedgerRecord{Mark: m}, pgerror.Translate("read the mark of the ledger of erasures", err)
}

// changeLedger replaces the mark and adds owed entries, or removes owed entries.
func (s *Store) changeLedger(ctx context.Context, r store.LedgerRecord) error {
	if len(r.Noted) > 0 {
		return pgerror.Translate("remove what the ledger of erasures has", s.querier().exec(ctx, everyTenant, deleteOwed, r.Noted))
	}
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var changed pgconn.CommandTag
		err := querier{to: tx, db: s.db}.batch(ctx, everyTenant, func(b *pgx.Batch) error {
			statement, args := updateLedgerMark, []any{r.Mark.ID, r.Mark.Last, r.Mark.Applied, r.Was.ID, r.Was.Last, r.Was.Applied}
			switch {
			case r.Was == store.LedgerMark{}:
				statement, args = insertLedgerMark, args[:3]
			case r.Mark == store.LedgerMark{}:
				statement, args = deleteLedgerMark, args[3:]
			}
			b.Queue(statement, args...).Exec(func(t pgconn.CommandTag) error {
				changed = t
				return nil
			})
			return queueOwed(b, r.Owed)
		})
		if err == nil && changed.RowsAffected() == 0 {
			err = store.LedgerChanged()
		}
		return err
	})
	return pgerror.Translate("save the mark of the ledger of erasures", err)
}

func queueOwed(b *pgx.Batch, owed []verification.Erasure) error {
	for _, e := range owed {
		raw, err := json.Marshal(e)
		if err != nil {
			return err
		}
		tenant := string(e.Tenant)
		if tenant == "" {
			tenant = noTenantID
		}
		b.Queue(insertOwed, tenant, e.Number, string(raw))
	}
	return nil
}

// owedRow is a row of verifyd.owed_erasures beside the id of the ledger.
type owedRow struct {
	Number    int64
	Entry, ID string
}

func (r owedRow) entry() (e verification.Erasure, err error) {
	err = json.Unmarshal([]byte(r.Entry), &e)
	e.Ledger, e.Number = r.ID, r.Number
	return e, err
}

// ledgerRows returns the mark with at most limit owed entries; none without a mark.
func ledgerRows(ctx context.Context, q querier, limit int) ([]store.Record, error) {
	r, err := loadLedger(ctx, q)
	if errors.Is(err, verification.ErrNotFound) {
		return nil, nil
	}
	var rows []owedRow
	if err == nil {
		rows, err = selectAll(ctx, q, everyTenant, q.db.NewSelect().TableExpr("verifyd.owed_erasures, verifyd.erasure_ledger").
			ColumnExpr("number, entry, id").OrderExpr("number").Limit(int64(limit)).String(), func(r owedRow) owedRow { return r })
	}
	for _, row := range rows {
		var e verification.Erasure
		if e, err = row.entry(); err != nil {
			break
		}
		r.Owed = append(r.Owed, e)
	}
	return []store.Record{r}, pgerror.Translate("read what the ledger of erasures is owed", err)
}

// ledgerRecords yields the mark with all that is owed.
func ledgerRecords(ctx context.Context, q querier) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		rows, err := ledgerRows(ctx, q, math.MaxInt32)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, r := range rows {
			yield(r, nil)
		}
	}
}

// saveLedgerRecord replaces the mark and all that is owed.
func (s *Store) saveLedgerRecord(ctx context.Context, r store.LedgerRecord) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		return querier{to: tx, db: s.db}.batch(ctx, everyTenant, func(b *pgx.Batch) error {
			b.Queue("DELETE FROM verifyd.erasure_ledger")
			b.Queue("DELETE FROM verifyd.owed_erasures")
			b.Queue(insertLedgerMark, r.Mark.ID, r.Mark.Last, r.Mark.Applied)
			return queueOwed(b, r.Owed)
		})
	})
}
