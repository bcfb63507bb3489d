// The one way a run changes: load, decide, append.

package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// changeTries bounds how often a command is decided again because the history
// moved on in between.
const changeTries = 100

// load folds the history of a run. What was folded before is kept, so only
// the events since are read. A run that is known to be too large for that waits
// for a slot.
func (e *Engine) load(ctx context.Context, ref verification.RunRef) (verification.Run, error) {
	run, ok := e.runs.get(ref)
	if !ok {
		run = verification.Run{ID: ref.Run}
	}
	release, err := e.acquireIfLarge(ctx, ref)
	if err != nil {
		return verification.Run{}, err
	}
	defer release()
	events, err := e.ports.Runs.Load(ctx, ref.Tenant, ref.Run, run.Seq)
	if err != nil {
		return verification.Run{}, err
	}
	if len(events) == 0 {
		return run, nil
	}
	run = run.EvolveAll(events)
	e.remember(ref, run)
	return run, nil
}

// acquireIfLarge waits for a slot if the run is known to be large.
func (e *Engine) acquireIfLarge(ctx context.Context, ref verification.RunRef) (release func(), err error) {
	if _, large := e.large.get(ref); !large {
		return func() {}, nil
	}
	return e.heavy.Acquire(ctx, string(ref.Tenant))
}

// remember keeps a run for the next load, or that it is too large to keep.
func (e *Engine) remember(ref verification.RunRef, run verification.Run) {
	e.runs.put(ref, run)
	if run.Size() > maxCachedRun {
		e.large.put(ref, true)
	}
}

// programOf is the version that a run executes.
func (e *Engine) programOf(ctx context.Context, t verification.TenantID, r verification.Run) (verification.Program, error) {
	return e.program(ctx, programKey{t, r.Started.Workflow, r.Started.VersionHash})
}

// change is what a command came to.
type change struct {
	before, after verification.Run
	events        []verification.Event
	at            time.Time
}

// command decides c on the run as it stands, appends what follows, and drives
// the run on. A lost race is decided again on the fresh history; ErrUnavailable
// when there are too many.
func (e *Engine) command(ctx context.Context, ref verification.RunRef, c verification.Command) (change, error) {
	for range changeTries {
		run, err := e.load(ctx, ref)
		if err != nil {
			return change{}, err
		}
		program, err := e.programOf(ctx, ref.Tenant, run)
		if err != nil {
			return change{}, fmt.Errorf("read the version of run %s: %w", ref.Run, err)
		}
		now := e.now()
		if _, expiring := c.(verification.Expire); !expiring && overdue(run, now) {
			// A caller that is refused because of a deadline learns of it, too: see seen.
			if _, err := e.command(ctx, ref, verification.Expire{}); err != nil {
				return change{}, err
			}
			continue
		}
		events, after, err := e.decide(ctx, ref.Tenant, program, run, c, now)
		if err != nil {
			return change{}, err
		}
		if len(events) == 0 {
			return change{before: run, after: run, at: now}, nil
		}
		err = e.append(ctx, ref, run, after, events, program)
		if err == nil {
			return change{before: run, after: after, events: events, at: now}, nil
		}
		if !errors.Is(err, verification.ErrConflict) {
			return change{}, err
		}
	}
	return change{}, &verification.Error{
		Kind: verification.ErrUnavailable, Subject: "run", Message: "the run is being changed by too many requests at once",
	}
}

// decide decides c on the run. Checking an input against a schema, and expressions
// over a large run, may take long: such decisions wait for a slot, until ctx ends.
func (e *Engine) decide(
	ctx context.Context, t verification.TenantID, p verification.Program, run verification.Run, c verification.Command, now time.Time,
) ([]verification.Event, verification.Run, error) {
	heavy := run.Size() > heavyRun
	if start, ok := c.(verification.Start); ok { // begin holds the slot of a large one
		heavy = p.Version.Definition.InputSchema != nil && len(start.Input) <= heavyRun
	}
	if heavy {
		release, err := e.heavy.Acquire(ctx, string(t))
		if err != nil {
			return nil, run, err
		}
		defer release()
	}
	return verification.Decide(p, run, c, now)
}

