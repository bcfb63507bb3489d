// Rows of small tables.

package memstore

import (
	"cmp"
	"context"

	"github.com/verifyd/verifyd/verification/store"
)

type rowKey struct {
	kind store.RecordKind
	key  string
}

func (k rowKey) compare(l rowKey) int {
	return cmp.Or(cmp.Compare(k.kind, l.kind), cmp.Compare(k.key, l.key))
}

func rowRecord(_ rowKey, r store.Record) store.Record { return r }

// Row returns the row of a kind with a key, or ErrNotFound.
func (s *Store) Row(ctx context.Context, kind store.RecordKind, key string) (store.Record, error) {
	return s.rows.get(ctx, rowKey{kind, key}, string(kind))
}

// Change saves rows.
func (s *Store) Change(ctx context.Context, rows []store.Record) error {
	return s.rows.change(ctx, func(saved map[rowKey]store.Record) error {
		for _, r := range rows {
			saved[rowKey{store.KindOf(r), store.KeyOf(r)}] = r
		}
		return nil
	})
}

// rowsOf yields the rows of a kind in the order of their keys.
func rowsOf(ctx context.Context, s *Store, kind store.RecordKind) records {
	return func(yield func(store.Record, error) bool) {
		for r, err := range each(ctx, &s.rows, rowKey.compare, rowRecord) {
			if (err != nil || store.KindOf(r) == kind) && !yield(r, err) {
				return
			}
		}
	}
}
