// Group commit: a few writers each commit all appends that wait.

package postgres

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// The limits of a group. A single append larger than maxGroupBytes is a group of
// its own.
const (
	maxGroup      = 256
	maxGroupBytes = 2 << 20 // of events
)

// writers commit appends in groups. No append waits for a group to fill: a caller
// that arrives while a writer is free becomes that writer, and commits all that
// wait.
type writers struct {
	store *Store
	max   int // writers at the same time

	mu     sync.Mutex
	queue  []*queuedAppend
	busy   int // writers that are committing
	closed bool
	idle   *sync.Cond // signaled when busy becomes 0
}

// queuedAppend is an append that waits for a writer.
type queuedAppend struct {
	*pendingAppend
	claimed atomic.Bool // by a writer, or by a caller that gave up
	result  chan error
}

func newWriters(s *Store, limit int) *writers {
	w := &writers{store: s, max: limit}
	w.idle = sync.NewCond(&w.mu)
	return w
}

// stop refuses further appends and waits for those in the queue.
func (w *writers) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for w.busy > 0 {
		w.idle.Wait()
	}
}

// waitingAppends returns the length of the queue.
func (w *writers) waitingAppends() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue)
}

// append waits until p is committed or refused. When ctx ends before a writer has
// claimed p, it is dropped; after that, append waits for the result.
func (w *writers) append(ctx context.Context, p *pendingAppend) error {
	a := &queuedAppend{pendingAppend: p, result: make(chan error, 1)}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return errClosed()
	}
	w.queue = append(w.queue, a)
	write := w.busy < w.max
	if write {
		w.busy++
	}
	w.mu.Unlock()
	if write && w.writeGroup() {
		go func() { // this caller has its result
			for w.writeGroup() {
			}
		}()
	}
	select {
	case err := <-a.result:
		return err
	case <-ctx.Done():
		if a.claimed.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		return <-a.result
	}
}

// writeGroup commits one group and reports whether more appends wait. If not, this
// writer is done.
func (w *writers) writeGroup() (more bool) {
	w.mu.Lock()
	group := w.gather()
	w.mu.Unlock()
	if len(group) > 0 {
		w.store.commit(group)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) > 0 {
		return true
	}
	w.busy--
	if w.busy == 0 {
		w.idle.Broadcast()
	}
	return false
}

// gather moves appends from the queue into a group, at most one of each run. It
// takes the appends of the tenants round robin, so those of one tenant delay those
// of another by one group at most. The caller holds the lock.
func (w *writers) gather() (group []*queuedAppend) {
	var tenants []verification.TenantID // in the order of their first append
	queues := map[verification.TenantID][]*queuedAppend{}
	for _, p := range w.queue {
		t := p.ref.Tenant
		if queues[t] == nil {
			tenants = append(tenants, t)
		}
		queues[t] = append(queues[t], p)
	}
	runs := make(map[verification.RunRef]bool, min(len(w.queue), maxGroup))
	bytes := 0
	take := func(p *queuedAppend) bool {
		if runs[p.ref] || len(group) == maxGroup || len(group) > 0 && bytes+len(p.events) > maxGroupBytes {
			return false
		}
		if p.claimed.CompareAndSwap(false, true) {
			runs[p.ref] = true
			bytes += len(p.events)
			group = append(group, p)
		}
		return true // the append of a caller that gave up is dropped
	}
	var rest []*queuedAppend
	for round := 0; len(tenants) > 0; round++ {
		left := tenants[:0]
		for _, t := range tenants {
			if round == len(queues[t]) {
				continue
			}
			left = append(left, t)
			if p := queues[t][round]; !take(p) {
				rest = append(rest, p)
			}
		}
		tenants = left
	}
	w.queue = rest
	// Each statement locks runs in the same order. A deadlock between statements fails the
	// group, whose appends are then sent one by one.
	slices.SortFunc(group, func(a, b *queuedAppend) int {
		if c := strings.Compare(string(a.ref.Tenant), string(b.ref.Tenant)); c != 0 {
			return c
		}
		return strings.Compare(string(a.ref.Run), string(b.ref.Run))
	})
	return group
}

// commit commits a group and sends the result of each append.
func (s *Store) commit(group []*queuedAppend) {
	pending := make([]*pendingAppend, len(group))
	for i, p := range group {
		pending[i] = p.pendingAppend
	}
	appended, err := s.commitTogether(pending)
	if err != nil && len(group) > 1 && pgerror.Code(err) != "" && !pgerror.IsUnavailable(err) {
		// One append failed, or two groups conflicted: commit each alone, so
		// that no append fails because of another.
		for _, p := range group {
			s.commit([]*queuedAppend{p})
		}
		return
	}
	for _, p := range group {
		switch {
		case isAppendConflict(err):
			p.result <- store.HistoryChanged()
		case err != nil:
			p.result <- pgerror.Translate("append to run "+string(p.ref.Run), err)
		case !appended[p.ref]:
			p.result <- store.HistoryChanged()
		default:
			p.result <- nil
		}
	}
}

// commitTogether sends a group and returns the runs that were appended to. It
// takes one round trip, unless other hosts are to be woken.
func (s *Store) commitTogether(group []*pendingAppend) (appended map[verification.RunRef]bool, err error) {
	ctx := context.Background()
	jobs := s.wakeups.ofAppends(group)
	if len(jobs) == 0 {
		return sendGroup(ctx, s.querier(), group)
	}
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if appended, err = sendGroup(ctx, querier{to: tx}, group); err != nil {
			return err
		}
		return s.wakeups.enqueue(ctx, tx, jobs, appended)
	})
	return appended, err
}

// sendGroup sends a group in one batch, which is one transaction unless one is
// open, and returns the runs that were appended to.
func sendGroup(ctx context.Context, q querier, group []*pendingAppend) (map[verification.RunRef]bool, error) {
	appended := make(map[verification.RunRef]bool, len(group))
	err := q.hotBatch(ctx, tenantsOf(group), func(b *pgx.Batch) error { return queueAppends(q, b, group, appended) })
	return appended, err
}

// tenantsOf returns the tenants of a group, which is sorted by tenant, as a value
// of verifyd.tenant.
func tenantsOf(group []*pendingAppend) string {
	var ids []string
	for _, p := range group {
		if id := string(p.ref.Tenant); len(ids) == 0 || ids[len(ids)-1] != id {
			ids = append(ids, id)
		}
	}
	return strings.Join(ids, ",")
}
