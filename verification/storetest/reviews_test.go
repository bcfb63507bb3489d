package storetest_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// queueing breaks the queries and results of Queue.
func queueing(change func(*verification.QueueQuery), then func(verification.QueueQuery, *verification.Page[verification.QueueEntry])) breakage {
	return func(b *broken, sound stores) {
		b.QueueFunc = func(ctx context.Context, t tenantID, q verification.QueueQuery) (verification.Page[verification.QueueEntry], error) {
			wanted := q
			if change != nil {
				change(&q)
			}
			p, err := sound.Queue(ctx, t, q)
			if p.PageQuery = wanted.PageQuery; then != nil {
				then(wanted, &p)
			}
			return p, err
		}
	}
}

// reclaiming breaks the arguments of SaveClaim.
func reclaiming(change func(c *verification.Claim, takeOver *bool)) breakage {
	return func(b *broken, sound stores) {
		b.SaveClaimFunc = func(ctx context.Context, t tenantID, run runID, c verification.Claim, takeOver bool) (verification.Claim, error) {
			change(&c, &takeOver)
			return sound.SaveClaim(ctx, t, run, c, takeOver)
		}
	}
}

// committing breaks the arguments of Append.
func committing(change func(*verification.Commit)) breakage {
	return func(b *broken, sound stores) {
		b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c verification.Commit) error {
			change(&c)
			return sound.Append(ctx, t, id, seq, c)
		}
	}
}

func reviewBreaches() []breach {
	type (
		query = verification.QueueQuery
		page  = *verification.Page[verification.QueueEntry]
	)
	return []breach{
		{"an entry of the queue is returned as it was saved", "the number of further flags is lost", committing(func(c *verification.Commit) {
			if c.Review != nil {
				v := *c.Review
				v.MoreFlags, c.Review = 0, &v
			}
		})},
		{"the queue has exactly the runs that need a verdict at the time of the query", "expired runs stay", queueing(func(q *query) { q.Now = time.Time{} }, nil)},
		{"the queue has exactly the runs that need a verdict at the time of the query", "no run leaves", func(b *broken, sound stores) {
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c verification.Commit) error {
				if c.ReviewBefore && c.Review == nil {
					c.Review = &verification.Review{Run: id, Workflow: c.Summary.Workflow}
				}
				return sound.Append(ctx, t, id, seq, c)
			}
		}},
		{"the queue is in the order of the query", "the order is always that of age", queueing(func(q *query) { q.Order = verification.OldestFirst }, nil)},
		{"the pages of the queue add up to the whole queue", "the total is that of the page", queueing(nil, func(_ query, p page) { p.Total = len(p.Data) })},
		{"the pages of the queue add up to the whole queue", "the offset is one less", queueing(func(q *query) { q.Offset = max(0, q.Offset-1) }, nil)},
		{"a page of the queue continues after a position", "positions are ignored", queueing(func(q *query) { q.After = nil }, nil)},
		{"the filters of the queue select what matches", "the cause is ignored", queueing(func(q *query) { q.Cause = "" }, nil)},
		{"the filters of the queue select what matches", "the total ignores who claimed", queueing(nil, func(q query, p page) {
			if q.Unclaimed {
				p.Total++
			}
		})},
		{"an append without events leaves the queue as it is", "it removes the entry", func(b *broken, sound stores) {
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c verification.Commit) error {
				err := sound.Append(ctx, t, id, seq, c)
				if len(c.Events) == 0 && err == nil {
					return sound.ReleaseClaim(ctx, t, id, "asha")
				}
				return err
			}
		}},
		{"the statistics of the queue count what is open and overdue", "the overdue ones are counted at another time", func(b *broken, sound stores) {
			b.QueueStatsFunc = func(ctx context.Context, t tenantID, w verification.WorkflowID, now time.Time, since ...time.Time) (verification.QueueStats, error) {
				f, err := sound.QueueStats(ctx, t, w, now, since...)
				f.Overdue = f.Open
				return f, err
			}
		}},
		{"the statistics of the queue count what is open and overdue", "each of SinceCounts is the count of all runs", func(b *broken, sound stores) {
			b.QueueStatsFunc = func(ctx context.Context, t tenantID, w verification.WorkflowID, now time.Time, since ...time.Time) (verification.QueueStats, error) {
				f, err := sound.QueueStats(ctx, t, w, now, since...)
				for i := range f.SinceCounts {
					f.SinceCounts[i] = f.Open
				}
				return f, err
			}
		}},
		{"two tenants have separate queues", "every tenant has that of one", func(b *broken, sound stores) {
			owner := memo[string, tenantID]{}
			b.SaveClaimFunc = func(ctx context.Context, t tenantID, run runID, c verification.Claim, takeOver bool) (verification.Claim, error) {
				owner.set("last", t)
				return sound.SaveClaim(ctx, t, run, c, takeOver)
			}
			b.ReleaseClaimFunc = func(ctx context.Context, t tenantID, run runID, by string) error {
				if last, ok := owner.get("last"); ok {
					t = last
				}
				return sound.ReleaseClaim(ctx, t, run, by)
			}
		}},
		{"a claim is shown until it ends", "it ends later", reclaiming(func(c *verification.Claim, _ *bool) { c.Until = c.Until.Add(time.Second) })},
		{"a claim of another person is refused, unless it is taken over", "every claim takes over", reclaiming(func(_ *verification.Claim, takeOver *bool) { *takeOver = true })},
		{"a claim of another person is refused, unless it is taken over", "none does", reclaiming(func(_ *verification.Claim, takeOver *bool) { *takeOver = false })},
		{"a renewed claim keeps the time at which it began", "it begins again", func(b *broken, sound stores) {
			b.SaveClaimFunc = func(ctx context.Context, t tenantID, run runID, c verification.Claim, takeOver bool) (verification.Claim, error) {
				if err := sound.ReleaseClaim(ctx, t, run, c.By); err != nil {
					return c, err
				}
				return sound.SaveClaim(ctx, t, run, c, takeOver)
			}
		}},
		{"a person releases only their own claim", "every claim is released", func(b *broken, sound stores) {
			b.ReleaseClaimFunc = func(ctx context.Context, t tenantID, run runID, by string) error {
				return errors.Join(sound.ReleaseClaim(ctx, t, run, by), sound.ReleaseClaim(ctx, t, run, "asha"))
			}
		}},
		{"a claim stays when the run is flagged for another cause", "the append removes it", func(b *broken, sound stores) {
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c verification.Commit) error {
				return errors.Join(sound.Append(ctx, t, id, seq, c), sound.ReleaseClaim(ctx, t, id, "asha"))
			}
		}},
		{"a claim ends with its review", "the next review inherits it", func(b *broken, sound stores) {
			claims := memo[runID, verification.Claim]{}
			b.SaveClaimFunc = func(ctx context.Context, t tenantID, run runID, c verification.Claim, takeOver bool) (verification.Claim, error) {
				claims.set(run, c)
				return sound.SaveClaim(ctx, t, run, c, takeOver)
			}
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c verification.Commit) error {
				err := sound.Append(ctx, t, id, seq, c)
				if held, ok := claims.get(id); ok && err == nil && c.Review != nil {
					_, err = sound.SaveClaim(ctx, t, id, held, true)
				}
				return err
			}
		}},
		{"one of concurrent claims is stored", "each caller gets its own claim", func(b *broken, sound stores) {
			b.SaveClaimFunc = func(ctx context.Context, t tenantID, run runID, c verification.Claim, _ bool) (verification.Claim, error) {
				return sound.SaveClaim(ctx, t, run, c, true)
			}
		}},
	}
}

