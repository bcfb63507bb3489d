// The pass of retention: what is due is redacted or deleted, in small batches.

package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
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

// Retain carries out the retention of runs, see verification.Retention, makes search keys of an earlier form anew, and
// forgets what is older than the options say. A policy that has changed counts in full after Options.RetentionGrace: until then,
// nothing is removed that the policy before keeps. A pass takes a few seconds at most; more reports that the next one should follow soon. It costs a few cheap
// queries if nothing is due. Hosts may call it at the same time: then some work is done twice, to the same effect.
// After an error it has gone on as far as it could.
func (e *Engine) Retain(ctx context.Context) (more bool, err error) {
	e.retaining.mu.Lock() // one pass at a time
	defer e.retaining.mu.Unlock()
	if e.retaining.keyed == nil {
		e.retaining.keyed = map[workflowRef]bool{}
	}
	p := retainPass{Engine: e, until: e.now().Add(retainTime)}
	p.add(p.work(ctx))
	p.add(p.tenants(ctx))
	p.add(p.keyAnew(ctx))
	p.add(p.forget(ctx))
	e.retaining.next = p.next
	return p.more, errors.Join(p.errs...)
}

// tablesOf returns the small tables of the store of an engine.
func tablesOf(e *Engine) store.Tables { return store.Tables{RowStore: e.ports.Store} }

// retentionTurns are the tenants whose work and whose runs the passes of this host looked at last.
type retentionTurns struct {
	mu           sync.Mutex
	work, walked verification.TenantID
	keyed        map[workflowRef]bool // the workflows whose runs are keyed anew
	unkeyed      atomic.Int64         // how many are not, at the last pass
	next         time.Time            // at which work of a run is due, as of the last pass
}

// retainPass is one pass.
type retainPass struct {
	*Engine

	until time.Time
	next  time.Time // at which work of a run is due
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
	ages := store.Ages{Deliveries: before(p.opt.KeepDeliveries), Measures: before(p.opt.KeepMeasures), Audit: before(p.opt.KeepAudit), Reads: before(p.opt.KeepAuditReads)}
	if ages == (store.Ages{}) {
		return false, nil
	}
	n, err := p.ports.Store.Forget(ctx, ages, forgetBatch)
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
	p.later(next)
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
		again = p.now().Add(retainFailed)
		p.later(again)
		return errors.Join(err, p.ports.Store.Release(context.WithoutCancel(ctx), []store.Work{w}, again))
	case again.IsZero():
		return p.ports.Store.Finish(ctx, w)
	}
	p.later(again)
	return p.ports.Store.Postpone(ctx, w, again)
}

// follow does what is due of the run of a piece of work, and returns when it is due again. A piece that is not needed
// any more ends only under the policy of the mark: otherwise the run would be forgotten if an earlier policy came
// back. So the mark gets the new policy first.
func (p *retainPass) follow(ctx context.Context, w store.Work) (again time.Time, err error) {
	stored, err := p.policy(ctx, w.Tenant, w.Workflow)
	if err != nil {
		return time.Time{}, err
	}
	before, m, err := p.counting(ctx, w.Tenant, w.Workflow, stored)
	if err != nil {
		return time.Time{}, err
	}
	if again, _, err = p.retainRun(ctx, w.RunRef, m.Policy); err != nil || !again.IsZero() {
		return again, err
	}
	if m.Policy != before.Policy {
		err = p.saveMark(ctx, before, m)
	}
	return time.Time{}, err
}

// retainOne does what is due of a run, and queues work if something is to be done later.
func (p *retainPass) retainOne(ctx context.Context, ref verification.RunRef, policy verification.Retention) error {
	for attempt := 1; ; attempt++ {
		again, events, err := p.retainRun(ctx, ref, policy)
		if err != nil || again.IsZero() {
			return err
		}
		p.later(again)
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

// retainRun does what is due of a run under a policy. It returns when something else is due that a cursor has passed
// already, or when to look at a run again that was kept; zero for never. events are the whole history then.
func (p *retainPass) retainRun(
	ctx context.Context, ref verification.RunRef, policy verification.Retention,
) (again time.Time, events []rules.Event, err error) {
	events, err = p.ports.Store.Load(ctx, ref.Tenant, ref.Run, 0)
	if errors.Is(err, verification.ErrNotFound) {
		return time.Time{}, nil, nil
	}
	if err != nil || !policy.Removes() {
		return time.Time{}, nil, err
	}
	run, now := rules.Fold(ref.Run, events), p.now()
	a := actionOf(run, events, policy, now)
	switch a.do {
	case retainedDeleted:
		err = p.deleteRun(ctx, ref, run, len(events))
	case retainedDocuments:
		_, err = p.RemoveDocuments(ctx, ref.Tenant, ref.Run)
	case retainedRedacted:
		_, err = p.Redact(ctx, ref.Tenant, ref.Run, "", verification.Person{Name: retainer})
	}
	if kept := keptBy(err); kept != "" {
		a, err = action{do: kept, again: now.Add(retainAgain)}, nil
	}
	if err != nil {
		return time.Time{}, nil, err
	}
	if a.do != "" {
		p.opt.Observer.RunRetained(a.do)
	}
	return a.again, events, nil
}

// deleteRun removes a run with a history of n events, whose redaction is complete: nothing is left beside the store.
func (p *retainPass) deleteRun(ctx context.Context, ref verification.RunRef, run rules.Run, n int) error {
	at := p.now()
	gone := &verification.Erasure{Tenant: ref.Tenant, Run: ref.Run, Kind: verification.ErasureDeleted, At: at, StartedAt: run.StartedAt}
	err := p.commitEntry(ctx, ref, n, store.Commit{Delete: true, Erasure: gone, Audit: auditOfDeletion(ctx, ref, n, at)})
	if err != nil {
		return err
	}
	p.runs.forget(ref)
	p.log.InfoContext(ctx, "run deleted", "tenant", ref.Tenant, "run", ref.Run)
	return nil
}
