// The backlog: what waits longer than it should, for operators.

package memstore

import (
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// Backlog is what waits in the store at one time, over all tenants.
type Backlog struct {
	// Late is how many runs and notices have been due for longer than the grace. Work that a
	// host has taken is due at the end of its lease. Oldest is the earliest due time of these;
	// zero for none.
	Late   int
	Oldest time.Time
	// RepeatedlyLost is how many pieces of work have lost two leases or more in a row.
	RepeatedlyLost int
	// Overdue is the number of runs whose deadline passed more than the grace ago and whose
	// expiry is not recorded.
	Overdue int
	// Pending deliveries wait for another attempt; Failed deliveries have failed for good.
	Pending, Failed int
}

// Backlog returns what waits at a time. It reads all work in the queue.
func (s *Store) Backlog(now time.Time, grace time.Duration) Backlog {
	b, ends := s.queue.backlog(now, grace)
	for _, ref := range ends {
		if at := s.expiry(ref); !at.IsZero() && at.Before(now.Add(-grace)) {
			b.Overdue++
		}
	}
	s.deliveries.mu.RLock()
	defer s.deliveries.mu.RUnlock()
	for list, all := range s.deliveries.lists {
		switch list.state {
		case rules.DeliveryPending:
			b.Pending += all.Len()
		case rules.DeliveryFailed:
			b.Failed += all.Len()
		case rules.DeliveryDelivered:
		}
	}
	return b
}

// backlog also returns the runs with a time that may have come unrecorded.
func (q *queue) backlog(now time.Time, grace time.Duration) (b Backlog, ends []verification.RunRef) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, p := range q.pieces {
		if p.lost >= 2 {
			b.RepeatedlyLost++
		}
		switch {
		case p.Kind == store.WorkExpire:
			if p.due.Before(now.Add(grace)) { // also at the end of the lease of a host that died
				ends = append(ends, p.run)
			}
		case (p.Kind == store.WorkAdvance || p.Kind == store.WorkAnnounce) && p.due.Before(now.Add(-grace)):
			if b.Late++; b.Oldest.IsZero() || p.due.Before(b.Oldest) {
				b.Oldest = p.due
			}
		}
	}
	return b, ends
}

// expiry returns the deadline of a run that has not ended; zero for none.
func (s *Store) expiry(ref verification.RunRef) time.Time {
	s.runs.mu.RLock()
	d := s.runs.rows[ref.Tenant]
	s.runs.mu.RUnlock()
	if d == nil {
		return time.Time{}
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	if r := d.runs[ref.Run]; r != nil && r.summary.Ended == "" {
		return r.summary.ExpiresAt
	}
	return time.Time{}
}
