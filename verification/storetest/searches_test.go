package storetest_test

import (
	"context"
	"slices"

	"github.com/verifyd/verifyd/verification/store"
)

// changingKeys breaks the search keys of commits.
func changingKeys(change func(tenantID, runID, []store.SearchKey) []store.SearchKey) breakage {
	return func(b *broken, sound stores) {
		b.AppendFunc = func(ctx context.Context, t tenantID, run runID, seq int, c store.Commit) error {
			c.Keys = change(t, run, c.Keys)
			return sound.Append(ctx, t, run, seq, c)
		}
	}
}

// refusedKeys is a store that keeps the keys of appends that it refuses.
func refusedKeys(b *broken, sound stores) {
	b.AppendFunc = func(ctx context.Context, t tenantID, run runID, seq int, c store.Commit) error {
		err := sound.Append(ctx, t, run, seq, c)
		if err == nil || c.Keys == nil {
			return err
		}
		history, _ := sound.Load(ctx, t, run, 0)
		extra := c
		extra.WorkflowRevision = 0
		if saved := sound.Append(ctx, t, run, len(history), extra); saved != nil {
			return saved
		}
		return err
	}
}

func searchBreaches() []breach {
	const all = "a search selects the runs that have all of its keys"
	var earlier memo[runRef, []store.SearchKey]
	return []breach{
		{all, "List forgets the keys", breakQuery(func(q *store.RunQuery) { q.Keys = nil })},
		{"a search selects the runs that have one key of a choice", "List looks for the first key of a choice", breakQuery(func(q *store.RunQuery) {
			q.Keys = slices.Clone(q.Keys)
			for i := range q.Keys {
				q.Keys[i] = q.Keys[i][:1]
			}
		})},
		{all, "List looks for the first key only", breakQuery(func(q *store.RunQuery) { q.Keys = q.Keys[:min(1, len(q.Keys))] })},
		{"a commit with search keys replaces all of them", "the old keys stay", changingKeys(func(t tenantID, run runID, keys []store.SearchKey) []store.SearchKey {
			ref := runRef{Tenant: t, Run: run}
			old, _ := earlier.get(ref)
			earlier.set(ref, slices.Concat(old, keys))
			if keys == nil {
				return nil
			}
			return slices.Concat(old, keys)
		})},
		{"a commit with search keys replaces all of them", "no keys are like nil", changingKeys(func(_ tenantID, _ runID, keys []store.SearchKey) []store.SearchKey {
			if len(keys) == 0 {
				return nil
			}
			return keys
		})},
		{"a run has the search keys of all its elements", "the last keys are lost", changingKeys(func(_ tenantID, _ runID, keys []store.SearchKey) []store.SearchKey {
			return keys[:min(len(keys), 512)]
		})},
		{"a commit without search keys leaves them as they are", "nil removes the keys", changingKeys(func(_ tenantID, _ runID, keys []store.SearchKey) []store.SearchKey {
			return append([]store.SearchKey{}, keys...)
		})},
		{"a commit without events replaces the search keys, too", "its keys are lost", appending(func(c *store.Commit) {
			if len(c.Events) == 0 {
				c.Keys = nil
			}
		})},
		{"an append that is refused leaves the search keys", "its keys are kept", refusedKeys},
		{"search keys are combined with the other filters", "List forgets the status", breakQuery(func(q *store.RunQuery) {
			if q.Keys != nil {
				q.Status = ""
			}
		})},
		{"search keys select runs in the review queue", "the queue forgets the keys", queueing(func(q *store.RunQuery) { q.Keys = nil }, nil)},
		{"the pages of a search add up to the whole list", "the total is that of the page", breakPage(func(p *store.Page[summary]) { p.Total = len(p.Data) })},
		{"a tenant finds only its own runs by a key", "all tenants have one list", func(b *broken, sound stores) {
			b.ListFunc = func(ctx context.Context, t tenantID, q store.RunQuery) (store.Page[summary], error) {
				p, err := sound.List(ctx, t, q)
				for _, other := range []tenantID{"a0000000-0000-7000-8000-000000000001", "b0000000-0000-7000-8000-000000000002"} {
					if other != t && err == nil {
						var more store.Page[summary]
						more, err = sound.List(ctx, other, q)
						p.Data, p.Total = append(p.Data, more.Data...), p.Total+more.Total
					}
				}
				return p, err
			}
		}},
		{"runs that are saved at the same time have their own keys", "all have the keys of the first one", func(b *broken, sound stores) {
			var first memo[string, []store.SearchKey]
			changingKeys(func(_ tenantID, _ runID, keys []store.SearchKey) []store.SearchKey {
				if keys == nil {
					return nil
				}
				if _, ok := first.get(""); !ok {
					first.set("", keys)
				}
				kept, _ := first.get("")
				return kept
			})(b, sound)
		}},
	}
}
