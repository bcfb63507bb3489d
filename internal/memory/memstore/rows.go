// Rows of small tables.

package memstore

import (
	"context"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
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
	parts := append(strings.SplitN(key, store.KeySeparator, 3), "", "", "")
	tenant := verification.TenantID(parts[0])
	switch kind { //nolint:exhaustive // all others are in one table
	case store.RecordLedger:
		for _, r := range s.ledger.records(0) {
			return r, ctx.Err()
		}
	case store.RecordLogo:
		return s.rows.get(ctx, rowKey{store.RecordTenant, key}, string(kind))
	case store.RecordIdempotencyKey:
		k := store.IdempotencyKey{Scope: store.IdempotencyScope(parts[1]), Key: parts[2]}
		r, err := s.keys.get(ctx, tenantKey{tenant, k}, string(kind))
		return store.IdempotencyKeyRecord{Tenant: tenant, Request: r}, err
	case store.RecordDelivery:
		seq, _ := strconv.Atoi(parts[2]) // no notice has another key
		d, err := s.deliveries.get(ctx, noticeKey{tenant, rules.NoticeRef{Run: verification.RunID(parts[1]), Seq: seq}}, string(kind))
		return store.DeliveryRecord{Tenant: tenant, Delivery: d}, err
	}
	r, err := s.rows.get(ctx, rowKey{kind, key}, string(kind))
	return store.WithoutContent(r), err
}

// Rows returns the rows that a query selects.
func (s *Store) Rows(ctx context.Context, q store.RowQuery) (p store.Page[store.Record], err error) {
	if q.Kind == store.RecordDelivery {
		return s.listDeliveries(ctx, q)
	}
	if q.Kind == store.RecordLedger {
		p.Data = s.ledger.records(q.Limit)
		return p, ctx.Err()
	}
	for r, err := range s.Records(ctx, q.Kind) {
		if err != nil {
			return p, err
		}
		if q.Tenant == "" || store.TenantOf(r) == q.Tenant {
			p.Data = append(p.Data, store.WithoutContent(r))
		}
	}
	p.Total = len(p.Data)
	return p, ctx.Err()
}

// rowsOf returns rows as they are kept, in the order of their keys.
func (s *Store) rowsOf(ctx context.Context, kind store.RecordKind) (all []store.Record, err error) {
	err = s.rows.read(ctx, func() error {
		var keys []string
		for k := range s.rows.rows {
			if k.kind == kind {
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
	if len(rows) == 1 {
		switch r := rows[0].(type) {
		case store.DeliveryRecord:
			return s.saveDelivery(ctx, r)
		case store.IdempotencyKeyRecord:
			return s.changeKey(ctx, r)
		case store.PassRecord:
			return s.savePass(ctx, r.Pass)
		case store.LedgerRecord:
			return s.changeLedger(ctx, r)
		}
	}
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
