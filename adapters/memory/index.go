// What finds runs by filter: trees of the runs of one tenant as they read at
// a moment.

package memory

import (
	"time"

	"github.com/tidwall/btree"

	"github.com/verifyd/verifyd/verification"
)

// index files every run under how it reads at one moment, the moment that the
// index stands at. Asked for another moment it turns there, forward or back,
// and files anew only the runs that read differently in between.
type index struct {
	at      time.Time
	drawers map[verification.WorkflowID]*drawer // the empty id holds every run
	turns   *btree.BTreeG[turn]
}

// drawer holds a tree for each pair of filters that some run has matched,
// newest run first. An empty filter is in the pair of every run.
type drawer struct {
	workflow verification.WorkflowID
	files    map[place]*btree.BTreeG[*record]
}

// place is how a run reads.
type place struct {
	status   verification.Status
	decision verification.Decision
}

// turn is a moment strictly after which a run reads differently.
type turn struct {
	at  time.Time
	run *record // nil sorts before every run of the same moment
}

// shared is how many turns an append takes on for the reads that come after.
// An append adds two at most, so they do not pile up between reads.
const shared = 8

func newIndex() index {
	before := func(a, b turn) bool {
		if c := a.at.Compare(b.at); c != 0 {
			return c < 0
		}
		if a.run == nil || b.run == nil {
			return a.run == nil && b.run != nil
		}
		return a.run.ref.Run < b.run.ref.Run
	}
	return index{
		drawers: map[verification.WorkflowID]*drawer{},
		turns:   btree.NewBTreeGOptions(before, btree.Options{NoLocks: true}),
	}
}

// page reads one page off the tree of the query's filters. The index must
// stand for the query's moment.
func (x *index) page(q verification.RunQuery) verification.Page[verification.Summary] {
	p := verification.Page[verification.Summary]{PageQuery: q.PageQuery}
	d := x.drawers[q.Workflow]
	if d == nil {
		return p
	}
	file := d.files[place{q.Status, q.Decision}]
	if file == nil {
		return p
	}
	p.Total = file.Len()
	first, ok := file.GetAt(q.Offset)
	if !ok || q.Limit < 1 {
		return p
	}
	p.Data = make([]verification.Summary, 0, min(q.Limit, p.Total-q.Offset))
	file.Ascend(first, func(r *record) bool {
		p.Data = append(p.Data, r.summary)
		return len(p.Data) < cap(p.Data)
	})
	return p
}

// put files a run under its new summary.
func (x *index) put(r *record, s verification.Summary) {
	s.Workflow = x.drawer(s.Workflow).workflow // one copy of the id for all its runs
	old := r.summary
	from, to := placeAt(old, x.at), placeAt(s, x.at)
	known := old.ID != ""
	if known {
		x.eachTurn(r, func(t turn) { x.turns.Delete(t) })
	}
	if known && old.StartedAt.Equal(s.StartedAt) && old.Workflow == s.Workflow {
		r.summary = s
		x.refile(r, from, to)
	} else {
		if known {
			x.remove(r, from)
		}
		r.summary = s
		x.add(r, to)
	}
	x.eachTurn(r, func(t turn) { x.turns.Set(t) })
}

// standsFor tells whether every run reads at the moment as it is filed.
func (x *index) standsFor(at time.Time) bool {
	from, to := inOrder(x.at, at)
	stands := true
	x.turns.Ascend(turn{at: from}, func(t turn) bool {
		stands = !t.at.Before(to)
		return false
	})
	return stands
}

// turnTo makes the index stand at another moment.
func (x *index) turnTo(at time.Time) {
	from, to := inOrder(x.at, at)
	var passed []*record
	x.turns.Ascend(turn{at: from}, func(t turn) bool {
		if !t.at.Before(to) {
			return false
		}
		passed = append(passed, t.run)
		return true
	})
	for _, r := range passed {
		x.refile(r, placeAt(r.summary, x.at), placeAt(r.summary, at))
	}
	x.at = at
}

// follow turns the index towards a later moment, by a few turns at most.
func (x *index) follow(at time.Time) {
	if !at.After(x.at) {
		return
	}
	n := 0
	x.turns.Ascend(turn{at: x.at}, func(t turn) bool {
		if n == shared && t.at.Before(at) {
			at = t.at
		}
		n++
		return n <= shared
	})
	x.turnTo(at)
}

// eachTurn calls f with the moments after which the run reads differently.
func (x *index) eachTurn(r *record, f func(turn)) {
	for in := r.summary.IntervalAt(time.Time{}); !in.Until.IsZero(); in = r.summary.IntervalAt(in.Until.Add(1)) {
		f(turn{in.Until, r})
	}
}

// refile takes a run to another place in its drawers.
func (x *index) refile(r *record, from, to place) {
	if from == to {
		return
	}
	for _, d := range x.drawersOf(r) {
		for _, p := range from.files() {
			if !p.holds(to) {
				d.file(p).Delete(r)
			}
		}
		for _, p := range to.files() {
			if !p.holds(from) {
				d.file(p).Set(r)
			}
		}
	}
}

func (x *index) add(r *record, at place) {
	for _, d := range x.drawersOf(r) {
		for _, p := range at.files() {
			d.file(p).Set(r)
		}
	}
}

func (x *index) remove(r *record, from place) {
	for _, d := range x.drawersOf(r) {
		for _, p := range from.files() {
			d.file(p).Delete(r)
		}
	}
}

func (x *index) drawersOf(r *record) [2]*drawer {
	return [2]*drawer{x.drawer(""), x.drawer(r.summary.Workflow)}
}

func (x *index) drawer(w verification.WorkflowID) *drawer {
	d := x.drawers[w]
	if d == nil {
		d = &drawer{workflow: w, files: map[place]*btree.BTreeG[*record]{}}
		x.drawers[w] = d
	}
	return d
}

func (d *drawer) file(p place) *btree.BTreeG[*record] {
	f := d.files[p]
	if f == nil {
		f = btree.NewBTreeGOptions(newer, btree.Options{NoLocks: true})
		d.files[p] = f
	}
	return f
}

// newer is verification.Newer. Runs of different moments, nearly all, are told
// apart without handing over two copies of a summary.
func newer(a, b *record) bool {
	if c := a.summary.StartedAt.Compare(b.summary.StartedAt); c != 0 {
		return c > 0
	}
	return verification.Newer(a.summary, b.summary)
}

func placeAt(s verification.Summary, at time.Time) place {
	return place{s.StatusAt(at), s.DecisionAt(at)}
}

// files are the pairs of filters that a run of this place matches.
func (p place) files() []place {
	all := [4]place{{}, {status: p.status}, {decision: p.decision}, p}
	if p.decision == verification.DecisionNone {
		return all[:2]
	}
	return all[:]
}

// holds tells whether a run of that place matches these filters.
func (p place) holds(other place) bool {
	return (p.status == "" || p.status == other.status) &&
		(p.decision == verification.DecisionNone || p.decision == other.decision)
}

func inOrder(a, b time.Time) (earlier, later time.Time) {
	if b.Before(a) {
		return b, a
	}
	return a, b
}
