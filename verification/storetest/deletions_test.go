package storetest_test

import (
	"context"

	"github.com/verifyd/verifyd/verification/store"
)

// deleting breaks what an append with Delete does.
func deleting(then func(ctx context.Context, sound stores, run runRef, seq int, c store.Commit) error) breakage {
	return func(b *broken, sound stores) {
		b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c store.Commit) error {
			if !c.Delete {
				return sound.Append(ctx, t, id, seq, c)
			}
			return then(ctx, sound, runRef{Tenant: t, Run: id}, seq, c)
		}
	}
}

func deletionBreaches() []breach {
	stays := deleting(func(context.Context, stores, runRef, int, store.Commit) error { return nil })
	return []breach{
		{"a deleted run is not found", "it stays", stays},
		{"a deleted run is in no list", "it stays", stays},
		{"a deleted run has no work", "it stays", stays},
		{"a deleted run is not screened again", "it stays", stays},
		{"a deleted run has no deliveries", "it stays", stays},
		{"nothing is appended to a deleted run", "it begins again", func(b *broken, sound stores) {
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c store.Commit) error {
				err := sound.Append(ctx, t, id, seq, c)
				if err != nil && len(c.Events) > 0 {
					return sound.Append(ctx, t, id, 0, c)
				}
				return err
			}
		}},
		{"a deletion of a history that has grown changes nothing", "Append ignores seq", onConflict(atTheEnd)},
		{"a deletion waits for the notices of its run", "it does not", deleting(func(ctx context.Context, sound stores, run runRef, seq int, c store.Commit) error {
			rest := store.Commit{Summary: c.Summary, Work: store.DueWork{{Kind: store.WorkAnnounce}: {}}}
			if err := sound.Append(ctx, run.Tenant, run.Run, seq, rest); err != nil {
				return err
			}
			return sound.Append(ctx, run.Tenant, run.Run, seq, c)
		})},
		{"a deletion leaves the other runs as they are", "the runs of all tenants with that id are deleted", func(b *broken, sound stores) {
			var saved memo[runRef, bool]
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c store.Commit) error {
				saved.set(runRef{Tenant: t, Run: id}, true)
				for _, other := range saved.keys() {
					if c.Delete && other.Run == id && other.Tenant != t {
						_ = sound.Append(ctx, other.Tenant, id, seq, c)
					}
				}
				return sound.Append(ctx, t, id, seq, c)
			}
		}},
	}
}
