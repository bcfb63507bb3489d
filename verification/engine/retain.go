// The pass of retention: what is due is redacted or deleted, in small batches.

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine/internal/runner"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// The limits of a pass.
const (
	retainBatch = 100             // runs of a tenant in a pass, of each action of each workflow
	retainWork  = 25              // pieces of WorkRetain of a tenant in a pass
	retainTime  = 5 * time.Second // after which no further run of a pass is begun
	retainLease = 5 * time.Minute // of a piece of work
	retainAgain = 24 * time.Hour  // until a run that was kept is looked at again
	// retainDelete is how much later a run is looked at that is deleted once its redaction is complete.
	retainDelete = 15 * time.Minute
	retainFailed = time.Hour // until a piece of work that failed is tried again
	forgetBatch  = 1000      // deliveries, measures and audit entries in a pass, of each kind
	// retainSlack is how much later than a policy that counts from the end asks a run is looked at first. A run that
	// takes less time from start to end is then due when it is passed, and needs no work of its own.
	retainSlack = time.Hour
)

// retainer is who redacts a run by retention.
const retainer = "retention"

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

// Retain carries out the retention of runs, see verification.Retention, and forgets what is older than the options
// say. A pass takes a few seconds at most; more reports that the next one should follow soon. It costs a few cheap
// queries if nothing is due. Hosts may call it at the same time: then some work is done twice, to the same effect.
// After an error it has gone on as far as it could.
func (e *Engine) Retain(ctx context.Context) (more bool, err error) {
	s, ok := e.ports.Store.(store.RetentionStore)
	if !ok {
		return false, nil
	}
	e.retaining.mu.Lock() // one pass at a time
	defer e.retaining.mu.Unlock()
	p := retainPass{Engine: e, marks: s, until: e.now().Add(retainTime)}
	p.add(p.work(ctx))
	p.add(p.tenants(ctx))
	p.add(p.forget(ctx))
	return p.more, errors.Join(p.errs...)
}

// retentionTurns are the tenants whose work and whose runs the passes of this host looked at last.
type retentionTurns struct {
	mu           sync.Mutex
	work, walked verification.TenantID
}

// retainPass is one pass.
type retainPass struct {
	*Engine

	marks store.RetentionStore
	until time.Time
	more  bool
	errs  []error
}

func (p *retainPass) add(more bool, err error) {
	p.more = p.more || more
	if err != nil {
		p.errs = append(p.errs, err)
	}
}

// over reports whether no further run is begun.
func (p *retainPass) over(ctx context.Context) bool {
	return ctx.Err() != nil || !p.now().Before(p.until)
}

// forget removes a batch of what is old.
func (p *retainPass) forget(ctx context.Context) (more bool, err error) {
	before := func(keep time.Duration) (at time.Time) {
		if keep > 0 {
			at = p.now().Add(-keep)
		}
		return at
	}
	ages := store.Ages{Deliveries: before(p.opt.KeepDeliveries), Measures: before(p.opt.KeepMeasures), Audit: before(p.opt.KeepAudit)}
	if ages == (store.Ages{}) {
		return false, nil
	}
	n, err := p.marks.Forget(ctx, ages, forgetBatch)
	return n >= forgetBatch, err
}

// work carries out the work of runs that the pass has passed. A run that cannot be read now is tried again later.
func (p *retainPass) work(ctx context.Context) (more bool, err error) {
	now := p.now()
	due, next, err := p.ports.Store.Take(ctx, store.TakeRequest{
		Kind: store.WorkRetain, Now: now, Lease: retainLease, Max: retainBatch, MaxPerTenant: retainWork, After: p.retaining.work,
	})
	if err != nil {
		return false, fmt.Errorf("take the work of retention: %w", err)
	}
	var errs []error
	for i, w := range due {
		if p.over(ctx) {
			err := p.ports.Store.Release(context.WithoutCancel(ctx), due[i:], now)
			return true, errors.Join(append(errs, err)...)
		}
		p.retaining.work = w.Tenant
		if err := p.piece(ctx, w); err != nil {
			errs = append(errs, fmt.Errorf("run %s of tenant %s: %w", w.Run, w.Tenant, err))
		}
	}
	return !next.IsZero() && !next.After(now), errors.Join(errs...)
}

