// The work queue: what is to be done, in the order it falls due.

package memory

import (
	"context"
	"sync"
	"time"

	"github.com/tidwall/btree"

	"github.com/verifyd/verifyd/verification"
)

// queue holds at most one piece of each kind for a run.
type queue struct {
	mu     sync.Mutex
	pieces map[name]*piece
	order  *btree.BTreeG[*piece]
	ticket uint64    // counts the places given out in the order
	until  time.Time // the end of the newest lease
}

type name struct {
	kind verification.WorkKind
	run  verification.RunRef
}

// piece is one effect that waits. A leased piece is due at the end of its
// lease.
type piece struct {
	name
	due     time.Time
	ticket  uint64 // parts pieces of one moment: first come, first served
	attempt int
	until   time.Time // what the taker knows it by; zero while nobody has it
}

func newQueue() queue {
	before := func(a, b *piece) bool {
		if c := a.due.Compare(b.due); c != 0 {
			return c < 0
		}
		return a.ticket < b.ticket
	}
	return queue{
		pieces: map[name]*piece{},
		order:  btree.NewBTreeGOptions(before, btree.Options{NoLocks: true}),
	}
}

// Take leases up to most pieces of due work, the earliest due first, and
// tells when the first of all that is in the queue falls due; a leased piece
// does at the end of its lease.
func (s *Store) Take(ctx context.Context, now time.Time, lease time.Duration, most int) (work []verification.Work, next time.Time, err error) {
	if err := ctx.Err(); err != nil {
		return nil, time.Time{}, err
	}
	q := &s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	var taken []*piece
	q.order.Scan(func(p *piece) bool {
		if len(taken) >= most || p.due.After(now) {
			return false
		}
		taken = append(taken, p)
		return true
	})
	if len(taken) > 0 {
		until := q.leaseEnd(now.Add(lease))
		for _, p := range taken {
			q.put(p, until)
			p.until = until
			work = append(work, verification.Work{Kind: p.kind, RunRef: p.run, Attempt: p.attempt, Until: until})
		}
	}
	if first, ok := q.order.Min(); ok {
		next = first.due
	}
	return work, next, nil
}

// Renew moves the lease of runs that are being driven to until.
func (s *Store) Renew(ctx context.Context, runs []verification.RunRef, until time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	for _, run := range runs {
		if p := s.queue.pieces[name{verification.WorkAdvance, run}]; p != nil {
			s.queue.put(p, until)
		}
	}
	return nil
}

// Finish removes a piece of work, if it is still as it was taken.
func (s *Store) Finish(ctx context.Context, w verification.Work) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	if p := s.queue.taken(w); p != nil {
		s.queue.remove(p.name)
	}
	return nil
}

// Postpone makes a piece of work due at a moment, if it is still as it was
// taken.
func (s *Store) Postpone(ctx context.Context, w verification.Work, at time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	if p := s.queue.taken(w); p != nil {
		s.queue.put(p, at)
		p.until = time.Time{}
		p.attempt++
	}
	return nil
}

// enqueue takes over the effects of an append.
func (q *queue) enqueue(run verification.RunRef, a verification.Appendix) {
	q.mu.Lock()
	defer q.mu.Unlock()
	advance := name{verification.WorkAdvance, run}
	q.remove(advance)
	if !a.AdvanceAt.IsZero() {
		q.put(&piece{name: advance}, a.AdvanceAt)
	}
	if a.Announce {
		announce := name{verification.WorkAnnounce, run}
		q.remove(announce)
		q.put(&piece{name: announce}, announceAt(a.Summary))
	}
}

// announceAt is a moment that has come: the append knows no better one.
func announceAt(s verification.Summary) time.Time {
	if s.CompletedAt.IsZero() {
		return s.StartedAt
	}
	return s.CompletedAt
}

// taken finds a piece that its taker still has.
func (q *queue) taken(w verification.Work) *piece {
	p := q.pieces[name{w.Kind, w.RunRef}]
	if p == nil || p.until.IsZero() || !p.until.Equal(w.Until) {
		return nil
	}
	return p
}

// put files a piece at the end of those that are due at the moment.
func (q *queue) put(p *piece, at time.Time) {
	if old := q.pieces[p.name]; old != nil {
		q.order.Delete(old)
	}
	q.ticket++
	p.due, p.ticket = at, q.ticket
	q.pieces[p.name] = p
	q.order.Set(p)
}

func (q *queue) remove(n name) {
	if p := q.pieces[n]; p != nil {
		delete(q.pieces, n)
		q.order.Delete(p)
	}
}

// leaseEnd is the moment, or a little later: takings at one moment of a clock
// that stands still must be told apart by their ends.
func (q *queue) leaseEnd(at time.Time) time.Time {
	if !at.After(q.until) && q.until.Sub(at) < time.Second {
		at = q.until.Add(time.Microsecond)
	}
	q.until = at
	return at
}
