// The plan of retention: what a pass would do now.

package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// RetentionCount counts runs of a workflow with an outcome, as in Observer.RunRetained: deleted, redacted and
// documents_removed are those that are due, and the others are kept although something is due.
type RetentionCount struct {
	Workflow verification.WorkflowID `json:"workflow_id"`
	Name     string                  `json:"workflow"`
	Outcome  string                  `json:"outcome"`
	Runs     int                     `json:"runs"`
}

// MaxRetentionPlan is how many runs of a workflow RetentionPlan looks at.
const MaxRetentionPlan = 100_000

// RetentionPlan counts what the retention of a tenant would do now, by workflow and outcome, and changes nothing. It
// reads the history of each run for which days of the policy have passed, and of MaxRetentionPlan runs of a workflow
// at most, the oldest; all is false if there are more. A run that is due to be deleted counts as deleted, also while it
// is to be redacted first.
func (e *Engine) RetentionPlan(ctx context.Context, t verification.TenantID) (counts []RetentionCount, all bool, err error) {
	marks, ok := e.ports.Store.(store.RetentionStore)
	if !ok {
		return nil, true, nil
	}
	tenant, err := e.ports.Store.Tenant(ctx, t)
	if err != nil {
		return nil, false, err
	}
	all = true
	err = e.eachPolicy(ctx, tenant, func(w verification.WorkflowID, policy verification.Retention) error {
		found, more, err := e.planWorkflow(ctx, marks, t, w, policy)
		if err != nil || len(found) == 0 {
			return err
		}
		named, err := e.Workflow(ctx, t, w)
		for _, outcome := range slices.Sorted(maps.Keys(found)) {
			counts = append(counts, RetentionCount{w, named.Name, outcome, found[outcome]})
		}
		all = all && !more
		return err
	})
	slices.SortStableFunc(counts, func(a, b RetentionCount) int { return strings.Compare(a.Name, b.Name) })
	return counts, all, err
}

// planWorkflow counts what is due of the runs of a workflow.
func (e *Engine) planWorkflow(
	ctx context.Context, marks store.RetentionStore, t verification.TenantID, w verification.WorkflowID, policy verification.Retention,
) (counts map[string]int, more bool, err error) {
	now, counts := e.now(), map[string]int{}
	first := policy.KeepDays
	var mark store.RetentionMark
	for i, a := range actions(policy, &mark) {
		if i == 0 || a.days < first {
			first = a.days
		}
	}
	var after store.StartedPosition
	for seen := 0; seen < MaxRetentionPlan; {
		runs, err := marks.StartedRuns(ctx, t, w, after, passes(policy, first, now), retainBatch)
		if err != nil {
			return nil, false, err
		}
		for _, r := range runs {
			after = store.StartedPosition{StartedAt: r.StartedAt, Run: r.ID}
			events, err := e.ports.Store.Load(ctx, t, r.ID, 0)
			if errors.Is(err, verification.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, false, err
			}
			outcome := nextRetention(rules.Fold(r.ID, events), events, policy, now).do
			if run := rules.Fold(r.ID, events); outcome != retainedLive && rules.MayDelete(run) == nil && deletes(run, policy, now) {
				outcome = retainedDeleted
			}
			if outcome != "" && outcome != retainedNotDue {
				counts[outcome]++
			}
		}
		if seen += len(runs); len(runs) < retainBatch {
			return counts, false, nil
		}
	}
	return counts, true, nil
}
