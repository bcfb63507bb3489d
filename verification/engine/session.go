// The one way a run is read and changed: load, decide, append.

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine/internal/runner"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// session is a run that a use case has read, so that it reads each thing once. Its methods are what
// the engine does with one run.
type session struct {
	*Engine

	ref      verification.RunRef
	run      rules.Run         // without history until it is read
	program  workflow.Program  // the version of the run, once it is needed
	workflow workflow.Workflow // of a run that is being started
	at       time.Time         // the time at which run is shown or decided on
	fresh    bool              // run was read or changed by the present call
	slot     bool              // the caller has a slot for its work
	turn     bool              // the caller has its turn in the lane of the run
	waitless bool              // the caller must not wait for a slot
}

// maxAttempts bounds how often a command is decided again because another request
// changed the run first.
const maxAttempts = 100

// open reads a run as of now: see expireIfOverdue.
func (e *Engine) open(ctx context.Context, ref verification.RunRef) (*session, error) {
	s := &session{Engine: e, ref: ref}
	if err := s.reload(ctx); err != nil {
		return nil, err
	}
	return s, s.expireIfOverdue(ctx)
}

// expireIfOverdue records an expiry that is due before the run is shown or decided
// on. What another host decided before the deadline and has not saved yet then
// conflicts, so a run that was reported as expired stays expired.
func (s *session) expireIfOverdue(ctx context.Context) error {
	s.at = s.now()
	if !overdue(s.run, s.at) {
		return nil
	}
	_, err := s.command(ctx, rules.Expire{})
	return err
}

// overdue reports whether a deadline has passed that is not in the history.
func overdue(r rules.Run, now time.Time) bool {
	return r.Ended == "" && r.AsOf(now).Ended != ""
}

// reload reads the run of s from the store. The events that the cache or s has are not read again.
func (s *session) reload(ctx context.Context) error {
	release, err := s.admitReload(ctx)
	if err != nil {
		return err
	}
	defer release()
	run := s.newest() // another call may have read it meanwhile
	events, err := s.store.Load(ctx, s.ref.Tenant, s.ref.Run, run.Seq)
	if err == nil && run.Seq > 0 && rules.Rewrites(events) {
		run = rules.Run{ID: s.ref.Run} // what the cache has of it was removed, or hidden
		events, err = s.store.Load(ctx, s.ref.Tenant, s.ref.Run, 0)
	}
	if err != nil {
		return err
	}
	s.run, s.fresh = s.runs.fold(s.ref, run, events), true
	return nil
}

// load returns a run as the store has it: see reload.
func (e *Engine) load(ctx context.Context, ref verification.RunRef) (rules.Run, error) {
	s := &session{Engine: e, ref: ref}
	err := s.reload(ctx)
	return s.run, err
}

// loadProgram loads the version that the run executes, unless s has it.
func (s *session) loadProgram(ctx context.Context) (err error) {
	started := s.run.Started
	if s.program.Version.Hash == started.VersionHash && started.VersionHash != "" {
		return nil
	}
	s.program, err = s.Engine.program(ctx, programKey{s.ref.Tenant, started.Workflow, started.VersionHash})
	if err != nil {
		return fmt.Errorf("read the version of run %s: %w", s.ref.Run, err)
	}
	return nil
}

