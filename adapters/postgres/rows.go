// Rows of small tables, each kind in a table of its own.

package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// Row returns the row of a kind with a key, or ErrNotFound. The key begins with a tenant.
func (s *Store) Row(ctx context.Context, kind store.RecordKind, key string) (store.Record, error) {
	if parts := strings.Split(key, store.KeySeparator); areUUIDs(parts...) {
		for r, err := range recordsOf(ctx, s, kind, parts) {
			return r, err
		}
	}
	return nil, verification.NotFound(string(kind))
}

// Change saves rows, in one transaction.
func (s *Store) Change(ctx context.Context, rows []store.Record) error {
	err := s.querier().batch(ctx, everyTenant, func(b *pgx.Batch) error {
		for _, r := range rows {
			m, ok := r.(store.RetentionMarkRecord)
			if !ok {
				return fmt.Errorf("%s are no small table", store.KindOf(r))
			}
			if err := saveMark(b, s.db, m.Mark); err != nil {
				return err
			}
		}
		return nil
	})
	return pgerror.Translate("save rows", err)
}
