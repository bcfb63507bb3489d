// The work queue: what is to be done, by kind, tenant and due time.

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

// queue holds at most one piece of each kind for a run.
type queue struct {
	mu     sync.Mutex
	pieces map[name]*piece
	lanes  map[laneKey]*lane
	// heads has the lanes of each kind by the due time of their first piece.
	heads  map[verification.WorkKind]*btree.BTreeG[*lane]
	ticket uint64 // counts the positions given out in the lanes
	leases uint64 // counts the calls of Take
}

type name struct {
	kind verification.WorkKind
	run  verification.RunRef
}

// lane holds the pieces of one kind and one tenant, the earliest due first.
type lane struct {
	laneKey

	order *btree.BTreeG[*piece]
}

type laneKey struct {
	kind   verification.WorkKind
	tenant verification.TenantID
}

// piece is one effect that waits. A leased piece is due at the end of its
// lease.
type piece struct {
	name

	workflow verification.WorkflowID

	due     time.Time
	ticket  uint64 // orders pieces of one due time: first come, first served
	attempt int
	lost    int
	leased  bool                 // by a taker, or by the host that appended
	lease   verification.LeaseID // empty unless a taker has it
}

func newQueue() queue {
	return queue{
		pieces: map[name]*piece{},
		lanes:  map[laneKey]*lane{},
		heads:  map[verification.WorkKind]*btree.BTreeG[*lane]{},
	}
}

// Take leases due work of one kind. Its cost grows with the tenants that have
// due work and with the pieces taken, not with the pieces that wait.
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

// dueLanes returns the lanes that Take serves, in the order of their turns.
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

// dueAfter returns when the first lane that is not due yet falls due; zero for
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
			first, _ := l.order.Min()
			return f(l, first.due)
		})
	}
}

// roundRobin picks the first due piece of every lane, then the second, and so
// on; more reports whether the limits left due pieces behind.
func roundRobin(lanes []*lane, r verification.TakeRequest) (taken []*piece, more bool) {
	for turn := 0; len(lanes) > 0; turn++ {
		left := lanes[:0:0]
		for _, l := range lanes {
			p, ok := l.order.GetAt(turn)
			if !ok || p.due.After(r.Now) {
				continue
			}
			if turn >= r.MaxPerTenant || len(taken) >= r.Max {
				return taken, true
			}
			taken = append(taken, p)
			left = append(left, l)
		}
		lanes = left
	}
	return taken, false
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

// Postpone makes a piece of work due at a time, if it is still as it was taken.
func (s *Store) Postpone(ctx context.Context, w verification.Work, at time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	if p := s.queue.taken(w); p != nil {
		p.attempt++
		p.lost = 0
		s.queue.giveUp(p, at)
	}
	return nil
}

// Release gives leases up: the pieces that are still as they were taken are due
// again at a time.
func (s *Store) Release(ctx context.Context, work []verification.Work, at time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	for _, w := range work {
		p := s.queue.taken(w)
		if w.Lease == "" {
			p = s.queue.pieces[name{w.Kind, w.RunRef}]
		}
		if p != nil {
			s.queue.giveUp(p, at)
		}
	}
	return nil
}

// enqueue takes over the effects of an append.
func (q *queue) enqueue(run verification.RunRef, a verification.Commit) {
	q.mu.Lock()
	defer q.mu.Unlock()
	advance := &piece{name: name{verification.WorkAdvance, run}, workflow: a.Summary.Workflow, leased: a.Leased}
	q.remove(advance.name)
	if !a.AdvanceAt.IsZero() {
		q.put(advance, a.AdvanceAt)
	}
	if !a.AnnounceAt.IsZero() {
		q.put(&piece{name: name{verification.WorkAnnounce, run}, workflow: a.Summary.Workflow}, a.AnnounceAt)
	}
}

// taken finds a piece that its taker still has.
func (q *queue) taken(w verification.Work) *piece {
	p := q.pieces[name{w.Kind, w.RunRef}]
	if p == nil || p.lease == "" || p.lease != w.Lease {
		return nil
	}
	return p
}

// giveUp ends the lease of a piece, which is then due at a time.
func (q *queue) giveUp(p *piece, at time.Time) {
	p.leased, p.lease = false, ""
	q.put(p, at)
}

// put places a piece behind those of its lane that are due at the same time.
func (q *queue) put(p *piece, at time.Time) {
	q.remove(p.name)
	q.ticket++
	p.due, p.ticket = at, q.ticket
	q.pieces[p.name] = p
	q.change(p.name, func(l *lane) { l.order.Set(p) })
}

func (q *queue) remove(n name) {
	if p := q.pieces[n]; p != nil {
		delete(q.pieces, n)
		q.change(n, func(l *lane) { l.order.Delete(p) })
	}
}

// change changes the lane of a piece and keeps the lane's position among the
// heads.
func (q *queue) change(n name, f func(*lane)) {
	key := laneKey{n.kind, n.run.Tenant}
	heads := q.heads[n.kind]
	if heads == nil {
		heads = btree.NewBTreeGOptions(headBefore, btree.Options{NoLocks: true})
		q.heads[n.kind] = heads
	}
	l := q.lanes[key]
	if l == nil {
		l = &lane{laneKey: key, order: btree.NewBTreeGOptions(pieceBefore, btree.Options{NoLocks: true})}
		q.lanes[key] = l
	} else {
		heads.Delete(l)
	}
	f(l)
	if l.order.Len() == 0 {
		delete(q.lanes, key)
		return
	}
	heads.Set(l)
}

func pieceBefore(a, b *piece) bool {
	if c := a.due.Compare(b.due); c != 0 {
		return c < 0
	}
	return a.ticket < b.ticket
}

func headBefore(a, b *lane) bool {
	first, _ := a.order.Min()
	second, _ := b.order.Min()
	return pieceBefore(first, second)
}
