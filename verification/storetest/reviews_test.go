package storetest_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// queueing breaks the queries and results of List for the review queue.
func queueing(change func(*store.RunQuery), then func(store.RunQuery, *store.Page[summary])) breakage {
	return func(b *broken, sound stores) {
		b.ListFunc = func(ctx context.Context, t tenantID, q store.RunQuery) (store.Page[summary], error) {
			wanted := q
			if q.OfQueue() && change != nil {
				change(&q)
			}
			p, err := sound.List(ctx, t, q)
			if p.PageQuery = wanted.PageQuery; q.OfQueue() && then != nil {
				then(wanted, &p)
			}
			return p, err
		}
	}
}

// reclaiming breaks the claims of Claim.
func reclaiming(change func(c *rules.Claim)) breakage {
	return func(b *broken, sound stores) {
		b.ClaimFunc = func(ctx context.Context, t tenantID, run runID, c rules.Claim) (rules.Claim, error) {
			change(&c)
			return sound.Claim(ctx, t, run, c)
		}
	}
}

// release releases the claim of whoever holds it.
func release(ctx context.Context, s stores, t tenantID, run runID, at time.Time) error {
	for by := range 2 {
		held, err := s.Claim(ctx, t, run, rules.Claim{By: strconv.Itoa(by), At: at, Until: at})
		if errors.Is(err, verification.ErrNotFound) {
			return nil
		}
		if errors.Is(err, verification.ErrConflict) {
			_, err = s.Claim(ctx, t, run, rules.Claim{By: held.By, At: at, Until: at})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// committing breaks the arguments of Append.
func committing(change func(*store.Commit)) breakage {
	return func(b *broken, sound stores) {
		b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c store.Commit) error {
			change(&c)
			return sound.Append(ctx, t, id, seq, c)
		}
	}
}

func reviewBreaches() []breach {
	type (
		query = *store.RunQuery
		page  = *store.Page[summary]
	)
	return []breach{
		{"a review is listed as it was saved", "the number of further flags is lost", committing(func(c *store.Commit) {
			if c.Summary.Review != nil {
				v := *c.Summary.Review
				v.MoreConcerns, c.Summary.Review = 0, &v
			}
		})},
		{"the queue has exactly the runs that need a verdict at the time of the query", "expired runs stay", queueing(func(q query) { q.Now = time.Time{} }, nil)},
		{"the queue has exactly the runs that need a verdict at the time of the query", "completed runs are left out", queueing(func(q query) { q.Status = rules.StatusInProgress }, nil)},
		{"the queue is in the order of the query", "the order is always that of age", queueing(func(q query) { q.Order = store.OldestFirst }, nil)},
		{"the pages of the queue add up to the whole queue", "the total is that of the page", queueing(nil, func(_ store.RunQuery, p page) { p.Total = len(p.Data) })},
		{"the pages of the queue add up to the whole queue", "the offset is one less", queueing(func(q query) { q.Offset = max(0, q.Offset-1) }, nil)},
		{"a page of the queue continues after a position", "positions are ignored", queueing(func(q query) { q.After = nil }, nil)},
		{"the filters of the queue select what matches", "the cause is ignored", queueing(func(q query) { q.Cause = "" }, nil)},
		{"the filters of the queue select what matches", "the due time is ignored", queueing(func(q query) { q.DueBefore = time.Time{} }, nil)},
		{"the filters of the queue select what matches", "the status is ignored", queueing(func(q query) { q.Status = "" }, nil)},
		{"the filters of the queue select what matches", "the total ignores who claimed", queueing(nil, func(q store.RunQuery, p page) {
			if q.Unclaimed {
				p.Total++
			}
		})},
		{"the filters of the queue select what matches", "the assignee is ignored", queueing(func(q query) { q.AssignedTo = nil }, nil)},
		{"an assignment is changed and ends with its review", "the first one stays", func(b *broken, sound stores) {
			firsts := memo[runID, rules.Assignment]{}
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c store.Commit) error {
				if c.Summary.Review != nil {
					v := *c.Summary.Review
					if first, ok := firsts.get(id); ok {
						v.Assignment = first
					} else if v.Assignment.To.Key() != "" {
						firsts.set(id, v.Assignment)
					}
					c.Summary.Review = &v
				}
				return sound.Append(ctx, t, id, seq, c)
			}
		}},
		{"an append without events leaves a claim as it is", "it removes the claim", func(b *broken, sound stores) {
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c store.Commit) error {
				err := sound.Append(ctx, t, id, seq, c)
				if len(c.Events) == 0 && err == nil {
					return release(ctx, sound, t, id, c.Work[store.WorkKey{Kind: store.WorkAdvance}].Add(-time.Hour))
				}
				return err
			}
		}},
		{"the review queues of all tenants are counted", "all are those that are due some time", func(b *broken, sound stores) {
			b.CountQueuesFunc = func(ctx context.Context, at, due time.Time) (int, error) {
				if !due.IsZero() {
					due = due.AddDate(1, 0, 0)
				}
				return sound.CountQueues(ctx, at, due)
			}
		}},
		{"the review queues of all tenants are counted", "a list without a tenant counts them, too", func(b *broken, sound stores) {
			b.ListFunc = func(ctx context.Context, t tenantID, q store.RunQuery) (store.Page[summary], error) {
				p, err := sound.List(ctx, t, q)
				if t == "" && err == nil {
					p.Total, err = sound.CountQueues(ctx, q.Now, q.DueBefore)
				}
				return p, err
			}
		}},
		{"two tenants have separate queues", "a claim is of the tenant that claimed last", func(b *broken, sound stores) {
			owner := memo[string, tenantID]{}
			b.ClaimFunc = func(ctx context.Context, t tenantID, run runID, c rules.Claim) (rules.Claim, error) {
				if last, ok := owner.get("last"); ok && !c.Until.After(c.At) {
					t = last
				}
				owner.set("last", t)
				return sound.Claim(ctx, t, run, c)
			}
		}},
		{"a claim is shown until it ends", "it ends later", reclaiming(func(c *rules.Claim) { c.Until = c.Until.Add(time.Second) })},
		{"a claim of another person is refused", "it takes over", func(b *broken, sound stores) {
			b.ClaimFunc = func(ctx context.Context, t tenantID, run runID, c rules.Claim) (rules.Claim, error) {
				return c, errors.Join(release(ctx, sound, t, run, c.At), errOf(sound.Claim(ctx, t, run, c)))
			}
		}},
		{"a renewed claim keeps the time at which it began", "it begins again", func(b *broken, sound stores) {
			b.ClaimFunc = func(ctx context.Context, t tenantID, run runID, c rules.Claim) (rules.Claim, error) {
				if err := release(ctx, sound, t, run, c.At); err != nil {
					return c, err
				}
				return sound.Claim(ctx, t, run, c)
			}
		}},
		{"a person releases only their own claim", "every claim is released", func(b *broken, sound stores) {
			b.ClaimFunc = func(ctx context.Context, t tenantID, run runID, c rules.Claim) (rules.Claim, error) {
				if !c.Until.After(c.At) {
					return c, release(ctx, sound, t, run, c.At)
				}
				return sound.Claim(ctx, t, run, c)
			}
		}},
		{"a claim stays when the run is flagged for another cause", "the append removes it", func(b *broken, sound stores) {
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c store.Commit) error {
				return errors.Join(sound.Append(ctx, t, id, seq, c), release(ctx, sound, t, id, c.Events[0].At))
			}
		}},
		{"a claim ends with its review", "the next review inherits it", func(b *broken, sound stores) {
			claims := memo[runID, rules.Claim]{}
			b.ClaimFunc = func(ctx context.Context, t tenantID, run runID, c rules.Claim) (rules.Claim, error) {
				claims.set(run, c)
				return sound.Claim(ctx, t, run, c)
			}
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c store.Commit) error {
				err := sound.Append(ctx, t, id, seq, c)
				if held, ok := claims.get(id); ok && err == nil && c.Summary.Review != nil {
					_, err = sound.Claim(ctx, t, id, held)
				}
				return err
			}
		}},
		{"one of concurrent claims is stored", "each caller gets its own claim", func(b *broken, sound stores) {
			b.ClaimFunc = func(ctx context.Context, t tenantID, run runID, c rules.Claim) (rules.Claim, error) {
				_, err := sound.Claim(ctx, t, run, c)
				if errors.Is(err, verification.ErrConflict) {
					err = nil
				}
				return c, err
			}
		}},
	}
}

