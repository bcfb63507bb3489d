// The grace of retention: a policy that was changed by mistake can be taken back before it removes anything.

package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// maxRetentionGrace bounds Options.RetentionGrace: policies that counted earlier are forgotten.
const maxRetentionGrace = 30 * 24 * time.Hour

const (
	defaultRetentionGrace = 24 * time.Hour
	maxCounted            = 16   // policies of a mark; the oldest two become one that removes no more than both
	maxRetentionChange    = 1000 // runs of a workflow whose histories are read for a RetentionChange
)

// withPolicy returns a mark in which a policy counts now. earlier is the one that counted until now, if the mark does not say
// so: marks of before have only the policy of their positions.
func withPolicy(m store.RetentionMark, policy, earlier verification.Retention, now time.Time) store.RetentionMark {
	none := verification.Retention{}
	all := slices.Clone(m.Counted)
	if len(all) == 0 {
		if earlier == none {
			earlier = m.Policy
		}
		if earlier != none {
			all = append(all, store.CountedPolicy{Policy: earlier})
		}
	}
	n := len(all)
	if n > 0 && all[n-1].Policy == policy || n == 0 && policy == none {
		return m
	}
	since := now.UTC().Truncate(time.Microsecond)
	if n > 0 && since.Before(all[n-1].Since) {
		since = all[n-1].Since
	}
	all = append(all, store.CountedPolicy{Policy: policy, Since: since})
	for len(all) > 2 && !all[1].Since.Add(maxRetentionGrace).After(now) {
		all = all[1:]
	}
	if len(all) > maxCounted {
		both := all[0].Policy.Longer(all[1].Policy)
		if both == none && (all[0].Policy != none || all[1].Policy != none) {
			both.From = verification.RetentionFromEnd // it keeps everything, unlike no policy
		}
		all[1] = store.CountedPolicy{Policy: both, Since: all[0].Since}
		all = all[1:]
	}
	m.Counted = all
	return m
}

// removing returns the policy by which runs are removed at a time: of all that counted within the grace before it, for each
// field the one that keeps data longest. No policy is none that keeps: what comes after it counts at once.
func removing(counted []store.CountedPolicy, grace time.Duration, at time.Time) (longest verification.Retention) {
	last := len(counted) - 1
	if last < 0 {
		return verification.Retention{}
	}
	first := last
	for first > 0 && counted[first].Since.Add(grace).After(at) {
		first--
	}
	for first < last && counted[first].Policy == (verification.Retention{}) {
		first++
	}
	longest = counted[first].Policy
	for _, c := range counted[first+1:] {
		longest = longest.Longer(c.Policy)
	}
	return longest
}

// counting returns the mark of a workflow as it is stored and, with the policy that counts now and positions under the policy by
// which runs are removed now, as it should be: under another policy, the actions begin anew. It saves nothing. stored may have been
// read before a change, so it is read again if it seems to be new.
func (e *Engine) counting(
	ctx context.Context, t verification.TenantID, w verification.WorkflowID, stored verification.Retention,
) (before, m store.RetentionMark, err error) {
	if before, err = tablesOf(e).RetentionMark(ctx, t, w); err != nil {
		return before, m, err
	}
	if n := len(before.Counted); n == 0 || before.Counted[n-1].Policy != stored {
		if stored, err = e.policy(ctx, t, w); err != nil {
			return before, m, err
		}
	}
	m = withPolicy(before, stored, verification.Retention{}, e.now())
	if policy := removing(m.Counted, e.opt.RetentionGrace, e.now()); m.Policy != policy {
		m.Policy, m.Redacted, m.Documents, m.Deleted = policy, store.StartedPosition{}, store.StartedPosition{}, store.StartedPosition{}
	}
	return before, m, nil
}

// policyStep is a policy by which runs are removed from a time on; zero for now.
type policyStep struct {
	at     time.Time
	policy verification.Retention
}

// from returns the time from which the policy removes.
func (s policyStep) from(now time.Time) time.Time {
	if s.at.IsZero() {
		return now
	}
	return s.at
}

// policySteps returns the policies by which runs are removed from now on.
func policySteps(counted []store.CountedPolicy, grace time.Duration, now time.Time) []policyStep {
	steps := []policyStep{{policy: removing(counted, grace, now)}}
	for _, c := range counted {
		at := c.Since.Add(grace)
		if p := removing(counted, grace, at); at.After(now) && !c.Since.IsZero() && p != steps[len(steps)-1].policy {
			steps = append(steps, policyStep{at, p})
		}
	}
	return steps
}

