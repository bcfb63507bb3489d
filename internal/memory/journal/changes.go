// The calls that change the store.

package journal

import (
	"context"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Append implements store.RunStore.
func (s *Store) Append(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, c store.Commit) error {
	if err := c.CheckLevel(s.level); err != nil {
		return err
	}
	if seq == 0 {
		if err := s.room(); err != nil {
			return err
		}
	}
	err := s.record(kindAppend, newAppended(t, id, seq, c), func() error { return s.memory.Append(ctx, t, id, seq, c) })
	s.moveAuditWhenDue()
	if (c.Rewrite || c.Delete) && err == nil {
		s.removed.Add(1)
		select {
		case s.rewritten <- struct{}{}:
		default:
		}
	}
	return err
}

// Claim implements store.RunStore.
func (s *Store) Claim(
	ctx context.Context, t verification.TenantID, id verification.RunID, c rules.Claim,
) (stored rules.Claim, err error) {
	err = s.record(kindClaim, claimed{id, t, c}, func() (err error) {
		stored, err = s.memory.Claim(ctx, t, id, c)
		return err
	})
	return stored, err
}

// Take implements store.WorkQueue.
func (s *Store) Take(ctx context.Context, r store.TakeRequest) (work []store.Work, next time.Time, err error) {
	err = s.change(kindWork, func() ([]byte, error) {
		var err error
		if work, next, err = s.memory.Take(ctx, r); err != nil {
			return nil, err
		}
		var taken worked
		for _, p := range s.pieces(work) {
			taken.Pieces = append(taken.Pieces, stateOf(p))
		}
		return taken.encode()
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	return work, next, nil
}

// Renew implements store.WorkQueue. It records the runs whose count of trials changes.
func (s *Store) Renew(ctx context.Context, runs []verification.RunRef, until time.Time, alone bool) error {
	work := make([]store.Work, len(runs))
	for i, ref := range runs {
		work[i] = store.Work{WorkKey: store.WorkKey{Kind: store.WorkAdvance}, RunRef: ref}
	}
	return s.change(kindWork, func() ([]byte, error) {
		before := s.pieces(work)
		if err := s.memory.Renew(ctx, runs, until, alone); err != nil {
			return nil, err
		}
		var r worked
		for i, p := range s.pieces(work) {
			if p.Alone != before[i].Alone {
				r.Pieces = append(r.Pieces, stateOf(p))
			}
		}
		return r.encode()
	})
}

// Finish implements store.WorkQueue.
func (s *Store) Finish(ctx context.Context, w store.Work) error {
	return s.changeWork([]store.Work{w}, func() error { return s.memory.Finish(ctx, w) })
}

// Postpone implements store.WorkQueue.
func (s *Store) Postpone(ctx context.Context, w store.Work, at time.Time) error {
	return s.changeWork([]store.Work{w}, func() error { return s.memory.Postpone(ctx, w, at) })
}

// Release implements store.WorkQueue.
func (s *Store) Release(ctx context.Context, work []store.Work, at time.Time) error {
	return s.changeWork(work, func() error { return s.memory.Release(ctx, work, at) })
}

// HoldPass implements store.RescreenStore.
func (s *Store) HoldPass(ctx context.Context, p store.RescreenPass, now time.Time) (held store.RescreenPass, err error) {
	payload, err := encode(passHeld{p, now})
	if err != nil {
		return held, err
	}
	err = s.change(kindPass, func() ([]byte, error) {
		before, err := s.pass(ctx, p.List)
		if err == nil {
			held, err = s.memory.HoldPass(ctx, p, now)
		}
		if err != nil {
			return nil, err
		}
		if extended := before; !held.HeldUntil.Before(before.HeldUntil) {
			extended.HeldUntil = held.HeldUntil
			if extended == held {
				return nil, nil
			}
		}
		return payload, nil
	})
	return held, err
}

// pass returns the last pass over a list; zero if there is none.
func (s *Store) pass(ctx context.Context, list string) (store.RescreenPass, error) {
	all, err := s.memory.RescreenPasses(ctx)
	for _, p := range all {
		if p.List == list {
			return p, nil
		}
	}
	return store.RescreenPass{}, err
}

// SaveWorkflow implements store.WorkflowStore.
func (s *Store) SaveWorkflow(ctx context.Context, t verification.TenantID, w workflow.Workflow, added *workflow.Version) error {
	return s.record(kindWorkflow, workflowSaved{t, w, added}, func() error { return s.memory.SaveWorkflow(ctx, t, w, added) })
}

// SaveSetup implements store.SetupStore: one record has all of it.
func (s *Store) SaveSetup(ctx context.Context, set store.Setup) error {
	payload, err := encode(newSetupSaved(set))
	if err != nil {
		return err
	}
	return s.change(kindSetup, func() ([]byte, error) {
		err := s.memory.SaveSetup(ctx, set)
		if err != nil || set.DryRun || len(set.Tenants)+len(set.Accounts)+len(set.Workflows)+len(set.Audit) == 0 {
			return nil, err
		}
		return payload, nil
	})
}

// Change implements store.RowStore.
func (s *Store) Change(ctx context.Context, rows []store.Record) error {
	var r rowsSaved
	for _, row := range rows {
		saved, err := newRecordSaved(row)
		if err != nil {
			return err
		}
		r.Rows = append(r.Rows, saved)
	}
	return s.record(kindRows, r, func() error { return s.memory.Change(ctx, rows) })
}

// Forget implements store.RetentionStore.
func (s *Store) Forget(ctx context.Context, before store.Ages, limit int) (n int, err error) {
	payload, err := encode(forgot{before, limit})
	if err != nil {
		return 0, err
	}
	wait, stop := context.WithTimeout(ctx, forgetWait)
	defer stop()
	select {
	case s.snapshots <- struct{}{}: // a snapshot would bring back entries of the audit trail that it has moved
		defer func() { <-s.snapshots }()
	case <-wait.Done():
		return 0, ctx.Err() // the next pass removes them
	}
	err = s.change(kindForgot, func() ([]byte, error) {
		var err error
		if n, err = s.memory.Forget(ctx, before, limit); err != nil || n == 0 {
			return nil, err
		}
		return payload, nil
	})
	return n, err
}

// AppendAudit implements store.AuditStore.
func (s *Store) AppendAudit(ctx context.Context, entries []store.AuditEntry) error {
	defer s.moveAuditWhenDue()
	return s.record(kindAudit, audited{entries}, func() error { return s.memory.AppendAudit(ctx, entries) })
}

// forgetWait bounds how long Forget waits for a snapshot.
const forgetWait = 5 * time.Second
