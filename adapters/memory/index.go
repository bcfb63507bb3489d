// The secondary indexes of the runs of one tenant.

package memory

import (
	"slices"
	"time"

	"github.com/tidwall/btree"

	"github.com/verifyd/verifyd/verification"
)

// index finds runs by workflow, status and decision. It holds the status and the
// decision of each run at one time. For another time, earlier or later, it updates
// only the runs that change in between.
type index struct {
	at      time.Time
	runs    trees[filter, *record] // those that match a filter, newest first
	changes *btree.BTreeG[statusChange]
}

// filter selects runs; an empty field selects all.
type filter struct {
	workflow verification.WorkflowID
	status   verification.Status
	decision verification.Decision
}

// statusChange is the last instant before the status or the decision of a run changes.
type statusChange struct {
	at  time.Time
	run *record // nil sorts before all others at the same time
}

// maxFollow bounds the status changes that one append applies, except those of one
// instant, so that later lists have few left to apply. An append adds at most two, so they
// do not accumulate.
const maxFollow = 8

func newIndex() index {
	return index{changes: newTree(func(a, b statusChange) bool {
		if c := a.at.Compare(b.at); c != 0 || a.run == nil || b.run == nil {
			return c < 0 || c == 0 && a.run == nil && b.run != nil
		}
		return a.run.ref.Run < b.run.ref.Run
	})}
}

// page reads one page of the runs that match the query. A search by reference id or
// start time costs a pass over the runs that match the other filters.
func (x *index) page(q verification.RunQuery) verification.Page[verification.Summary] {
	x.moveTo(q.Now)
	tree := x.runs[filter{q.Workflow, q.Status, q.Decision}]
	if tree == nil || q.ReferenceID == "" && q.ReferencePrefix == "" && q.StartedAfter.IsZero() && q.StartedBefore.IsZero() {
		return readPage(tree, q.PageQuery, func(r *record) verification.Summary { return r.summary })
	}
	p := verification.Page[verification.Summary]{PageQuery: q.PageQuery}
	tree.Scan(func(r *record) bool {
		if q.Matches(r.summary) {
			if p.Total >= q.Offset && len(p.Data) < q.Limit {
				p.Data = append(p.Data, r.summary)
			}
			p.Total++
		}
		return q.StartedAfter.IsZero() || r.summary.StartedAt.After(q.StartedAfter)
	})
	return p
}

// put replaces the summary of a run.
func (x *index) put(r *record, s verification.Summary) {
	var from []filter
	if r.summary.ID != "" {
		x.eachChange(r, func(c statusChange) { x.changes.Delete(c) })
		from = filtersAt(r.summary, x.at)
		if !r.summary.StartedAt.Equal(s.StartedAt) { // its position in every tree
			x.move(r, from, nil)
			from = nil
		}
	}
	r.summary = s
	x.move(r, from, filtersAt(s, x.at))
	x.eachChange(r, func(c statusChange) { x.changes.Set(c) })
}

// moveTo makes the index current for a time.
func (x *index) moveTo(at time.Time) {
	from, to := x.at, at
	if to.Before(from) {
		from, to = to, from
	}
	var changed []*record
	x.changes.Ascend(statusChange{at: from}, func(c statusChange) bool {
		if !c.at.Before(to) {
			return false
		}
		changed = append(changed, c.run)
		return true
	})
	for _, r := range changed {
		x.move(r, filtersAt(r.summary, x.at), filtersAt(r.summary, at))
	}
	x.at = at
}

// follow moves the index towards a later time, past maxFollow status changes at most, or
// past all of the first instant that has any.
func (x *index) follow(at time.Time) {
	if !at.After(x.at) {
		return
	}
	n := 0
	var first time.Time
	x.changes.Ascend(statusChange{at: x.at}, func(c statusChange) bool {
		if !c.at.Before(at) {
			return false
		}
		if n++; n == 1 {
			first = c.at
		}
		if n <= maxFollow || c.at.Equal(first) {
			return true
		}
		at = c.at
		return false
	})
	x.moveTo(at)
}

// eachChange calls f with the status changes of a run.
func (x *index) eachChange(r *record, f func(statusChange)) {
	for in := r.summary.IntervalAt(time.Time{}); !in.Until.IsZero(); in = r.summary.IntervalAt(in.Until.Add(1)) {
		f(statusChange{in.Until, r})
	}
}

// move removes a run from the trees of the filters that it does not match any more,
// and adds it to those that it matches now.
func (x *index) move(r *record, from, to []filter) {
	for _, f := range from {
		if !slices.Contains(to, f) {
			x.runs.at(f, newer).Delete(r)
		}
	}
	for _, f := range to {
		if !slices.Contains(from, f) {
			x.runs.at(f, newer).Set(r)
		}
	}
}

// newer is verification.Newer. It copies the summaries only when both runs started
// at the same time.
func newer(a, b *record) bool {
	if c := a.summary.StartedAt.Compare(b.summary.StartedAt); c != 0 {
		return c > 0
	}
	return verification.Newer(a.summary, b.summary)
}

// filtersAt returns the filters that a run matches at a time.
func filtersAt(s verification.Summary, at time.Time) []filter {
	status, decision := s.StatusAt(at), s.DecisionAt(at)
	filters := make([]filter, 0, 8)
	for _, w := range [...]verification.WorkflowID{"", s.Workflow} {
		filters = append(filters, filter{w, "", ""}, filter{w, status, ""})
		if decision != verification.DecisionNone {
			filters = append(filters, filter{w, "", decision}, filter{w, status, decision})
		}
	}
	return filters
}