// piece carries out one piece of work.
func (p *retainPass) piece(ctx context.Context, w store.Work) error {
	again, err := time.Time{}, errors.New("the hosts that looked at it kept stopping")
	if w.Lost < runner.MaxLost {
		again, err = p.follow(ctx, w)
	}
	switch {
	case err != nil:
		return errors.Join(err, p.ports.Store.Release(context.WithoutCancel(ctx), []store.Work{w}, p.now().Add(retainFailed)))
	case again.IsZero():
		return p.ports.Store.Finish(ctx, w)
	}
	return p.ports.Store.Postpone(ctx, w, again)
}

// follow does what is due of the run of a piece of work, and returns when it is due again. A piece that is not needed
// any more ends only under the policy of the mark: otherwise the run would be forgotten if an earlier policy came
// back. So the mark gets the new policy first.
func (p *retainPass) follow(ctx context.Context, w store.Work) (again time.Time, err error) {
	policy, err := p.policy(ctx, w.Tenant, w.Workflow)
	if err != nil {
		return time.Time{}, err
	}
	if again, _, err = p.retainRun(ctx, w.RunRef, policy); err != nil || !again.IsZero() {
		return again, err
	}
	m, err := p.marks.RetentionMark(ctx, w.Tenant, w.Workflow)
	if err == nil && m.Policy != policy {
		err = p.marks.SaveRetentionMark(ctx, store.RetentionMark{Tenant: w.Tenant, Workflow: w.Workflow, Policy: policy})
	}
	return time.Time{}, err
}

// tenants goes on with the runs of all workflows that have a policy. Each tenant gets a turn; the next pass goes on
// after the last one.
func (p *retainPass) tenants(ctx context.Context) (more bool, err error) {
	tenants, err := p.ports.Store.Tenants(ctx)
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
		err := p.eachPolicy(ctx, t, func(w verification.WorkflowID, policy verification.Retention) error {
			unfinished, err := p.walk(ctx, t.ID, w, policy)
			more = more || unfinished
			if err != nil {
				errs = append(errs, fmt.Errorf("workflow %s of tenant %s: %w", w, t.ID, err))
			}
			return nil
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("tenant %s: %w", t.ID, err))
		}
	}
	return more, errors.Join(errs...)
}

// eachPolicy calls f for the workflows of a tenant whose policy removes anything.
func (e *Engine) eachPolicy(
	ctx context.Context, t verification.Tenant, f func(verification.WorkflowID, verification.Retention) error,
) error {
	for offset := 0; ; offset += store.MaxLimit {
		page, err := e.ports.Store.Workflows(ctx, t.ID, store.PageQuery{Limit: store.MaxLimit, Offset: offset})
		if err != nil {
			return err
		}
		for _, w := range page.Data {
			if policy := t.Retention.Merge(w.Retention); policy.Removes() {
				if err := f(w.ID, policy); err != nil {
					return err
				}
			}
		}
		if offset+store.MaxLimit >= page.Total {
			return nil
		}
	}
}

// retention is an action of a policy, and the position that it has reached in a mark.
type retention struct {
	days int
	at   *store.StartedPosition
}

// actions returns the actions of a policy.
func actions(r verification.Retention, m *store.RetentionMark) []retention {
	all := []retention{{r.DeleteAfterDays, &m.Deleted}, {r.RedactAfterDays, &m.Redacted}, {r.DocumentsAfterDays, &m.Documents}}
	return slices.DeleteFunc(all, func(a retention) bool { return a.days == 0 })
}

// passes returns the time before which a run must have started for an action to pass it.
func passes(r verification.Retention, days int, now time.Time) time.Time {
	at := now.Add(-time.Duration(max(days, r.KeepDays)) * 24 * time.Hour)
	if r.From != verification.RetentionFromStart {
		at = at.Add(-retainSlack)
	}
	return at
}

