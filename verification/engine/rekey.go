// Search keys that are made anew: after the form of search words has changed, runs are found by their words of now.

package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// keyForm is the number of the form of search words. It grows when facts.SearchWord gets another Earlier.
const keyForm = 1

// keyAhead is how far the clocks of other hosts may be ahead: runs that have just begun are looked at, too.
const keyAhead = time.Hour

// workflowRef is a workflow of a tenant.
type workflowRef struct {
	Tenant   verification.TenantID
	Workflow verification.WorkflowID
}

// keyAnew makes the search keys of the next runs anew, of the workflows that are not done: of each up to retainBatch
// runs. Those of a run that was saved in the form of now stay as they are.
func (p *retainPass) keyAnew(ctx context.Context) (more bool, err error) {
	if !p.Searches() {
		return false, nil
	}
	left := 0
	p.until = p.now().Add(retainTime) // whatever retention has left to do
	err = p.eachWorkflow(ctx, func(ref workflowRef) error {
		unfinished := true
		if !p.over(ctx) {
			var err error
			if unfinished, err = p.keyWorkflow(ctx, ref); err != nil {
				p.errs = append(p.errs, fmt.Errorf("search keys of workflow %s of tenant %s: %w", ref.Workflow, ref.Tenant, err))
				unfinished = true
			} else {
				more = more || unfinished
			}
		}
		if unfinished {
			left++
		}
		return nil
	})
	if err == nil {
		p.retaining.unkeyed.Store(int64(left))
	}
	return more || err == nil && left > 0 && p.over(ctx), err
}

// eachWorkflow calls f with the workflows whose runs are not known to be keyed anew.
func (p *retainPass) eachWorkflow(ctx context.Context, f func(workflowRef) error) error {
	tenants, err := tablesOf(p.Engine).Tenants(ctx)
	for _, t := range tenants {
		err := p.workflowsOf(ctx, t.ID, func(w workflow.Workflow) error {
			if ref := (workflowRef{t.ID, w.ID}); !p.retaining.keyed[ref] {
				return f(ref)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return err
}

// keyWorkflow makes the search keys of the next runs of a workflow anew. It stops before a run that cannot be read or
// changed now: the mark does not pass it.
func (p *retainPass) keyWorkflow(ctx context.Context, ref workflowRef) (unfinished bool, err error) {
	m, err := tablesOf(p.Engine).RetentionMark(ctx, ref.Tenant, ref.Workflow)
	if err != nil {
		return true, err
	}
	if m.KeyForm != keyForm {
		m.KeyForm, m.Keyed, m.KeysDone = keyForm, store.StartedPosition{}, false
	}
	if !m.KeysDone {
		before := m
		runs, err := p.ports.Store.StartedRuns(ctx, ref.Tenant, ref.Workflow, m.Keyed, p.now().Add(keyAhead), retainBatch)
		if err != nil {
			return true, err
		}
		for _, r := range runs {
			if p.over(ctx) {
				return true, p.saveKeyed(ctx, before, m)
			}
			if err := p.keyRun(ctx, verification.RunRef{Tenant: ref.Tenant, Run: r.ID}); err != nil {
				return true, errors.Join(fmt.Errorf("run %s: %w", r.ID, err), p.saveKeyed(ctx, before, m))
			}
			m.Keyed = store.StartedPosition{StartedAt: r.StartedAt, Run: r.ID}
		}
		m.KeysDone = len(runs) < retainBatch
		if err := p.saveKeyed(ctx, before, m); err != nil || !m.KeysDone {
			return true, err
		}
	}
	p.retaining.keyed[ref] = true
	return false, nil
}

// saveKeyed saves how far the keys have come, beside what retention has saved meanwhile.
func (p *retainPass) saveKeyed(ctx context.Context, before, m store.RetentionMark) error {
	if m.Keyed == before.Keyed && m.KeyForm == before.KeyForm && m.KeyForm == keyForm && !m.KeysDone {
		return nil
	}
	now, err := tablesOf(p.Engine).RetentionMark(context.WithoutCancel(ctx), m.Tenant, m.Workflow)
	if err != nil {
		return err
	}
	now.Keyed, now.KeyForm, now.KeysDone = m.Keyed, m.KeyForm, m.KeysDone
	return tablesOf(p.Engine).SaveRetentionMark(context.WithoutCancel(ctx), now)
}

// keyRun makes the search keys of a run anew, if one of its words had another form. A restricted run has none; it gets
// its keys when the restriction ends.
func (p *retainPass) keyRun(ctx context.Context, ref verification.RunRef) error {
	for attempt := 1; ; attempt++ {
		events, err := p.ports.Store.Load(ctx, ref.Tenant, ref.Run, 0)
		if errors.Is(err, verification.ErrNotFound) { // it was deleted meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		s := &session{Engine: p.Engine, ref: ref, run: rules.Fold(ref.Run, events), waitless: true}
		if s.run.Hidden() {
			return nil
		}
		if err := s.loadProgram(ctx); err != nil {
			return err
		}
		if !hadOtherForm(facts.SearchWords(s.program, s.run)) {
			return nil
		}
		err = p.ports.Store.Append(ctx, ref.Tenant, ref.Run, len(events), store.Commit{
			Summary: s.withBrief(s.run.Summary(), s.run), Work: store.DueWork{}, Keys: s.commitKeys(s.run, events),
		})
		if !errors.Is(err, verification.ErrConflict) || attempt == maxSaves {
			return err
		}
	}
}

func hadOtherForm(words []facts.SearchWord) bool {
	for _, w := range words {
		if w.Earlier != "" {
			return true
		}
	}
	return false
}

// UnkeyedWorkflows returns how many workflows had runs whose search keys were not made anew, at the last pass of Retain.
func (e *Engine) UnkeyedWorkflows() int { return int(e.retaining.unkeyed.Load()) }
