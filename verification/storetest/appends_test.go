package storetest_test

import (
	"context"
	"errors"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// onConflict breaks Append for a seq that is not the length of the history.
func onConflict(then func(ctx context.Context, sound store.Store, run runRef, seq int, a store.Commit) error) breakage {
	return func(b *broken, sound stores) {
		b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, a store.Commit) error {
			err := sound.Append(ctx, t, id, seq, a)
			if errors.Is(err, verification.ErrConflict) {
				return then(ctx, sound, runRef{Tenant: t, Run: id}, seq, a)
			}
			return err
		}
	}
}

// atTheEnd appends wherever the history ends.
func atTheEnd(ctx context.Context, s store.Store, run runRef, _ int, a store.Commit) error {
	for {
		history, err := s.Load(ctx, run.Tenant, run.Run, 0)
		if err != nil && !errors.Is(err, verification.ErrNotFound) {
			return err
		}
		if err := s.Append(ctx, run.Tenant, run.Run, len(history), a); !errors.Is(err, verification.ErrConflict) {
			return err
		}
	}
}

// appending breaks the arguments of Append.
func appending(change func(*store.Commit)) breakage {
	return func(b *broken, sound stores) {
		b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, a store.Commit) error {
			change(&a)
			return sound.Append(ctx, t, id, seq, a)
		}
	}
}

func appendBreaches() []breach {
	conflict := &verification.Error{Kind: verification.ErrConflict, Subject: "run"}
	return []breach{
		{
			"a run is created once", "Append at 0 goes on with a run that is there",
			onConflict(func(ctx context.Context, s store.Store, run runRef, seq int, a store.Commit) error {
				if seq > 0 {
					return conflict
				}
				return atTheEnd(ctx, s, run, seq, a)
			}),
		},
		{"an append with the wrong length of the history is refused", "Append ignores seq", onConflict(atTheEnd)},
		{
			"an append with the wrong length of the history is refused", "Append ignores seq if there are no events",
			onConflict(func(ctx context.Context, s store.Store, run runRef, seq int, a store.Commit) error {
				if len(a.Events) > 0 {
					return store.HistoryChanged()
				}
				return atTheEnd(ctx, s, run, seq, a)
			}),
		},
		{
			"an append that depends on an old revision of its workflow is refused", "Append ignores the revision",
			appending(func(c *store.Commit) { c.WorkflowRevision = 0 }),
		},
		{"exactly one of concurrent appends to a run succeeds", "Append ignores seq", onConflict(atTheEnd)},
		{
			"exactly one of concurrent appends to a run succeeds", "an append that came late is said to be saved",
			onConflict(func(context.Context, store.Store, runRef, int, store.Commit) error { return nil }),
		},
		{"concurrent appends to different runs all succeed", "one run at a time may change", func(b *broken, sound stores) {
			last := memo[string, runID]{}
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, a store.Commit) error {
				if other, ok := last.get("last"); ok && other != id {
					return conflict
				}
				last.set("last", id)
				return sound.Append(ctx, t, id, seq, a)
			}
		}},
		{
			"an append saves events, summary and effects together", "Append forgets the announcement",
			appending(func(a *store.Commit) { due(a, announceKey, time.Time{}) }),
		},
		{
			"an append saves events, summary and effects together", "Append queues no advance",
			appending(func(a *store.Commit) { due(a, advanceKey, time.Time{}) }),
		},
		{
			"an append saves events, summary and effects together", "Append saves the first event alone",
			appending(func(a *store.Commit) { a.Events = a.Events[:min(1, len(a.Events))] }),
		},
		{
			"a refused append changes nothing", "Append queues the effects before it looks at the history",
			onConflict(func(ctx context.Context, s store.Store, run runRef, _ int, a store.Commit) error {
				_ = requeue(ctx, s, run, a.Work[advanceKey])
				return conflict
			}),
		},
		{
			"a refused append changes nothing", "Append replaces the summary before it looks at the history",
			onConflict(func(ctx context.Context, s store.Store, run runRef, _ int, a store.Commit) error {
				a.Events, a.Work = nil, store.DueWork{}
				if _, err := s.Load(ctx, run.Tenant, run.Run, 0); err == nil {
					_ = atTheEnd(ctx, s, run, 0, a)
				}
				return conflict
			}),
		},
		{"an append with a cancelled context changes nothing", "Append looks at no context", func(b *broken, sound stores) {
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, a store.Commit) error {
				return sound.Append(context.WithoutCancel(ctx), t, id, seq, a)
			}
		}},
		{"an append with a cancelled context changes nothing", "Append looks at the context too late", func(b *broken, sound stores) {
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, a store.Commit) error {
				if err := sound.Append(context.WithoutCancel(ctx), t, id, seq, a); err != nil {
					return err
				}
				return ctx.Err()
			}
		}},
		{"an append without events changes only the effects", "Append does nothing without events", func(b *broken, sound stores) {
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, a store.Commit) error {
				if len(a.Events) == 0 {
					return nil
				}
				return sound.Append(ctx, t, id, seq, a)
			}
		}},
		{"a history-only append changes only the history", "a history-only Append is like any other", changing(func(a *store.Commit) {
			if a.Work == nil {
				a.Work = store.DueWork{}
			}
		})},
		{"a history-only append changes only the history", "a history-only Append takes the run out of the queue", changing(func(a *store.Commit) {
			if a.Work == nil {
				a.Work = store.AdvanceAt(time.Time{})
			}
		})},
		{"an append without a wake-up still queues its effects", "Append queues nothing that is kept", changing(func(a *store.Commit) {
			if a.Hold == store.Kept {
				a.Work = store.DueWork{}
			}
		})},
		{"a tenant cannot append to another tenant's run", "Append ignores the tenant", func(b *broken, sound stores) {
			owners := owned(b, sound)
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, a store.Commit) error {
				if owner, ok := owners.get(id); ok {
					t = owner
				}
				owners.set(id, t)
				return sound.Append(ctx, t, id, seq, a)
			}
		}},
	}
}

// changing has a store take appends for others than they are.
func changing(change func(*store.Commit)) breakage {
	return func(b *broken, sound stores) {
		b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, a store.Commit) error {
			change(&a)
			return sound.Append(ctx, t, id, seq, a)
		}
	}
}
