package storetest_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/storetest"
)

// asking breaks what List is asked.
func asking(change func(*verification.RunQuery)) func(storetest.Store) storetest.Store {
	return when(func(b *broken, sound storetest.Store) {
		b.list = func(ctx context.Context, t tenantID, q verification.RunQuery) (verification.Page[summary], error) {
			asked := q.PageQuery
			change(&q)
			p, err := sound.List(ctx, t, q)
			p.PageQuery = asked
			return p, err
		}
	})
}

// listing breaks what List answers.
func listing(change func(*verification.Page[summary])) func(storetest.Store) storetest.Store {
	return when(func(b *broken, sound storetest.Store) {
		b.list = func(ctx context.Context, t tenantID, q verification.RunQuery) (verification.Page[summary], error) {
			p, err := sound.List(ctx, t, q)
			change(&p)
			return p, err
		}
	})
}

func listBreaches() []breach {
	return []breach{
		{"a summary comes back as it was saved", "List forgets why a run failed", listing(func(p *verification.Page[summary]) {
			for i := range p.Data {
				p.Data[i].Error = nil
			}
		})},
		{"a summary comes back as it was saved", "List forgets the number of the wait", listing(func(p *verification.Page[summary]) {
			for i := range p.Data {
				p.Data[i].Wait = 0
			}
		})},
		{"a run is listed once, as its newest append left it", "the first summary stays", when(firstSummary)},
		{
			"the newest run comes first, and of one moment the highest id", "of one moment the lowest id comes first",
			listing(func(p *verification.Page[summary]) {
				slices.SortFunc(p.Data, func(a, b summary) int {
					return cmp.Or(b.StartedAt.Compare(a.StartedAt), cmp.Compare(a.ID, b.ID))
				})
			}),
		},
		{"pages join to the whole list", "List forgets the offset", asking(func(q *verification.RunQuery) { q.Offset = 0 })},
		{"pages join to the whole list", "List forgets the limit", asking(func(q *verification.RunQuery) { q.Limit = 50 })},
		{
			"pages join to the whole list", "the total is that of the page",
			listing(func(p *verification.Page[summary]) { p.Total = len(p.Data) }),
		},
		{
			"pages join to the whole list", "the page does not say which it is",
			listing(func(p *verification.Page[summary]) { p.PageQuery = verification.PageQuery{} }),
		},
		{
			"a page past the end is empty and still has the total", "the total stands on the rows of the page",
			listing(func(p *verification.Page[summary]) {
				if len(p.Data) == 0 {
					p.Total = 0
				}
			}),
		},
		{
			"the workflow filter gives the runs of that workflow", "List forgets the workflow",
			asking(func(q *verification.RunQuery) { q.Workflow = "" }),
		},
		{
			"the status filter gives the runs that read so at the moment", "List forgets the status",
			asking(func(q *verification.RunQuery) { q.Status = "" }),
		},
		{
			"the status filter gives the runs that read so at the moment", "the status is that of the last append",
			asking(func(q *verification.RunQuery) { q.Now = time.Time{} }),
		},
		{
			"the decision filter gives the runs that read so at the moment", "List forgets the decision",
			asking(func(q *verification.RunQuery) { q.Decision = "" }),
		},
		{
			"filters are and-ed, and every combination is legal", "a decision puts the status aside",
			asking(func(q *verification.RunQuery) {
				if q.Decision != "" {
					q.Status = ""
				}
			}),
		},
		{
			"filters are and-ed, and every combination is legal", "a workflow puts the decision aside",
			asking(func(q *verification.RunQuery) {
				if q.Workflow != "" {
					q.Decision = ""
				}
			}),
		},
		{"the six statuses part all runs at every moment", "an abandoned run is in progress too", when(twice)},
		{
			"a run reads review if and only if the queue has it", "the queue keeps runs past their deadline",
			asking(func(q *verification.RunQuery) {
				if q.Decision == verification.DecisionReview {
					q.Now = time.Time{}
				}
			}),
		},
		{
			"a run reads differently only after its moment", "a run reads differently at its moment already",
			asking(func(q *verification.RunQuery) { q.Now = q.Now.Add(time.Microsecond) }),
		},
		{"an earlier moment may be asked for after a later one", "List does not go back", func(s storetest.Store) storetest.Store {
			var latest time.Time
			return asking(func(q *verification.RunQuery) {
				if q.Now.After(latest) {
					latest = q.Now
				}
				q.Now = latest
			})(s)
		}},
		{"a tenant lists its own runs alone", "List ignores the tenant", when(func(b *broken, sound storetest.Store) {
			owners := owned(b, sound)
			b.list = func(ctx context.Context, t tenantID, q verification.RunQuery) (verification.Page[summary], error) {
				var all verification.Page[summary]
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
		})},
	}
}

// firstSummary keeps a summary only when it is the first of its run.
func firstSummary(b *broken, sound storetest.Store) {
	first := memo[runRef, summary]{}
	b.append = func(ctx context.Context, t tenantID, id runID, seq int, a verification.Commit) error {
		if s, ok := first.get(runRef{Tenant: t, Run: id}); ok {
			a.Summary = s
		}
		first.set(runRef{Tenant: t, Run: id}, a.Summary)
		return sound.Append(ctx, t, id, seq, a)
	}
}

// twice lists abandoned runs under two statuses.
func twice(b *broken, sound storetest.Store) {
	b.list = func(ctx context.Context, t tenantID, q verification.RunQuery) (verification.Page[summary], error) {
		p, err := sound.List(ctx, t, q)
		if q.Status == verification.StatusInProgress {
			q.Status = verification.StatusAbandoned
			more, also := sound.List(ctx, t, q)
			p.Data, p.Total, err = append(p.Data, more.Data...), p.Total+more.Total, errors.Join(err, also)
		}
		return p, err
	}
}

func overdueBreaches() []breach {
	overdue := func(change func(now *time.Time, most *int), then func([]runRef, time.Time) ([]runRef, time.Time)) func(storetest.Store) storetest.Store {
		return when(func(b *broken, sound storetest.Store) {
			b.overdue = func(ctx context.Context, now time.Time, most int) ([]runRef, time.Time, error) {
				change(&now, &most)
				runs, next, err := sound.Overdue(ctx, now, most)
				runs, next = then(runs, next)
				return runs, next, err
			}
		})
	}
	asked := func(*time.Time, *int) {}
	given := func(runs []runRef, next time.Time) ([]runRef, time.Time) { return runs, next }
	return []breach{
		{
			"a run is overdue strictly after its deadline", "a run is overdue at its deadline",
			overdue(func(now *time.Time, _ *int) { *now = now.Add(time.Microsecond) }, given),
		},
		{
			"the next deadline ahead is the moment to ask again", "Overdue never wants to be asked again",
			overdue(asked, func(runs []runRef, _ time.Time) ([]runRef, time.Time) { return runs, time.Time{} }),
		},
		{
			"the next deadline ahead is the moment to ask again", "Overdue wants to be asked at the deadline",
			overdue(asked, func(runs []runRef, next time.Time) ([]runRef, time.Time) {
				if !next.IsZero() {
					next = next.Add(-time.Microsecond)
				}
				return runs, next
			}),
		},
		{
			"a run that is over or has no deadline is never overdue", "nobody looks whether the run is over",
			appending(func(a *verification.Commit) { a.Summary.Ended = "" }),
		},
		{
			"overdue runs of every tenant are found", "Overdue does not say whose run it is",
			overdue(asked, func(runs []runRef, next time.Time) ([]runRef, time.Time) {
				for i := range runs {
					runs[i].Tenant = ""
				}
				return runs, next
			}),
		},
		{
			"no more overdue runs are given than asked for, and the rest follows", "Overdue gives all there are",
			overdue(func(_ *time.Time, most *int) { *most = 1000 }, given),
		},
		{
			"no more overdue runs are given than asked for, and the rest follows", "Overdue gives only the first",
			overdue(func(_ *time.Time, most *int) { *most = 1 }, given),
		},
	}
}
