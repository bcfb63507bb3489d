// The walk of retention, whose cursors pass the runs of a workflow in the order of their starts, and the time of its next pass.

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// tenants goes on with the runs of all workflows that have a policy. Each tenant gets a turn; the next pass goes on
// after the last one.
func (p *retainPass) tenants(ctx context.Context) (more bool, err error) {
	tenants, err := tablesOf(p.Engine).Tenants(ctx)
	if err != nil {
		return false, err
	}
	first := slices.IndexFunc(tenants, func(t verification.Tenant) bool { return t.ID > p.retaining.walked })
	tenants = slices.Concat(tenants[max(0, first):], tenants[:max(0, first)])
	var errs []error
	for _, t := range tenants {
		if p.over(ctx) {
			return true, errors.Join(errs...)
		}
		p.retaining.walked = t.ID
		err := p.eachPolicy(ctx, t, func(w workflow.Workflow, policy verification.Retention) error {
			unfinished, err := p.walk(ctx, t.ID, w.ID, policy)
			more = more || unfinished
			if err != nil {
				errs = append(errs, fmt.Errorf("workflow %s of tenant %s: %w", w.ID, t.ID, err))
			}
			return nil
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("tenant %s: %w", t.ID, err))
		}
	}
	return more, errors.Join(errs...)
}

// eachPolicy calls f for the workflows of a tenant that have a policy, their own or the tenant's.
func (e *Engine) eachPolicy(ctx context.Context, t verification.Tenant, f func(workflow.Workflow, verification.Retention) error) error {
	return e.workflowsOf(ctx, t.ID, func(w workflow.Workflow) error {
		if policy := t.Retention.Merge(w.Retention); policy != (verification.Retention{}) {
			return f(w, policy)
		}
		return nil
	})
}

// workflowsOf calls f for the workflows of a tenant.
func (e *Engine) workflowsOf(ctx context.Context, t verification.TenantID, f func(workflow.Workflow) error) error {
	for offset := 0; ; offset += store.MaxLimit {
		page, err := e.ports.Store.Workflows(ctx, t, store.PageQuery{Limit: store.MaxLimit, Offset: offset})
		if err != nil {
			return err
		}
		for _, w := range page.Data {
			if err := f(w); err != nil {
				return err
			}
		}
		if offset+store.MaxLimit >= page.Total {
			return nil
		}
	}
}

// cursor is the position that one action of a policy has reached among the runs of a workflow. It moves the mark.
type cursor struct {
	days int
	at   *store.StartedPosition
}

// cursors returns the cursors of a policy in a mark.
func cursors(r verification.Retention, m *store.RetentionMark) []cursor {
	all := []cursor{{r.DeleteAfterDays, &m.Deleted}, {r.RedactAfterDays, &m.Redacted}, {r.DocumentsAfterDays, &m.Documents}}
	return slices.DeleteFunc(all, func(c cursor) bool { return c.days == 0 })
}

// passedBefore returns the time before which a run must have started for a cursor to pass it.
func passedBefore(r verification.Retention, days int, now time.Time) time.Time {
	at := now.Add(-time.Duration(max(days, r.KeepDays)) * 24 * time.Hour)
	if r.From != verification.RetentionFromStart {
		at = at.Add(-retainSlack)
	}
	return at
}

// walk lets each cursor pass the next runs of a workflow. It stops before a run that cannot be read or changed now:
// the mark does not pass it.
func (p *retainPass) walk(
	ctx context.Context, t verification.TenantID, w verification.WorkflowID, stored verification.Retention,
) (more bool, err error) {
	before, m, err := p.counting(ctx, t, w, stored)
	if err != nil {
		return false, err
	}
	policy := m.Policy
	if !sameCounted(before, m) { // before anything is removed by it
		if err := p.saveMark(ctx, before, m); err != nil {
			return false, err
		}
		now, err := tablesOf(p.Engine).RetentionMark(ctx, t, w)
		if err != nil || !sameCounted(now, m) { // somebody has recorded another policy
			return false, err
		}
		p.logPolicy(ctx, m)
		before = m
	}
	for _, c := range cursors(policy, &m) {
		runs, err := p.ports.Store.StartedRuns(ctx, t, w, *c.at, passedBefore(policy, c.days, p.now()), retainBatch)
		if err != nil {
			return more, errors.Join(err, p.saveMark(ctx, before, m))
		}
		more = more || len(runs) == retainBatch
		for _, r := range runs {
			if p.over(ctx) {
				return true, p.saveMark(ctx, before, m)
			}
			if err := p.retainOne(ctx, verification.RunRef{Tenant: t, Run: r.ID}, policy); err != nil {
				return more, errors.Join(fmt.Errorf("run %s: %w", r.ID, err), p.saveMark(ctx, before, m))
			}
			*c.at = store.StartedPosition{StartedAt: r.StartedAt, Run: r.ID}
		}
	}
	return more, p.saveMark(ctx, before, m)
}

