// Driving: calling providers and appending their results until a run waits or ends.

package engine

import (
	"context"
	"errors"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine/internal/runner"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// errNoProgress is returned when a step changed nothing, which the rules exclude.
var errNoProgress = errors.New("the run made no progress")

// job is a run that this host drives, with what belongs to the goroutine that drives it.
type job struct {
	*runner.Job
	session
	work     *store.Work // taken from the queue, until the first append
	released bool        // to be handed over to another host
	calls    calls       // of several providers at once

	cause  context.Context // of the request that the activation follows from; nil for none, and without traces
	traced context.Context // that of the runner, with the span of the activation
	ended  func(string)    // ends the span; nil before it begins
}

// callResult is the result of a provider call.
type callResult struct {
	command rules.Command // nil before the first call
	entry   *runner.Entry // until the command is saved
	lacking error         // what this host lacks for the call, which another host may make
	err     error         // ends the driving
	unsaved time.Time     // when the command could not be saved first; zero if it could
}

// drive drives a run until no further pass is needed. o is the result of a call that
// another goroutine has made.
func (j *job) drive(o callResult) {
	for j.drivePass(o) && j.runner.Driven(j.Job, j.released) {
		j.run, o = rules.Run{}, callResult{}
	}
}

// drivePass calls providers and appends their results until the run waits or ends, with one
// append for each step. It holds one slot while it works on the run (see acquireWork) and call slots
// while a provider is called, never both. done is false if another goroutine drives the run on,
// because a call took too long or was interrupted.
func (j *job) drivePass(o callResult) (done bool) {
	j.begin()
	defer func() {
		if done { // otherwise the run belongs to the other goroutine
			j.endCalls()
			j.end()
		}
	}()
	for { // until the run waits or ends, or its context does
		kind, err := j.workOn(o)
		switch {
		case err == nil && kind == rules.TaskNone:
			return true
		case err == nil:
			var until time.Time
			if o, until, done = j.nextResult(); !done {
				return false
			}
			if until.IsZero() {
				continue
			}
			err := j.waitUntil(until)
			switch {
			case err == nil:
				return true
			case errors.Is(err, verification.ErrConflict):
				j.run = rules.Run{} // to be read again
			default:
				o.err = err
			}
			continue
		case errors.Is(err, runner.ErrHandOver):
			j.released = true
		case j.savesLater(&o, err):
			continue
		case verification.LackingOf(err) != nil:
			j.leave(verification.LackingOf(err))
		case j.runner.Context().Err() == nil && j.Context().Err() == nil:
			// When the lease ends, the run is taken from the queue again.
			j.log.ErrorContext(j.traced, "run not driven", "run", j.ref.Run, "tenant", j.ref.Tenant, "error", err)
		}
		return true
	}
}

// workOn drives the run to its next provider call, and returns the kind of the call,
// or TaskNone when there is nothing more to do now.
func (j *job) workOn(o callResult) (rules.TaskKind, error) {
	defer o.entry.Leave()
	if o.err == nil && o.lacking != nil && j.waitsForOthers() {
		o.err = o.lacking
	}
	if o.err != nil {
		return rules.TaskNone, o.err
	}
	ctx := j.traced
	j.waitless = true // it waits for no slot beside the one for the run
	defer func() { j.waitless = j.runner.Tries(j.Job) }()
	release, err := j.acquireWork(ctx)
	if err != nil {
		return rules.TaskNone, err
	}
	defer release()
	c := o.command
	for range maxAttempts {
		if c == nil && j.runner.Closing() && !j.calls.any() {
			return rules.TaskNone, runner.ErrHandOver
		}
		wait := numberOf(&j.run, c)
		kind, err := j.step(ctx, c)
		if errors.Is(err, verification.ErrConflict) {
			if err := j.reread(ctx); err != nil {
				return rules.TaskNone, err
			}
			if !stillWanted(c, wait, j.run) {
				c = nil
			}
			continue
		}
		c = nil
		if err != nil || kind != rules.TaskRedispatch {
			return kind, err
		}
	}
	return rules.TaskNone, errNoProgress
}

// stillWanted reports whether c, the result of a call for the wait with this number, is
// still decided on a run that another request has changed. If a callback came during a
// poll, a poll without a result does not count: the run is polled again.
func stillWanted(c rules.Command, wait int, run rules.Run) bool {
	w, waits := run.WaitNumbered(wait)
	if !waits || w.Kind == rules.WaitResult {
		return waits
	}
	result, ok := c.(rules.RecordResult)
	return ok && !unfinished(result)
}

// unfinished reports whether the answer to a poll is still to come.
func unfinished(r rules.RecordResult) bool {
	return r.Outcome == verification.OutcomePending || r.Outcome == verification.OutcomeRedirect
}

// numberOf returns the number of the wait that c has the result for; that of the run if c is no result.
func numberOf(r *rules.Run, c rules.Command) int {
	if w, waits := r.WaitAt(stepOf(c)); waits {
		return w.Number
	}
	return r.Wait().Number
}

// stepOf returns the step of the result of a call; empty for any other command.
func stepOf(c rules.Command) verification.NodeID {
	switch c := c.(type) { //nolint:gochecksumtype // only these are about the result of a call
	case rules.RecordResult:
		return c.Node
	case rules.RecordFailure:
		return c.Node
	case rules.Abort:
		return c.Node
	}
	return ""
}

// step decides c on the run, or the command that the run needs next when c is nil.
// It returns TaskRedispatch when another step follows, and otherwise what workOn
// returns.
func (j *job) step(ctx context.Context, c rules.Command) (rules.TaskKind, error) {
	if j.run.Seq == 0 {
		if err := j.reread(ctx); err != nil {
			return rules.TaskNone, err
		}
	}
	poisoned := false
	if c == nil {
		switch task := j.run.Task(j.now()); task.Kind {
		case rules.TaskNone:
			return rules.TaskNone, j.finishWork()
		case rules.TaskWait:
			return rules.TaskNone, j.waitUntil(task.At)
		case rules.TaskCheck, rules.TaskPoll:
			w, lacking := j.lacksAny(j.ref.Tenant, &j.run)
			switch {
			case j.isPoison():
				poisoned = true
				c = rules.Abort{Node: w.Node, Cause: "the hosts that drove the run, and nothing else, stopped before they saved anything"}
			case lacking == nil:
				return task.Kind, nil
			case j.waitsForOthers():
				return rules.TaskNone, lacking
			default:
				c = rules.RecordFailure{Node: w.Node, Dispatch: w.Dispatch, Permanent: true, Cause: lacking.Error()}
			}
		case rules.TaskRedispatch:
			c = rules.Redispatch{}
		}
	}
	now := j.now()
	events, after, err := j.session.decide(ctx, c, now)
	if err != nil {
		return rules.TaskNone, err
	}
	if len(events) == 0 {
		if result, ok := c.(rules.RecordResult); ok && unfinished(result) {
			n, _ := j.program.Node(result.Node)
			at := rules.PollAt(n, result.PollAfter, now)
			if len(j.run.Waits) > 1 {
				j.calls.notBefore(j.run, result.Node, at)
				return rules.TaskPoll, nil
			}
			return rules.TaskNone, j.waitUntil(at)
		}
		return rules.TaskNone, errNoProgress
	}
	if err := j.saveStep(after, events); err != nil {
		return rules.TaskNone, err
	}
	if poisoned {
		j.opt.Observer.RunPoisoned()
		j.log.ErrorContext(ctx, "run ended: the hosts that drove it, and nothing else, stopped", "run", j.ref.Run, "tenant", j.ref.Tenant)
	}
	if drivable(after.Task(j.now())) || j.calls.any() && after.Ended == "" {
		return rules.TaskRedispatch, nil
	}
	return rules.TaskNone, nil
}

// isPoison reports whether so many hosts stopped while they drove the run alone that it is
// ended instead.
func (j *job) isPoison() bool { return j.work != nil && j.work.Alone >= runner.MaxAlone }

func (j *job) reread(ctx context.Context) error {
	if err := j.session.reload(ctx); err != nil {
		return err
	}
	return j.session.loadProgram(ctx)
}

// saveStep appends events. The first append of a run that was taken from the queue
// always renews its lease, so that the queue counts no lost leases.
func (j *job) saveStep(after rules.Run, events []rules.Event) error {
	err := j.Save(func() error {
		now := j.ports.Clock.Now()
		young := j.LeaseIsYoung(now)
		left := j.leaveNext(j.traced, j.ref, after)
		historyOnly, err := j.session.save(j.traced, after, events, lease{held: true, young: young && j.work == nil})
		if err != nil {
			return err
		}
		if !historyOnly {
			j.work = nil
			j.LeaseBegan(now)
		}
		if left {
			j.LeaseEnded()
		}
		return nil
	})
	if err == nil {
		j.runner.EndTrial(j.Job)
	}
	return err
}

// finishWork removes the work of a run that needs nothing from the queue.
func (j *job) finishWork() error {
	if j.work == nil {
		return nil
	}
	w := *j.work
	j.work = nil
	return j.Save(func() error { return j.ports.Store.Finish(j.traced, w) })
}

// waitUntil queues the run for a time without adding to its history.
func (j *job) waitUntil(at time.Time) error {
	return j.Save(func() error {
		c := store.Commit{Summary: j.run.Summary(), Work: store.AdvanceAt(at), Hold: j.runner.Keeps(at, j.now())}
		if err := j.store.Append(j.traced, j.ref.Tenant, j.ref.Run, j.run.Seq, c); err != nil {
			return err
		}
		j.work = nil
		j.LeaseEnded()
		j.runner.Nudge(at)
		return nil
	})
}
