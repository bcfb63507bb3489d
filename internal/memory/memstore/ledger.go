// What the store knows of the ledger of erasures.

package memstore

import (
	"context"
	"slices"
	"sync"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// ledger has the mark, and the owed entries in the order of their numbers.
type ledger struct {
	mu   sync.Mutex
	mark store.LedgerMark
	owed []verification.Erasure
}

// LedgerMark returns the mark.
func (s *Store) LedgerMark(ctx context.Context) (store.LedgerMark, error) {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	return s.ledger.mark, ctx.Err()
}

// SaveLedgerMark replaces the mark was by another one, and adds owed entries.
func (s *Store) SaveLedgerMark(ctx context.Context, was, mark store.LedgerMark, owed []verification.Erasure) error {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.ledger.mark != was {
		return store.LedgerChanged()
	}
	s.ledger.mark = mark
	s.ledger.owed = append(s.ledger.owed, owed...)
	slices.SortFunc(s.ledger.owed, func(a, b verification.Erasure) int { return int(a.Number - b.Number) })
	return nil
}

// OwedErasures returns the entries that the ledger is owed.
func (s *Store) OwedErasures(ctx context.Context, limit int) ([]verification.Erasure, error) {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	return slices.Clone(s.ledger.owed[:min(limit, len(s.ledger.owed))]), ctx.Err()
}

// ErasuresNoted removes owed entries.
func (s *Store) ErasuresNoted(ctx context.Context, numbers []int64) error {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	noted := map[int64]bool{}
	for _, n := range numbers {
		noted[n] = true
	}
	s.ledger.owed = slices.DeleteFunc(s.ledger.owed, func(e verification.Erasure) bool { return noted[e.Number] })
	return nil
}

// owe gives an entry its number.
func (l *ledger) owe(e *verification.Erasure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e == nil || l.mark.ID == "" {
		return
	}
	if l.mark.Applied == l.mark.Last {
		l.mark.Applied++
	}
	l.mark.Last++
	given := *e
	given.Ledger, given.Number = l.mark.ID, l.mark.Last
	l.owed = append(l.owed, given)
}

// records returns the record of the ledger; none without a mark.
func (l *ledger) records() []store.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mark.ID == "" {
		return nil
	}
	return []store.Record{store.LedgerRecord{Mark: l.mark, Owed: slices.Clone(l.owed)}}
}

func (l *ledger) save(r store.LedgerRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mark, l.owed = r.Mark, slices.Clone(r.Owed)
}
