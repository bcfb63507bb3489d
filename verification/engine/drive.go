// Activations: a run is driven until it parks, waits or ends.

package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// errNoProgress says that a step led nowhere, which the rules exclude.
var errNoProgress = errors.New("the run did not move")

// drive takes the run as far as it can go now, one append a step.
func (e *Engine) drive(j *job) {
	for {
		var err error
		goesOn := true
		if j.run.Seq == 0 {
			err = e.reread(j)
		} else {
			goesOn, err = e.step(j.ctx, j)
		}
		switch {
		case e.base.Err() != nil:
			return // the host goes down, and hands its leases on
		case errors.Is(err, verification.ErrConflict):
			j.run = verification.Run{}
		case err != nil:
			// The lease runs out, and the run is taken up again.
			e.log.Error("run not driven", "run", j.ref.Run, "tenant", j.ref.Tenant, "error", err)
			return
		case !goesOn:
			return
		}
	}
}

func (e *Engine) reread(j *job) error {
	run, err := e.load(e.base, j.ref)
	if err != nil {
		return err
	}
	program, err := e.programOf(e.base, j.ref.Tenant, run)
	if err != nil {
		return fmt.Errorf("read the version: %w", err)
	}
	j.run, j.program = run, program
	return nil
}

// step does what the run needs next, and tells whether there is more to do.
func (e *Engine) step(ctx context.Context, j *job) (goesOn bool, err error) {
	var c verification.Command
	task := j.run.Task(e.now())
	switch task.Kind {
	case verification.TaskNone:
		return false, e.release(j)
	case verification.TaskWait:
		return false, e.wait(j, task.At)
	case verification.TaskRedispatch:
		c = verification.Redispatch{}
	case verification.TaskCheck, verification.TaskPoll:
		var held bool
		c, held = e.call(ctx, j, task.Kind)
		if held {
			defer e.quiet.Leave()
		}
		if e.base.Err() != nil {
			return false, nil // cut off by the host, not by the provider
		}
	}
	now := e.now()
	events, after, err := verification.DecideAndFold(j.program, j.run, c, now)
	if err != nil {
		return false, err
	}
	if len(events) == 0 {
		if r, ok := c.(verification.RecordResult); ok && r.Outcome == verification.OutcomePending {
			n, _ := j.program.Node(r.Node)
			return false, e.wait(j, verification.PollAt(n, r.PollAfter, now))
		}
		return false, errNoProgress
	}
	if err := e.saveStep(j, after, events); err != nil {
		return false, err
	}
	return drivable(after.Task(e.now())), nil
}

func (e *Engine) saveStep(j *job, after verification.Run, events []verification.Event) error {
	j.saving.Lock()
	defer j.saving.Unlock()
	now := e.ports.Clock.Now()
	l := lease{held: true, young: now.UnixNano()-j.leased.Load() < int64(e.opt.Lease/renewals)}
	quiet, err := e.save(e.base, j.ref, j.run, after, events, l)
	if err != nil {
		return err
	}
	j.run = after
	if !quiet {
		j.work = nil
		j.leased.Store(now.UnixNano())
	}
	return nil
}

// release takes a run that needs nothing out of the queue, when it came from
// there and nothing has replaced it.
func (e *Engine) release(j *job) error {
	if j.work == nil {
		return nil
	}
	w := *j.work
	j.work = nil
	return e.ports.Queue.Finish(e.base, w)
}

// wait queues the run for a moment without writing history.
func (e *Engine) wait(j *job, at time.Time) error {
	j.saving.Lock()
	defer j.saving.Unlock()
	a := verification.Appendix{Summary: j.run.Summary(), AdvanceAt: at, Kept: e.keeps(at, e.now())}
	if err := e.ports.Runs.Append(e.base, j.ref.Tenant, j.ref.Run, j.run.Seq, a); err != nil {
		return err
	}
	j.work = nil
	e.nudge(at)
	return nil
}
