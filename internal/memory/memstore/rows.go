// Rows of small tables.

package memstore

import (
	"context"
	"reflect"
	"slices"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

type rowKey struct {
	kind store.RecordKind
	key  string
}

func keyOfRow(r store.Record) rowKey { return rowKey{store.KindOf(r), store.KeyOf(r)} }

func rowRecord(_ rowKey, r store.Record) store.Record { return r }

// Row returns the row of a kind with a key, or ErrNotFound.
func (s *Store) Row(ctx context.Context, kind store.RecordKind, key string) (store.Record, error) {
	if kind == store.RecordLogo {
		return s.rows.get(ctx, rowKey{store.RecordTenant, key}, string(kind))
	}
	r, err := s.rows.get(ctx, rowKey{kind, key}, string(kind))
	return store.WithoutContent(r), err
}

// Rows returns the rows of a kind that are of a tenant in the order of their keys.
func (s *Store) Rows(ctx context.Context, kind store.RecordKind, of verification.TenantID) ([]store.Record, error) {
	all, err := s.rowsOf(ctx, kind, of)
	for i, r := range all {
		all[i] = store.WithoutContent(r)
	}
	return all, err
}

// rowsOf returns rows as they are kept, in the order of their keys.
func (s *Store) rowsOf(ctx context.Context, kind store.RecordKind, of verification.TenantID) (all []store.Record, err error) {
	err = s.rows.read(ctx, func() error {
		var keys []string
		for k, r := range s.rows.rows {
			if k.kind == kind && (of == "" || store.TenantOf(r) == of) {
				keys = append(keys, k.key)
			}
		}
		slices.Sort(keys)
		for _, key := range keys {
			all = append(all, s.rows.rows[rowKey{kind, key}])
		}
		return nil
	})
	return all, err
}

// Change saves rows.
func (s *Store) Change(ctx context.Context, rows []store.Record) error {
	return s.rows.change(ctx, func(kept map[rowKey]store.Record) error {
		changed, err := changedRows(kept, rows)
		if err == nil {
			s.putRows(kept, changed)
		}
		return err
	})
}

// changedRows returns what is kept after rows were saved, or the first error.
func changedRows(kept map[rowKey]store.Record, rows []store.Record) (changed []store.Record, err error) {
	for _, r := range rows {
		if r, err = store.Changed(kept[keyOfRow(r)], r); err != nil {
			return nil, err
		}
		changed = append(changed, r)
	}
	return changed, nil
}

func (s *Store) putRows(kept map[rowKey]store.Record, rows []store.Record) {
	for _, r := range rows {
		key := keyOfRow(r)
		s.kept.add(store.TenantOf(r), behind(reflect.ValueOf(r))-behind(reflect.ValueOf(kept[key])))
		kept[key] = r
	}
}
