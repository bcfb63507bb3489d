package storetest_test

import (
	"context"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

type pass = verification.RescreenPass

// holdingList breaks the arguments and the result of HoldList.
func holdingList(change func(holder *string, now, until *time.Time), then func(*pass)) breakage {
	return func(b *broken, sound stores) {
		b.HoldListFunc = func(ctx context.Context, list, holder string, now, until time.Time) (pass, error) {
			if change != nil {
				change(&holder, &now, &until)
			}
			p, err := sound.HoldList(ctx, list, holder, now, until)
			if then != nil {
				then(&p)
			}
			return p, err
		}
	}
}

// passing breaks what SavePass saves.
func passing(change func(p *pass, runs *[]runRef)) breakage {
	return func(b *broken, sound stores) {
		b.SavePassFunc = func(ctx context.Context, p pass, runs []runRef) error {
			change(&p, &runs)
			return sound.SavePass(ctx, p, runs)
		}
	}
}

// outdated breaks the query and the result of OutdatedRuns.
func outdated(change func(*verification.OutdatedQuery), then func([]runRef) []runRef) breakage {
	return func(b *broken, sound stores) {
		b.OutdatedRunsFunc = func(ctx context.Context, q verification.OutdatedQuery) ([]runRef, error) {
			if change != nil {
				change(&q)
			}
			runs, err := sound.OutdatedRuns(ctx, q)
			if then != nil {
				runs = then(runs)
			}
			return runs, err
		}
	}
}

func rescreenBreaches() []breach {
	return []breach{
		{"one host holds a list until its time", "any host may hold a list at once", holdingList(func(holder *string, _, _ *time.Time) { *holder = "host" }, func(p *pass) { p.Holder = "host-1" })},
		{"one host holds a list until its time", "a list is held for longer", holdingList(func(_ *string, now, _ *time.Time) { *now = now.Add(-time.Microsecond) }, nil)},
		{"one host holds a list until its time", "a list is held for less", holdingList(func(_ *string, now, _ *time.Time) { *now = now.Add(time.Microsecond) }, nil)},
		{"HoldList returns the last pass as it was saved", "the number of failed runs is lost", passing(func(p *pass, _ *[]runRef) { p.Failed = 0 })},
		{"HoldList returns the last pass as it was saved", "times lose their fractions", passing(func(p *pass, _ *[]runRef) { p.StartedAt = p.StartedAt.Truncate(time.Second) })},
		{"HoldList returns the last pass as it was saved", "HoldList forgets the end", holdingList(nil, func(p *pass) { p.EndedAt = time.Time{} })},
		{"passes are returned in the order of their lists", "the last list comes first", func(b *broken, sound stores) {
			b.RescreenPassesFunc = func(ctx context.Context) ([]pass, error) {
				all, err := sound.RescreenPasses(ctx)
				slices.Reverse(all)
				return all, err
			}
		}},
		{"a host that does not hold the list saves nothing", "any host may save", func(b *broken, sound stores) {
			b.SavePassFunc = func(ctx context.Context, p pass, runs []runRef) error {
				if _, err := sound.HoldList(ctx, p.List, p.Holder, p.HeldUntil.Add(1000*time.Hour), p.HeldUntil); err != nil {
					return err
				}
				return sound.SavePass(ctx, p, runs)
			}
		}},
		{"a host that does not hold the list saves nothing", "runs of a refused pass are saved", func(b *broken, sound stores) {
			b.SavePassFunc = func(ctx context.Context, p pass, runs []runRef) error {
				err := sound.SavePass(ctx, p, runs)
				if all, _ := sound.RescreenPasses(ctx); err != nil && len(all) > 0 {
					p.Holder = all[0].Holder
					_ = sound.SavePass(ctx, p, runs)
					_ = sound.SavePass(ctx, all[0], nil)
				}
				return err
			}
		}},
		{"a completed run is outdated unless the last pass has its version", "every completed run is outdated", committing(func(c *store.Commit) {
			c.Screened = slices.Clone(c.Screened)
			for i := range c.Screened {
				c.Screened[i].Version = "other"
			}
		})},
		{"a completed run is outdated unless the last pass has its version", "no completed run is outdated", committing(func(c *store.Commit) {
			c.Screened = slices.Clone(c.Screened)
			for i := range c.Screened {
				c.Screened[i].Version = "v1"
			}
		})},
		{"only completed runs of checks that ask for it are outdated", "a run is outdated before it is completed", committing(func(c *store.Commit) {
			if c.Summary.Ended == "" {
				c.Screened = []verification.ScreenedList{{List: "sanctions"}}
			}
		})},
		{"only completed runs of checks that ask for it are outdated", "every completed run is outdated", committing(func(c *store.Commit) {
			if c.Summary.Ended == verification.StatusCompleted {
				c.Screened = []verification.ScreenedList{{List: "sanctions"}}
			}
		})},
		{"a run is outdated until a pass is saved with it", "the runs of a pass are lost", passing(func(_ *pass, runs *[]runRef) { *runs = nil })},
		{"a run is outdated until a pass is saved with it", "runs of every tenant are saved", passing(func(_ *pass, runs *[]runRef) {
			for _, r := range *runs {
				for _, t := range []tenantID{"a0000000-0000-7000-8000-000000000001", "b0000000-0000-7000-8000-000000000002"} {
					*runs = append(*runs, runRef{Tenant: t, Run: r.Run})
				}
			}
		})},
		{"a run is outdated until a pass is saved with it", "the number of the pass is ignored", outdated(func(q *verification.OutdatedQuery) { q.Pass = 1 }, nil)},
		{"a run is screened against each of its lists alone", "a pass is of every list", func(b *broken, sound stores) {
			b.SavePassFunc = func(ctx context.Context, p pass, runs []runRef) error {
				for _, list := range []string{"sanctions", "peps"} {
					held, err := sound.HoldList(ctx, list, p.Holder, p.HeldUntil, p.HeldUntil)
					if err != nil {
						return err
					}
					held.Number, held.Version = p.Number, p.Version
					if err := sound.SavePass(ctx, held, runs); err != nil {
						return err
					}
				}
				return nil
			}
		}},
		{"a later append of a run changes no pass", "each append makes the run outdated", func(b *broken, sound stores) {
			stale := memo[runRef, bool]{}
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c store.Commit) error {
				if c.Summary.Ended != "" && seq > 0 {
					stale.set(runRef{Tenant: t, Run: id}, true)
				}
				return sound.Append(ctx, t, id, seq, c)
			}
			b.OutdatedRunsFunc = func(ctx context.Context, q verification.OutdatedQuery) ([]runRef, error) {
				runs, err := sound.OutdatedRuns(ctx, q)
				return append(runs, stale.keys()...), err
			}
		}},
		{"a refused append adds no run to be screened again", "the run of a refused append is added", func(b *broken, sound stores) {
			added := memo[runRef, bool]{}
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c store.Commit) error {
				err := sound.Append(ctx, t, id, seq, c)
				if err != nil && len(c.Screened) > 0 {
					added.set(runRef{Tenant: t, Run: id}, true)
				}
				return err
			}
			b.OutdatedRunsFunc = func(ctx context.Context, q verification.OutdatedQuery) ([]runRef, error) {
				runs, err := sound.OutdatedRuns(ctx, q)
				return append(runs, added.keys()...), err
			}
		}},
		{"outdated runs come in the order of their last passes, up to the limit", "the newest come first", outdated(nil, func(runs []runRef) []runRef {
			slices.Reverse(runs)
			return runs
		})},
		{"outdated runs come in the order of their last passes, up to the limit", "the limit is ignored", outdated(func(q *verification.OutdatedQuery) { q.Limit = 100 }, nil)},
		{"tenants take turns in OutdatedRuns", "the first tenant comes first", outdated(nil, func(runs []runRef) []runRef {
			slices.SortStableFunc(runs, func(a, b runRef) int { return int(a.Tenant[0]) - int(b.Tenant[0]) })
			return runs
		})},
		{"the turns of OutdatedRuns continue after the tenant that was served last", "every batch begins at the lowest tenant", outdated(func(q *verification.OutdatedQuery) { q.After = "" }, nil)},
	}
}
