package storetest_test

import (
	"context"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// owing breaks what an append owes the ledger, and what it is told of that.
func owing(change func(c *store.Commit)) breakage {
	return func(b *broken, sound stores) {
		b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c store.Commit) error {
			if c.Erasure != nil {
				change(&c)
			}
			return sound.Append(ctx, t, id, seq, c)
		}
	}
}

func ledgerBreaches() []breach {
	marking := func(change func(m *store.LedgerMark)) breakage {
		return func(b *broken, sound stores) {
			b.RowFunc = func(ctx context.Context, kind store.RecordKind, key string) (store.Record, error) {
				r, err := sound.Row(ctx, kind, key)
				if l, ok := r.(store.LedgerRecord); ok {
					change(&l.Mark)
					r = l
				}
				return r, err
			}
		}
	}
	changing := func(change func(ctx context.Context, sound stores, r *store.LedgerRecord)) breakage {
		return func(b *broken, sound stores) {
			b.ChangeFunc = func(ctx context.Context, rows []store.Record) error {
				if r, ok := rows[0].(store.LedgerRecord); ok {
					change(ctx, sound, &r)
					rows = []store.Record{r}
				}
				return sound.Change(ctx, rows)
			}
		}
	}
	return []breach{
		{"a store without a ledger owes it nothing", "there is a mark at first", func(b *broken, sound stores) {
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c store.Commit) error {
				_ = sound.SaveLedgerMark(ctx, store.LedgerMark{}, store.LedgerMark{ID: "a"}, nil)
				return sound.Append(ctx, t, id, seq, c)
			}
		}},
		{"the mark of the ledger is returned as it was saved", "it has 32 bits", marking(func(m *store.LedgerMark) { m.Last = int64(int32(m.Last)) })},
		{"the mark of the ledger is returned as it was saved", "it owes nothing", changing(func(_ context.Context, _ stores, r *store.LedgerRecord) { r.Owed = nil })},
		{"a mark of the ledger that has changed stays", "it is replaced", changing(func(ctx context.Context, sound stores, r *store.LedgerRecord) {
			r.Was, _ = sound.LedgerMark(ctx)
		})},
		{"each append owes the ledger an entry with a number", "a deletion does not", owing(func(c *store.Commit) {
			if c.Delete {
				c.Erasure = nil
			}
		})},
		{"each append owes the ledger an entry with a number", "an append without events does not", owing(func(c *store.Commit) {
			if len(c.Events) == 0 && !c.Delete {
				c.Erasure = nil
			}
		})},
		{"each append owes the ledger an entry with a number", "the time of the start is lost", owing(func(c *store.Commit) {
			e := *c.Erasure
			e.StartedAt = e.At
			c.Erasure = &e
		})},
		{"a position that lags does not grow", "it does", marking(func(m *store.LedgerMark) { m.Applied = m.Last })},
		{"a refused append owes the ledger nothing", "it owes its entry", func(b *broken, sound stores) {
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c store.Commit) error {
				err := sound.Append(ctx, t, id, seq, c)
				if err != nil && c.Erasure != nil {
					was, _ := sound.LedgerMark(ctx)
					mark := was
					mark.Last++
					_ = sound.SaveLedgerMark(ctx, was, mark, []verification.Erasure{*c.Erasure})
				}
				return err
			}
		}},
		{"what the ledger has is owed no more", "all is owed no more", changing(func(_ context.Context, _ stores, r *store.LedgerRecord) {
			if len(r.Noted) > 0 {
				r.Noted = append(r.Noted, 4, 5, 6)
			}
		})},
		{"what the ledger has is owed no more", "the limit is ignored", func(b *broken, sound stores) {
			b.RowsFunc = func(ctx context.Context, q store.RowQuery) (store.Page[store.Record], error) {
				q.Limit = 100
				return sound.Rows(ctx, q)
			}
		}},
	}
}
