// Several calls of one run at once: those of the members of a group, and of the elements of a list.

package engine

import (
	"context"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// calls are the calls of a run that waits for several providers. They belong to the goroutine that drives the run, which
// decides and saves one result after the other. A call has a goroutine of its own until it has its result:
//
//	the goroutine of the run      callTogether ----------- workOn ---- callTogether --- ...
//	                                |      |       result     saves       |
//	a call                          +------|-----------------> (Enter of the call passes with the result)
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
	facing, _ := r.Facing(step)
	if c.later == nil {
		c.later = map[int]time.Time{}
	}
	c.later[facing.Wait.Number] = at
}

// callTogether begins the calls that the run waits for and that are not in flight, and returns the first result. It returns
// none if the run must be looked at again, or a time if there is nothing to do before it.
func (e *Engine) callTogether(j *job) callResult {
	c := &j.calls
	waits, now, closing := j.run.Waits(), e.now(), e.runner.Closing()
	wanted := make(map[int]bool, len(waits))
	var next time.Time
	left := false // for another host
	for _, w := range waits {
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
				e.callBeside(j, w, task.Kind)
			}
		case rules.TaskWait:
			if next.IsZero() || task.At.Before(next) {
				next = task.At
			}
		case rules.TaskRedispatch:
			return callResult{}
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
		return e.awaitCall(j, wanted, next)
	case left:
		return callResult{}
	}
	return callResult{until: next}
}

// callBeside begins the call that a wait needs.
func (e *Engine) callBeside(j *job, w rules.Wait, kind rules.TaskKind) {
	c := &j.calls
	if c.flight == nil {
		c.flight, c.results = map[int]context.CancelFunc{}, make(chan memberResult, workflow.MaxElementChecks)
	}
	ctx, cancel := context.WithCancel(j.Context())
	c.flight[w.Number] = cancel
	s := j.session
	s.run, _ = s.run.Facing(w.Node)
	s.slot, s.waitless = false, false
	slots := 1 + s.run.Size()/slotBytes
	e.activity.Enter() // it passes with the result
	respond := func(release func()) func(callResult) {
		return func(o callResult) {
			if release != nil {
				release()
			}
			o.entered++
			c.results <- memberResult{o, w.Number}
		}
	}
	go func() {
		release, err := e.runner.AcquireOneOf(ctx, s.ref.Tenant, w.Provider, slots)
		if err != nil {
			respond(nil)(callResult{})
			return
		}
		e.runner.Calling(j.Job)
		if o, here := s.call(ctx, kind, respond(release)); here {
			respond(release)(o)
		}
	}()
}

// awaitCall waits for the first result that the run still waits for, or until a time, which may be zero.
func (e *Engine) awaitCall(j *job, wanted map[int]bool, next time.Time) callResult {
	c, woken := &j.calls, e.runner.Woken(j.Job)
	if !next.IsZero() {
		stop := e.ports.Clock.AfterFunc(next.Sub(e.now()), func() { e.runner.LookAgain(j.ref) })
		defer stop()
	}
	for c.any() {
		e.activity.Leave()
		select {
		case r := <-c.results:
			e.activity.Enter()
			c.flight[r.number]()
			delete(c.flight, r.number)
			if r.command != nil && wanted[r.number] {
				r.err = e.runner.Context().Err()
				return r.callResult
			}
			e.drop(r)
		case <-woken: // its Enter is that of this goroutine now
			j.run = rules.Run{}
			return callResult{}
		case <-j.Context().Done():
			e.activity.Enter()
			return callResult{err: j.Context().Err()}
		}
	}
	return callResult{}
}

// drop ends a call whose result is not needed.
func (e *Engine) drop(r memberResult) {
	for range r.entered {
		e.activity.Leave()
	}
}

// endCalls ends all calls of a pass: the run has moved on, or another host goes on with it.
func (e *Engine) endCalls(j *job) {
	c := &j.calls
	for _, cancel := range c.flight {
		cancel()
	}
	for range c.flight { // a call that is cancelled has its result at once
		e.drop(<-c.results)
	}
	if c.flight != nil {
		select {
		case <-e.runner.Woken(j.Job):
			e.activity.Leave()
		default:
		}
	}
	j.calls = calls{}
}
