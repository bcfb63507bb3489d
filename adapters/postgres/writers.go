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

// The bounds of what waits: how many appends a group has at most, and how many
// may wait before a caller waits to be let in.
const (
	groupMost = 256
	lineMost  = 4096
)

// writers commit appends in groups. Nobody waits for a group to fill: a writer
// that is free takes what is there.
type writers struct {
	store *Store
	line  chan *waiting
	over  chan struct{} // closed when no more are let in
	once  sync.Once
	done  sync.WaitGroup
}

// waiting is an append in the line.
type waiting struct {
	addition
	called atomic.Bool // by a writer, or by a caller who gave up
	answer chan error
}

func startWriters(s *Store, n int) *writers {
	w := &writers{store: s, line: make(chan *waiting, lineMost), over: make(chan struct{})}
	for range n {
		w.done.Go(w.serve)
	}
	return w
}

// stop lets nobody in any more and waits for those who are in the line.
func (w *writers) stop() {
	w.once.Do(func() { close(w.over) })
	w.done.Wait()
}

// append waits until the append is committed, or refused. A caller whose ctx
// ends leaves the line; once a writer has called it, it waits for the answer.
func (w *writers) append(ctx context.Context, d addition) error {
	p := &waiting{addition: d, answer: make(chan error, 1)}
	select {
	case <-w.over:
		return closed()
	default:
	}
	select {
	case w.line <- p:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.over:
		return closed()
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

// serve is the life of one writer.
func (w *writers) serve() {
	var aside []*waiting // of runs that were in the last group already
	for {
		if len(aside) == 0 {
			select {
			case p := <-w.line:
				aside = append(aside, p)
			case <-w.over:
				select { // who came in at the last moment
				case p := <-w.line:
					aside = append(aside, p)
				default:
					return
				}
			}
		}
		var group []*waiting
		group, aside = w.gather(aside)
		if len(group) > 0 {
			w.store.commit(group)
		}
	}
}

// gather calls everybody who waits into a group, one append a run; the rest is
// set aside.
func (w *writers) gather(first []*waiting) (group, aside []*waiting) {
	runs := make(map[verification.RunRef]bool, len(first)+len(w.line))
	call := func(p *waiting) {
		switch {
		case runs[p.ref] || len(group) == groupMost:
			aside = append(aside, p)
		case p.called.CompareAndSwap(false, true):
			runs[p.ref] = true
			group = append(group, p)
		}
	}
	for _, p := range first {
		call(p)
	}
	for len(group) < groupMost {
		select {
		case p := <-w.line:
			call(p)
			continue
		default:
		}
		break
	}
	// Two writers that meet at some runs meet there in the same order.
	slices.SortFunc(group, func(a, b *waiting) int {
		if c := strings.Compare(string(a.ref.Tenant), string(b.ref.Tenant)); c != 0 {
			return c
		}
		return strings.Compare(string(a.ref.Run), string(b.ref.Run))
	})
	return group, aside
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
	ctx, cancel := s.patience(context.Background())
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
