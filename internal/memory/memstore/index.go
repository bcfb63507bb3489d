// The secondary indexes of the runs of one tenant.

package memstore

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"
	"time"

	"github.com/tidwall/btree"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// index finds runs by workflow, status and decision. It holds the status and the
// decision of each run at one time. For another time, earlier or later, it updates
// only the runs that change in between.
type index struct {
	at      time.Time
	runs    trees[filter, *record] // those that match a filter, in its order
	changes *btree.BTreeG[statusChange]
	keyed   *btree.BTreeG[keyedRun]
	named   *btree.BTreeG[*record] // by reference id, the newest first
}

// namedBefore reports whether a comes before b by reference id.
func namedBefore(a, b *record) bool {
	if a.summary.ReferenceID != b.summary.ReferenceID {
		return a.summary.ReferenceID < b.summary.ReferenceID
	}
	return newer(a, b)
}

// keyedRun is a run with one of its search keys; without a run it sorts before all runs with
// the key.
type keyedRun struct {
	key store.SearchKey
	run *record
}

func keyedBefore(a, b keyedRun) bool {
	if c := bytes.Compare(a.key[:], b.key[:]); c != 0 || a.run == nil || b.run == nil {
		return c < 0 || c == 0 && a.run == nil && b.run != nil
	}
	return a.run.ref.Run < b.run.ref.Run
}

// filter selects runs in an order; an empty field selects all. An order of the review queue
// needs the decision review.
type filter struct {
	workflow verification.WorkflowID
	status   rules.Status
	decision rules.Decision
	order    store.RunOrder
}

// before reports whether a comes before b in the order of the filter.
func (f filter) before(a, b *record) bool {
	if f.order == store.NewestFirst {
		return newer(a, b)
	}
	return f.order.Compare(a.position(), b.position()) < 0
}

// position returns the position of a run in the review queue.
func (r *record) position() store.QueuePosition {
	if v := r.summary.Review; v != nil {
		return store.PositionOf(r.ref.Run, *v)
	}
	return store.QueuePosition{Run: r.ref.Run}
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
	return index{keyed: newTree(keyedBefore), named: newTree(namedBefore), changes: newTree(func(a, b statusChange) bool {
		if c := a.at.Compare(b.at); c != 0 || a.run == nil || b.run == nil {
			return c < 0 || c == 0 && a.run == nil && b.run != nil
		}
		return a.run.ref.Run < b.run.ref.Run
	})}
}

// page reads one page of the runs that match the query. Filters besides workflow, status
// and decision cost a pass over the runs that match those, or that have a search key or the reference id.
func (x *index) page(q store.RunQuery) store.Page[rules.Summary] {
	switch {
	case len(q.Keys) > 0:
		return x.withKeys(q)
	case q.ReferenceID != "" && !q.OfQueue():
		return x.withReference(q)
	}
	x.moveTo(q.Now)
	f := filter{q.Workflow, q.Status, q.Decision, q.Order}
	if q.OfQueue() {
		q.Decision = cmp.Or(q.Decision, rules.DecisionReview)
		f = filter{q.Workflow, "", rules.DecisionReview, q.Order}
	}
	tree := x.runs[f]
	plain := store.RunQuery{PageQuery: q.PageQuery, Now: q.Now, Workflow: f.workflow, Status: f.status, Decision: f.decision, Order: q.Order}
	if tree == nil || reflect.DeepEqual(q, plain) {
		return readPage(tree, q.PageQuery, func(r *record) rules.Summary { return r.shown(q) })
	}
	return matching(q, tree.Scan)
}

// withKeys reads one page of the runs that have search keys.
func (x *index) withKeys(q store.RunQuery) store.Page[rules.Summary] {
	var all []*record
	seen := map[*record]bool{}
	for _, key := range q.Keys[0] {
		x.keyed.Ascend(keyedRun{key: key}, func(k keyedRun) bool {
			if k.key != key {
				return false
			}
			lacks := func(choice []store.SearchKey) bool {
				return !slices.ContainsFunc(choice, func(c store.SearchKey) bool { return slices.Contains(k.run.keys, c) })
			}
			if !seen[k.run] && !slices.ContainsFunc(q.Keys, lacks) {
				all = append(all, k.run)
			}
			seen[k.run] = len(q.Keys[0]) > 1
			return true
		})
	}
	f := filter{order: q.Order}
	slices.SortFunc(all, func(a, b *record) int {
		if f.before(a, b) {
			return -1
		}
		return 1
	})
	return matching(q, func(visit func(*record) bool) {
		for _, r := range all {
			if !visit(r) {
				return
			}
		}
	})
}