// walk lets each action pass the next runs of a workflow. It stops before a run that cannot be read or changed now:
// the mark does not pass it.
func (p *retainPass) walk(
	ctx context.Context, t verification.TenantID, w verification.WorkflowID, policy verification.Retention,
) (more bool, err error) {
	m, err := p.marks.RetentionMark(ctx, t, w)
	if err != nil {
		return false, err
	}
	if m.Policy != policy {
		m = store.RetentionMark{Tenant: t, Workflow: w, Policy: policy}
	}
	before := m
	for _, a := range actions(policy, &m) {
		runs, err := p.marks.StartedRuns(ctx, t, w, *a.at, passes(policy, a.days, p.now()), retainBatch)
		if err != nil {
			return more, errors.Join(err, p.saveMark(ctx, before, m))
		}
		more = more || len(runs) == retainBatch
		for _, r := range runs {
			if p.over(ctx) {
				return true, p.saveMark(ctx, before, m)
			}
			if err := p.pass(ctx, verification.RunRef{Tenant: t, Run: r.ID}, policy); err != nil {
				return more, errors.Join(fmt.Errorf("run %s: %w", r.ID, err), p.saveMark(ctx, before, m))
			}
			*a.at = store.StartedPosition{StartedAt: r.StartedAt, Run: r.ID}
		}
	}
	return more, p.saveMark(ctx, before, m)
}

func (p *retainPass) saveMark(ctx context.Context, before, m store.RetentionMark) error {
	if m == before {
		return nil
	}
	return p.marks.SaveRetentionMark(context.WithoutCancel(ctx), m)
}

// pass does what is due of a run, and queues work if something is to be done later.
func (p *retainPass) pass(ctx context.Context, ref verification.RunRef, policy verification.Retention) error {
	for attempt := 1; ; attempt++ {
		again, events, err := p.retainRun(ctx, ref, policy)
		if err != nil || again.IsZero() {
			return err
		}
		s := &session{Engine: p.Engine, ref: ref, run: rules.Fold(ref.Run, rules.Shown(events)), waitless: true}
		summary := s.run.Summary()
		if summary.Review != nil {
			if err := s.loadProgram(ctx); err != nil {
				return err
			}
			summary = s.withBrief(summary, s.run)
		}
		err = p.ports.Store.Append(ctx, ref.Tenant, ref.Run, len(events), store.Commit{
			Summary: summary, Work: store.DueWork{{Kind: store.WorkRetain}: again},
		})
		if !errors.Is(err, verification.ErrConflict) || attempt == maxSaves {
			return err
		}
	}
}

// retainRun does what is due of a run under a policy. It returns when something else is due that an action has passed
// already, or when to look at a run again that was kept; zero for never. events are the whole history then.
func (e *Engine) retainRun(
	ctx context.Context, ref verification.RunRef, policy verification.Retention,
) (again time.Time, events []rules.Event, err error) {
	events, err = e.ports.Store.Load(ctx, ref.Tenant, ref.Run, 0)
	if errors.Is(err, verification.ErrNotFound) {
		return time.Time{}, nil, nil
	}
	if err != nil || !policy.Removes() {
		return time.Time{}, nil, err
	}
	run, now := rules.Fold(ref.Run, events), e.now()
	step := nextRetention(run, events, policy, now)
	switch step.do {
	case retainedDeleted:
		err = e.deleteRun(ctx, ref, run, len(events))
	case retainedDocuments:
		_, err = e.RemoveDocuments(ctx, ref.Tenant, ref.Run)
	case retainedRedacted:
		_, err = e.Redact(ctx, ref.Tenant, ref.Run, verification.Person{Name: retainer})
	}
	if kept := keptBy(err); kept != "" {
		step, err = retentionStep{do: kept, again: now.Add(retainAgain)}, nil
	}
	if err != nil {
		return time.Time{}, nil, err
	}
	if step.do != "" {
		e.opt.Observer.RunRetained(step.do)
	}
	return step.again, events, nil
}

// deleteRun removes a run with a history of n events, whose redaction is complete: nothing is left beside the store.
func (e *Engine) deleteRun(ctx context.Context, ref verification.RunRef, run rules.Run, n int) error {
	at := e.now()
	err := e.store.Append(ctx, ref.Tenant, ref.Run, n, store.Commit{Delete: true, Audit: []store.AuditEntry{{
		Tenant: ref.Tenant, ID: store.AuditID(at, fmt.Sprintf("%s-%06d", ref.Run, n)), At: at, Run: ref.Run,
		Actor: actorOf(ctx, verification.Person{Name: retainer}), Action: store.AuditRunDeleted,
	}}})
	if err != nil {
		return err
	}
	e.runs.Delete(ref)
	e.log.InfoContext(ctx, "run deleted", "tenant", ref.Tenant, "run", ref.Run)
	if e.ports.Ledger == nil {
		return nil
	}
	if err := e.ports.Ledger.NoteErasures(ctx, verification.Erasure{
		Tenant: ref.Tenant, Run: ref.Run, Kind: verification.ErasureDeleted, At: at, StartedAt: run.StartedAt,
	}); err != nil { // the ledger has its redaction: a store that is restored redacts it, and retention deletes it again
		e.log.WarnContext(ctx, "the ledger of erasures does not have a deletion", "tenant", ref.Tenant, "run", ref.Run, "error", err)
	}
	return nil
}

