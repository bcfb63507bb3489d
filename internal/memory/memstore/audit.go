// The audit trail.

package memstore

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/btree"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// audit has the trails. A query with filters reads the entries that do not match, too.
type audit struct {
	table[trailKey, *auditTrail]
}

// trailKey names a trail: a tenant has one of reads, see store.AuditReads, and one of everything else.
type trailKey struct {
	tenant verification.TenantID
	reads  bool
}

func keyOfEntry(e store.AuditEntry) trailKey { return trailKey{e.Tenant, e.Action.Reads()} }

// auditTrail has entries in memory, and blocks of earlier ones that are not. An entry in memory may add to one with its
// ID in a block.
type auditTrail struct {
	tree   *btree.BTreeG[store.AuditEntry]
	blocks []AuditBlock // by First; the slice is appended to or replaced, and no block in it changes
}

func byAuditID(a, b store.AuditEntry) bool { return a.ID < b.ID }

// at returns a trail, which is added if there is none.
func at(rows map[trailKey]*auditTrail, key trailKey) *auditTrail {
	trail := rows[key]
	if trail == nil {
		trail = &auditTrail{tree: newTree(byAuditID)}
		rows[key] = trail
	}
	return trail
}

// AppendAudit adds entries, or the counts of entries that there are. It refuses entries that can wait if there is no room.
func (s *Store) AppendAudit(ctx context.Context, entries []store.AuditEntry) error {
	return s.audit.change(ctx, func(rows map[trailKey]*auditTrail) error {
		for _, e := range entries {
			if _, known := at(rows, keyOfEntry(e)).tree.Get(e); !known && e.CanWait() {
				if err := s.refuseReads(s.kept.of(e.Tenant)); err != nil {
					return err
				}
			}
		}
		for _, e := range entries {
			s.putEntry(at(rows, keyOfEntry(e)), e, true)
		}
		return nil
	})
}

// putEntry adds an entry in memory, or replaces the one with its ID: with the sum of both if add is true.
func (s *Store) putEntry(trail *auditTrail, e store.AuditEntry, add bool) {
	e.At, e.LastAt = toMicrosecond(e.At), toMicrosecond(e.LastAt)
	if old, known := trail.tree.Get(e); known {
		if add {
			e = old.Add(e)
		}
		s.countEntry(e.Tenant, -sizeOfAudited(old))
	}
	trail.tree.Set(e)
	s.countEntry(e.Tenant, sizeOfAudited(e))
}

// countEntry counts what the trail of a tenant needs in memory.
func (s *Store) countEntry(t verification.TenantID, bytes int) {
	c := s.kept.of(t)
	s.kept.addTo(c, bytes)
	c.trail.Add(int64(bytes))
	s.kept.trails.Add(int64(bytes))
}

func sizeOfAudited(e store.AuditEntry) int { return sizeOfEntry + behind(reflect.ValueOf(e)) }

// trails returns the trails of a tenant as they are now.
func (s *Store) trails(ctx context.Context, t verification.TenantID) (reads, others auditTrail, err error) {
	err = s.audit.change(ctx, func(rows map[trailKey]*auditTrail) error {
		reads, others = rows[trailKey{t, true}].copy(), rows[trailKey{t, false}].copy()
		return nil
	})
	return reads, others, err
}

// copy returns a copy of a trail, which may be nil.
func (a *auditTrail) copy() auditTrail {
	if a == nil {
		return auditTrail{tree: newTree(byAuditID)}
	}
	return auditTrail{a.tree.Copy(), a.blocks}
}

// AuditEntries returns the entries that the query selects, newest first.
func (s *Store) AuditEntries(ctx context.Context, t verification.TenantID, q store.AuditQuery) (all []store.AuditEntry, err error) {
	if q.Limit < 1 {
		return nil, ctx.Err()
	}
	newest := q.Before
	if until := store.AuditID(q.Until, ""); !q.Until.IsZero() && (newest == "" || until < newest) {
		newest = until
	}
	early := func(b AuditBlock) bool { return b.Newest.Before(q.From) }
	for e, err := range s.entries(ctx, t, newest, true, q.Changes, early) {
		if err != nil {
			return nil, err
		}
		if q.Matches(e) {
			all = append(all, e)
		}
		if len(all) >= q.Limit || ctx.Err() != nil {
			break
		}
	}
	return all, ctx.Err()
}

// maxMoved bounds how often a block is looked for again because it was moved.
const maxMoved = 5

