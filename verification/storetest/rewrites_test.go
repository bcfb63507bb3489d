package storetest_test

import (
	"context"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// rewriting breaks what an append with Rewrite does.
func rewriting(then func(ctx context.Context, sound stores, run runRef, seq int, c store.Commit) error) breakage {
	return func(b *broken, sound stores) {
		b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c store.Commit) error {
			if !c.Rewrite {
				return sound.Append(ctx, t, id, seq, c)
			}
			return then(ctx, sound, runRef{Tenant: t, Run: id}, seq, c)
		}
	}
}

func rewriteBreaches() []breach {
	appended := rewriting(func(ctx context.Context, sound stores, run runRef, seq int, c store.Commit) error {
		c.Rewrite = false
		return sound.Append(ctx, run.Tenant, run.Run, seq, c)
	})
	kept := func(change func(c, before *store.Commit)) breakage { // what an earlier append of the run gave is given again
		return func(b *broken, sound stores) {
			var before store.Commit
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c store.Commit) error {
				if c.Rewrite {
					change(&c, &before)
				} else if before.Events == nil {
					before = c
				}
				return sound.Append(ctx, t, id, seq, c)
			}
		}
	}
	changing := func(change func(*store.Commit)) breakage {
		return rewriting(func(ctx context.Context, sound stores, run runRef, seq int, c store.Commit) error {
			change(&c)
			return sound.Append(ctx, run.Tenant, run.Run, seq, c)
		})
	}
	const restricts = "a rewrite restricts a run, and the next one frees it"
	return []breach{
		{"a rewrite replaces the whole history", "it is appended", appended},
		{"a rewrite replaces the whole history", "the reference id stays", kept(func(c, before *store.Commit) {
			c.Summary.ReferenceID = before.Summary.ReferenceID
		})},
		{"a rewritten run grows again", "it is appended", appended},
		{"a rewrite removes the search keys", "they stay", kept(func(c, before *store.Commit) { c.Keys = before.Keys })},
		{"a rewritten run is not screened again", "the lists stay", kept(func(c, before *store.Commit) { c.Screened = before.Screened })},
		{restricts, "the time of the restriction is lost", changing(func(c *store.Commit) { c.Summary.RestrictedAt = time.Time{} })},
		{restricts, "the new keys are lost", changing(func(c *store.Commit) { c.Keys = nil })},
		{restricts, "the new lists are lost", changing(func(c *store.Commit) { c.Screened = nil })},
		{restricts, "what is hidden is not saved", changing(func(c *store.Commit) { c.Events = rules.Shown(c.Events) })},
		{"restricted runs are listed", "those that are redacted are, too", breakQuery(func(q *store.RunQuery) { q.Restricted = false })},
		{"a restricted run keeps the time through a verdict", "it is lost", appending(func(c *store.Commit) {
			if !c.Rewrite {
				c.Summary.RestrictedAt = time.Time{}
			}
		})},
		{"a rewrite of a history that has grown changes nothing", "Append ignores seq", onConflict(atTheEnd)},
		{"a rewrite waits for the notices of its run", "it does not", rewriting(func(ctx context.Context, sound stores, run runRef, seq int, c store.Commit) error {
			rest := store.Commit{Summary: c.Summary, Work: store.DueWork{{Kind: store.WorkAnnounce}: {}}}
			if err := sound.Append(ctx, run.Tenant, run.Run, seq, rest); err != nil {
				return err
			}
			return sound.Append(ctx, run.Tenant, run.Run, seq, c)
		})},
		{"a rewrite queues a notice of its own", "it is refused", rewriting(func(ctx context.Context, sound stores, run runRef, seq int, c store.Commit) error {
			if len(c.Work) > 1 {
				return store.NoticePending()
			}
			return sound.Append(ctx, run.Tenant, run.Run, seq, c)
		})},
		{"a rewrite leaves the other runs as they are", "the runs of all tenants with that id are rewritten", func(b *broken, sound stores) {
			var saved memo[runRef, bool]
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c store.Commit) error {
				saved.set(runRef{Tenant: t, Run: id}, true)
				for _, other := range saved.keys() {
					if c.Rewrite && other.Run == id && other.Tenant != t {
						_ = sound.Append(ctx, other.Tenant, id, seq, c)
					}
				}
				return sound.Append(ctx, t, id, seq, c)
			}
		}},
		{"the documents of a run are removed together", "one is left", func(b *broken, _ stores) {
			b.RemoveDocumentsFunc = func(context.Context, verification.RunRef) error { return nil }
		}},
	}
}
