// The audit trail.

package memstore

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/tidwall/btree"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// audit has the entries of each tenant by ID. A query with filters reads the entries that do not match, too.
type audit struct {
	table[verification.TenantID, *btree.BTreeG[store.AuditEntry]]
}

func byAuditID(a, b store.AuditEntry) bool { return a.ID < b.ID }

// AppendAudit adds entries, or the counts of entries that there are.
func (s *Store) AppendAudit(ctx context.Context, entries []store.AuditEntry) error {
	return s.audit.change(ctx, func(rows map[verification.TenantID]*btree.BTreeG[store.AuditEntry]) error {
		for _, e := range entries {
			s.putEntry(rows, e, true)
		}
		return nil
	})
}

// putEntry adds an entry, or replaces the one with its ID: with the sum of both counts if add is true.
func (s *Store) putEntry(rows map[verification.TenantID]*btree.BTreeG[store.AuditEntry], e store.AuditEntry, add bool) {
	tree := rows[e.Tenant]
	if tree == nil {
		tree = newTree(byAuditID)
		rows[e.Tenant] = tree
	}
	old, known := tree.Get(e)
	if known && add {
		old.Count += e.Count
		e = old
	}
	tree.Set(e)
	if known {
		s.kept.add(e.Tenant, -sizeOfEntry-behind(reflect.ValueOf(old)))
	}
	s.kept.add(e.Tenant, sizeOfEntry+behind(reflect.ValueOf(e)))
}

// AuditEntries returns the entries that the query selects, newest first.
func (s *Store) AuditEntries(ctx context.Context, t verification.TenantID, q store.AuditQuery) (all []store.AuditEntry, err error) {
	err = s.audit.read(ctx, func() error {
		tree := s.audit.rows[t]
		if tree == nil || q.Limit < 1 {
			return nil
		}
		add := func(e store.AuditEntry) bool {
			if q.Matches(e) {
				all = append(all, e)
			}
			return len(all) < q.Limit && !e.At.Before(q.From)
		}
		newest := q.Before
		if until := store.AuditID(q.Until, ""); !q.Until.IsZero() && (newest == "" || until < newest) {
			newest = until
		}
		if newest == "" {
			tree.Reverse(add)
		} else {
			tree.Descend(store.AuditEntry{ID: newest}, add)
		}
		return nil
	})
	return all, err
}

// forget removes entries that are old, of each tenant the oldest first.
func (a *audit) forget(before time.Time, limit int, count func(t verification.TenantID, bytes int)) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	end := store.AuditID(before, "")
	for _, t := range slices.Sorted(maps.Keys(a.rows)) {
		tree := a.rows[t]
		for n < limit {
			e, found := tree.Min()
			if !found || e.ID >= end {
				break
			}
			tree.Delete(e)
			count(t, -sizeOfEntry-behind(reflect.ValueOf(e)))
			n++
		}
		if tree.Len() == 0 {
			delete(a.rows, t)
		}
	}
	return n
}

// dump returns a copy of all trees.
func (a *audit) dump() (all []*btree.BTreeG[store.AuditEntry]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, tree := range a.rows {
		all = append(all, tree.Copy())
	}
	return all
}