// NextRetention has policies that are not saved yet: of a tenant, and of its workflows by slug. A workflow that is not
// among them keeps its own.
type NextRetention struct {
	Tenant    verification.Retention
	Workflows map[string]verification.Retention
}

// RetentionChange is a change of the policy that counts for a workflow, its own and its tenant's together.
type RetentionChange struct {
	Workflow verification.WorkflowID
	Name     string
	// Before and After are the policies. After counts in full from At on: until then, nothing is removed that Before
	// keeps.
	Before, After verification.Retention
	At            time.Time
	// Counts are the runs that go when, or are kept, see RetentionPlan. All is false if there are more runs than are counted.
	Counts []RetentionCount
	All    bool
}

// RetentionChanges returns the changes of policies of a tenant that do not count in full yet or, with next, those that
// next would make now. It changes nothing.
func (e *Engine) RetentionChanges(ctx context.Context, t verification.TenantID, next *NextRetention) (all []RetentionChange, err error) {
	tenant, err := tablesOf(e).Tenant(ctx, t)
	if errors.Is(err, verification.ErrNotFound) && next != nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	err = e.workflowsOf(ctx, t, func(w workflow.Workflow) error {
		stored := tenant.Retention.Merge(w.Retention)
		after := stored
		if next != nil {
			own, ok := next.Workflows[w.Slug]
			if !ok {
				own = w.Retention
			}
			if after = next.Tenant.Merge(own); after == stored {
				return nil
			}
		}
		m, err := tablesOf(e).RetentionMark(ctx, t, w.ID)
		if err != nil {
			return err
		}
		m = withPolicy(m, stored, verification.Retention{}, e.now())
		m = withPolicy(m, after, stored, e.now())
		steps := policySteps(m.Counted, e.opt.RetentionGrace, e.now())
		if next == nil && len(steps) == 1 {
			return nil
		}
		n := len(m.Counted)
		c := RetentionChange{Workflow: w.ID, Name: w.Name, After: m.Counted[n-1].Policy, At: e.now()}
		if n > 1 {
			c.Before = m.Counted[n-2].Policy
		}
		if last := steps[len(steps)-1]; !last.at.IsZero() {
			c.At = last.at
		}
		found, more, err := e.planWorkflow(ctx, t, w.ID, steps, maxRetentionChange)
		c.Counts, c.All = countsOf(w, found), !more
		all = append(all, c)
		return err
	})
	return all, err
}

// NoteRetention records changes of policies that were saved, as RetentionChanges returned them before. Without it, Retain
// records them at its next pass.
func (e *Engine) NoteRetention(ctx context.Context, t verification.TenantID, changes []RetentionChange) error {
	for _, c := range changes {
		stored, err := e.policy(ctx, t, c.Workflow)
		if err != nil {
			return err
		}
		m, err := tablesOf(e).RetentionMark(ctx, t, c.Workflow)
		if err != nil {
			return err
		}
		if noted := withPolicy(m, stored, c.Before, e.now()); !sameCounted(m, noted) {
			if err := tablesOf(e).SaveRetentionMark(ctx, noted); err != nil {
				return err
			}
		}
	}
	return nil
}

func sameCounted(a, b store.RetentionMark) bool {
	return slices.EqualFunc(a.Counted, b.Counted, func(a, b store.CountedPolicy) bool { return a.Policy == b.Policy && a.Since.Equal(b.Since) })
}

// logPolicy says that another policy counts for a workflow.
func (p *retainPass) logPolicy(ctx context.Context, m store.RetentionMark) {
	steps := policySteps(m.Counted, p.opt.RetentionGrace, p.now())
	found, more, err := p.planWorkflow(ctx, m.Tenant, m.Workflow, steps, maxRetentionChange)
	log := p.log.With("tenant", m.Tenant, "workflow", m.Workflow)
	if err != nil {
		log.WarnContext(ctx, "retention: another policy counts; it is not known how many runs it removes", "error", err)
		return
	}
	for _, step := range steps {
		log.WarnContext(ctx, "retention: another policy counts", "from", step.from(p.now()).UTC(),
			retainedRedacted, found[planned{step.at, retainedRedacted}], retainedDeleted, found[planned{step.at, retainedDeleted}],
			retainedDocuments, found[planned{step.at, retainedDocuments}], "all", !more)
	}
}
