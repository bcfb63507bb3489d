// What is due of a run under a policy, and the plan of retention: what a pass would do now.

package engine

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// RetentionCount counts runs of a workflow with an outcome, as in Observer.RunRetained: deleted, redacted and
// documents_removed are those that are due, and the others are kept although something is due.
type RetentionCount struct {
	Workflow verification.WorkflowID `json:"workflow_id"`
	Name     string                  `json:"workflow"`
	Outcome  string                  `json:"outcome"`
	Runs     int                     `json:"runs"`
	// From is the time from which the policy counts by which they are due; zero for now.
	From time.Time `json:"from,omitzero"`
}

// MaxRetentionPlan is how many runs of a workflow RetentionPlan looks at.
const MaxRetentionPlan = 100_000

// RetentionPlan counts what the retention of a tenant would do now and, where a policy does not count in full yet, once
// it does, by workflow and outcome. It changes nothing. It
// reads the history of each run for which days of the policy have passed, and of MaxRetentionPlan runs of a workflow
// at most, the oldest; all is false if there are more. A run that is due to be deleted counts as deleted, also while it
// is to be redacted first.
func (e *Engine) RetentionPlan(ctx context.Context, t verification.TenantID) (counts []RetentionCount, all bool, err error) {
	tenant, err := tablesOf(e).Tenant(ctx, t)
	if err != nil {
		return nil, false, err
	}
	all = true
	err = e.eachPolicy(ctx, tenant, func(w workflow.Workflow, stored verification.Retention) error {
		_, m, err := e.counting(ctx, t, w.ID, stored)
		if err != nil {
			return err
		}
		found, more, err := e.planWorkflow(ctx, t, w.ID, policySteps(m.Counted, e.opt.RetentionGrace, e.now()), MaxRetentionPlan)
		counts, all = append(counts, countsOf(w, found)...), all && !more
		return err
	})
	slices.SortStableFunc(counts, func(a, b RetentionCount) int { return strings.Compare(a.Name, b.Name) })
	return counts, all, err
}

// planned is what happens to a run, and the time of the policyStep in which it does.
type planned struct {
	at      time.Time
	outcome string
}

// countsOf returns the counts of a workflow in the order of time and outcome.
func countsOf(w workflow.Workflow, found map[planned]int) (counts []RetentionCount) {
	order := func(a, b planned) int { return cmp.Or(a.at.Compare(b.at), strings.Compare(a.outcome, b.outcome)) }
	for _, p := range slices.SortedFunc(maps.Keys(found), order) {
		counts = append(counts, RetentionCount{w.ID, w.Name, p.outcome, found[p], p.at})
	}
	return counts
}

// planWorkflow counts what is due of the runs of a workflow under the policies that follow each other. What is due by an
// earlier policy is counted there.
func (e *Engine) planWorkflow(
	ctx context.Context, t verification.TenantID, w verification.WorkflowID, steps []policyStep, limit int,
) (counts map[planned]int, more bool, err error) {
	counts = map[planned]int{}
	var before time.Time
	now := e.now()
	for _, step := range steps {
		if at := lastPassed(step.policy, step.from(now)); at.After(before) {
			before = at
		}
	}
	var after store.StartedPosition
	for seen := 0; seen < limit; {
		runs, err := e.ports.Store.StartedRuns(ctx, t, w, after, before, retainBatch)
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
			planRun(counts, rules.Fold(r.ID, events), events, steps, e.now())
		}
		if seen += len(runs); len(runs) < retainBatch {
			return counts, false, nil
		}
	}
	return counts, true, nil
}

// planRun counts what is due of a run.
func planRun(counts map[planned]int, run rules.Run, events []rules.Event, steps []policyStep, now time.Time) {
	done := map[string]bool{"": true, retainedNotDue: true}
	for _, step := range steps {
		from := step.from(now)
		if !run.StartedAt.Before(lastPassed(step.policy, from)) {
			continue
		}
		outcome := actionOf(run, events, step.policy, from).do
		if outcome != retainedLive && rules.MayDelete(run) == nil && dueOf(run, false, step.policy, from).deletion {
			outcome = retainedDeleted
		}
		if !done[outcome] {
			counts[planned{step.at, outcome}]++
		}
		done[outcome] = true
	}
}

