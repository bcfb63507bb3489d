// The histories of runs, a book for each tenant.

package memory

import (
	"context"
	"slices"
	"sync"

	"github.com/verifyd/verifyd/verification"
)

// book holds the runs of one tenant.
type book struct {
	mu    sync.RWMutex
	runs  map[verification.RunID]*record
	index index
}

// record is what is kept of one run. Its ref never changes; the rest is held
// by the lock of its book.
type record struct {
	ref     verification.RunRef
	summary verification.Summary
	// history only ever grows at its end, so that what was handed out of it
	// stays as it was.
	history []verification.Event
}

// Load returns the events after the first `after` ones, or ErrNotFound.
func (s *Store) Load(ctx context.Context, t verification.TenantID, id verification.RunID, after int) ([]verification.Event, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b := s.book(t)
	if b == nil {
		return nil, notFound("run")
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	r, ok := b.runs[id]
	if !ok {
		return nil, notFound("run")
	}
	if after >= len(r.history) {
		return nil, nil
	}
	return slices.Clip(r.history[max(after, 0):]), nil
}

// Append adds to a run whose history has seq events, all or nothing, or
// returns ErrConflict.
func (s *Store) Append(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, a verification.Commit) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b := s.book(t)
	if b == nil && seq == 0 {
		b = s.openBook(t)
	}
	if b == nil {
		return outrun()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	r, known := b.runs[id]
	if !known && seq != 0 || known && len(r.history) != seq {
		return outrun()
	}
	if !known {
		r = &record{ref: verification.RunRef{Tenant: t, Run: id}}
		b.runs[id] = r
	}
	r.extend(a)
	if a.HistoryOnly {
		return nil
	}
	before := deadline(r.summary)
	if n := len(a.Events); n > 0 {
		b.index.follow(a.Events[n-1].At)
	}
	summary := a.Summary
	summary.ID = id
	b.index.put(r, summary)
	s.deadlines.move(r, before, deadline(summary))
	s.queue.enqueue(r.ref, a)
	return nil
}

// List returns one page of the runs that match the query at its moment.
func (s *Store) List(ctx context.Context, t verification.TenantID, q verification.RunQuery) (verification.Page[verification.Summary], error) {
	if err := ctx.Err(); err != nil {
		return verification.Page[verification.Summary]{}, err
	}
	b := s.book(t)
	if b == nil {
		return verification.Page[verification.Summary]{PageQuery: q.PageQuery}, nil
	}
	b.mu.RLock()
	if b.index.standsFor(q.Now) {
		defer b.mu.RUnlock()
		return b.index.page(q), nil
	}
	b.mu.RUnlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.index.turnTo(q.Now)
	return b.index.page(q), nil
}

// book finds the book of a tenant, or nil.
func (s *Store) book(t verification.TenantID) *book {
	s.booksMu.RLock()
	defer s.booksMu.RUnlock()
	return s.books[t]
}

func (s *Store) openBook(t verification.TenantID) *book {
	s.booksMu.Lock()
	defer s.booksMu.Unlock()
	if b := s.books[t]; b != nil {
		return b
	}
	b := &book{runs: map[verification.RunID]*record{}, index: newIndex()}
	s.books[t] = b
	return b
}

// extend adds the events. Growth leaves room for more; a run that is over
// gives it back.
func (r *record) extend(a verification.Commit) {
	r.history = append(r.history, a.Events...)
	if a.Summary.Ended != "" && len(a.Events) > 0 {
		r.history = slices.Clone(r.history)
	}
}

func outrun() error {
	return conflict("run", "its history has moved on")
}
