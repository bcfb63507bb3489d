// Restoring what a dump has, into an empty store.

package memory

import (
	"context"
	"slices"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// RestoreRun adds a run, or returns ErrConflict if the store has it. It queues no work.
func (s *Store) RestoreRun(ctx context.Context, state RunState) error {
	d, err := s.tenant(ctx, state.Ref.Tenant, true)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.runs[state.Ref.Run] != nil {
		return store.HistoryChanged()
	}
	r := &record{ref: state.Ref, claim: state.Claim, history: state.History, dump: d.dump}
	d.runs[r.ref.Run] = r
	s.kept.Add(int64(sizeOf(r)))
	state.Summary.ID = r.ref.Run
	d.index.put(r, state.Summary)
	d.index.putKeys(r, state.Keys)
	r.screen(state.Screened)
	s.rescreens.restore(r)
	return nil
}

// RestorePiece adds a piece of work after those with the same due time. The store must have
// its run.
func (s *Store) RestorePiece(ctx context.Context, state Piece) error {
	return s.queue.do(ctx, func(q *queue) {
		p := &piece{pieceKey: pieceKey{state.Key, state.Run}, workflow: state.Workflow}
		p.set(state)
		q.put(p, state.Due)
	})
}

// RestoreWorkflow adds a workflow with its versions, or replaces it.
func (s *Store) RestoreWorkflow(ctx context.Context, state WorkflowState) error {
	return s.workflows.change(ctx, func(rows map[workflowKey]*workflow) error {
		key, newest := workflowKey{state.Tenant, state.Workflow.ID}, s.workflows.newest.at(state.Tenant, newerWorkflow)
		if old := rows[key]; old != nil {
			newest.Delete(old)
		}
		rows[key] = &workflow{state.Workflow, state.Versions}
		newest.Set(rows[key])
		return nil
	})
}

// RestorePass adds a pass over a list, or replaces it. It queues no work.
func (s *Store) RestorePass(ctx context.Context, p store.RescreenPass) error {
	return s.rescreens.change(ctx, func(passes map[string]store.RescreenPass) error {
		passes[p.List] = p
		return nil
	})
}

// RestoreMeasures adds sums of measures.
func (s *Store) RestoreMeasures(ctx context.Context, state MeasureState) error {
	d, err := s.tenant(ctx, state.Tenant, true)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.measures.add(state.Workflow, state.Measures)
	return nil
}

// screen notes against which versions of lists the run was screened.
func (r *record) screen(lists []verification.ScreenedList) {
	if len(lists) == 0 {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(r.screened), func(old verification.ScreenedList) bool {
		return slices.ContainsFunc(lists, func(l verification.ScreenedList) bool { return l.List == old.List })
	})
	r.screened = append(kept, lists...)
}

// restore adds a run without work.
func (rs *rescreens) restore(r *record) {
	if len(r.screened) == 0 {
		return
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, l := range r.screened {
		rs.noteLocked(r.ref, r.summary.Workflow, l)
	}
}
