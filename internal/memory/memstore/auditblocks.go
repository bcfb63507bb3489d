// Blocks: entries of the audit trail that are not in memory.

package memstore

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// AuditBlock is a block of entries of one trail that follow each other.
type AuditBlock struct {
	Tenant         verification.TenantID
	Reads          bool
	First, Last    string    // IDs
	Oldest, Newest time.Time // the times of AuditEntry.Last
	Entries        int
	Bytes          int // on disk
	// Content has the entries.
	Content AuditContent
}

// AuditContent is where the entries of a block are.
type AuditContent interface {
	// Load returns the entries by ID.
	Load() ([]store.AuditEntry, error)
}

// BlockEntries is the number of entries of a block; one that was joined with what is before it has up to twice as many.
const BlockEntries = 128

// NewAuditBlock returns the block of entries of one trail, in the order of their IDs, of which there is at least one.
func NewAuditBlock(entries []store.AuditEntry) AuditBlock {
	first, last := entries[0], entries[len(entries)-1]
	b := AuditBlock{
		Tenant: first.Tenant, Reads: first.Action.Reads(), First: first.ID, Last: last.ID, Oldest: first.Last(), Newest: first.Last(), Entries: len(entries),
	}
	for _, e := range entries {
		if e.Last().Before(b.Oldest) {
			b.Oldest = e.Last()
		}
		if e.Last().After(b.Newest) {
			b.Newest = e.Last()
		}
	}
	return b
}

// AddAuditBlock adds a block after those that its trail has.
func AddAuditBlock(ctx context.Context, s *Store, b AuditBlock) error {
	return s.audit.change(ctx, func(rows map[trailKey]*auditTrail) error {
		trail := at(rows, trailKey{b.Tenant, b.Reads})
		countBlocks(s, []AuditBlock{b}, 1)
		trail.blocks = append(trail.blocks, b) // a copy of the trail has those before it
		return nil
	})
}

// AuditInMemory returns how many bytes of memory the entries need that are not in blocks, about.
func AuditInMemory(s *Store) int64 { return s.kept.trails.Load() }

// setBlocks replaces the blocks of a trail.
func (s *Store) setBlocks(trail *auditTrail, blocks []AuditBlock) {
	countBlocks(s, trail.blocks, -1)
	countBlocks(s, blocks, 1)
	trail.blocks = blocks
}

// countBlocks counts blocks that are added, or removed if sign is -1.
func countBlocks(s *Store, blocks []AuditBlock, sign int) {
	for _, b := range blocks {
		c := s.kept.of(b.Tenant)
		s.kept.addTo(c, sign*sizeOfBlock)
		c.blocks.Add(int64(sign * b.Bytes))
	}
}

// loadBlocks moves the entries of blocks into memory.
func (s *Store) loadBlocks(trail *auditTrail, which func(AuditBlock) bool) error {
	var loaded []store.AuditEntry
	left := slices.Clone(trail.blocks)
	for _, b := range trail.blocks {
		if !which(b) {
			continue
		}
		entries, err := b.Content.Load()
		if err != nil {
			return err
		}
		loaded = append(loaded, entries...)
		left = slices.DeleteFunc(left, func(l AuditBlock) bool { return l.First == b.First })
	}
	for _, e := range loaded {
		s.putEntry(trail, e, true)
	}
	if len(left) < len(trail.blocks) {
		s.setBlocks(trail, left)
	}
	return nil
}

// entries yields the entries of a trail between two IDs, without them, by ID or from the last one down. An empty ID is no
// bound. Blocks of which skip reports true are left out, unless entries in memory add to them.
func (a *auditTrail) entries(low, high string, descending bool, skip func(AuditBlock) bool) iter.Seq2[store.AuditEntry, error] {
	return func(yield func(store.AuditEntry, error) bool) {
		from, until := low, high // what is not yielded yet
		memory := func(low, high string) bool {
			for e := range a.between(low, high, descending) {
				if !yield(e, nil) {
					return false
				}
			}
			return true
		}
		for i := range a.blocks {
			b := a.blocks[i]
			if descending {
				b = a.blocks[len(a.blocks)-1-i]
			}
			if b.Last <= low || high != "" && b.First >= high {
				continue
			}
			var gap bool
			if descending {
				gap, until = memory(b.Last, until), b.First
			} else {
				gap, from = memory(from, b.First), b.Last
			}
			if !gap {
				return
			}
			if skip != nil && skip(b) && !a.adds(b) {
				continue
			}
			entries, err := a.inBlock(b)
			if err != nil {
				yield(store.AuditEntry{}, err)
				return
			}
			if descending {
				slices.Reverse(entries)
			}
			for _, e := range entries {
				if e.ID > low && (high == "" || e.ID < high) && !yield(e, nil) {
					return
				}
			}
		}
		memory(from, until)
	}
}