// lastPassed returns the time before which a run must have started for any cursor to pass it; zero if nothing is removed.
func lastPassed(policy verification.Retention, now time.Time) (before time.Time) {
	var mark store.RetentionMark
	for _, c := range cursors(policy, &mark) {
		if at := passedBefore(policy, c.days, now); at.After(before) {
			before = at
		}
	}
	return before
}

// The outcomes of Observer.RunRetained.
const (
	retainedDeleted    = "deleted"
	retainedRedacted   = "redacted"
	retainedDocuments  = "documents_removed"
	retainedLive       = "live"
	retainedHeld       = "held"
	retainedRestricted = "restricted"
	retainedVerdict    = "verdict_owed"
	retainedNotice     = "notice_pending"
	retainedNotDue     = "not_due"
)

// action is what retention does with a run now, or why it does nothing, as an outcome of RunRetained; empty if
// there is nothing to do. again is when to look at the run again; zero for never.
type action struct {
	do    string
	again time.Time
}

// due is what a policy asks of a run that is over.
type due struct{ deletion, redaction, documents bool }

// dueOf returns what a policy asks of a run that is over. left says that the run has something to redact.
func dueOf(run rules.Run, left bool, policy verification.Retention, now time.Time) due {
	come := func(at time.Time) bool { return !at.IsZero() && !at.After(now) }
	start, end := run.StartedAt, run.CompletedAt
	return due{
		deletion:  come(policy.DeleteAt(start, end)),
		redaction: left && come(policy.RedactAt(start, end)),
		documents: len(run.Documents) > 0 && come(policy.DocumentsAt(start, end)),
	}
}

// actionOf returns what retention does with a run now under a policy.
func actionOf(run rules.Run, events []rules.Event, policy verification.Retention, now time.Time) action {
	if run.Ended == "" {
		// A run that ends from now on is due after the days of the policy at the earliest.
		again := now.Add(retainAgain)
		if policy.From != verification.RetentionFromStart && !overdue(run, now) {
			again = policy.First(now)
		}
		return action{retainedLive, again}
	}
	left, err := rules.MayRedact(run, events)
	left = left || err != nil
	asked := dueOf(run, left, policy, now)
	if kept := keptBy(rules.MayDelete(run)); kept != "" && asked != (due{}) {
		return action{kept, now.Add(retainAgain)}
	}
	a := action{}
	switch {
	case asked.deletion && left: // so that nothing is left beside the store, wherever a host stops
		return action{retainedRedacted, now.Add(retainDelete)}
	case asked.deletion && run.ErasedAt.IsZero():
		return action{retainedNotDue, now.Add(retainDelete)}
	case asked.deletion:
		return action{do: retainedDeleted}
	case asked.redaction:
		a.do, left = retainedRedacted, false
	case asked.documents:
		a.do = retainedDocuments
	}
	a.again = nextDue(run, left, policy, now)
	if a.do == "" && !a.again.IsZero() {
		a.do = retainedNotDue
	}
	return a
}

// nextDue returns when a policy asks something else of a run that its cursors have passed; zero for never. What they have not passed
// is due when they do.
func nextDue(run rules.Run, left bool, policy verification.Retention, now time.Time) (next time.Time) {
	start, end := run.StartedAt, run.CompletedAt
	sooner := func(days int, at time.Time) {
		if at.After(now) && start.Before(passedBefore(policy, days, now)) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if left {
		sooner(policy.RedactAfterDays, policy.RedactAt(start, end))
	}
	if left && len(run.Documents) > 0 {
		sooner(policy.DocumentsAfterDays, policy.DocumentsAt(start, end))
	}
	sooner(policy.DeleteAfterDays, policy.DeleteAt(start, end))
	return next
}

// keptBy returns why a run cannot be redacted or deleted; empty if err does not say.
func keptBy(err error) string {
	switch {
	case errors.Is(err, rules.ErrLive):
		return retainedLive
	case errors.Is(err, rules.ErrVerdictOwed):
		return retainedVerdict
	case errors.Is(err, rules.ErrHeld):
		return retainedHeld
	case errors.Is(err, rules.ErrRestricted):
		return retainedRestricted
	case errors.Is(err, verification.ErrConflict):
		return retainedNotice
	}
	return ""
}