func errOf(_ rules.Claim, err error) error { return err }

// measuring breaks the queries of Measures.
func measuring(change func(*store.MeasureQuery)) breakage {
	return func(b *broken, sound stores) {
		b.MeasuresFunc = func(ctx context.Context, t tenantID, q store.MeasureQuery) ([]store.MeasureCounts, error) {
			change(&q)
			return sound.Measures(ctx, t, q)
		}
	}
}

func measureBreaches() []breach {
	return []breach{
		{"measures are added up for each day", "the first day is left out", measuring(func(q *store.MeasureQuery) { q.First++ })},
		{"measures are of the day that they name", "each is of the day before", func(b *broken, sound stores) {
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c store.Commit) error {
				c.Measures = slices.Clone(c.Measures)
				for i := range c.Measures {
					c.Measures[i].Day--
				}
				return sound.Append(ctx, t, id, seq, c)
			}
		}},
		{"totals are added up for all days", "they are of the first day", measuring(func(q *store.MeasureQuery) {
			if len(q.Totals) > 0 {
				q.Last = q.First
			}
		})},
		{"totals are added up for all days", "they are left out", measuring(func(q *store.MeasureQuery) { q.Totals = nil })},
		{"a history-only append adds its measures", "it adds only events", func(b *broken, sound stores) {
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c store.Commit) error {
				if c.Work == nil {
					c.Measures = nil
				}
				return sound.Append(ctx, t, id, seq, c)
			}
		}},
		{"a refused append adds no measures", "each append adds those of its events once more", func(b *broken, sound stores) {
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c store.Commit) error {
				err := sound.Append(ctx, t, id, seq, c)
				if err != nil { // counted with another run
					other := verification.RunID("d0000000-0000-7000-8000-0000000000ff")
					_ = sound.Append(ctx, t, other, 0, c)
				}
				return err
			}
		}},
		{"the measures of a workflow and of a version are selected", "the version is ignored", measuring(func(q *store.MeasureQuery) { q.Version = 0 })},
		{"the measures of a workflow and of a version are selected", "the workflow is ignored", measuring(func(q *store.MeasureQuery) { q.Workflow = "" })},
		{"two tenants have separate measures", "all have those of the first", func(b *broken, sound stores) {
			first := memo[string, tenantID]{}
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c store.Commit) error {
				if _, ok := first.get("tenant"); !ok {
					first.set("tenant", t)
				}
				return sound.Append(ctx, t, id, seq, c)
			}
			b.MeasuresFunc = func(ctx context.Context, t tenantID, q store.MeasureQuery) ([]store.MeasureCounts, error) {
				if of, ok := first.get("tenant"); ok {
					t = of
				}
				return sound.Measures(ctx, t, q)
			}
		}},
	}
}
