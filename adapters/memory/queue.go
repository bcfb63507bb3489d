// The work queue, by kind, tenant and due time.

package memory

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/btree"

	"github.com/verifyd/verifyd/verification"
)

// queue has at most one piece of each kind for a run.
type queue struct {
	mu     sync.Mutex
	pieces map[pieceKey]*piece
	lanes  map[laneKey]*lane
	// heads has the lanes of each kind by the due time of their first piece.
	heads    map[verification.WorkKind]*btree.BTreeG[*lane]
	inserted uint64 // counts insertions into lanes
	leases   uint64 // counts the calls of Take
}

type pieceKey struct {
	kind verification.WorkKind
	run  verification.RunRef
}

// lane has the pieces of one kind and one tenant, the earliest due first.
type lane struct {
	laneKey

	pieces *btree.BTreeG[*piece]
}

type laneKey struct {
	kind   verification.WorkKind
	tenant verification.TenantID
}

// piece is one effect that waits. A leased piece is due at the end of its lease.
type piece struct {
	pieceKey

	workflow verification.WorkflowID
	due      time.Time
	order    uint64 // of pieces with the same due time
	attempt  int
	lost     int
	leased   bool
	lease    verification.LeaseID // empty unless the lease was taken from the queue
}

func newQueue() queue {
	return queue{
		pieces: map[pieceKey]*piece{},
		lanes:  map[laneKey]*lane{},
		heads:  map[verification.WorkKind]*btree.BTreeG[*lane]{},
	}
}

// Take leases due work of one kind. Its cost grows with the number of tenants that
// have due work and of pieces taken, not with the backlog.
func (s *Store) Take(ctx context.Context, r verification.TakeRequest) (work []verification.Work, next time.Time, err error) {
	if err := ctx.Err(); err != nil {
		return nil, time.Time{}, err
	}
	q := &s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	taken, more := roundRobin(q.dueLanes(r), r)
	q.leases++
	lease := verification.LeaseID(strconv.FormatUint(q.leases, 10))
	for _, p := range taken {
		if p.leased {
			p.lost++
		}
		p.leased, p.lease = true, lease
		q.put(p, r.Now.Add(r.Lease))
		work = append(work, verification.Work{
			Kind: p.kind, RunRef: p.run, Workflow: p.workflow, Attempt: p.attempt, Lost: p.lost, Lease: lease,
		})
	}
	if more {
		return work, r.Now, nil
	}
	return work, q.dueAfter(r.Kind, r.Now), nil
}

// dueLanes returns the lanes with due work, starting after r.After.
func (q *queue) dueLanes(r verification.TakeRequest) (due []*lane) {
	q.scanHeads(r.Kind, func(l *lane, at time.Time) bool {
		if !at.After(r.Now) && !slices.Contains(r.Except, l.tenant) {
			due = append(due, l)
		}
		return !at.After(r.Now)
	})
	slices.SortFunc(due, func(a, b *lane) int {
		if after := a.tenant > r.After; after != (b.tenant > r.After) {
			if after {
				return -1
			}
			return 1
		}
		return strings.Compare(string(a.tenant), string(b.tenant))
	})
	return due
}

// dueAfter returns when the first lane without due work will have some; zero for
// never.
func (q *queue) dueAfter(kind verification.WorkKind, now time.Time) (next time.Time) {
	q.scanHeads(kind, func(_ *lane, at time.Time) bool {
		if at.After(now) {
			next = at
		}
		return next.IsZero()
	})
	return next
}

// scanHeads calls f with each lane of a kind and the due time of its first
// piece, the earliest first, until f returns false.
func (q *queue) scanHeads(kind verification.WorkKind, f func(l *lane, at time.Time) bool) {
	if heads := q.heads[kind]; heads != nil {
		heads.Scan(func(l *lane) bool {
			first, _ := l.pieces.Min()
			return f(l, first.due)
		})
	}
}

// roundRobin returns the first due piece of every lane, then the second, and so on.
// more reports whether the limits left due pieces behind.
func roundRobin(lanes []*lane, r verification.TakeRequest) (taken []*piece, more bool) {
	for round := 0; len(lanes) > 0; round++ {
		left := lanes[:0:0]
		for _, l := range lanes {
			p, ok := l.pieces.GetAt(round)
			if !ok || p.due.After(r.Now) {
				continue
			}
			if round >= r.MaxPerTenant || len(taken) >= r.Max {
				return taken, true
			}
			taken = append(taken, p)
			left = append(left, l)
		}
		lanes = left
	}
	return taken, false
}

