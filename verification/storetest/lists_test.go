package storetest_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// breakQuery breaks the queries of List.
func breakQuery(change func(*store.RunQuery)) breakage {
	return func(b *broken, sound stores) {
		b.ListFunc = func(ctx context.Context, t tenantID, q store.RunQuery) (store.Page[summary], error) {
			wanted := q.PageQuery
			change(&q)
			p, err := sound.List(ctx, t, q)
			p.PageQuery = wanted
			return p, err
		}
	}
}

// breakPage breaks the results of List.
func breakPage(change func(*store.Page[summary])) breakage {
	return func(b *broken, sound stores) {
		b.ListFunc = func(ctx context.Context, t tenantID, q store.RunQuery) (store.Page[summary], error) {
			p, err := sound.List(ctx, t, q)
			change(&p)
			return p, err
		}
	}
}

func listBreaches() []breach {
	return []breach{
		{"a summary is listed as it was saved", "List forgets why a run failed", breakPage(func(p *store.Page[summary]) {
			for i := range p.Data {
				p.Data[i].Error = nil
			}
		})},
		{"a summary is listed as it was saved", "List forgets the number of the wait", breakPage(func(p *store.Page[summary]) {
			for i := range p.Data {
				p.Data[i].WaitNumber = 0
			}
		})},
		{"a run is listed once, with its newest summary", "the first summary stays", firstSummary},
		{
			"runs are listed newest first, then by id from the highest", "at equal times the lowest id comes first",
			breakPage(func(p *store.Page[summary]) {
				slices.SortFunc(p.Data, func(a, b summary) int {
					return cmp.Or(b.StartedAt.Compare(a.StartedAt), cmp.Compare(a.ID, b.ID))
				})
			}),
		},
		{"the pages of runs add up to the whole list", "List forgets the offset", breakQuery(func(q *store.RunQuery) { q.Offset = 0 })},
		{"the pages of runs add up to the whole list", "List forgets the limit", breakQuery(func(q *store.RunQuery) { q.Limit = 50 })},
		{
			"the pages of runs add up to the whole list", "the total is that of the page",
			breakPage(func(p *store.Page[summary]) { p.Total = len(p.Data) }),
		},
		{
			"the pages of runs add up to the whole list", "the page has no limit and no offset",
			breakPage(func(p *store.Page[summary]) { p.PageQuery = store.PageQuery{} }),
		},
		{
			"a page past the end is empty and has the total", "the total is lost on an empty page",
			breakPage(func(p *store.Page[summary]) {
				if len(p.Data) == 0 {
					p.Total = 0
				}
			}),
		},
		{
			"the workflow filter selects the runs of a workflow", "List forgets the workflow",
			breakQuery(func(q *store.RunQuery) { q.Workflow = "" }),
		},
		{
			"the reference filters select by the reference id and its beginning", "List forgets the reference id",
			breakQuery(func(q *store.RunQuery) { q.ReferenceID = "" }),
		},
		{
			"the reference filters select by the reference id and its beginning", "List forgets the beginning of the reference id",
			breakQuery(func(q *store.RunQuery) { q.ReferencePrefix = "" }),
		},
		{
			"the reference filters select by the reference id and its beginning", "List forgets that only rejected runs are wanted",
			breakQuery(func(q *store.RunQuery) { q.Rejected = false }),
		},
		{
			"the reference filters select by the reference id and its beginning", "List selects rejected runs by their decision",
			breakQuery(func(q *store.RunQuery) {
				if q.Rejected {
					q.Rejected, q.Decision = false, rules.DecisionReject
				}
			}),
		},
		{
			"the start filters select the runs that began between two times", "List forgets the first time",
			breakQuery(func(q *store.RunQuery) { q.StartedAfter = time.Time{} }),
		},
		{
			"the start filters select the runs that began between two times", "List includes the last time",
			breakQuery(func(q *store.RunQuery) {
				if !q.StartedBefore.IsZero() {
					q.StartedBefore = q.StartedBefore.Add(time.Microsecond)
				}
			}),
		},
		{
			"the status filter selects by the status at the time of the query", "List forgets the status",
			breakQuery(func(q *store.RunQuery) { q.Status = "" }),
		},
		{
			"the status filter selects by the status at the time of the query", "the status is that of the last append",
			breakQuery(func(q *store.RunQuery) { q.Now = time.Time{} }),
		},
		{
			"the decision filter selects by the decision at the time of the query", "List forgets the decision",
			breakQuery(func(q *store.RunQuery) { q.Decision = "" }),
		},
		{
			"filters are combined with AND", "a decision disables the status",
			breakQuery(func(q *store.RunQuery) {
				if q.Decision != "" {
					q.Status = ""
				}
			}),
		},
		{
			"filters are combined with AND", "a workflow disables the decision",
			breakQuery(func(q *store.RunQuery) {
				if q.Workflow != "" {
					q.Decision = ""
				}
			}),
		},
		{"every run has exactly one of the six statuses at any time", "an abandoned run is in progress too", twice},
		{
			"the review filter selects exactly the runs whose decision is review", "the queue keeps runs past their deadline",
			breakQuery(func(q *store.RunQuery) {
				if q.Decision == rules.DecisionReview {
					q.Now = time.Time{}
				}
			}),
		},
		{
			"a run is abandoned or expired only after its deadline, not at it", "a run is abandoned or expired at its deadline",
			breakQuery(func(q *store.RunQuery) { q.Now = q.Now.Add(time.Microsecond) }),
		},
		{"a query may have an earlier time than the one before it", "List never goes back in time", func(b *broken, sound stores) {
			var latest time.Time
			breakQuery(func(q *store.RunQuery) {
				if q.Now.After(latest) {
					latest = q.Now
				}
				q.Now = latest
			})(b, sound)
		}},
		{"a tenant lists only its own runs", "List ignores the tenant", func(b *broken, sound stores) {
			owners := owned(b, sound)
			b.ListFunc = func(ctx context.Context, t tenantID, q store.RunQuery) (store.Page[summary], error) {
				var all store.Page[summary]
				seen := map[tenantID]bool{}
				for _, id := range owners.keys() {
					if t, _ := owners.get(id); !seen[t] {
						seen[t] = true
						p, err := sound.List(ctx, t, q)
						if err != nil {
							return p, err
						}
						all.Data, all.Total = append(all.Data, p.Data...), all.Total+p.Total
					}
				}
				return all, nil
			}
		}},
	}
}

// firstSummary keeps a summary only when it is the first of its run.
func firstSummary(b *broken, sound stores) {
	first := memo[runRef, summary]{}
	b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, a store.Commit) error {
		if s, ok := first.get(runRef{Tenant: t, Run: id}); ok {
			a.Summary = s
		}
		first.set(runRef{Tenant: t, Run: id}, a.Summary)
		return sound.Append(ctx, t, id, seq, a)
	}
}

// twice lists abandoned runs under two statuses.
func twice(b *broken, sound stores) {
	b.ListFunc = func(ctx context.Context, t tenantID, q store.RunQuery) (store.Page[summary], error) {
		p, err := sound.List(ctx, t, q)
		if q.Status == rules.StatusInProgress {
			q.Status = rules.StatusAbandoned
			more, also := sound.List(ctx, t, q)
			p.Data, p.Total, err = append(p.Data, more.Data...), p.Total+more.Total, errors.Join(err, also)
		}
		return p, err
	}
}