// saveMark saves a mark, unless somebody has recorded another policy meanwhile: then the next pass begins under it.
func (p *retainPass) saveMark(ctx context.Context, before, m store.RetentionMark) error {
	if m.Policy == before.Policy && m.Redacted == before.Redacted && m.Documents == before.Documents && m.Deleted == before.Deleted && sameCounted(m, before) {
		return nil
	}
	now, err := tablesOf(p.Engine).RetentionMark(context.WithoutCancel(ctx), m.Tenant, m.Workflow)
	if err != nil || !sameCounted(now, before) {
		return err
	}
	now.Policy, now.Redacted, now.Documents, now.Deleted, now.Counted = m.Policy, m.Redacted, m.Documents, m.Deleted, m.Counted
	return tablesOf(p.Engine).SaveRetentionMark(context.WithoutCancel(ctx), now)
}

// maxRetainNext is the longest time between two passes: a run that starts or ends later is due a day after that at the
// earliest.
const maxRetainNext = 24 * time.Hour

// RetentionDue returns the earliest time at which something of a run was due that the pass has not reached yet; zero
// if it is on time. A run that is kept, by a hold for example, is not late.
func (e *Engine) RetentionDue(ctx context.Context) (since time.Time, err error) {
	now := e.now()
	err = eachNext(ctx, e, now, now, func(_ store.RetentionMark, times []time.Time) {
		for _, at := range times {
			if since.IsZero() || at.Before(since) {
				since = at
			}
		}
	})
	return since, err
}

// RetentionNext returns when the next pass of Retain has something to do, after the last one on this host; within a day.
// A host whose clock stands still need not make other passes.
func (e *Engine) RetentionNext(ctx context.Context) (next time.Time, err error) {
	now := e.now()
	next = now.Add(maxRetainNext)
	sooner := func(at time.Time) {
		if at.After(now) && at.Before(next) {
			next = at
		}
	}
	e.retaining.mu.Lock()
	sooner(e.retaining.next)
	e.retaining.mu.Unlock()
	err = eachNext(ctx, e, now, next, func(m store.RetentionMark, times []time.Time) {
		for _, step := range policySteps(m.Counted, e.opt.RetentionGrace, now) {
			sooner(step.at)
		}
		for _, at := range times { // a run is passed after this time
			sooner(at.Add(time.Microsecond))
		}
	})
	return next, err
}

// eachNext calls f for each workflow that has a policy, with its mark as counting returns it, and the times until which the
// cursors have not passed their next runs; of each cursor, its first time, if that is before until.
func eachNext(ctx context.Context, e *Engine, now, until time.Time, f func(m store.RetentionMark, times []time.Time)) error {
	tenants, err := tablesOf(e).Tenants(ctx)
	if err != nil {
		return err
	}
	for _, t := range tenants {
		err := e.eachPolicy(ctx, t, func(w workflow.Workflow, stored verification.Retention) error {
			_, m, err := e.counting(ctx, t.ID, w.ID, stored)
			if err != nil {
				return err
			}
			var times []time.Time
			for _, c := range cursors(m.Policy, &m) {
				age := now.Sub(passedBefore(m.Policy, c.days, now))
				runs, err := e.ports.Store.StartedRuns(ctx, t.ID, w.ID, *c.at, until.Add(-age), 1)
				if err != nil {
					return err
				}
				for _, r := range runs {
					times = append(times, r.StartedAt.Add(age))
				}
			}
			f(m, times)
			return nil
		})
		if err != nil {
			return fmt.Errorf("tenant %s: %w", t.ID, err)
		}
	}
	return nil
}

// later says that a run is to be looked at again at a time.
func (p *retainPass) later(at time.Time) {
	if !at.IsZero() && (p.next.IsZero() || at.Before(p.next)) {
		p.next = at
	}
}