// Renew moves the leases of runs that are being driven to until.
func (s *Store) Renew(ctx context.Context, runs []verification.RunRef, until time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	for _, run := range runs {
		if p := s.queue.pieces[pieceKey{verification.WorkAdvance, run}]; p != nil {
			s.queue.put(p, until)
		}
	}
	return nil
}

// Finish removes a piece of work, if its lease is still the newest.
func (s *Store) Finish(ctx context.Context, w verification.Work) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	if p := s.queue.leased(w); p != nil {
		s.queue.remove(p.pieceKey)
	}
	return nil
}

// Postpone makes a piece of work due at a time, if its lease is still the newest.
func (s *Store) Postpone(ctx context.Context, w verification.Work, at time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	if p := s.queue.leased(w); p != nil {
		p.attempt++
		p.lost = 0
		s.queue.release(p, at)
	}
	return nil
}

// Release ends leases: the pieces whose lease is still the newest are due again at
// a time.
func (s *Store) Release(ctx context.Context, work []verification.Work, at time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	for _, w := range work {
		p := s.queue.leased(w)
		if w.Lease == "" {
			p = s.queue.pieces[pieceKey{w.Kind, w.RunRef}]
		}
		if p != nil {
			s.queue.release(p, at)
		}
	}
	return nil
}

// enqueue replaces the work of a run as an append requires.
func (q *queue) enqueue(run verification.RunRef, a verification.Commit) {
	q.mu.Lock()
	defer q.mu.Unlock()
	advance := &piece{pieceKey: pieceKey{verification.WorkAdvance, run}, workflow: a.Summary.Workflow, leased: a.Leased}
	q.remove(advance.pieceKey)
	if !a.AdvanceAt.IsZero() {
		q.put(advance, a.AdvanceAt)
	}
	if !a.AnnounceAt.IsZero() {
		q.put(&piece{pieceKey: pieceKey{verification.WorkAnnounce, run}, workflow: a.Summary.Workflow}, a.AnnounceAt)
	}
}

// leased returns the piece of a lease that is still the newest, or nil.
func (q *queue) leased(w verification.Work) *piece {
	p := q.pieces[pieceKey{w.Kind, w.RunRef}]
	if p == nil || p.lease == "" || p.lease != w.Lease {
		return nil
	}
	return p
}

// release ends the lease of a piece, which is then due at a time.
func (q *queue) release(p *piece, at time.Time) {
	p.leased, p.lease = false, ""
	q.put(p, at)
}

// put inserts a piece after those of its lane with the same due time.
func (q *queue) put(p *piece, at time.Time) {
	q.remove(p.pieceKey)
	q.inserted++
	p.due, p.order = at, q.inserted
	q.pieces[p.pieceKey] = p
	q.change(p.pieceKey, func(l *lane) { l.pieces.Set(p) })
}

func (q *queue) remove(n pieceKey) {
	if p := q.pieces[n]; p != nil {
		delete(q.pieces, n)
		q.change(n, func(l *lane) { l.pieces.Delete(p) })
	}
}

// change changes the lane of a piece, and the position of the lane among the heads.
func (q *queue) change(n pieceKey, f func(*lane)) {
	key := laneKey{n.kind, n.run.Tenant}
	heads := q.heads[n.kind]
	if heads == nil {
		heads = newTree(headBefore)
		q.heads[n.kind] = heads
	}
	l := q.lanes[key]
	if l == nil {
		l = &lane{laneKey: key, pieces: newTree(pieceBefore)}
		q.lanes[key] = l
	} else {
		heads.Delete(l)
	}
	f(l)
	if l.pieces.Len() == 0 {
		delete(q.lanes, key)
		return
	}
	heads.Set(l)
}

func pieceBefore(a, b *piece) bool {
	if c := a.due.Compare(b.due); c != 0 {
		return c < 0
	}
	return a.order < b.order
}

func headBefore(a, b *lane) bool {
	first, _ := a.pieces.Min()
	second, _ := b.pieces.Min()
	return pieceBefore(first, second)
}
