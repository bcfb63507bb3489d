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
	at          time.Time
	workflows   map[verification.WorkflowID]*workflowIndex // the empty id has every run
	transitions *btree.BTreeG[transition]
}

// workflowIndex has a tree for each filter that matches a run, newest run first.
type workflowIndex struct {
	id    verification.WorkflowID
	trees map[filter]*btree.BTreeG[*record]
}

// filter selects runs by status and decision; an empty field selects all.
type filter struct {
	status   verification.Status
	decision verification.Decision
}

// transition is a time after which the status or the decision of a run differs.
type transition struct {
	at  time.Time
	run *record // nil sorts before all others at the same time
}

// maxFollow bounds the transitions that one append applies, so that later lists have
// few left to apply. An append adds at most two, so they do not accumulate.
const maxFollow = 8

func newIndex() index {
	before := func(a, b transition) bool {
		if c := a.at.Compare(b.at); c != 0 {
			return c < 0
		}
		if a.run == nil || b.run == nil {
			return a.run == nil && b.run != nil
		}
		return a.run.ref.Run < b.run.ref.Run
	}
	return index{workflows: map[verification.WorkflowID]*workflowIndex{}, transitions: newTree(before)}
}

// page reads one page of the runs that match the query. The index must be current
// for q.Now.
func (x *index) page(q verification.RunQuery) verification.Page[verification.Summary] {
	var tree *btree.BTreeG[*record]
	if w := x.workflows[q.Workflow]; w != nil {
		tree = w.trees[filter{q.Status, q.Decision}]
	}
	return readPage(tree, q.PageQuery, func(r *record) verification.Summary { return r.summary })
}

// put replaces the summary of a run.
func (x *index) put(r *record, s verification.Summary) {
	s.Workflow = x.workflow(s.Workflow).id // all its runs share one string
	old := r.summary
	var from []filter
	if old.ID != "" {
		x.eachTransition(r, func(t transition) { x.transitions.Delete(t) })
		from = filtersAt(old, x.at)
		if !old.StartedAt.Equal(s.StartedAt) || old.Workflow != s.Workflow {
			x.move(r, from, nil)
			from = nil
		}
	}
	r.summary = s
	x.move(r, from, filtersAt(s, x.at))
	x.eachTransition(r, func(t transition) { x.transitions.Set(t) })
}

// isCurrent reports whether every run has the same status and decision at a time as
// in the index.
func (x *index) isCurrent(at time.Time) bool {
	from, to := inOrder(x.at, at)
	current := true
	x.transitions.Ascend(transition{at: from}, func(t transition) bool {
		current = !t.at.Before(to)
		return false
	})
	return current
}

// moveTo makes the index current for a time.
func (x *index) moveTo(at time.Time) {
	from, to := inOrder(x.at, at)
	var changed []*record
	x.transitions.Ascend(transition{at: from}, func(t transition) bool {
		if !t.at.Before(to) {
			return false
		}
		changed = append(changed, t.run)
		return true
	})
	for _, r := range changed {
		x.move(r, filtersAt(r.summary, x.at), filtersAt(r.summary, at))
	}
	x.at = at
}

// follow moves the index towards a later time, past maxFollow transitions at most.
func (x *index) follow(at time.Time) {
	if !at.After(x.at) {
		return
	}
	n := 0
	x.transitions.Ascend(transition{at: x.at}, func(t transition) bool {
		if n == maxFollow && t.at.Before(at) {
			at = t.at
		}
		n++
		return n <= maxFollow
	})
	x.moveTo(at)
}

// eachTransition calls f with the transitions of a run.
func (x *index) eachTransition(r *record, f func(transition)) {
	for in := r.summary.IntervalAt(time.Time{}); !in.Until.IsZero(); in = r.summary.IntervalAt(in.Until.Add(1)) {
		f(transition{in.Until, r})
	}
}

// move removes a run from the trees of the filters that it does not match any more,
// and adds it to those that it matches now.
func (x *index) move(r *record, from, to []filter) {
	if slices.Equal(from, to) {
		return
	}
	for _, w := range [2]*workflowIndex{x.workflow(""), x.workflow(r.summary.Workflow)} {
		for _, f := range from {
			if !slices.Contains(to, f) {
				w.tree(f).Delete(r)
			}
		}
		for _, f := range to {
			if !slices.Contains(from, f) {
				w.tree(f).Set(r)
			}
		}
	}
}

func (x *index) workflow(id verification.WorkflowID) *workflowIndex {
	w := x.workflows[id]
	if w == nil {
		w = &workflowIndex{id: id, trees: map[filter]*btree.BTreeG[*record]{}}
		x.workflows[id] = w
	}
	return w
}

func (w *workflowIndex) tree(f filter) *btree.BTreeG[*record] {
	t := w.trees[f]
	if t == nil {
		t = newTree(newer)
		w.trees[f] = t
	}
	return t
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
	if decision == verification.DecisionNone {
		return []filter{{}, {status: status}}
	}
	return []filter{{}, {status: status}, {decision: decision}, {status, decision}}
}

func inOrder(a, b time.Time) (earlier, later time.Time) {
	if b.Before(a) {
		return b, a
	}
	return a, b
}
