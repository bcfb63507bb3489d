// Rows of small tables, each kind in a table of its own.

package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// Row returns the row of a kind with a key, or ErrNotFound. All keys that are read here begin with a tenant.
func (s *Store) Row(ctx context.Context, kind store.RecordKind, key string) (store.Record, error) {
	parts := strings.SplitN(key, store.KeySeparator, 3)
	ids := parts[:min(2, len(parts))] // of a tenant, and of a run or a workflow
	if kind == store.RecordIdempotencyKey {
		ids = parts[:1]
	}
	switch {
	case kind == store.RecordCopy:
		return s.loadCopy(ctx)
	case kind == store.RecordLedger:
		return loadLedger(ctx, s.querier())
	case kind == store.RecordAccount:
		a, err := s.accounts.get(ctx, key)
		return store.AccountRecord{Account: a}, err
	case !areUUIDs(ids...) || !storable(parts...):
	case kind == store.RecordTenant:
		t, err := loadTenant(ctx, s.querier(), verification.TenantID(key))
		return store.TenantRecord{Tenant: t}, err
	case kind == store.RecordLogo:
		t, err := s.loadLogo(ctx, verification.TenantID(key))
		return store.TenantRecord{Tenant: t}, err
	default:
		for r, err := range recordsOf(ctx, s.querier(), kind, parts) {
			return r, err
		}
	}
	return nil, verification.NotFound(string(kind))
}

// Rows returns the rows that a query selects.
func (s *Store) Rows(ctx context.Context, q store.RowQuery) (p store.Page[store.Record], err error) {
	of := q.Tenant
	switch {
	case of != "" && !areUUIDs(of):
		return store.Page[store.Record]{PageQuery: q.PageQuery}, nil
	case q.Kind == store.RecordDelivery:
		return s.listDeliveries(ctx, q)
	case q.Kind == store.RecordTenant:
		p.Data, err = listRows(ctx, s, of, "tenant_id", func(r tenantRow) store.Record { return store.TenantRecord{Tenant: r.tenant()} })
	case q.Kind == store.RecordAccount:
		p.Data, err = listRows(ctx, s, of, "client_id", func(r accountRow) store.Record { return store.AccountRecord{Account: r.account()} })
	case q.Kind == store.RecordLedger:
		p.Data, err = ledgerRows(ctx, s.querier(), q.Limit)
	case q.Kind == store.RecordPass: // also one whose work is not queued yet
		p.Data, err = listRows(ctx, s, "", "list", passRow.record)
	default:
		for r, err := range recordsOf(ctx, s.querier(), q.Kind, nil) {
			if err != nil {
				return p, err
			}
			if of == "" || store.TenantOf(r) == of {
				p.Data = append(p.Data, r)
			}
		}
	}
	p.Total = len(p.Data)
	return p, err
}

// listRows returns the rows of a table that are of a tenant; empty for every tenant.
func listRows[R any](ctx context.Context, s *Store, of verification.TenantID, order string, convert func(R) store.Record) ([]store.Record, error) {
	q, tenants := s.db.NewSelect().Model((*R)(nil)).OrderExpr(order), everyTenant
	if of != "" {
		q, tenants = q.Where("tenant_id = ?", of), string(of)
	}
	all, err := selectAll(ctx, s.querier(), tenants, q.String(), convert)
	return all, pgerror.Translate("list rows", err)
}

// Change saves rows: one in one statement, and more in one transaction.
func (s *Store) Change(ctx context.Context, rows []store.Record) error {
	save := func(ctx context.Context, q querier) error {
		return q.batch(ctx, tenantOfRows(rows), func(b *pgx.Batch) error { return s.queueRows(b, rows) })
	}
	if len(rows) == 1 {
		if r, ok := rows[0].(store.LedgerRecord); ok {
			return s.changeLedger(ctx, r)
		}
		return pgerror.Translate("save a row", save(ctx, s.querier()))
	}
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	return pgerror.Translate("save rows", pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return save(ctx, querier{to: tx, db: s.db}) }))
}

// tenantOfRows returns whose rows a change touches. Another tenant may have the client id of an account.
func tenantOfRows(rows []store.Record) string {
	if len(rows) == 1 && store.KindOf(rows[0]) != store.RecordAccount {
		return string(store.TenantOf(rows[0]))
	}
	return everyTenant
}

// queueRows queues the statements that save rows, in one order on all hosts.
func (s *Store) queueRows(b *pgx.Batch, rows []store.Record) error {
	kinds := store.RecordKinds()
	for _, r := range slices.SortedFunc(slices.Values(rows), func(a, b store.Record) int {
		return cmp.Or(cmp.Compare(slices.Index(kinds, store.KindOf(a)), slices.Index(kinds, store.KindOf(b))), cmp.Compare(store.KeyOf(a), store.KeyOf(b)))
	}) {
		save, err := s.rowSave(r)
		if err != nil {
			return err
		}
		queueOne(b, save, store.Refused(r))
	}
	return nil
}

// queueOne queues a statement that must change one row, and is refused otherwise.
func queueOne(b *pgx.Batch, statement string, refused error) {
	b.Queue(statement).Exec(func(t pgconn.CommandTag) error {
		if t.RowsAffected() == 1 {
			return nil
		}
		return refused
	})
}

// rowSave returns the statement that saves a row. It changes no row if the stored one does not allow it.
func (s *Store) rowSave(r store.Record) (string, error) {
	switch r := r.(type) {
	case store.TenantRecord:
		return s.tenantSave(r.Tenant)
	case store.AccountRecord:
		return s.accountSave(r.Account)
	case store.RetentionMarkRecord:
		return s.markSave(r.Mark)
	case store.DeliveryRecord:
		return s.deliverySave(r)
	case store.IdempotencyKeyRecord:
		return s.keySave(r)
	case store.PassRecord:
		return s.passSave(r.Pass)
	case store.UnfinishedCopyRecord:
		return s.copySave(r)
	}
	return "", fmt.Errorf("%s are no small table", store.KindOf(r))
}
