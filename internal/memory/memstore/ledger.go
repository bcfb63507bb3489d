// What the store knows of the ledger of erasures.

package memstore

import (
	"cmp"
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

// changeLedger replaces the mark and adds owed entries, or removes owed entries.
func (s *Store) changeLedger(ctx context.Context, r store.LedgerRecord) error {
	l := &s.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case len(r.Noted) > 0:
		noted := map[int64]bool{}
		for _, n := range r.Noted {
			noted[n] = true
		}
		l.owed = slices.DeleteFunc(l.owed, func(e verification.Erasure) bool { return noted[e.Number] })
		return nil
	case l.mark != r.Was:
		return store.LedgerChanged()
	}
	l.mark = r.Mark
	l.owed = append(l.owed, r.Owed...)
	slices.SortFunc(l.owed, func(a, b verification.Erasure) int { return cmp.Compare(a.Number, b.Number) })
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

// records returns the record of the ledger with at most limit entries; none without a mark.
func (l *ledger) records(limit int) []store.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mark.ID == "" {
		return nil
	}
	return []store.Record{store.LedgerRecord{Mark: l.mark, Owed: slices.Clone(l.owed[:min(limit, len(l.owed))])}}
}

func (l *ledger) save(r store.LedgerRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mark, l.owed = r.Mark, slices.Clone(r.Owed)
}
