package storetest_test

import (
	"context"
	"time"

	"github.com/verifyd/verifyd/verification/store"
)

// taking breaks the requests and results of Take.
func taking(change func(r *store.TakeRequest), then func([]work, time.Time) ([]work, time.Time)) breakage {
	return func(b *broken, sound stores) {
		b.TakeFunc = func(ctx context.Context, r store.TakeRequest) ([]work, time.Time, error) {
			if change != nil {
				change(&r)
			}
			taken, next, err := sound.Take(ctx, r)
			if then != nil {
				taken, next = then(taken, next)
			}
			return taken, next, err
		}
	}
}

// advancing breaks the advances that are queued: was is what the run had.
func advancing(change func(was, at time.Time) time.Time) breakage {
	return func(b *broken, sound stores) {
		queued := memo[runRef, time.Time]{}
		b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, a store.Commit) error {
			was, _ := queued.get(runRef{Tenant: t, Run: id})
			if at, queues := a.Work[advanceKey]; queues {
				due(&a, advanceKey, change(was, at))
				queued.set(runRef{Tenant: t, Run: id}, a.Work[advanceKey])
			}
			return sound.Append(ctx, t, id, seq, a)
		}
	}
}

func workBreaches() []breach {
	return []breach{
		{
			"an advance is taken when it is due and not before", "Take hands out what is not due",
			taking(func(r *store.TakeRequest) {
				r.Now, r.Lease = r.Now.Add(24*time.Hour), r.Lease-24*time.Hour
			}, nil),
		},
		{
			"an advance is taken when it is due and not before", "work is due strictly after its time",
			taking(func(r *store.TakeRequest) {
				r.Now, r.Lease = r.Now.Add(-time.Microsecond), r.Lease+time.Microsecond
			}, nil),
		},
		{"a new advance replaces the previous one", "the first advance stays", advancing(func(was, at time.Time) time.Time {
			if was.IsZero() {
				return at
			}
			return was
		})},
		{"a zero time removes the advance", "the advance stays", advancing(func(was, at time.Time) time.Time {
			if at.IsZero() {
				return was
			}
			return at
		})},
		{
			"an announcement is due at its time, independently of the advance", "the announcement takes the place of the advance",
			appending(func(a *store.Commit) {
				if !a.Work[announceKey].IsZero() {
					due(a, advanceKey, time.Time{})
				}
			}),
		},
		{"an announcement is due at its time, independently of the advance", "finishing the advance finishes both", bothFinished},
		{
			"an announcement is due at its time, independently of the advance", "an announcement is due at once",
			appending(func(a *store.Commit) {
				if !a.Work[announceKey].IsZero() {
					due(a, announceKey, a.Summary.StartedAt)
				}
			}),
		},
		{"a later append does not change a queued announcement", "an append without one removes it", unannounced},
		{"each notice of a run is a piece of its own", "a further notice takes the place of the end", appending(func(c *store.Commit) {
			for _, key := range c.Work.Keys() {
				if key.Seq != 0 {
					due(c, announceKey, c.Work[key])
					delete(c.Work, key)
				}
			}
		})},
		{"the pieces of a run are replaced and removed alone", "an append without a deadline removes it", appending(func(a *store.Commit) {
			if _, queued := a.Work[expireKey]; !queued {
				due(a, expireKey, time.Time{})
			}
		})},
		{"the pieces of a run are replaced and removed alone", "a deadline is never replaced", appending(func(a *store.Commit) {
			if len(a.Events) == 0 {
				delete(a.Work, expireKey)
			}
		})},
		{"a run has at most one announcement in the queue", "every announcement is queued", announcedTwice},
		{
			"Take returns up to its limit, the earliest due first", "Take ignores its limit",
			taking(func(r *store.TakeRequest) { r.Max = 1000 }, nil),
		},
		{"Take returns up to its limit, the earliest due first", "the latest due comes first", latestFirst},
		{
			"next is when the earliest remaining work is due", "Take returns no time of the next call",
			taking(nil, func(w []work, _ time.Time) ([]work, time.Time) { return w, time.Time{} }),
		},
		{
			"concurrent takers share the work", "Take leases nothing",
			taking(func(r *store.TakeRequest) { r.Lease = 0 }, nil),
		},
		{"a Take with a cancelled context takes nothing", "Take looks at no context", func(b *broken, sound stores) {
			b.TakeFunc = func(ctx context.Context, r store.TakeRequest) ([]work, time.Time, error) {
				return sound.Take(context.WithoutCancel(ctx), r)
			}
		}},
		{"two tenants have separate work", "work is kept by the id of its run alone", func(b *broken, sound stores) {
			owners := owned(b, sound)
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, a store.Commit) error {
				if owner, ok := owners.get(id); ok && owner != t {
					_ = requeue(ctx, sound, runRef{Tenant: owner, Run: id}, time.Time{})
				}
				owners.set(id, t)
				return sound.Append(ctx, t, id, seq, a)
			}
		}},
		{"two tenants have separate work", "Renew renews the runs of every tenant", func(b *broken, sound stores) {
			tenants := memo[tenantID, bool]{}
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, a store.Commit) error {
				tenants.set(t, true)
				return sound.Append(ctx, t, id, seq, a)
			}
			b.RenewFunc = func(ctx context.Context, runs []runRef, until time.Time, alone bool) error {
				var all []runRef
				for _, run := range runs {
					for _, t := range tenants.keys() {
						all = append(all, runRef{Tenant: t, Run: run.Run})
					}
				}
				return sound.Renew(ctx, all, until, alone)
			}
		}},
	}
}

