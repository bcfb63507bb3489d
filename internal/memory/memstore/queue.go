// The work queue, by kind, tenant and due time.

package memstore

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/btree"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// queue has at most one piece of each kind for a run, and one for each of its notices and lists.
type queue struct {
	mu     sync.Mutex
	pieces map[pieceKey]*piece
	lanes  map[laneKey]*lane
	// heads has the lanes of each kind and list by the due time of their first piece. Its keys have no
	// tenant.
	heads    trees[laneKey, *lane]
	inserted uint64 // counts insertions into lanes
	leases   uint64 // counts the calls of Take
	count    func(t verification.TenantID, bytes int)
}

type pieceKey struct {
	store.WorkKey

	run verification.RunRef
}

// lane has the pieces of one kind, list and tenant, the earliest due first.
type lane struct {
	laneKey

	pieces *btree.BTreeG[*piece]
}

type laneKey struct {
	kind   store.WorkKind
	list   string
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
	alone    int
	left     time.Time
	leased   bool
	again    time.Time     // when it is due if its host has died
	lease    store.LeaseID // empty unless the lease was taken from the queue
}

func newQueue(count func(t verification.TenantID, bytes int)) queue {
	return queue{pieces: map[pieceKey]*piece{}, lanes: map[laneKey]*lane{}, count: count}
}

// Take leases due work of one kind and list. Its cost grows with the number of tenants that
// have due work and of pieces taken, not with the backlog.
func (s *Store) Take(ctx context.Context, r store.TakeRequest) (work []store.Work, next time.Time, err error) {
	if r.Kind == store.WorkAdvance && Pressure(s.pressure.Load()) >= LeaveWork {
		return nil, r.Now.Add(leftFor), ctx.Err()
	}
	err = s.queue.do(ctx, func(q *queue) {
		taken, more := roundRobin(q.dueLanes(r), r)
		q.leases++
		lease := store.LeaseID(strconv.FormatUint(q.leases, 10))
		for _, p := range taken {
			if p.leased {
				p.lost++
			}
			p.leased, p.again, p.lease = true, r.Now, lease
			if p.lost > 0 {
				p.again = r.Now.Add(r.Lease)
			}
			q.put(p, r.Now.Add(r.Lease))
			work = append(work, store.Work{
				WorkKey: p.WorkKey, RunRef: p.run, Workflow: p.workflow, Attempt: p.attempt, Lost: p.lost, Alone: p.alone, LeftAt: p.left, Lease: lease,
			})
		}
		if next = r.Now; !more {
			next = q.dueAfter(laneKey{kind: r.Kind, list: r.List}, r.Now)
		}
	})
	return work, next, err
}

// do calls f under the lock, unless ctx has ended.
func (q *queue) do(ctx context.Context, f func(q *queue)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	f(q)
	return nil
}

// dueLanes returns the lanes with due work, starting after r.After.
func (q *queue) dueLanes(r store.TakeRequest) (due []*lane) {
	q.scanHeads(laneKey{kind: r.Kind, list: r.List}, func(l *lane, at time.Time) bool {
		if !at.After(r.Now) && !slices.Contains(r.Except, l.tenant) {
			due = append(due, l)
		}
		return !at.After(r.Now)
	})
	slices.SortFunc(due, func(a, b *lane) int { return compareAfter(r.After, a.tenant, b.tenant) })
	return due
}

// compareAfter compares tenants by the order that starts after one of them.
func compareAfter(first, a, b verification.TenantID) int {
	if after := a > first; after != (b > first) {
		if after {
			return -1
		}
		return 1
	}
	return strings.Compare(string(a), string(b))
}

