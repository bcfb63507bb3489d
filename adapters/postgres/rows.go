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

// Row returns the row of a kind with a key, or ErrNotFound. The key of a mark begins with a tenant.
func (s *Store) Row(ctx context.Context, kind store.RecordKind, key string) (store.Record, error) {
	parts := strings.Split(key, store.KeySeparator)
	switch {
	case kind == store.RecordAccount:
		a, err := s.accounts.get(ctx, key)
		return store.AccountRecord{Account: a}, err
	case !areUUIDs(parts...):
	case kind == store.RecordTenant:
		t, err := loadTenant(ctx, s.querier(), verification.TenantID(key))
		return store.TenantRecord{Tenant: t}, err
	case kind == store.RecordLogo:
		t, err := s.loadLogo(ctx, verification.TenantID(key))
		return store.TenantRecord{Tenant: t}, err
	default:
		for r, err := range recordsOf(ctx, s, kind, parts) {
			return r, err
		}
	}
	return nil, verification.NotFound(string(kind))
}

// Rows returns the rows of a kind that are of a tenant in the order of their keys.
func (s *Store) Rows(ctx context.Context, kind store.RecordKind, of verification.TenantID) (all []store.Record, err error) {
	switch {
	case of != "" && !areUUIDs(of):
		return nil, nil
	case kind == store.RecordTenant:
		return listRows(ctx, s, of, "tenant_id", func(r tenantRow) store.Record { return store.TenantRecord{Tenant: r.tenant()} })
	case kind == store.RecordAccount:
		return listRows(ctx, s, of, "client_id", func(r accountRow) store.Record { return store.AccountRecord{Account: r.account()} })
	}
	for r, err := range recordsOf(ctx, s, kind, nil) {
		if err != nil {
			return nil, err
		}
		if of == "" || store.TenantOf(r) == of {
			all = append(all, r)
		}
	}
	return all, nil
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
		return q.batch(ctx, everyTenant, func(b *pgx.Batch) error { return s.queueRows(b, rows) })
	}
	if len(rows) == 1 {
		return pgerror.Translate("save a row", save(ctx, s.querier()))
	}
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	return pgerror.Translate("save rows", pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return save(ctx, querier{to: tx, db: s.db}) }))
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
		queueOne(b, save, store.ClientTaken())
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

// rowSave returns the statement that saves a row. It changes no row if that of another tenant has the key.
func (s *Store) rowSave(r store.Record) (string, error) {
	switch r := r.(type) {
	case store.TenantRecord:
		return s.tenantSave(r.Tenant)
	case store.AccountRecord:
		return s.accountSave(r.Account)
	case store.RetentionMarkRecord:
		return s.markSave(r.Mark)
	}
	return "", fmt.Errorf("%s are no small table", store.KindOf(r))
}
