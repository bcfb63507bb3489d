// The deadlines of live runs, across tenants.

package memory

import (
	"context"
	"sync"
	"time"

	"github.com/tidwall/btree"

	"github.com/verifyd/verifyd/verification"
)

// deadlines orders the live runs that have one by their deadline.
type deadlines struct {
	mu   sync.RWMutex
	tree *btree.BTreeG[due]
}

type due struct {
	at  time.Time
	run *record // nil sorts before every run of the same moment
}

func newDeadlines() deadlines {
	before := func(a, b due) bool {
		if c := a.at.Compare(b.at); c != 0 {
			return c < 0
		}
		if a.run == nil || b.run == nil {
			return a.run == nil && b.run != nil
		}
		if a.run.ref.Tenant != b.run.ref.Tenant {
			return a.run.ref.Tenant < b.run.ref.Tenant
		}
		return a.run.ref.Run < b.run.ref.Run
	}
	return deadlines{tree: btree.NewBTreeGOptions(before, btree.Options{NoLocks: true})}
}

// Overdue returns up to most live runs whose deadline has passed, the longest
// overdue first, and when the next deadline that lies ahead will have passed.
func (s *Store) Overdue(ctx context.Context, now time.Time, most int) (runs []verification.RunRef, next time.Time, err error) {
	if err := ctx.Err(); err != nil {
		return nil, time.Time{}, err
	}
	s.deadlines.mu.RLock()
	defer s.deadlines.mu.RUnlock()
	s.deadlines.tree.Scan(func(d due) bool {
		if len(runs) >= most || !now.After(d.at) {
			return false
		}
		runs = append(runs, d.run.ref)
		return true
	})
	s.deadlines.tree.Ascend(due{at: now}, func(d due) bool {
		next = d.at.Add(time.Microsecond)
		return false
	})
	return runs, next, nil
}

// move takes a run from one deadline to another; zero is none.
func (d *deadlines) move(r *record, from, to time.Time) {
	if from.Equal(to) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !from.IsZero() {
		d.tree.Delete(due{from, r})
	}
	if !to.IsZero() {
		d.tree.Set(due{to, r})
	}
}

// deadline is the moment after which a run is overdue; zero for never.
func deadline(s verification.Summary) time.Time {
	if s.Ended != "" {
		return time.Time{}
	}
	return s.ExpiresAt
}