// overdue reports whether a deadline has passed that the history does not show.
func overdue(r verification.Run, now time.Time) bool {
	return r.Ended == "" && r.AsOf(now).Ended != ""
}

// append saves events with the summary and effects that follow from them. A
// run that needs driving is driven on here when there is room, and is
// otherwise left to the queue.
func (e *Engine) append(
	ctx context.Context, ref verification.RunRef, before, after verification.Run,
	events []verification.Event, program verification.Program,
) error {
	var reserved *job
	if drivable(after.Task(e.now())) {
		reserved = e.runner.reserve(ref)
	}
	if _, err := e.save(ctx, ref, before, after, events, lease{held: reserved != nil}); err != nil {
		e.runner.cancelReservation(reserved)
		return err
	}
	if reserved != nil {
		e.runner.submit(reserved, after, program)
	}
	return nil
}

// lease says how a run is kept from other hosts while it is driven here.
type lease struct {
	held  bool // this host drives the run
	young bool // the queue knows, and need not hear it again yet
}

// save appends events and carries out the effects that this host can. The
// run of a driven history keeps its lease as long as it goes on; quiet says
// that nothing but the history changed.
func (e *Engine) save(
	ctx context.Context, ref verification.RunRef, before, after verification.Run,
	events []verification.Event, l lease,
) (quiet bool, err error) {
	now := e.now()
	a := verification.Commit{Events: events, Summary: after.Summary()}
	ends := after.Ended != "" && before.Ended == ""
	if ends {
		if e.announces(ctx, ref.Tenant, after) {
			a.AnnounceAt, a.NoWakeup = now, e.runner.keeps(now, now)
		}
	}
	switch task := after.Task(now); {
	case task.Kind == verification.TaskWait:
		a.AdvanceAt, a.NoWakeup = task.At, e.runner.keeps(task.At, now)
	case drivable(task) && l.held:
		a.AdvanceAt, a.Leased, a.NoWakeup = now.Add(e.opt.Lease), true, true
		a.HistoryOnly = l.young && before.Seq > 0 && before.Summary() == a.Summary
	case drivable(task):
		a.AdvanceAt = now
	}
	if err := e.ports.Runs.Append(ctx, ref.Tenant, ref.Run, before.Seq, a); err != nil {
		return false, err
	}
	e.remember(ref, after)
	if before.Seq == 0 {
		e.opt.Observer.RunStarted()
	}
	if ends {
		e.opt.Observer.RunEnded(after.Ended)
	}
	if atRest(after) {
		e.watch.wake(ref)
	}
	e.runner.appended(ref, before, after, a)
	if ends && a.AnnounceAt.IsZero() {
		e.announceLate(ctx, ref, after)
	}
	return a.HistoryOnly, nil
}

// announceLate announces a run that has ended if its workflow was given its
// webhook between the decision and the append.
func (e *Engine) announceLate(ctx context.Context, ref verification.RunRef, run verification.Run) {
	ctx = context.WithoutCancel(ctx)
	if !e.announces(ctx, ref.Tenant, run) {
		return
	}
	if err := e.announceAgain(ctx, ref, run); err != nil {
		e.log.Error("notice not queued", "run", ref.Run, "tenant", ref.Tenant, "error", err)
		return
	}
	e.runner.nudge(e.now())
}

// announces reports whether a client is to be notified that a run is over. When
// that cannot be determined now, or may change before a caller's transaction
// commits, it is determined when the notice is sent.
func (e *Engine) announces(ctx context.Context, t verification.TenantID, r verification.Run) bool {
	if e.ports.Notifier == nil {
		return false
	}
	if e.external {
		return true
	}
	w, err := e.ports.Workflows.Workflow(ctx, t, r.Started.Workflow)
	return err != nil || w.LifecycleWebhookURL != ""
}

// drivable reports whether there is something to do now.
func drivable(t verification.Task) bool {
	switch t.Kind {
	case verification.TaskCheck, verification.TaskPoll, verification.TaskRedispatch:
		return true
	case verification.TaskNone, verification.TaskWait:
	}
	return false
}