// bothFinished finishes the announcement of a run with its advance.
func bothFinished(b *broken, sound stores) {
	held := memo[runRef, work]{}
	b.TakeFunc = func(ctx context.Context, r store.TakeRequest) ([]work, time.Time, error) {
		taken, next, err := sound.Take(ctx, r)
		for _, w := range taken {
			if w.Kind == store.WorkAnnounce {
				held.set(w.RunRef, w)
			}
		}
		return taken, next, err
	}
	b.FinishFunc = func(ctx context.Context, w work) error {
		if announcement, ok := held.get(w.RunRef); ok {
			_ = sound.Finish(ctx, announcement)
		}
		return sound.Finish(ctx, w)
	}
}

// unannounced loses the announcement of a run at its next append.
func unannounced(b *broken, sound stores) {
	lost := memo[runRef, bool]{}
	b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, a store.Commit) error {
		lost.set(runRef{Tenant: t, Run: id}, a.Work[announceKey].IsZero())
		return sound.Append(ctx, t, id, seq, a)
	}
	b.TakeFunc = func(ctx context.Context, r store.TakeRequest) ([]work, time.Time, error) {
		taken, next, err := sound.Take(ctx, r)
		var left []work
		for _, w := range taken {
			if gone, _ := lost.get(w.RunRef); !gone || w.Kind != store.WorkAnnounce {
				left = append(left, w)
			}
		}
		return left, next, err
	}
}

// announcedTwice hands out as many announcements as were queued.
func announcedTwice(b *broken, sound stores) {
	queued := memo[runRef, int]{}
	b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, a store.Commit) error {
		if !a.Work[announceKey].IsZero() {
			n, _ := queued.get(runRef{Tenant: t, Run: id})
			queued.set(runRef{Tenant: t, Run: id}, n+1)
		}
		return sound.Append(ctx, t, id, seq, a)
	}
	b.TakeFunc = func(ctx context.Context, r store.TakeRequest) ([]work, time.Time, error) {
		taken, next, err := sound.Take(ctx, r)
		for _, w := range taken {
			for n, _ := queued.get(w.RunRef); n > 1; n-- {
				taken = append(taken, w)
			}
		}
		return taken, next, err
	}
}

// latestFirst takes all due work, and releases the earliest pieces that are beyond the
// limit.
func latestFirst(b *broken, sound stores) {
	b.TakeFunc = func(ctx context.Context, r store.TakeRequest) ([]work, time.Time, error) {
		max := r.Max
		r.Max = 1000
		taken, next, err := sound.Take(ctx, r)
		for len(taken) > max {
			_ = sound.Postpone(ctx, taken[0], r.Now)
			taken = taken[1:]
		}
		return taken, next, err
	}
}