// between yields the entries in memory between two IDs, without them. An empty ID is no bound.
func (a *auditTrail) between(low, high string, descending bool) iter.Seq[store.AuditEntry] {
	return func(yield func(store.AuditEntry) bool) {
		next := func(e store.AuditEntry) bool {
			switch {
			case e.ID == low && low != "" || e.ID == high && high != "":
				return true
			case e.ID < low || high != "" && e.ID > high:
				return false
			}
			return yield(e)
		}
		switch {
		case descending && high == "":
			a.tree.Reverse(next)
		case descending:
			a.tree.Descend(store.AuditEntry{ID: high}, next)
		default:
			a.tree.Ascend(store.AuditEntry{ID: low}, next)
		}
	}
}

// adds reports whether an entry in memory is within a block.
func (a *auditTrail) adds(b AuditBlock) (adds bool) {
	a.tree.Ascend(store.AuditEntry{ID: b.First}, func(e store.AuditEntry) bool {
		adds = e.ID <= b.Last
		return false
	})
	return adds
}

// inBlock returns the entries of a block with those in memory that are within it, by ID.
func (a *auditTrail) inBlock(b AuditBlock) ([]store.AuditEntry, error) {
	entries, err := b.Content.Load()
	if err != nil || !a.adds(b) {
		return entries, err
	}
	all := newTree(byAuditID)
	for _, e := range entries {
		all.Set(e)
	}
	a.tree.Ascend(store.AuditEntry{ID: b.First}, func(e store.AuditEntry) bool {
		if e.ID > b.Last {
			return false
		}
		if old, known := all.Get(e); known {
			e = old.Add(e)
		}
		all.Set(e)
		return true
	})
	return all.Items(), nil
}

// AuditPart is a block that is as it was, or entries of one trail that are in none.
type AuditPart struct {
	Block   AuditBlock // if Entries is empty
	Entries []store.AuditEntry
}

// trailOf is a trail in a dump.
type trailOf struct {
	key   trailKey
	trail auditTrail
}

// dump returns copies of all trails.
func (a *audit) dump() (all []trailOf) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, key := range slices.SortedFunc(maps.Keys(a.rows), trailKey.compare) {
		all = append(all, trailOf{key, a.rows[key].copy()})
	}
	return all
}

// AuditParts yields all entries of all trails, of each by ID.
func (d *Dump) AuditParts() iter.Seq2[AuditPart, error] {
	return func(yield func(AuditPart, error) bool) {
		for _, of := range d.audit {
			if !of.trail.parts(yield) {
				return
			}
		}
	}
}

// parts yields the entries of a trail in parts. Blocks with few entries are joined with what follows.
func (a *auditTrail) parts(yield func(AuditPart, error) bool) bool {
	var pending []store.AuditEntry
	flush := func(least int) bool {
		for len(pending) >= max(least, 1) {
			n := min(BlockEntries, len(pending))
			if !yield(AuditPart{Entries: pending[:n:n]}, nil) {
				return false
			}
			pending = pending[n:]
		}
		return true
	}
	low := ""
	add := func(e store.AuditEntry) bool {
		pending = append(pending, e)
		return flush(BlockEntries)
	}
	gap := func(high string) bool {
		for e := range a.between(low, high, false) {
			if !add(e) {
				return false
			}
		}
		return true
	}
	for _, b := range a.blocks {
		if !gap(b.First) {
			return false
		}
		low = b.Last
		whole := b.Entries >= BlockEntries/2 && !a.adds(b)
		if whole && (len(pending) == 0 || len(pending)+b.Entries > 2*BlockEntries) {
			if !flush(1) || !yield(AuditPart{Block: b}, nil) {
				return false
			}
			continue
		}
		entries, err := a.inBlock(b)
		if err != nil {
			yield(AuditPart{}, err)
			return false
		}
		if whole {
			if !yield(AuditPart{Entries: append(pending, entries...)}, nil) {
				return false
			}
			pending = nil
			continue
		}
		for _, e := range entries {
			if !add(e) {
				return false
			}
		}
	}
	return gap("") && flush(1)
}

// MoveAudit puts blocks in place of everything that the trails had when a dump began. Nothing may have forgotten or
// replaced entries since.
func MoveAudit(s *Store, d *Dump, blocks []AuditBlock) {
	of := map[trailKey][]AuditBlock{}
	for _, b := range blocks {
		key := trailKey{b.Tenant, b.Reads}
		of[key] = append(of[key], b)
	}
	s.audit.mu.Lock()
	defer s.audit.mu.Unlock()
	for _, dumped := range d.audit {
		trail := at(s.audit.rows, dumped.key)
		s.setBlocks(trail, of[dumped.key])
		dumped.trail.tree.Scan(func(moved store.AuditEntry) bool {
			now, known := trail.tree.Get(moved)
			if !known {
				return true
			}
			s.countEntry(now.Tenant, -sizeOfAudited(now))
			if now == moved {
				trail.tree.Delete(now)
				return true
			}
			now.Count -= moved.Count
			trail.tree.Set(now)
			s.countEntry(now.Tenant, sizeOfAudited(now))
			return true
		})
	}
}

func (k trailKey) compare(l trailKey) int {
	if k.tenant == l.tenant && k.reads != l.reads {
		if l.reads {
			return -1
		}
		return 1
	}
	return cmp.Compare(k.tenant, l.tenant)
}