// command decides c on the run of s, saves the events, and has the run driven. It
// returns the run as it was before; s has the run as it is after. When another
// request changes the run first, c is decided again; ErrUnavailable when that
// happens too often.
func (s *session) command(ctx context.Context, c rules.Command) (before rules.Run, err error) {
	if s.run.Seq == 0 && s.runner != nil { // without a runner, cached runs are often old
		s.run = s.runs.cached(s.ref)
	}
	stale := s.run.Seq == 0
	leave := func() {}
	defer func() { leave() }()
	for range maxAttempts {
		if !s.turn {
			out, err := s.takeTurn(ctx, true)
			if err != nil {
				return before, err
			}
			leave = out
		}
		if stale {
			if err := s.reload(ctx); err != nil {
				return before, err
			}
		}
		stale = true
		if _, expire := c.(rules.Expire); expire {
			s.at = s.now()
		} else if err := s.expireIfOverdue(ctx); err != nil {
			return before, err
		}
		if err := s.loadProgram(ctx); err != nil {
			return before, err
		}
		before = s.run
		events, after, err := s.decide(ctx, c, s.at)
		if len(events) == 0 {
			if s.fresh {
				return before, err
			}
			continue // an earlier call read the run: it may have changed since
		}
		err = s.append(ctx, after, events)
		if !errors.Is(err, verification.ErrConflict) {
			return before, err
		}
	}
	return before, verification.Unavailable("run", "the run is being changed by too many requests at once")
}

// decide decides c on the run of s, and finds earlier rejections if the run then comes to need a verdict.
func (s *session) decide(ctx context.Context, c rules.Command, now time.Time) ([]rules.Event, rules.Run, error) {
	events, after, err := s.decideAlone(ctx, c, now)
	if err == nil && s.comesToReview(after) {
		events, after = after.RecordRejections(events, s.rejections(ctx, after), now)
	}
	return events, after, err
}

// decideAlone decides c on the run of s. If that is expensive, it waits for a slot, until ctx ends.
func (s *session) decideAlone(ctx context.Context, c rules.Command, now time.Time) ([]rules.Event, rules.Run, error) {
	_, starts := c.(rules.Start)
	release, err := s.admit(ctx, s.run.Size() > largeRun || starts && s.program.Version.Definition.InputSchema != nil)
	if err != nil {
		return nil, s.run, err
	}
	defer release()
	return rules.Decide(s.program, s.run, c, now.In(s.location(s.run.Started.Zone)))
}

// append saves the events of a use case. A run that can be driven is driven on this
// host if it has capacity, and is left to the queue otherwise. The provider call of a
// run that has ended is interrupted.
func (s *session) append(ctx context.Context, after rules.Run, events []rules.Event) error {
	if len(s.run.Waits) > 1 {
		defer s.runner.LookAgain(s.ref)
	}
	if callInFlight(s.run, after) {
		_, err := s.save(ctx, after, events, lease{held: true, young: true})
		return err
	}
	var reserved *runner.Job
	interrupt := ends(s.run, after)
	if drivable(after.Task(s.now())) && !s.leaveNext(ctx, s.ref, after) {
		reserved = s.runner.Reserve(s.ref)
	}
	if _, err := s.save(ctx, after, events, lease{held: reserved != nil}); err != nil {
		s.runner.CancelReservation(reserved)
		return err
	}
	if interrupt {
		s.runner.Interrupt(s.ref)
	}
	if reserved != nil {
		j := &job{session: session{Engine: s.Engine, ref: s.ref}}
		if s.opt.Trace != nil {
			j.cause = ctx
		}
		if after.Size() <= largeRun { // a larger one is read again when a worker is free
			j.run, j.program = after, s.program
		}
		s.runner.Submit(reserved, func(r *runner.Job) {
			j.Job = r
			j.drive(callResult{})
		})
	}
	return nil
}

// callInFlight reports whether a change leaves the run waiting for the call of the
// same dispatch. The host that makes the call drives the run.
func callInFlight(before, after rules.Run) bool {
	return slices.ContainsFunc(after.Waits, func(w rules.Wait) bool {
		then, _ := before.WaitNumbered(w.Number)
		return w.Kind == rules.WaitResult && then.Kind == rules.WaitResult
	})
}

// canCall reports whether this host can make every call that a run waits for.
func (s *session) canCall(r *rules.Run) bool {
	_, err := s.lacksAny(s.ref.Tenant, r)
	return err == nil
}

// drivable reports whether there is something to do now.
func drivable(t rules.Task) bool {
	switch t.Kind {
	case rules.TaskCheck, rules.TaskPoll, rules.TaskRedispatch:
		return true
	case rules.TaskNone, rules.TaskWait:
	}
	return false
}
