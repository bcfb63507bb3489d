package storetest_test

import (
	"context"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

type pass = store.RescreenPass

// holdingPass breaks the arguments and the result of HoldPass.
func holdingPass(change func(p *pass, now *time.Time), then func(*pass)) breakage {
	return func(b *broken, sound stores) {
		b.HoldPassFunc = func(ctx context.Context, p pass, now time.Time) (pass, error) {
			if change != nil {
				change(&p, &now)
			}
			p, err := sound.HoldPass(ctx, p, now)
			if then != nil {
				then(&p)
			}
			return p, err
		}
	}
}

// screening breaks the lists of a commit.
func screening(change func(*store.Commit, *rules.ScreenedList)) breakage {
	return committing(func(c *store.Commit) {
		c.Screened = slices.Clone(c.Screened)
		for i := range c.Screened {
			change(c, &c.Screened[i])
		}
	})
}

// rescreening breaks the work that Take returns for re-screening.
func rescreening(change func(store.TakeRequest, []work) []work) breakage {
	return func(b *broken, sound stores) {
		b.TakeFunc = func(ctx context.Context, r store.TakeRequest) ([]work, time.Time, error) {
			all, next, err := sound.Take(ctx, r)
			if r.Kind == store.WorkRescreen {
				all = change(r, all)
			}
			return all, next, err
		}
	}
}

func rescreenBreaches() []breach {
	return []breach{
		{"one host holds a list until its time", "any host may hold a list at once", holdingPass(func(p *pass, _ *time.Time) { p.Holder = "host" }, func(p *pass) { p.Holder = "host-1" })},
		{"one host holds a list until its time", "a list is held for longer", holdingPass(func(_ *pass, now *time.Time) { *now = now.Add(-time.Microsecond) }, nil)},
		{"one host holds a list until its time", "a list is held for less", holdingPass(func(_ *pass, now *time.Time) { *now = now.Add(time.Microsecond) }, nil)},
		{"a pass begins when the version of the list changes", "the number of runs is lost", holdingPass(nil, func(p *pass) { p.Runs = 0 })},
		{"a pass begins when the version of the list changes", "times lose their fractions", holdingPass(nil, func(p *pass) { p.StartedAt = p.StartedAt.Truncate(time.Second) })},
		{"a pass begins when the version of the list changes", "the version never changes", holdingPass(func(p *pass, _ *time.Time) { p.Version = "v0" }, nil)},
		{"passes are returned in the order of their lists", "the last list comes first", func(b *broken, sound stores) {
			b.RowsFunc = func(ctx context.Context, q store.RowQuery) (store.Page[store.Record], error) {
				all, err := sound.Rows(ctx, q)
				slices.Reverse(all.Data)
				return all, err
			}
		}},
		{"a pass queues the runs that were screened against another version", "every completed run is queued", screening(func(_ *store.Commit, l *rules.ScreenedList) { l.Version = "other" })},
		{"a pass queues the runs that were screened against another version", "no completed run is queued", screening(func(_ *store.Commit, l *rules.ScreenedList) { l.Version = "v1" })},
		{"a pass queues the runs that were screened against another version", "the work is due before the pass", rescreening(func(r store.TakeRequest, all []work) []work {
			for i := range all {
				all[i].Attempt++
			}
			return all
		})},
		{"a refused HoldPass begins no pass", "a refused pass replaces the last one", func(b *broken, sound stores) {
			b.HoldPassFunc = func(ctx context.Context, p pass, now time.Time) (pass, error) {
				held, err := sound.HoldPass(ctx, p, now)
				if err != nil {
					_, _ = sound.HoldPass(ctx, p, now.Add(1000*time.Hour))
				}
				return held, err
			}
		}},
		{"a pass ends when no work of its list is left", "HoldPass forgets the end", holdingPass(nil, func(p *pass) {
			if p.Runs > 0 {
				p.EndedAt = time.Time{}
			}
		})},
		{"a pass ends when no work of its list is left", "a pass ends at once", holdingPass(nil, func(p *pass) { p.EndedAt = p.StartedAt })},
		{"a pass replaces the work of an earlier pass", "leases of an earlier pass count", func(b *broken, sound stores) {
			b.FinishFunc = func(ctx context.Context, w work) error {
				w.Lease = ""
				if err := sound.Release(ctx, []work{w}, time.Time{}); err != nil {
					return err
				}
				all, _, err := sound.Take(ctx, store.TakeRequest{Kind: w.Kind, List: w.List, Now: time.Time{}, Lease: time.Minute, Max: 100, MaxPerTenant: 100})
				for _, again := range all {
					if again.RunRef == w.RunRef {
						return sound.Finish(ctx, again)
					}
				}
				return err
			}
		}},
		{"a run that completes during a pass is queued unless it has its version", "every run is queued", screening(func(_ *store.Commit, l *rules.ScreenedList) { l.Version = "other" })},
		{"a run that completes during a pass is queued unless it has its version", "the work is due at once", screening(func(c *store.Commit, _ *rules.ScreenedList) {
			c.Summary.CompletedAt = c.Summary.CompletedAt.Add(-time.Second)
		})},
		{"only completed runs of checks that ask for it are screened again", "a run is screened again before it is completed", committing(func(c *store.Commit) {
			if c.Summary.Ended == "" {
				c.Screened = []rules.ScreenedList{{List: "sanctions"}}
			}
		})},
		{"only completed runs of checks that ask for it are screened again", "every completed run is screened again", committing(func(c *store.Commit) {
			if c.Summary.Ended == rules.StatusCompleted {
				c.Screened = []rules.ScreenedList{{List: "sanctions"}}
			}
		})},
		{"a run is screened against each of its lists alone", "a pass is of every list", func(b *broken, sound stores) {
			b.HoldPassFunc = func(ctx context.Context, p pass, now time.Time) (pass, error) {
				other := p
				if other.List = "peps"; p.List == "peps" {
					other.List = "sanctions"
				}
				if _, err := sound.HoldPass(ctx, other, now); err != nil {
					return pass{}, err
				}
				return sound.HoldPass(ctx, p, now)
			}
		}},
		{"a later append of a run queues no re-screening", "each append queues the run", committing(func(c *store.Commit) {
			if c.Summary.Ended != "" && c.Work != nil && len(c.Screened) == 0 {
				c.Work[store.WorkKey{Kind: store.WorkRescreen, List: "sanctions"}] = c.Summary.CompletedAt
			}
		})},
		{"a refused append adds no run to be screened again", "the run of a refused append is added", func(b *broken, sound stores) {
			added := memo[runRef, bool]{}
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c store.Commit) error {
				err := sound.Append(ctx, t, id, seq, c)
				if err != nil && len(c.Screened) > 0 {
					added.set(runRef{Tenant: t, Run: id}, true)
				}
				return err
			}
			b.TakeFunc = func(ctx context.Context, r store.TakeRequest) ([]work, time.Time, error) {
				all, next, err := sound.Take(ctx, r)
				for _, ref := range added.keys() {
					all = append(all, work{WorkKey: store.WorkKey{Kind: r.Kind, List: r.List}, RunRef: ref})
				}
				return all, next, err
			}
		}},
		{"runs of every tenant are screened again", "the runs of one tenant are left out", rescreening(func(_ store.TakeRequest, all []work) []work {
			return slices.DeleteFunc(all, func(w work) bool { return w.Tenant[0] == 'b' })
		})},
	}
}
