// The calls of a run: of the check that it waits for or, of the members of a group and the elements of a list, several at once.

package engine

import (
	"context"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine/internal/runner"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// calls are the calls of a run that waits for several providers. They belong to the goroutine that drives the run, which
// decides and saves one result after the other. A call has a goroutine of its own until it has its result:
//
//	the goroutine of the run      nextResult ------------- workOn ---- nextResult --- ...
//	                                |      |       result     saves       |
//	a call                          +------|-----------------> (its entry passes with the result)
//	another call                           +---------------------------------> ...
//
// A result that the run no longer waits for is dropped, and its call is cancelled.
type calls struct {
	flight  map[int]context.CancelFunc // by the number of the wait
	results chan memberResult
	later   map[int]time.Time // polls that must not come before, as a provider asked
}

// memberResult is the result of one of several calls.
type memberResult struct {
	callResult
	number int // of the wait
}

// any reports whether a call is in flight.
func (c *calls) any() bool { return len(c.flight) > 0 }

// notBefore puts off the next poll of a step.
func (c *calls) notBefore(r rules.Run, step verification.NodeID, at time.Time) {
	w, _ := r.WaitAt(step)
	if c.later == nil {
		c.later = map[int]time.Time{}
	}
	c.later[w.Number] = at
}

// slotBytes is the size of a run for each call slot that it needs. A call holds the
// run, the request and the result in memory.
const slotBytes = 128 << 10

// nextResult begins the calls that the run waits for and that are not in flight, and returns the first result. It returns
// none if the run must be looked at again, or a time if there is nothing to do before it. The only call of a run is made in
// this goroutine; here is false if another one goes on with its result, see runner.CallHere.
func (j *job) nextResult() (o callResult, until time.Time, here bool) {
	c := &j.calls
	if len(j.run.Waits) == 1 && !c.any() && len(c.later) == 0 {
		o, here = j.makeCall(j.callContext(), j.run.Waits[0], j.acquireOnly, j.drive)
		return o, time.Time{}, here
	}
	wanted, now, closing := make(map[int]bool, len(j.run.Waits)), j.now(), j.runner.Closing()
	left := false // for another host
	for _, w := range j.run.Waits {
		wanted[w.Number] = true
		if c.flight[w.Number] != nil {
			continue
		}
		task := w.Task(now)
		if later := c.later[w.Number]; task.Kind == rules.TaskPoll && now.Before(later) {
			task = rules.Task{Kind: rules.TaskWait, At: later}
		}
		switch task.Kind {
		case rules.TaskCheck, rules.TaskPoll:
			delete(c.later, w.Number)
			if left = left || closing; !closing {
				j.callBeside(w)
			}
		case rules.TaskWait:
			if until.IsZero() || task.At.Before(until) {
				until = task.At
			}
		case rules.TaskRedispatch:
			return callResult{}, time.Time{}, true
		case rules.TaskNone:
		}
	}
	for number, cancel := range c.flight {
		if !wanted[number] {
			cancel()
		}
	}
	switch {
	case c.any():
		return j.awaitCall(wanted, until), time.Time{}, true
	case left:
		return callResult{}, time.Time{}, true
	}
	return callResult{}, until, true
}

// callBeside begins the call that one of several waits needs, in a goroutine of its own.
func (j *job) callBeside(w rules.Wait) {
	c := &j.calls
	if c.flight == nil {
		c.flight, c.results = map[int]context.CancelFunc{}, make(chan memberResult, workflow.MaxElementChecks)
	}
	ctx, cancel := context.WithCancel(j.callContext())
	c.flight[w.Number] = cancel
	one, results, entry := &job{Job: j.Job, session: j.session}, c.results, runner.Enter(j.activity)
	one.slot, one.waitless = false, false
	respond := func(o callResult) {
		o.entry.Leave()
		o.entry = entry // it passes with the result
		results <- memberResult{o, w.Number}
	}
	go func() {
		if o, here := one.makeCall(ctx, w, one.acquireOneOf, respond); here {
			respond(o)
		}
	}()
}

// makeCall acquires slots, calls the provider of a check that the run of j waits for, and turns the result into a command. There
// is none if the run has changed, or its context has ended, before. late and here are as in runner.CallHere.
func (j *job) makeCall(
	ctx context.Context, w rules.Wait, acquire func(context.Context, *rules.Wait) (release func(), err error), late func(callResult),
) (o callResult, here bool) {
	release, err := acquire(ctx, &w)
	if err != nil || release == nil {
		return callResult{err: err}, true
	}
	called := func(o callResult) callResult {
		release()
		switch {
		case o.command != nil:
			o.err = j.runner.Context().Err()
		case j.runner.Closing():
			o.err = runner.ErrHandOver
		default:
			o.err = ctx.Err() // interrupted before the call: Driven begins another pass
		}
		return o
	}
	j.runner.Calling(j.Job)
	if o, here = j.session.call(ctx, &w, func(o callResult) { late(called(o)) }); !here {
		return callResult{}, false
	}
	return called(o), true
}

// acquireOnly acquires the slots for the only call of a run. A large run is not kept in memory while it waits: it is read again, and w
// is its wait then. Without a release, the run has changed: workOn decides what it needs.
func (j *job) acquireOnly(_ context.Context, w *rules.Wait) (release func(), err error) {
	size := j.run.Size()
	release, err = j.runner.AcquireCall(j.Job, w.Provider, 1+size/slotBytes, func() {
		if size > largeRun {
			j.run = rules.Run{}
		}
	})
	if err != nil || j.run.Seq > 0 {
		return release, err
	}
	err = j.reread(j.runner.Context())
	again, waits := j.run.WaitNumbered(w.Number)
	if task := again.Task(j.now()).Kind; err == nil && waits && (task == rules.TaskCheck || task == rules.TaskPoll) {
		*w = again
		return release, nil
	}
	release()
	j.run = rules.Run{}
	return nil, err
}

// acquireOneOf waits for the slots for one of several calls of a run.
func (j *job) acquireOneOf(ctx context.Context, w *rules.Wait) (release func(), err error) {
	return j.runner.AcquireOneOf(ctx, j.ref.Tenant, w.Provider, 1+j.run.Size()/slotBytes)
}

// awaitCall waits for the first result that the run still waits for, or until a time, which may be zero.
func (j *job) awaitCall(wanted map[int]bool, next time.Time) callResult {
	c, woken := &j.calls, j.runner.Woken(j.Job)
	if !next.IsZero() {
		stop := j.ports.Clock.AfterFunc(next.Sub(j.now()), func() { j.runner.LookAgain(j.ref) })
		defer stop()
	}
	for c.any() {
		j.activity.Leave()
		select {
		case r := <-c.results:
			j.activity.Enter()
			c.flight[r.number]()
			delete(c.flight, r.number)
			if r.command != nil && wanted[r.number] {
				return r.callResult
			}
			r.entry.Leave()
		case entry := <-woken:
			j.activity.Enter()
			entry.Leave()
			j.run = rules.Run{}
			return callResult{}
		case <-j.Context().Done():
			j.activity.Enter()
			return callResult{err: j.Context().Err()}
		}
	}
	return callResult{}
}

// endCalls ends all calls of a pass: the run has moved on, or another host goes on with it.
func (j *job) endCalls() {
	c := &j.calls
	for _, cancel := range c.flight {
		cancel()
	}
	for range c.flight { // a call that is cancelled has its result at once
		r := <-c.results
		r.entry.Leave()
	}
	if c.flight != nil {
		select {
		case entry := <-j.runner.Woken(j.Job):
			entry.Leave()
		default:
		}
	}
	j.calls = calls{}
}