// withReference reads one page of the runs with a reference id.
func (x *index) withReference(q store.RunQuery) store.Page[rules.Summary] {
	first := &record{summary: rules.Summary{ReferenceID: q.ReferenceID, StartedAt: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}}
	return matching(q, func(visit func(*record) bool) {
		x.named.Ascend(first, func(r *record) bool { return r.summary.ReferenceID == q.ReferenceID && visit(r) })
	})
}

// matching reads one page of the runs that match the query. scan visits runs in its order.
func matching(q store.RunQuery, scan func(visit func(*record) bool)) store.Page[rules.Summary] {
	p := store.Page[rules.Summary]{PageQuery: q.PageQuery}
	skip := q.Offset
	scan(func(r *record) bool {
		s := r.shown(q)
		if q.Matches(s) {
			switch after := q.After == nil || q.Order.Compare(r.position(), *q.After) > 0; {
			case !after || len(p.Data) >= q.Limit:
			case skip > 0:
				skip--
			default:
				p.Data = append(p.Data, s)
			}
			p.Total++
		}
		return q.OfQueue() || q.StartedAfter.IsZero() || r.summary.StartedAt.After(q.StartedAfter)
	})
	return p
}

// shown returns the summary as a query shows it.
func (r *record) shown(q store.RunQuery) rules.Summary {
	s := r.summary
	if !q.OfQueue() {
		s.Review = nil
	}
	if s.Review != nil {
		v := *s.Review
		if v.Claim = r.claim; !v.Claim.HeldAt(q.Now) {
			v.Claim = rules.Claim{}
		}
		s.Review = &v
	}
	return s
}

// put replaces the summary of a run.
func (x *index) put(r *record, s rules.Summary) {
	var from []filter
	if r.summary.ID != "" {
		x.eachChange(r, func(c statusChange) { x.changes.Delete(c) })
		from = filtersAt(r.summary, x.at)
		next := record{ref: r.ref, summary: s}
		if !r.summary.StartedAt.Equal(s.StartedAt) || r.position() != next.position() { // it moves in its trees
			x.move(r, from, nil)
			from = nil
		}
	}
	if renamed := r.summary.ReferenceID != s.ReferenceID || !r.summary.StartedAt.Equal(s.StartedAt); renamed {
		x.named.Delete(r)
		defer x.named.Set(r)
	}
	r.summary = s
	x.move(r, from, filtersAt(s, x.at))
	x.eachChange(r, func(c statusChange) { x.changes.Set(c) })
}

// remove removes a run.
func (x *index) remove(r *record) {
	x.eachChange(r, func(c statusChange) { x.changes.Delete(c) })
	x.move(r, filtersAt(r.summary, x.at), nil)
	x.named.Delete(r)
	for _, k := range r.keys {
		x.keyed.Delete(keyedRun{k, r})
	}
}

// putKeys replaces the search keys of a run.
func (x *index) putKeys(r *record, keys []store.SearchKey) {
	for _, k := range r.keys {
		x.keyed.Delete(keyedRun{k, r})
	}
	r.keys = slices.Clone(keys)
	for _, k := range keys {
		x.keyed.Set(keyedRun{k, r})
	}
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
			x.runs.at(f, f.before).Delete(r)
		}
	}
	for _, f := range to {
		if !slices.Contains(from, f) {
			x.runs.at(f, f.before).Set(r)
		}
	}
}

// newer is store.Newer. It copies the summaries only when both runs started
// at the same time.
func newer(a, b *record) bool {
	if c := a.summary.StartedAt.Compare(b.summary.StartedAt); c != 0 {
		return c > 0
	}
	return store.Newer(a.summary, b.summary)
}

// filtersAt returns the filters that a run matches at a time.
func filtersAt(s rules.Summary, at time.Time) []filter {
	status, decision := s.StatusAt(at), s.DecisionAt(at)
	filters := make([]filter, 0, 12)
	for _, w := range [...]verification.WorkflowID{"", s.Workflow} {
		filters = append(filters, filter{workflow: w}, filter{workflow: w, status: status})
		if decision != rules.DecisionNone {
			filters = append(filters, filter{workflow: w, decision: decision}, filter{workflow: w, status: status, decision: decision})
		}
		if decision == rules.DecisionReview {
			filters = append(filters, filter{w, "", decision, store.OldestFirst}, filter{w, "", decision, store.DueFirst})
		}
	}
	return filters
}
