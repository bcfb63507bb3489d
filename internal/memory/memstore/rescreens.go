// The runs that are screened again, and the passes over lists.

package memstore

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// rescreens has the last pass over each list, and the runs that are screened again. Its
// lock is taken before that of the queue.
type rescreens struct {
	table[string, store.RescreenPass] // by list

	runs map[string]map[verification.RunRef]screenedRun // by list
}

// screenedRun says against which version of a list a run was screened.
type screenedRun struct {
	version  string
	workflow verification.WorkflowID
}

// add adds a run that is completed, and queues its work if the last pass over a list has
// another version.
func (rs *rescreens) add(q *queue, ref verification.RunRef, c store.Commit) {
	if len(c.Screened) == 0 {
		return
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, l := range c.Screened {
		rs.noteLocked(ref, c.Summary.Workflow, l)
		if p, began := rs.rows[l.List]; began && p.Version != l.Version {
			q.rescreen(l.List, ref, c.Summary.Workflow, c.Summary.CompletedAt)
		}
	}
}

// remove forgets that a run was screened against lists.
func (rs *rescreens) remove(ref verification.RunRef, lists []rules.ScreenedList) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, l := range lists {
		delete(rs.runs[l.List], ref)
	}
}

// noteLocked notes against which version of a list a run was screened.
func (rs *rescreens) noteLocked(ref verification.RunRef, workflow verification.WorkflowID, l rules.ScreenedList) {
	if rs.runs == nil {
		rs.runs = map[string]map[verification.RunRef]screenedRun{}
	}
	if rs.runs[l.List] == nil {
		rs.runs[l.List] = map[verification.RunRef]screenedRun{}
	}
	rs.runs[l.List][ref] = screenedRun{l.Version, workflow}
}

// rescreen queues the work that screens a run again, in place of such work in the queue.
func (q *queue) rescreen(list string, ref verification.RunRef, workflow verification.WorkflowID, due time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.put(&piece{pieceKey: pieceKey{store.WorkKey{Kind: store.WorkRescreen, List: list}, ref}, workflow: workflow}, due)
}

// rescreens reports whether there is work that screens runs again against a list.
func (q *queue) rescreens(list string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.heads.at(laneKey{kind: store.WorkRescreen, list: list}, headBefore).Len() > 0
}

// HoldPass makes a host the only one that begins passes over a list, and begins a pass if
// the version has changed.
func (s *Store) HoldPass(ctx context.Context, p store.RescreenPass, now time.Time) (held store.RescreenPass, err error) {
	rs := &s.rescreens
	err = rs.change(ctx, func(passes map[string]store.RescreenPass) error {
		last, began := passes[p.List]
		if began && last.Holder != p.Holder && last.HeldUntil.After(now) {
			return store.ListHeld()
		}
		held = store.RescreenPass{
			List: p.List, Version: p.Version, Holder: p.Holder, HeldUntil: p.HeldUntil,
			StartedAt: last.StartedAt, EndedAt: last.EndedAt, Runs: last.Runs,
		}
		if !began || last.Version != p.Version {
			held.StartedAt, held.EndedAt, held.Runs = now, time.Time{}, s.queueOutdated(p, now)
		}
		if held.EndedAt.IsZero() && !s.queue.rescreens(p.List) {
			held.EndedAt = now
		}
		passes[p.List] = held
		return nil
	})
	return held, err
}

// queueOutdated queues the work of a pass and returns the number of runs. The caller holds
// the lock of the passes.
func (s *Store) queueOutdated(p store.RescreenPass, now time.Time) (n int) {
	runs := s.rescreens.runs[p.List]
	order := func(a, b verification.RunRef) int { return strings.Compare(string(a.Run), string(b.Run)) }
	for _, ref := range slices.SortedFunc(maps.Keys(runs), order) {
		if r := runs[ref]; r.version != p.Version {
			s.queue.rescreen(p.List, ref, r.workflow, now)
			n++
		}
	}
	return n
}

// savePass replaces the pass over a list, and queues no work.
func (s *Store) savePass(ctx context.Context, p store.RescreenPass) error {
	return s.rescreens.change(ctx, func(passes map[string]store.RescreenPass) error {
		p.HeldUntil, p.StartedAt, p.EndedAt = toMicrosecond(p.HeldUntil), toMicrosecond(p.StartedAt), toMicrosecond(p.EndedAt)
		passes[p.List] = p
		return nil
	})
}
