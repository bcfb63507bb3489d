// Runs whose next step this host cannot carry out: it leaves them to other hosts.

package engine

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// The limits of leaving runs to other hosts.
const (
	// A run is left for as long as it has waited, within these bounds, so that the waits
	// grow. Other hosts may take it at once.
	minLeft = 2 * time.Second
	maxLeft = time.Minute
)

// lacks returns what this host lacks for the call of the provider of a wait, marked with
// verification.Lacking; nil if it has the provider.
func (e *Engine) lacks(t verification.TenantID, w rules.Wait) error {
	if w.Kind != rules.WaitResult && w.Kind != rules.WaitPoll {
		return nil
	}
	p, _ := e.provider(t, w.Provider)
	if p == nil {
		return verification.Lacking(fmt.Errorf("there is no provider %q", w.Provider))
	}
	if _, ok := p.(verification.Poller); !ok && w.Kind == rules.WaitPoll {
		return verification.Lacking(fmt.Errorf("the provider %q cannot be polled", w.Provider))
	}
	return nil
}

// lacksAny returns the first of the calls that a run waits for and this host cannot make, and what it lacks; the wait of the run and
// nil if there is none.
func (e *Engine) lacksAny(t verification.TenantID, r *rules.Run) (rules.Wait, error) {
	for _, w := range r.Waits {
		if err := e.lacks(t, w); err != nil {
			return w, err
		}
	}
	return r.Wait(), nil
}

// leftAt returns since when hosts have left the run to others: since now if this host is the
// first. The queue keeps the time.
func (j *job) leftAt(now time.Time) time.Time {
	if j.work != nil && !j.work.LeftAt.IsZero() {
		return j.work.LeftAt
	}
	return now
}

// waitsForOthers reports whether a run whose next step this host cannot carry out still waits for
// another host.
func (j *job) waitsForOthers() bool {
	now := j.now()
	return now.Sub(j.leftAt(now)) < j.opt.ProviderWait
}

// leaveNext reports whether this host lacks what the next step of a run needs. The run
// is about to be saved without a lease: this host does not take it before other hosts
// could.
func (e *Engine) leaveNext(ctx context.Context, ref verification.RunRef, after rules.Run) bool {
	if e.runner == nil {
		return false
	}
	now := e.now()
	w, lacking := e.lacksAny(ref.Tenant, &after)
	if lacking == nil || !drivable(after.Task(now)) || e.opt.ProviderWait == 0 {
		e.runner.LeaveNoMore(ref)
		return false
	}
	e.runner.Leave(ref, now.Add(minLeft))
	e.reportLeft(ctx, ref, w, lacking, now)
	return true
}

// leave returns a run to the queue for other hosts, because of an error that
// verification.Lacking has marked.
func (j *job) leave(lacking error) {
	if j.work == nil && !j.HasLease() {
		return // it was saved without a lease
	}
	now := j.now()
	w := store.Work{WorkKey: store.WorkKey{Kind: store.WorkAdvance}, RunRef: j.ref}
	if j.work != nil {
		w = *j.work
	}
	w.LeftAt = j.leftAt(now)
	due, until := now, now.Add(min(max(now.Sub(w.LeftAt), minLeft), maxLeft))
	if end := w.LeftAt.Add(j.opt.ProviderWait); end.After(now) && end.Before(until) {
		until = end
	}
	if !j.runner.Leave(j.ref, until) {
		due = now.Add(maxLeft) // for every host
	}
	j.work = nil
	j.LeaseEnded()
	release := func() error { return j.ports.Store.Release(j.runner.Context(), []store.Work{w}, due) }
	if err := j.Save(release); err != nil {
		j.log.ErrorContext(j.traced, "run not left to other hosts", "run", j.ref.Run, "tenant", j.ref.Tenant, "error", err)
	}
	j.reportLeft(j.traced, j.ref, j.run.Wait(), lacking, w.LeftAt)
}

// reportLeft counts and logs that this host leaves a run to other hosts.
func (e *Engine) reportLeft(ctx context.Context, ref verification.RunRef, w rules.Wait, lacking error, since time.Time) {
	e.opt.Observer.RunLeft()
	e.lines.write(ctx, slog.LevelError, "run left to other hosts: this host lacks what its next step needs", "", lacking.Error(),
		"run", ref.Run, "tenant", ref.Tenant, "node", w.Node, "cause", lacking, "since", since, "at_most", e.opt.ProviderWait)
}

// Leaves reports whether this host leaves a run to other hosts, because it lacks what the
// next step needs. A wake-up for the run is of no use here.
func (e *Engine) Leaves(ref verification.RunRef) bool { return e.runner.Leaves(ref, e.now()) }

// Describer returns a function that describes a provider of a tenant; nothing of one that this host
// does not have.
func (e *Engine) Describer(t verification.TenantID) func(name string) verification.ProviderDescription {
	return func(name string) verification.ProviderDescription {
		p, _ := e.provider(t, name)
		return workflow.Describe(p)
	}
}