// retentionStep is what retention does with a run now, or why it does nothing, as an outcome of RunRetained; empty if
// there is nothing to do. again is when to look at the run again; zero for never.
type retentionStep struct {
	do    string
	again time.Time
}

// nextRetention returns what a policy asks of a run now.
func nextRetention(run rules.Run, events []rules.Event, policy verification.Retention, now time.Time) retentionStep {
	if run.Ended == "" {
		// A run that ends from now on is due after the days of the policy at the earliest.
		again := now.Add(retainAgain)
		if policy.From != verification.RetentionFromStart && !overdue(run, now) {
			again = policy.First(now)
		}
		return retentionStep{retainedLive, again}
	}
	start, end := run.StartedAt, run.CompletedAt
	left, err := rules.MayRedact(run, events)
	left = left || err != nil
	due := func(at time.Time) bool { return !at.IsZero() && !at.After(now) }
	deletes, redacts := deletes(run, policy, now), left && due(policy.RedactAt(start, end))
	documents := len(run.Documents) > 0 && due(policy.DocumentsAt(start, end))
	if kept := keptBy(rules.MayDelete(run)); kept != "" && (deletes || redacts || documents) {
		return retentionStep{kept, now.Add(retainAgain)}
	}
	step := retentionStep{}
	switch {
	case deletes && left: // so that nothing is left beside the store, wherever a host stops
		return retentionStep{retainedRedacted, now.Add(retainDelete)}
	case deletes && run.ErasedAt.IsZero():
		return retentionStep{retainedNotDue, now.Add(retainDelete)}
	case deletes:
		return retentionStep{do: retainedDeleted}
	case redacts:
		step.do, left = retainedRedacted, false
	case documents:
		step.do = retainedDocuments
	}
	later := func(days int, at time.Time) { // the others come when an action passes the run
		if at.After(now) && start.Before(passes(policy, days, now)) && (step.again.IsZero() || at.Before(step.again)) {
			step.again = at
		}
	}
	if left {
		later(policy.RedactAfterDays, policy.RedactAt(start, end))
	}
	if left && len(run.Documents) > 0 {
		later(policy.DocumentsAfterDays, policy.DocumentsAt(start, end))
	}
	later(policy.DeleteAfterDays, policy.DeleteAt(start, end))
	if step.do == "" && !step.again.IsZero() {
		step.do = retainedNotDue
	}
	return step
}

// deletes reports whether a policy asks for the deletion of a run that is over.
func deletes(run rules.Run, policy verification.Retention, now time.Time) bool {
	at := policy.DeleteAt(run.StartedAt, run.CompletedAt)
	return !at.IsZero() && !at.After(now)
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

// RetentionDue returns the earliest time at which something of a run was due that the pass has not reached yet; zero
// if it is on time. A run that is kept, by a hold for example, is not late.
func (e *Engine) RetentionDue(ctx context.Context) (since time.Time, err error) {
	marks, ok := e.ports.Store.(store.RetentionStore)
	if !ok {
		return time.Time{}, nil
	}
	tenants, err := e.ports.Store.Tenants(ctx)
	if err != nil {
		return time.Time{}, err
	}
	now := e.now()
	for _, t := range tenants {
		err := e.eachPolicy(ctx, t, func(w verification.WorkflowID, policy verification.Retention) error {
			m, err := marks.RetentionMark(ctx, t.ID, w)
			if err != nil {
				return err
			}
			if m.Policy != policy {
				m = store.RetentionMark{}
			}
			for _, a := range actions(policy, &m) {
				before := passes(policy, a.days, now)
				runs, err := marks.StartedRuns(ctx, t.ID, w, *a.at, before, 1)
				if err != nil {
					return err
				}
				for _, r := range runs {
					if at := now.Add(r.StartedAt.Sub(before)); since.IsZero() || at.Before(since) {
						since = at
					}
				}
			}
			return nil
		})
		if err != nil {
			return time.Time{}, fmt.Errorf("tenant %s: %w", t.ID, err)
		}
	}
	return since, nil
}