// measuring breaks the queries of Measures.
func measuring(change func(*verification.MeasureQuery)) breakage {
	return func(b *broken, sound stores) {
		b.MeasuresFunc = func(ctx context.Context, t tenantID, q verification.MeasureQuery) ([]verification.MeasureCounts, error) {
			q.Cuts = slices.Clone(q.Cuts)
			change(&q)
			return sound.Measures(ctx, t, q)
		}
	}
}

func measureBreaches() []breach {
	return []breach{
		{"measures are added up from each cut to the next", "the first cut is too late", measuring(func(q *verification.MeasureQuery) {
			q.Cuts[0] = q.Cuts[0].Add(2 * verification.MeasureInterval)
		})},
		{"measures of months are the sums of their days, wherever the days begin", "every day begins at midnight in UTC", measuring(func(q *verification.MeasureQuery) {
			for i := range q.Cuts {
				q.Cuts[i] = q.Cuts[i].Truncate(24 * time.Hour)
			}
		})},
		{"totals are added up from the first cut to the last", "they are from the first cut to the second", measuring(func(q *verification.MeasureQuery) {
			if len(q.Totals) > 0 {
				q.Cuts = q.Cuts[:2]
			}
		})},
		{"totals are added up from the first cut to the last", "they are left out", measuring(func(q *verification.MeasureQuery) { q.Totals = nil })},
		{"a refused append adds no measures", "each append adds those of its events once more", func(b *broken, sound stores) {
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c verification.Commit) error {
				err := sound.Append(ctx, t, id, seq, c)
				if err != nil { // counted with another run
					other := verification.RunID("d0000000-0000-7000-8000-0000000000ff")
					_ = sound.Append(ctx, t, other, 0, c)
				}
				return err
			}
		}},
		{"the measures of a workflow and of a version are selected", "the version is ignored", measuring(func(q *verification.MeasureQuery) { q.Version = 0 })},
		{"the measures of a workflow and of a version are selected", "the workflow is ignored", measuring(func(q *verification.MeasureQuery) { q.Workflow = "" })},
		{"two tenants have separate measures", "all have those of the first", func(b *broken, sound stores) {
			first := memo[string, tenantID]{}
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c verification.Commit) error {
				if _, ok := first.get("tenant"); !ok {
					first.set("tenant", t)
				}
				return sound.Append(ctx, t, id, seq, c)
			}
			b.MeasuresFunc = func(ctx context.Context, t tenantID, q verification.MeasureQuery) ([]verification.MeasureCounts, error) {
				if of, ok := first.get("tenant"); ok {
					t = of
				}
				return sound.Measures(ctx, t, q)
			}
		}},
	}
}
