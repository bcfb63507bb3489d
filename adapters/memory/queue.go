// The work queue, by kind, tenant and due time.

package memory

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
)

// workExpire is the kind of the deadlines of live runs, beside the kinds that Take
// hands out.
const workExpire verification.WorkKind = "expire"

// queue has at most one piece of each kind for a run, and one for each of its notices.
type queue struct {
	mu     sync.Mutex
	pieces map[pieceKey]*piece
	lanes  map[laneKey]*lane
	// heads has the lanes of each kind by the due time of their first piece.
	heads    trees[verification.WorkKind, *lane]
	inserted uint64 // counts insertions into lanes
	leases   uint64 // counts the calls of Take
}

type pieceKey struct {
	kind verification.WorkKind
	run  verification.RunRef
	seq  int // of a notice
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
	left     time.Time
	leased   bool
	lease    verification.LeaseID // empty unless the lease was taken from the queue
}

func newQueue() queue {
	return queue{pieces: map[pieceKey]*piece{}, lanes: map[laneKey]*lane{}}
}

// Take leases due work of one kind. Its cost grows with the number of tenants that
// have due work and of pieces taken, not with the backlog.
func (s *Store) Take(ctx context.Context, r verification.TakeRequest) (work []verification.Work, next time.Time, err error) {
	err = s.queue.do(ctx, func(q *queue) {
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
				Kind: p.kind, RunRef: p.run, Seq: p.seq, Workflow: p.workflow, Attempt: p.attempt, Lost: p.lost, LeftAt: p.left, Lease: lease,
			})
		}
		if next = r.Now; !more {
			next = q.dueAfter(r.Kind, r.Now)
		}
	})
	return work, next, err
}

// Overdue returns up to limit live runs whose deadline has passed, and the time when
// the next deadline will have passed. Tenants take turns.
func (s *Store) Overdue(ctx context.Context, now time.Time, limit int) (runs []verification.RunRef, next time.Time, err error) {
	err = s.queue.do(ctx, func(q *queue) {
		r := verification.TakeRequest{Kind: workExpire, Now: now, Max: limit, MaxPerTenant: limit}
		due, _ := roundRobin(q.dueLanes(r), r)
		for _, p := range due {
			runs = append(runs, p.run)
		}
		next = q.dueAfter(workExpire, now)
	})
	return runs, next, err
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
func (q *queue) dueLanes(r verification.TakeRequest) (due []*lane) {
	q.scanHeads(r.Kind, func(l *lane, at time.Time) bool {
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

// dueAfter returns the earliest due time of a kind after a time; zero for none.
func (q *queue) dueAfter(kind verification.WorkKind, now time.Time) (next time.Time) {
	q.scanHeads(kind, func(l *lane, at time.Time) bool {
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

// Renew makes the leases of runs end at the time until.
func (s *Store) Renew(ctx context.Context, runs []verification.RunRef, until time.Time) error {
	return s.queue.do(ctx, func(q *queue) {
		for _, run := range runs {
			if p := q.pieces[pieceKey{verification.WorkAdvance, run, 0}]; p != nil {
				q.put(p, until)
			}
		}
	})
}

// Finish removes a piece of work, unless w.Lease is no longer its lease.
func (s *Store) Finish(ctx context.Context, w verification.Work) error {
	return s.queue.do(ctx, func(q *queue) {
		if p := q.leased(w); p != nil {
			q.remove(p.pieceKey)
		}
	})
}

// Postpone makes a piece of work due at the given time, unless w.Lease is no longer its lease.
func (s *Store) Postpone(ctx context.Context, w verification.Work, at time.Time) error {
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
func (s *Store) Release(ctx context.Context, work []verification.Work, at time.Time) error {
	return s.queue.do(ctx, func(q *queue) {
		for _, w := range work {
			p := q.leased(w)
			if w.Lease == "" {
				p = q.pieces[pieceKey{w.Kind, w.RunRef, w.Seq}]
			}
			if p != nil {
				p.left = w.LeftAt
				q.release(p, at)
			}
		}
	})
}

// enqueue replaces the work and the deadline of a run as an append requires.
func (q *queue) enqueue(run verification.RunRef, c verification.Commit) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.replace(&piece{pieceKey: pieceKey{verification.WorkAdvance, run, 0}, leased: c.Leased}, c, c.AdvanceAt)
	if !c.AnnounceAt.IsZero() {
		q.replace(&piece{pieceKey: pieceKey{verification.WorkAnnounce, run, 0}}, c, c.AnnounceAt)
	}
	for _, n := range c.Notices {
		q.replace(&piece{pieceKey: pieceKey{verification.WorkAnnounce, run, n.Seq}}, c, n.At)
	}
	var overdue time.Time
	if c.Summary.Ended == "" && !c.Summary.ExpiresAt.IsZero() {
		overdue = c.Summary.ExpiresAt.Add(time.Microsecond) // at the deadline itself, it has not passed
	}
	key := pieceKey{workExpire, run, 0}
	if old := q.pieces[key]; old == nil || !old.due.Equal(overdue) {
		q.replace(&piece{pieceKey: key}, c, overdue)
	}
}

// replace puts a piece in place of the one with its key; a zero time removes that.
func (q *queue) replace(p *piece, c verification.Commit, due time.Time) {
	q.remove(p.pieceKey)
	if p.workflow = c.Summary.Workflow; !due.IsZero() {
		q.put(p, due)
	}
}

// leased returns the piece of w, or nil if w.Lease is no longer its lease.
func (q *queue) leased(w verification.Work) *piece {
	p := q.pieces[pieceKey{w.Kind, w.RunRef, w.Seq}]
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
	heads := q.heads.at(n.kind, headBefore)
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