// dueAfter returns the earliest due time of a kind and list after a time; zero for none.
func (q *queue) dueAfter(of laneKey, now time.Time) (next time.Time) {
	q.scanHeads(of, func(l *lane, at time.Time) bool {
		later := at.After(now) // and so are the first pieces of the lanes that follow
		if !later {
			l.pieces.Ascend(&piece{due: now, order: math.MaxUint64}, func(p *piece) bool {
				at = p.due
				return false
			})
		}
		if at.After(now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
		return !later
	})
	return next
}

// scanHeads calls f with each lane of a kind and list and the due time of its first
// piece, the earliest first, until f returns false.
func (q *queue) scanHeads(of laneKey, f func(l *lane, at time.Time) bool) {
	if heads := q.heads[of]; heads != nil {
		heads.Scan(func(l *lane) bool {
			first, _ := l.pieces.Min()
			return f(l, first.due)
		})
	}
}

// roundRobin returns the first due piece of every lane, then the second, and so on.
// more reports whether the limits left due pieces behind.
func roundRobin(lanes []*lane, r store.TakeRequest) (taken []*piece, more bool) {
	skipped := map[laneKey]int{}
	next := func(l *lane, round int) (*piece, bool) {
		for {
			p, ok := l.pieces.GetAt(round + skipped[l.laneKey])
			if !ok || p.due.After(r.Now) {
				return nil, false
			}
			if !slices.Contains(r.ExceptRuns, p.run) {
				return p, true
			}
			skipped[l.laneKey]++
		}
	}
	for round := 0; len(lanes) > 0; round++ {
		left := lanes[:0:0]
		for _, l := range lanes {
			p, ok := next(l, round)
			if !ok {
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

// Renew makes the leases of runs end at the time until, and counts a trial of each if alone is
// true.
func (s *Store) Renew(ctx context.Context, runs []verification.RunRef, until time.Time, alone bool) error {
	return s.queue.do(ctx, func(q *queue) {
		for _, run := range runs {
			if p := q.pieces[pieceKey{store.WorkKey{Kind: store.WorkAdvance}, run}]; p != nil {
				if p.alone++; !alone {
					p.alone = 0
				}
				q.put(p, until)
			}
		}
	})
}

// Finish removes a piece of work, unless w.Lease is no longer its lease.
func (s *Store) Finish(ctx context.Context, w store.Work) error {
	return s.queue.do(ctx, func(q *queue) {
		if p := q.leased(w); p != nil {
			q.remove(p.pieceKey)
		}
	})
}

// Postpone makes a piece of work due at the given time, unless w.Lease is no longer its lease.
func (s *Store) Postpone(ctx context.Context, w store.Work, at time.Time) error {
	return s.queue.do(ctx, func(q *queue) {
		if p := q.leased(w); p != nil {
			p.attempt++
			p.lost = 0
			q.release(p, at)
		}
	})
}

// Release ends leases: the pieces that still have their lease are due again at a
// time.
func (s *Store) Release(ctx context.Context, work []store.Work, at time.Time) error {
	return s.queue.do(ctx, func(q *queue) {
		for _, w := range work {
			p := q.leased(w)
			if w.Lease == "" {
				p = q.pieces[pieceKey{w.WorkKey, w.RunRef}]
			}
			if p != nil {
				p.left = w.LeftAt
				q.release(p, at)
			}
		}
	})
}

// enqueue replaces the work of a run as an append requires. Pieces that are due at the same
// time are taken in the order in which they were put.
func (q *queue) enqueue(run verification.RunRef, c store.Commit) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, key := range c.Work.Keys() {
		due := c.Work[key]
		p := &piece{pieceKey: pieceKey{key, run}, workflow: c.Summary.Workflow}
		if p.leased = key.Kind == store.WorkAdvance && c.Hold == store.Leased; p.leased {
			p.again = due // unless an event says when
			if n := len(c.Events); n > 0 {
				p.again = c.Events[n-1].At
			}
		}
		q.remove(p.pieceKey)
		if !due.IsZero() {
			q.put(p, due)
		}
	}
}

// removeRun removes all work of a run that has no notice in the queue.
func (q *queue) removeRun(run verification.RunRef) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, kind := range store.WorkKinds() {
		q.remove(pieceKey{store.WorkKey{Kind: kind}, run})
	}
	for key := range q.heads {
		if key.kind == store.WorkRescreen { // also of a list that it is not screened against any more
			q.remove(pieceKey{store.WorkKey{Kind: key.kind, List: key.list}, run})
		}
	}
}

// announces reports whether a notice of the first seq events of a run, or of its end, is in the queue.
func (q *queue) announces(run verification.RunRef, seq int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for n := range seq + 1 {
		if q.pieces[pieceKey{store.WorkKey{Kind: store.WorkAnnounce, Seq: n}, run}] != nil {
			return true
		}
	}
	return false
}

// leased returns the piece of w, or nil if w.Lease is no longer its lease.
func (q *queue) leased(w store.Work) *piece {
	p := q.pieces[pieceKey{w.WorkKey, w.RunRef}]
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

// put inserts a piece after the pieces of its lane with the same due time.
func (q *queue) put(p *piece, at time.Time) {
	q.remove(p.pieceKey)
	q.inserted++
	p.due, p.order = at, q.inserted
	q.pieces[p.pieceKey] = p
	q.count(p.run.Tenant, sizeOfPiece)
	q.change(p.pieceKey, func(l *lane) { l.pieces.Set(p) })
}

func (q *queue) remove(n pieceKey) {
	if p := q.pieces[n]; p != nil {
		delete(q.pieces, n)
		q.count(n.run.Tenant, -sizeOfPiece)
		q.change(n, func(l *lane) { l.pieces.Delete(p) })
	}
}

// change changes the lane of a piece, and the position of the lane among the heads.
func (q *queue) change(n pieceKey, f func(*lane)) {
	key := laneKey{n.Kind, n.List, n.run.Tenant}
	heads := q.heads.at(laneKey{kind: n.Kind, list: n.List}, headBefore)
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
