// The review queue and its claims.

package memory

import (
	"cmp"
	"context"
	"time"

	"github.com/tidwall/btree"

	"github.com/verifyd/verifyd/verification"
)

// reviews has the entries of the review queue of one tenant.
type reviews struct {
	byRun map[verification.RunID]*verification.QueueEntry
	lists trees[reviewList, *verification.QueueEntry]
	until *btree.BTreeG[*verification.QueueEntry] // those that end by time, the earliest end first
}

// reviewList is the list of the entries with a workflow and a cause, if they are not
// empty, in an order.
type reviewList struct {
	order    verification.QueueOrder
	workflow verification.WorkflowID
	cause    verification.Cause
}

func (l reviewList) before(a, b *verification.QueueEntry) bool {
	return l.order.Compare(a.Position(), b.Position()) < 0
}

func newReviews() reviews {
	return reviews{
		byRun: map[verification.RunID]*verification.QueueEntry{},
		until: newTree(func(a, b *verification.QueueEntry) bool {
			return cmp.Or(a.Until.Compare(b.Until), cmp.Compare(a.Run, b.Run)) < 0
		}),
	}
}

// put replaces the entry of a run; nil removes it. The claim stays while the review is
// the same.
func (rs *reviews) put(run verification.RunID, v *verification.Review) {
	old, found := rs.byRun[run]
	if found {
		eachList(old, func(l reviewList) { rs.lists.at(l, l.before).Delete(old) })
		rs.until.Delete(old)
		delete(rs.byRun, run)
	}
	if v == nil {
		return
	}
	e := &verification.QueueEntry{Review: *v}
	if e.Run = run; found && old.Since.Equal(e.Since) {
		e.Claim = old.Claim
	}
	rs.byRun[run] = e
	eachList(e, func(l reviewList) { rs.lists.at(l, l.before).Set(e) })
	if !e.Until.IsZero() {
		rs.until.Set(e)
	}
}

// eachList calls f with the lists that an entry is on.
func eachList(e *verification.QueueEntry, f func(reviewList)) {
	for _, o := range []verification.QueueOrder{verification.OldestFirst, verification.DueFirst} {
		for _, w := range []verification.WorkflowID{"", e.Workflow} {
			f(reviewList{o, w, ""})
			for _, c := range e.Causes {
				f(reviewList{o, w, c})
			}
		}
	}
}

// page reads one page of the queue. Its cost is that of the page if no filter but the
// workflow and the cause is set, and else that of the list.
func (rs *reviews) page(q verification.QueueQuery) verification.Page[verification.QueueEntry] {
	p := verification.Page[verification.QueueEntry]{PageQuery: q.PageQuery}
	q.Order = cmp.Or(q.Order, verification.OldestFirst)
	list := reviewList{q.Order, q.Workflow, q.Cause}
	tree := rs.lists.at(list, list.before)
	plain := q
	plain.PageQuery, plain.Order, plain.Now, plain.After, plain.Workflow, plain.Cause = verification.PageQuery{}, "", time.Time{}, nil, "", ""
	counted := plain == verification.QueueQuery{}
	if counted {
		p.Total = tree.Len() - rs.over(list, q.Now)
	}
	skip := q.Offset
	tree.Scan(func(e *verification.QueueEntry) bool {
		if q.Matches(*e) {
			if !counted {
				p.Total++
			}
			switch after := q.After == nil || q.Order.Compare(e.Position(), *q.After) > 0; {
			case !after || len(p.Data) >= q.Limit:
			case skip > 0:
				skip--
			default:
				p.Data = append(p.Data, shown(e, q.Now))
			}
		}
		return !counted || len(p.Data) < q.Limit
	})
	return p
}

// over returns how many entries of a list have ended by time.
func (rs *reviews) over(l reviewList, now time.Time) (n int) {
	rs.until.Scan(func(e *verification.QueueEntry) bool {
		if e.OpenAt(now) {
			return false
		}
		eachList(e, func(of reviewList) {
			if of == l {
				n++
			}
		})
		return true
	})
	return n
}

// shown returns an entry as of a time.
func shown(e *verification.QueueEntry, now time.Time) verification.QueueEntry {
	seen := *e
	if !seen.Claim.HeldAt(now) {
		seen.Claim = verification.Claim{}
	}
	return seen
}

// stats adds up the statistics of the queue.
func (rs *reviews) stats(w verification.WorkflowID, now time.Time, since []time.Time) (f verification.QueueStats) {
	oldest := rs.page(verification.QueueQuery{PageQuery: verification.PageQuery{Limit: 1}, Now: now, Workflow: w})
	if f.Open = oldest.Total; f.Open > 0 {
		f.Oldest = oldest.Data[0].Since
	}
	due := reviewList{verification.DueFirst, w, ""}
	rs.lists.at(due, due.before).Scan(func(e *verification.QueueEntry) bool {
		if e.Overdue(now) && e.OpenAt(now) {
			f.Overdue++
		}
		return e.Overdue(now)
	})
	for _, at := range since {
		f.SinceCounts = append(f.SinceCounts, rs.page(verification.QueueQuery{Now: now, Workflow: w, SinceBefore: at}).Total)
	}
	return f
}

// Queue returns one page of the review queue as of q.Now.
func (s *Store) Queue(ctx context.Context, t verification.TenantID, q verification.QueueQuery) (p verification.Page[verification.QueueEntry], err error) {
	p.PageQuery = q.PageQuery
	err = s.withTenant(ctx, t, func(d *tenantData) { p = d.reviews.page(q) })
	return p, err
}

// QueueStats returns the statistics of the queue of a tenant, or of all tenants.
func (s *Store) QueueStats(
	ctx context.Context, t verification.TenantID, w verification.WorkflowID, now time.Time, since ...time.Time,
) (sum verification.QueueStats, err error) {
	sum.SinceCounts = make([]int, len(since))
	var tenants []*tenantData
	err = s.runs.read(ctx, func() error {
		for id, d := range s.runs.rows {
			if t == "" || t == id {
				tenants = append(tenants, d)
			}
		}
		return nil
	})
	for _, d := range tenants {
		d.mu.Lock()
		f := d.reviews.stats(w, now, since)
		d.mu.Unlock()
		sum.Open += f.Open
		sum.Overdue += f.Overdue
		for i, n := range f.SinceCounts {
			sum.SinceCounts[i] += n
		}
		if t != "" {
			sum.Oldest = f.Oldest
		}
	}
	return sum, err
}

// SaveClaim stores a claim of a run in the review queue.
func (s *Store) SaveClaim(
	ctx context.Context, t verification.TenantID, run verification.RunID, c verification.Claim, takeOver bool,
) (verification.Claim, error) {
	d, err := s.runs.get(ctx, t, "review")
	if err != nil {
		return verification.Claim{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	e, ok := d.reviews.byRun[run]
	if !ok {
		return verification.Claim{}, verification.NotFound("review")
	}
	if e.Claim.HeldAt(c.At) {
		if e.Claim.By != c.By && !takeOver {
			return e.Claim, verification.ClaimHeld()
		}
		if e.Claim.By == c.By {
			c.At = e.Claim.At
		}
	}
	e.Claim = c
	return c, nil
}

// ReleaseClaim removes the claim of a person.
func (s *Store) ReleaseClaim(ctx context.Context, t verification.TenantID, run verification.RunID, by string) error {
	return s.withTenant(ctx, t, func(d *tenantData) {
		if e, ok := d.reviews.byRun[run]; ok && e.Claim.By == by {
			e.Claim = verification.Claim{}
		}
	})
}