// entries yields the entries of a tenant as auditTrail.entries does, also while blocks are moved; with changes, those
// that do more than read.
func (s *Store) entries(
	ctx context.Context, t verification.TenantID, high string, descending, changes bool, skip func(AuditBlock) bool,
) iter.Seq2[store.AuditEntry, error] {
	return func(yield func(store.AuditEntry, error) bool) {
		low := ""
		for moved := 0; ; moved++ {
			reads, others, err := s.trails(ctx, t)
			if err != nil {
				yield(store.AuditEntry{}, err)
				return
			}
			if changes {
				reads = (*auditTrail)(nil).copy()
			}
			again := false
			for e, err := range merged(reads.entries(low, high, descending, skip), others.entries(low, high, descending, skip), descending) {
				if again = errors.Is(err, fs.ErrNotExist) && moved < maxMoved; again {
					break
				}
				if !yield(e, err) || err != nil {
					return
				}
				if moved = 0; descending {
					high = e.ID
				} else {
					low = e.ID
				}
			}
			if !again {
				return
			}
		}
	}
}

// auditRecords yields the records of the audit trail.
func (s *Store) auditRecords(ctx context.Context) records {
	return func(yield func(store.Record, error) bool) {
		s.audit.mu.RLock()
		tenants := map[verification.TenantID]bool{}
		for key := range s.audit.rows {
			tenants[key.tenant] = true
		}
		s.audit.mu.RUnlock()
		for _, t := range slices.Sorted(maps.Keys(tenants)) {
			for e, err := range s.entries(ctx, t, "", false, false, nil) {
				if !yield(store.AuditRecord{Entry: e}, err) || err != nil {
					return
				}
			}
		}
	}
}

// saveEntry replaces an entry.
func (s *Store) saveEntry(ctx context.Context, e store.AuditEntry) error {
	return s.audit.change(ctx, func(rows map[trailKey]*auditTrail) error {
		trail := at(rows, keyOfEntry(e))
		if err := s.loadBlocks(trail, func(b AuditBlock) bool { return b.First <= e.ID && e.ID <= b.Last }); err != nil {
			return err
		}
		s.putEntry(trail, e, false)
		return nil
	})
}

// forgetEntries removes entries that are old, of each trail the first ones first.
func (s *Store) forgetEntries(ctx context.Context, before store.Ages, limit int) (n int, err error) {
	err = s.audit.change(ctx, func(rows map[trailKey]*auditTrail) error {
		for _, key := range slices.SortedFunc(maps.Keys(rows), trailKey.compare) {
			end := before.Audit
			if key.reads {
				end = before.Reads
			}
			if end.IsZero() || n >= limit {
				continue
			}
			removed, err := s.forgetOf(rows[key], end, limit-n)
			if err != nil {
				return err
			}
			if n += removed; rows[key].tree.Len()+len(rows[key].blocks) == 0 {
				delete(rows, key)
			}
		}
		return nil
	})
	return n, err
}

// forgetOf removes entries of a trail whose last time was earlier.
func (s *Store) forgetOf(trail *auditTrail, before time.Time, limit int) (int, error) {
	end := store.AuditID(before, "")
	var old []store.AuditEntry
	for e, err := range trail.entries("", end, false, func(b AuditBlock) bool { return !b.Oldest.Before(before) }) {
		if err != nil {
			return 0, err
		}
		if e.Last().Before(before) {
			old = append(old, e)
		}
		if len(old) >= limit {
			break
		}
	}
	if len(old) == 0 {
		return 0, nil
	}
	err := s.loadBlocks(trail, func(b AuditBlock) bool {
		i, _ := slices.BinarySearchFunc(old, b.First, func(e store.AuditEntry, id string) int { return strings.Compare(e.ID, id) })
		return i < len(old) && old[i].ID <= b.Last
	})
	if err != nil {
		return 0, err
	}
	for _, e := range old {
		if e, known := trail.tree.Delete(e); known {
			s.countEntry(e.Tenant, -sizeOfAudited(e))
		}
	}
	return len(old), nil
}

// merged yields the entries of two sequences in one order of their IDs.
func merged(a, b iter.Seq2[store.AuditEntry, error], descending bool) iter.Seq2[store.AuditEntry, error] {
	return func(yield func(store.AuditEntry, error) bool) {
		next, stop := iter.Pull2(b)
		defer stop()
		other, err, more := next()
		for e, failed := range a {
			if failed != nil {
				yield(e, failed)
				return
			}
			for more && (err != nil || (other.ID > e.ID) == descending) {
				if !yield(other, err) || err != nil {
					return
				}
				other, err, more = next()
			}
			if !yield(e, nil) {
				return
			}
		}
		for more {
			if !yield(other, err) || err != nil {
				return
			}
			other, err, more = next()
		}
	}
}
