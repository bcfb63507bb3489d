package storetest_test

import (
	"context"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification/store"
)

func turnBreaches() []breach {
	return []breach{
		{"tenants take turns, however early one tenant's work is due", "the earliest due comes first", earliestFirst},
		{"tenants take turns, however early one tenant's work is due", "only advances take turns", func(b *broken, sound stores) {
			earliestFirst(b, sound)
			take := b.TakeFunc
			b.TakeFunc = func(ctx context.Context, r store.TakeRequest) ([]work, time.Time, error) {
				if r.Kind == store.WorkAdvance {
					return sound.Take(ctx, r)
				}
				return take(ctx, r)
			}
		}},
		{"the turns continue after the tenant that was served last", "the turns begin anew each time", taking(func(r *store.TakeRequest) {
			r.After = ""
		}, nil)},
		{"a tenant gets at most MaxPerTenant pieces", "Take knows no share", taking(func(r *store.TakeRequest) {
			r.MaxPerTenant = 1000
		}, nil)},
		{"excepted tenants get nothing", "Take knows no exceptions", taking(func(r *store.TakeRequest) {
			r.Except = nil
		}, nil)},
		{"excepted runs stay in the queue, and others are taken", "Take knows no excepted runs", taking(func(r *store.TakeRequest) {
			r.ExceptRuns = nil
		}, nil)},
		{"Take returns work of one kind", "Take hands out every kind", func(b *broken, sound stores) {
			b.TakeFunc = func(ctx context.Context, r store.TakeRequest) (taken []work, next time.Time, err error) {
				for _, r.Kind = range []store.WorkKind{store.WorkAdvance, store.WorkAnnounce} {
					more, at, failed := sound.Take(ctx, r)
					if taken, err = append(taken, more...), failed; next.IsZero() {
						next = at
					}
				}
				return taken, next, err
			}
		}},
		{"work names the workflow of its run", "Take names none", taking(nil, func(taken []work, next time.Time) ([]work, time.Time) {
			for i := range taken {
				taken[i].Workflow = ""
			}
			return taken, next
		})},
	}
}

// earliestFirst returns the work that has been due for longest, of whichever tenant.
func earliestFirst(b *broken, sound stores) {
	due := memo[runRef, time.Time]{}
	b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, a store.Commit) error {
		for _, at := range a.Work {
			due.set(runRef{Tenant: t, Run: id}, at)
		}
		return sound.Append(ctx, t, id, seq, a)
	}
	b.TakeFunc = func(ctx context.Context, r store.TakeRequest) ([]work, time.Time, error) {
		max := r.Max
		r.Max = 1000
		taken, next, err := sound.Take(ctx, r)
		slices.SortFunc(taken, func(a, b work) int {
			first, _ := due.get(a.RunRef)
			second, _ := due.get(b.RunRef)
			return first.Compare(second)
		})
		if len(taken) > max {
			_ = sound.Release(ctx, taken[max:], r.Now)
			taken, next = taken[:max], r.Now
		}
		return taken, next, err
	}
}
