// Appends are committed in groups: a few writers each take all that waits.

package postgres

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/verification"
)

// The bounds of a group. A single append may be larger than maxGroupBytes; it
// then is a group of its own.
const (
	maxGroup      = 256
	maxGroupBytes = 2 << 20 // of events
)

// writers commit appends in groups. Nobody waits for a group to fill: whoever
// comes while a writer is free becomes that writer, and takes what is there.
type writers struct {
	store *Store
	most  int // writers at once

	mu     sync.Mutex
	line   []*waiting
	busy   int // writers under way
	closed bool
	idle   *sync.Cond // told when the last writer is done
}

// waiting is an append in the line.
type waiting struct {
	addition
	called atomic.Bool // by a writer, or by a caller who gave up
	answer chan error
}

func newWriters(s *Store, most int) *writers {
	w := &writers{store: s, most: most}
	w.idle = sync.NewCond(&w.mu)
	return w
}

// stop lets nobody in any more and waits for those who are in the line.
func (w *writers) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for w.busy > 0 {
		w.idle.Wait()
	}
}

// waits is how many appends are in the line.
func (w *writers) waits() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.line)
}

// append waits until the append is committed, or refused. A caller whose ctx
// ends leaves the line; once a writer has called it, it waits for the answer.
func (w *writers) append(ctx context.Context, d addition) error {
	p := &waiting{addition: d, answer: make(chan error, 1)}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return closed()
	}
	w.line = append(w.line, p)
	write := w.busy < w.most
	if write {
		w.busy++
	}
	w.mu.Unlock()
	if write && w.group() {
		go w.serve() // this caller has its answer, others wait for theirs
	}
	select {
	case err := <-p.answer:
		return err
	case <-ctx.Done():
		if p.called.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		return <-p.answer
	}
}

func closed() error {
	return &verification.Error{Kind: verification.ErrUnavailable, Subject: "database", Message: "the store is closed"}
}

// serve writes until nobody waits.
func (w *writers) serve() {
	for w.group() {
	}
}

// group writes one group and tells whether more wait. Otherwise this writer is
// done.
func (w *writers) group() (more bool) {
	w.mu.Lock()
	group := w.gather()
	w.mu.Unlock()
	if len(group) > 0 {
		w.store.commit(group)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.line) > 0 {
		return true
	}
	w.busy--
	if w.busy == 0 {
		w.idle.Broadcast()
	}
	return false
}

// gather moves appends from the line into a group, one append a run; the rest
// stays in the line. Tenants take turns, so that the appends of one tenant,
// however many and large they are, delay those of another by one group at most.
// The caller holds the lock.
func (w *writers) gather() (group []*waiting) {
	var tenants []verification.TenantID // in the order of their first append
	lines := map[verification.TenantID][]*waiting{}
	for _, p := range w.line {
		t := p.ref.Tenant
		if lines[t] == nil {
			tenants = append(tenants, t)
		}
		lines[t] = append(lines[t], p)
	}
	runs := make(map[verification.RunRef]bool, min(len(w.line), maxGroup))
	bytes := 0
	take := func(p *waiting) bool {
		if runs[p.ref] || len(group) == maxGroup || len(group) > 0 && bytes+len(p.events) > maxGroupBytes {
			return false
		}
		if p.called.CompareAndSwap(false, true) {
			runs[p.ref] = true
			bytes += len(p.events)
			group = append(group, p)
		}
		return true // a caller that gave up leaves the line, too
	}
	var rest []*waiting
	for turn := 0; len(tenants) > 0; turn++ {
		left := tenants[:0]
		for _, t := range tenants {
			if turn == len(lines[t]) {
				continue
			}
			left = append(left, t)
			if p := lines[t][turn]; !take(p) {
				rest = append(rest, p)
			}
		}
		tenants = left
	}
	w.line = rest
	// Writers that meet at some runs meet there in the same order.
	slices.SortFunc(group, func(a, b *waiting) int {
		if c := strings.Compare(string(a.ref.Tenant), string(b.ref.Tenant)); c != 0 {
			return c
		}
		return strings.Compare(string(a.ref.Run), string(b.ref.Run))
	})
	return group
}

// commit commits a group and answers everybody in it.
func (s *Store) commit(group []*waiting) {
	additions := make([]addition, len(group))
	for i, p := range group {
		additions[i] = p.addition
	}
	kept, err := s.commitTogether(additions)
	if err != nil && len(group) > 1 && code(err) != "" && !unavailable(err) {
		// One of them is at fault, or two groups met in an unhappy way: each by
		// itself, so that nobody answers for another.
		for _, p := range group {
			s.commit([]*waiting{p})
		}
		return
	}
	for _, p := range group {
		switch {
		case met(err):
			p.answer <- outrun()
		case err != nil:
			p.answer <- translate("append to run "+string(p.ref.Run), err)
		case !kept[p.ref]:
			p.answer <- outrun()
		default:
			p.answer <- nil
		}
	}
}

// commitTogether commits a group and tells which of its appends were kept: one
// round trip, unless other hosts are to be told.
func (s *Store) commitTogether(group []addition) (kept map[verification.RunRef]bool, err error) {
	ctx, cancel := s.withTimeout(context.Background())
	defer cancel()
	bells := s.alarms.of(group)
	if len(bells) == 0 {
		return sendGroup(ctx, s.link(), group)
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if kept, err = sendGroup(ctx, link{to: tx}, group); err != nil {
			return err
		}
		return s.alarms.ring(ctx, tx, bells, kept)
	})
	return kept, err
}

// sendGroup sends a group in one batch, which is one transaction if none is
// open, and tells which of its appends were kept.
func sendGroup(ctx context.Context, l link, group []addition) (map[verification.RunRef]bool, error) {
	kept := make(map[verification.RunRef]bool, len(group))
	err := l.askHot(ctx, tenantsOf(group), func(b *pgx.Batch) error { return send(l, b, group, kept) })
	return kept, err
}

// tenantsOf names the tenants of a group, which is sorted by tenant.
func tenantsOf(group []addition) string {
	var names []string
	for _, d := range group {
		if name := string(d.ref.Tenant); len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

func outrun() error { return conflict("run", "its history has moved on") }
