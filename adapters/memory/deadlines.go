// The deadlines of the live runs of all tenants.

package memory

import (
	"context"
	"sync"
	"time"

	"github.com/tidwall/btree"

	"github.com/verifyd/verifyd/verification"
)

// deadlines has the live runs with a deadline, the earliest first.
type deadlines struct {
	mu   sync.RWMutex
	tree *btree.BTreeG[deadline]
}

type deadline struct {
	at  time.Time
	run *record // nil is before every run of the same time
}

func newDeadlines() deadlines {
	before := func(a, b deadline) bool {
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
	return deadlines{tree: newTree(before)}
}

// Overdue returns up to limit live runs whose deadline has passed, the earliest
// deadline first, and the time when the next deadline will have passed.
func (s *Store) Overdue(ctx context.Context, now time.Time, limit int) (runs []verification.RunRef, next time.Time, err error) {
	if err := ctx.Err(); err != nil {
		return nil, time.Time{}, err
	}
	s.deadlines.mu.RLock()
	defer s.deadlines.mu.RUnlock()
	s.deadlines.tree.Scan(func(d deadline) bool {
		if len(runs) >= limit || !now.After(d.at) {
			return false
		}
		runs = append(runs, d.run.ref)
		return true
	})
	s.deadlines.tree.Ascend(deadline{at: now}, func(d deadline) bool {
		next = d.at.Add(time.Microsecond)
		return false
	})
	return runs, next, nil
}

// move replaces the deadline of a run; zero is none.
func (d *deadlines) move(r *record, from, to time.Time) {
	if from.Equal(to) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !from.IsZero() {
		d.tree.Delete(deadline{from, r})
	}
	if !to.IsZero() {
		d.tree.Set(deadline{to, r})
	}
}

// deadlineOf returns the time after which a run is overdue; zero for never.
func deadlineOf(s verification.Summary) time.Time {
	if s.Ended != "" {
		return time.Time{}
	}
	return s.ExpiresAt
}
