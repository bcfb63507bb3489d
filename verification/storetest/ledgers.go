// The clauses on what a store knows of the ledger of erasures.

package storetest

import (
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

func ledgers() []clause {
	const (
		marks = "Tables.SaveLedgerMark: "
		owes  = "Commit.Erasure: is owed to the ledger of erasures, with the number after LedgerMark.Last"
	)
	return []clause{
		{"a store without a ledger owes it nothing", "Commit.Erasure: without a mark nothing is owed", nothingIsOwed},
		{"the mark of the ledger is returned as it was saved", marks + "replaces the mark was by another one", ledgerMarkIsReturned},
		{"a mark of the ledger that has changed stays", marks + "returns ErrConflict if the stored mark is not was", ledgerMarkStays},
		{"each append owes the ledger an entry with a number", owes, appendsOwe},
		{"a position that lags does not grow", "LedgerMark.Applied: grows with Last if both are equal", positionLags},
		{"a refused append owes the ledger nothing", "RunStore.Append: applies the commit c, all or nothing", refusedOwesNothing},
		{"what the ledger has is owed no more", "Tables.ErasuresNoted: it is owed them no more", notedIsOwedNoMore},
	}
}

const ledgerID = "e0000000-0000-7000-8000-000000000001"

// erasure returns an entry of a run with every field set but those that the store sets.
func erasure(s history, kind verification.ErasureKind) *verification.Erasure {
	return &verification.Erasure{Tenant: ours, Run: s.id, Kind: kind, At: instant(time.Hour + tick), StartedAt: instant(tick)}
}

// ledgerMark saves a mark in place of another one.
func (t *trial) ledgerMark(was, mark store.LedgerMark, owed ...verification.Erasure) {
	t.ok("SaveLedgerMark", t.tables.SaveLedgerMark(t.ctx, was, mark, owed))
}

func (t *trial) hasLedgerMark(want store.LedgerMark) {
	got, err := t.tables.LedgerMark(t.ctx)
	t.ok("LedgerMark", err)
	same(t, "the mark of the ledger", got, want)
}

// owes ends the clause unless the ledger is owed the entries with these numbers.
func (t *trial) owes(limit int, first int64, want ...*verification.Erasure) {
	got, err := t.tables.OwedErasures(t.ctx, limit)
	t.ok("OwedErasures", err)
	var all []verification.Erasure
	for i, e := range want {
		given := *e
		given.Ledger, given.Number = ledgerID, first+int64(i)
		all = append(all, given)
	}
	if len(got)+len(all) > 0 {
		same(t, "what the ledger is owed", got, all)
	}
}

func nothingIsOwed(t *trial) {
	s := simple(1)
	c := s.commit()
	c.Erasure = erasure(s, verification.ErasureHeld)
	t.add(ours, s.id, 0, c)
	t.hasLedgerMark(store.LedgerMark{})
	t.owes(9, 0)
}

func ledgerMarkIsReturned(t *trial) {
	first, second := store.LedgerMark{ID: ledgerID, Last: 3, Applied: 2}, store.LedgerMark{ID: ledgerID, Last: 1 << 40, Applied: 4}
	opened := verification.Erasure{Ledger: ledgerID, Number: 3, Through: 4, Kind: verification.ErasureOpened, At: instant(tick), StartedAt: instant(0)}
	t.ledgerMark(store.LedgerMark{}, first, opened)
	t.hasLedgerMark(first)
	t.owes(9, 3, &opened)
	t.ledgerMark(first, second)
	t.hasLedgerMark(second)
	t.ledgerMark(second, store.LedgerMark{})
	t.hasLedgerMark(store.LedgerMark{})
	t.ledgerMark(store.LedgerMark{}, second)
	t.hasLedgerMark(second)
}

func ledgerMarkStays(t *trial) {
	first := store.LedgerMark{ID: ledgerID, Last: 3, Applied: 2}
	t.ledgerMark(store.LedgerMark{}, first)
	for _, was := range []store.LedgerMark{{}, {ID: "other", Last: 3, Applied: 2}, {ID: ledgerID, Last: 2, Applied: 2}, {ID: ledgerID, Last: 3, Applied: 3}} {
		for _, mark := range []store.LedgerMark{{ID: ledgerID, Last: 9, Applied: 9}, {}} {
			if was == mark {
				continue
			}
			owed := []verification.Erasure{{Ledger: ledgerID, Number: 9, Kind: verification.ErasureOpened}}
			t.refused("SaveLedgerMark in place of another mark", t.tables.SaveLedgerMark(t.ctx, was, mark, owed), verification.ErrConflict)
		}
	}
	t.hasLedgerMark(first)
	t.owes(9, 0)
}

func appendsOwe(t *trial) {
	t.ledgerMark(store.LedgerMark{}, store.LedgerMark{ID: ledgerID, Last: 7, Applied: 7})
	s := whole(1)
	c := s.commit()
	c.Erasure = erasure(s, verification.ErasureHeld)
	t.add(ours, s.id, 0, c)
	t.hasLedgerMark(store.LedgerMark{ID: ledgerID, Last: 8, Applied: 8})
	longer := s.then(time.Second, completed())
	c = longer.commitAfter(len(s.events))
	c.Erasure = erasure(s, verification.ErasureReleased)
	t.add(ours, s.id, len(s.events), c)
	t.add(ours, s.id, len(longer.events), store.Commit{
		Summary: longer.summary(), Work: store.DueWork{}, Erasure: erasure(s, verification.ErasureLimited),
	})
	redacted := longer.then(time.Minute, completed())
	c = redacted.commit()
	c.Rewrite, c.Erasure = true, erasure(s, verification.ErasureRedacted)
	t.add(ours, s.id, len(longer.events), c)
	t.add(ours, s.id, len(redacted.events), store.Commit{Delete: true, Erasure: erasure(s, verification.ErasureDeleted)})
	t.hasLedgerMark(store.LedgerMark{ID: ledgerID, Last: 12, Applied: 12})
	t.owes(9, 8, erasure(s, verification.ErasureHeld), erasure(s, verification.ErasureReleased), erasure(s, verification.ErasureLimited),
		erasure(s, verification.ErasureRedacted), erasure(s, verification.ErasureDeleted))
}

func positionLags(t *trial) {
	t.ledgerMark(store.LedgerMark{}, store.LedgerMark{ID: ledgerID, Last: 7, Applied: 3})
	s := simple(1)
	c := s.commit()
	c.Erasure = erasure(s, verification.ErasureHeld)
	t.add(ours, s.id, 0, c)
	t.hasLedgerMark(store.LedgerMark{ID: ledgerID, Last: 8, Applied: 3})
	t.owes(9, 8, erasure(s, verification.ErasureHeld))
}

func refusedOwesNothing(t *trial) {
	mark := store.LedgerMark{ID: ledgerID, Last: 7, Applied: 7}
	t.ledgerMark(store.LedgerMark{}, mark)
	s := simple(1).then(time.Second, completed())
	t.save(ours, s)
	rewrite := s.then(time.Minute, completed()).commit()
	rewrite.Rewrite = true
	for _, c := range []store.Commit{
		simple(1).then(time.Second, completed()).commitAfter(1), {Summary: s.summary(), Work: store.DueWork{}}, rewrite, s.deletes(),
	} {
		c.Erasure = erasure(s, verification.ErasureRedacted)
		t.refused("Append to an earlier length", t.store.Append(t.ctx, ours, s.id, len(s.events)-1, c), verification.ErrConflict)
	}
	t.hasLedgerMark(mark)
	t.owes(9, 0)
}

func notedIsOwedNoMore(t *trial) {
	t.ledgerMark(store.LedgerMark{}, store.LedgerMark{ID: ledgerID, Last: 1, Applied: 1})
	var all []*verification.Erasure
	for n := range 5 {
		s := simple(n + 1)
		c := s.commit()
		c.Erasure = erasure(s, verification.ErasureHeld)
		t.add(ours, s.id, 0, c)
		all = append(all, c.Erasure)
	}
	t.owes(3, 2, all[:3]...)
	t.ok("ErasuresNoted", t.tables.ErasuresNoted(t.ctx, []int64{2, 3, 99}))
	t.owes(9, 4, all[2:]...)
	t.ok("ErasuresNoted", t.tables.ErasuresNoted(t.ctx, []int64{4, 5, 6}))
	t.owes(9, 0)
	t.hasLedgerMark(store.LedgerMark{ID: ledgerID, Last: 6, Applied: 6})
}
