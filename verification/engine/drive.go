// Driving: calling providers and appending their results until a run waits or ends.

package engine

import (
	"context"
	"errors"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// errNoProgress is returned when a step changed nothing, which the rules exclude.
var errNoProgress = errors.New("the run made no progress")

// callResult is the result of a provider call.
type callResult struct {
	command verification.Command // nil before the first call
	entered bool                 // Enter was called: Leave follows once the command is saved
	lacking error                // what this host lacks for the call, which another host may make
	err     error                // ends the driving
}

// run drives a run until no further pass is needed. o is the result of a call that
// another goroutine has made.
func (r *runner) run(j *job, o callResult) {
	for r.drive(j, o) && r.driven(j) {
		o = callResult{}
	}
}

// drive calls providers and appends their results until the run waits or ends, with one
// append for each step. It holds a worker slot while it works on the run and call slots while a
// provider is called, never both. done is false if another goroutine drives the run on,
// because a call took too long or was interrupted.
func (r *runner) drive(j *job, o callResult) (done bool) {
	for { // until the run waits or ends, or its context does
		kind, err := r.work(j, o)
		switch {
		case err == nil && kind == verification.TaskNone:
			return true
		case err == nil:
			if o, done = r.call(j, kind); !done {
				return false
			}
			continue
		case errors.Is(err, errHandOver):
			j.released = true
		case verification.LackingOf(err) != nil:
			r.leave(j, verification.LackingOf(err))
		case r.base.Err() == nil && j.ctx.Err() == nil:
			// When the lease ends, the run is taken from the queue again.
			r.e.log.Error("run not driven", "run", j.ref.Run, "tenant", j.ref.Tenant, "error", err)
		}
		return true
	}
}

// work drives the run to its next provider call, and returns the kind of the call,
// or TaskNone when there is nothing more to do now.
func (r *runner) work(j *job, o callResult) (verification.TaskKind, error) {
	if o.entered {
		defer r.clock.Leave()
	}
	if o.err == nil && o.lacking != nil && r.leaves(j) {
		o.err = o.lacking
	}
	if o.err != nil {
		return verification.TaskNone, o.err
	}
	ctx := r.base
	if _, large := r.e.large.Get(j.ref); large { // before the worker slot, which is held for work alone
		release, err := r.e.admit(ctx, &j.session)
		if err != nil {
			return verification.TaskNone, err
		}
		defer release()
	}
	release, err := r.workers.Acquire(ctx, string(j.ref.Tenant))
	if err != nil {
		return verification.TaskNone, err
	}
	defer release()
	// A run whose size is not known yet waits for no other slot, whose holder may wait for
	// this one.
	j.admitted = true
	defer func() { j.admitted = false }()
	c := o.command
	for range maxAttempts {
		if c == nil && r.isClosing() {
			return verification.TaskNone, errHandOver
		}
		wait := j.run.Wait.Number
		kind, err := r.step(ctx, j, c)
		if errors.Is(err, verification.ErrConflict) {
			if err := r.reread(ctx, j); err != nil {
				return verification.TaskNone, err
			}
			if !stillWanted(c, wait, j.run) {
				c = nil
			}
			continue
		}
		c = nil
		if err != nil || kind != verification.TaskRedispatch {
			return kind, err
		}
	}
	return verification.TaskNone, errNoProgress
}

// stillWanted reports whether c, the result of a call for the wait with this number, is
// still decided on a run that another request has changed. If a callback came during a
// poll, a poll without a result does not count: the run is polled again.
func stillWanted(c verification.Command, wait int, run verification.Run) bool {
	if run.Wait.Number != wait || run.Wait.Kind == verification.WaitResult {
		return run.Wait.Number == wait
	}
	result, ok := c.(verification.RecordResult)
	return ok && result.Outcome != verification.OutcomePending
}

// step decides c on the run, or the command that the run needs next when c is nil.
// It returns TaskRedispatch when another step follows, and otherwise what work
// returns.
func (r *runner) step(ctx context.Context, j *job, c verification.Command) (verification.TaskKind, error) {
	if j.run.Seq == 0 {
		if err := r.reread(ctx, j); err != nil {
			return verification.TaskNone, err
		}
	}
	poisoned := false
	if c == nil {
		switch task := j.run.Task(r.e.now()); task.Kind {
		case verification.TaskNone:
			return verification.TaskNone, r.finish(j)
		case verification.TaskWait:
			return verification.TaskNone, r.wait(j, task.At)
		case verification.TaskCheck, verification.TaskPoll:
			lacking := r.e.lacks(j.ref.Tenant, j.run.Wait)
			switch w := j.run.Wait; {
			case j.isPoison():
				poisoned = true
				c = verification.Abort{Node: w.Node, Cause: "the hosts that drove the run kept stopping before they saved anything"}
			case lacking == nil:
				return task.Kind, nil
			case r.leaves(j):
				return verification.TaskNone, lacking
			default:
				c = verification.RecordFailure{Node: w.Node, Dispatch: w.Dispatch, Permanent: true, Cause: lacking.Error()}
			}
		case verification.TaskRedispatch:
			c = verification.Redispatch{}
		}
	}
	now := r.e.now()
	events, after, err := r.e.decide(ctx, &j.session, c, now)
	if err != nil {
		return verification.TaskNone, err
	}
	if len(events) == 0 {
		if result, ok := c.(verification.RecordResult); ok && result.Outcome == verification.OutcomePending {
			n, _ := j.program.Node(result.Node)
			return verification.TaskNone, r.wait(j, verification.PollAt(n, result.PollAfter, now))
		}
		return verification.TaskNone, errNoProgress
	}
	if err := r.saveStep(j, after, events); err != nil {
		return verification.TaskNone, err
	}
	if poisoned {
		r.e.opt.Observer.RunPoisoned()
		r.e.log.Error("run ended: the hosts that drove it kept stopping", "run", j.ref.Run, "tenant", j.ref.Tenant)
	}
	if drivable(after.Task(r.e.now())) {
		return verification.TaskRedispatch, nil
	}
	return verification.TaskNone, nil
}

// isPoison reports whether so many hosts stopped while they drove the run that it is
// ended instead.
func (j *job) isPoison() bool { return j.work != nil && j.work.Lost >= maxLost }

func (r *runner) reread(ctx context.Context, j *job) error {
	if err := r.e.reload(ctx, &j.session); err != nil {
		return err
	}
	return r.e.loadProgram(ctx, &j.session)
}

// saveStep appends events. The first append of a run that was taken from the queue
// always renews its lease, so that the queue counts no lost leases.
func (r *runner) saveStep(j *job, after verification.Run, events []verification.Event) error {
	j.saving.Lock()
	defer j.saving.Unlock()
	now := r.e.ports.Clock.Now()
	young := now.UnixNano()-j.leased.Load() < int64(r.e.opt.Lease/renewals)
	left := r.leaveNext(j.ref, after)
	historyOnly, err := r.e.save(r.base, &j.session, after, events, lease{held: true, young: young && j.work == nil})
	if err != nil {
		return err
	}
	if !historyOnly {
		j.work = nil
		j.leased.Store(now.UnixNano())
	}
	if left {
		j.leased.Store(0)
	}
	return nil
}

// finish removes the work of a run that needs nothing from the queue.
func (r *runner) finish(j *job) error {
	if j.work == nil {
		return nil
	}
	w := *j.work
	j.work = nil
	return r.e.ports.Store.Finish(r.base, w)
}

// wait queues the run for a time without adding to its history.
func (r *runner) wait(j *job, at time.Time) error {
	j.saving.Lock()
	defer j.saving.Unlock()
	c := store.Commit{Summary: j.run.Summary(), Work: store.AdvanceAt(at), Hold: r.keeps(at, r.e.now())}
	if err := r.e.store.Append(r.base, j.ref.Tenant, j.ref.Run, j.run.Seq, c); err != nil {
		return err
	}
	j.work = nil
	j.leased.Store(0) // a renewal would delay the run until the end of a lease
	r.nudge(at)
	return nil
}

// slotBytes is the size of a run for each call slot that it needs. A call holds the
// run, the request and the result in memory.
const slotBytes = 128 << 10

// call waits for slots, calls the provider of the run, and turns the result into a
// command. A large run is not kept in memory while it waits. here is false if another
// goroutine continues with the result, see callHere.
func (r *runner) call(j *job, kind verification.TaskKind) (o callResult, here bool) {
	size, provider := j.run.Size(), j.run.Wait.Provider
	slots := 1 + size/slotBytes
	release, ok := r.tryCall(j.ref.Tenant, provider, slots)
	if !ok {
		if size > maxCachedRun {
			j.run = verification.Run{}
		}
		var err error
		if release, err = r.acquireCall(j, provider, slots); err != nil {
			return callResult{err: err}, true
		}
	}
	if j.run.Seq == 0 {
		err := r.reread(r.base, j)
		if task := j.run.Task(r.e.now()); err != nil || task.Kind != kind || j.run.Wait.Provider != provider {
			release()
			j.run = verification.Run{}
			return callResult{err: err}, true // if the run has changed, work decides what it needs
		}
	}
	called := func(o callResult) callResult {
		release()
		switch {
		case o.command != nil:
			o.err = r.base.Err()
		case r.isClosing():
			o.err = errHandOver
		default:
			o.err = j.ctx.Err() // interrupted before the call: driven begins another pass
		}
		return o
	}
	if o, here = r.e.call(j.ctx, &j.session, kind, func(o callResult) { r.run(j, called(o)) }); !here {
		return callResult{}, false
	}
	return called(o), true
}

// acquireCall waits for slots, and fails when the host stops.
func (r *runner) acquireCall(j *job, provider string, n int) (release func(), err error) {
	r.mu.Lock()
	if r.closing {
		r.mu.Unlock()
		return nil, errHandOver
	}
	j.queued = true
	ctx := j.ctx
	r.mu.Unlock()
	release, err = r.acquireSlots(ctx, j.ref.Tenant, provider, n)
	r.mu.Lock()
	defer r.mu.Unlock()
	j.queued = false
	if err != nil && r.closing {
		return nil, errHandOver
	}
	return release, err
}
