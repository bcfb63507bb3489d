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
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
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

// reload reads the run of s from the store. The events of a cached run are not read again.
func (s *session) reload(ctx context.Context) error {
	release, err := s.admitRead(ctx)
	if err != nil {
		return err
	}
	defer release()
	run := s.cached(s.ref) // another call may have read it meanwhile
	events, err := s.store.Load(ctx, s.ref.Tenant, s.ref.Run, run.Seq)
	if err == nil && run.Seq > 0 && rules.Rewrites(events) {
		run = rules.Run{ID: s.ref.Run} // what the cache has of it was removed, or hidden
		events, err = s.store.Load(ctx, s.ref.Tenant, s.ref.Run, 0)
	}
	if err != nil {
		return err
	}
	s.run, s.fresh = s.fold(s.ref, run, events), true
	return nil
}

// load returns a run as the store has it: see reload.
func (e *Engine) load(ctx context.Context, ref verification.RunRef) (rules.Run, error) {
	s := &session{Engine: e, ref: ref}
	err := s.reload(ctx)
	return s.run, err
}

// cached returns a run as it was last read or changed, without history if it is not
// in the cache.
func (e *Engine) cached(ref verification.RunRef) rules.Run {
	run, ok := e.runs.Get(ref)
	if !ok {
		run.ID = ref.Run
	}
	return run
}

// fold returns run after events, and caches it. Of a restricted run it is what may be read: see rules.Shown.
func (e *Engine) fold(ref verification.RunRef, run rules.Run, events []rules.Event) rules.Run {
	if len(events) > 0 {
		if run.Seq == 0 {
			events = rules.Shown(events)
		}
		run = run.EvolveAll(events)
		e.remember(ref, run)
	}
	return run
}

// remember caches a run. Of a large run, the cache has only the ID: see knownLarge.
func (e *Engine) remember(ref verification.RunRef, run rules.Run) {
	if run.Size() > largeRun {
		run = rules.Run{ID: run.ID}
	}
	e.runs.Put(ref, run)
}

// knownLarge reports whether a run was large when this host last read or changed it.
func (e *Engine) knownLarge(ref verification.RunRef) bool {
	run, ok := e.runs.Get(ref)
	return ok && run.Seq == 0
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
		s.run = s.cached(s.ref)
	}
	stale := s.run.Seq == 0
	for range maxAttempts {
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

// decide decides c on the run of s. If that is expensive, it waits for a slot, until ctx ends.
func (s *session) decide(ctx context.Context, c rules.Command, now time.Time) ([]rules.Event, rules.Run, error) {
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
	if len(s.run.Beside) > 0 {
		defer s.runner.LookAgain(s.ref)
	}
	if callInFlight(s.run, after) {
		_, err := s.save(ctx, after, events, lease{held: true, young: true})
		return err
	}
	var reserved *runner.Job
	ends := after.Ended != "" && s.run.Ended == ""
	if drivable(after.Task(s.now())) && !s.leaveNext(s.ref, after) {
		reserved = s.runner.Reserve(s.ref)
	}
	if _, err := s.save(ctx, after, events, lease{held: reserved != nil}); err != nil {
		s.runner.CancelReservation(reserved)
		return err
	}
	if ends {
		s.runner.Interrupt(s.ref)
	}
	if reserved != nil {
		j := &job{session: session{Engine: s.Engine, ref: s.ref}}
		if after.Size() <= largeRun { // a larger one is read again when a worker is free
			j.run, j.program = after, s.program
		}
		s.runner.Submit(reserved, func(r *runner.Job) {
			j.Job = r
			s.drive(j, callResult{})
		})
	}
	return nil
}

// callInFlight reports whether a change leaves the run waiting for the call of the
// same dispatch. The host that makes the call drives the run.
func callInFlight(before, after rules.Run) bool {
	if len(before.Beside) == 0 && len(after.Beside) == 0 {
		return before.Wait.Kind == rules.WaitResult && after.Wait.Kind == rules.WaitResult && before.Wait.Number == after.Wait.Number
	}
	inFlight := func(w rules.Wait) bool {
		then, waits := before.FacingNumber(w.Number)
		return w.Kind == rules.WaitResult && waits && then.Wait.Kind == rules.WaitResult
	}
	return inFlight(after.Wait) || slices.ContainsFunc(after.Beside, inFlight)
}

// canCall reports whether this host can make every call that a run waits for.
func (s *session) canCall(r *rules.Run) bool {
	_, err := s.lacksAny(s.ref.Tenant, r)
	return err == nil
}

// lease says how a run is kept from other hosts while it is driven here.
type lease struct {
	held  bool // this host drives the run
	young bool // the lease in the queue need not be renewed yet
}

// save appends events and carries out the effects that this host can; s then has
// the run after them. A run that is driven here keeps its lease while it continues.
// historyOnly reports that the append changed neither the summary nor the queue.
func (s *session) save(
	ctx context.Context, after rules.Run, events []rules.Event, l lease,
) (historyOnly bool, err error) {
	now, before := s.now(), s.run
	c := store.NewCommit(before, after, events, s.location(after.Started.Zone))
	c.Summary = s.withBrief(c.Summary, after)
	c.Keys = s.commitKeys(after, events)
	c.Audit = auditOf(ctx, s.ref, before.Seq, events)
	ends := after.Ended != "" && before.Ended == ""
	further := rules.NoticesOf(s.program.Version.Definition, before.Seq, events)
	announce := false
	announced := 0
	if announce, c.WorkflowRevision = s.announces(ctx, ends || len(further) > 0); announce {
		if ends {
			further = append(further, 0)
		}
		for _, seq := range further {
			c.Work[store.WorkKey{Kind: store.WorkAnnounce, Seq: seq}] = now
		}
		announced = len(further)
		if after.Ended != "" {
			c.Hold = s.runner.Keeps(now, now)
		}
	}
	recheck := needsRecheck(before, after)
	if recheck {
		c.Work[store.WorkKey{Kind: store.WorkRecheck}] = now
	}
	unused := s.keepsDocuments() && len(before.Dropped(after)) > 0
	if unused {
		c.Work[store.WorkKey{Kind: store.WorkErase}] = now.Add(unusedFor)
	}
	if !after.RedactedAt.IsZero() { // the notes of a verdict are new data
		c.Work[store.WorkKey{Kind: store.WorkRetain}] = now.Add(retainAgain)
	}
	advance := store.WorkKey{Kind: store.WorkAdvance}
	switch task := after.Task(now); {
	case task.Kind == rules.TaskWait:
		c.Work[advance], c.Hold = task.At, s.runner.Keeps(task.At, now)
	case drivable(task) && l.held && s.canCall(&after):
		c.Work[advance], c.Hold = now.Add(s.opt.Lease), store.Leased
		if l.young && announced == 0 && c.Keys == nil && !recheck && !unused && before.Summary() == c.Summary {
			c.Work, historyOnly = nil, true
		}
	case drivable(task):
		c.Work[advance] = now
	}
	if err := s.store.Append(ctx, s.ref.Tenant, s.ref.Run, before.Seq, c); err != nil {
		if c.WorkflowRevision != 0 { // it may have changed
			s.workflows.Delete(workflowKey{s.ref.Tenant, after.Started.Workflow})
		}
		return false, err
	}
	s.run, s.fresh = after, true
	s.remember(s.ref, after)
	s.lines.reportFailures(s.ref, &before, events)
	// The names of reviewers are kept from metrics.
	counted, named := c.Measures, func(m store.Measure) bool { return m.Name == store.MeasureVerdictBy }
	if slices.ContainsFunc(counted, named) {
		counted = slices.DeleteFunc(slices.Clone(counted), named)
	}
	if len(counted) > 0 {
		s.opt.Observer.Counted(counted)
	}
	if atRest(after) {
		s.watch.wake(s.ref)
	}
	for key, at := range c.Work { // the loop wakes up for it
		s.runner.Due(key.Kind, at)
	}
	return historyOnly, nil
}

// withBrief returns a summary of a run with what the review queue shows of its person.
func (s *session) withBrief(summary rules.Summary, run rules.Run) rules.Summary {
	if summary.Review != nil {
		review := summary.Review.WithBrief(facts.BriefOf(s.program, run))
		summary.Review = &review
	}
	return summary
}

// announces reports whether a client is to be notified of a commit that ends the run, or has
// other events of which the workflow asks for notices. When that cannot be determined now, or may change before the caller's transaction commits,
// it is determined when the notice is sent. It also returns the revision of the
// workflow that the commit depends on, or 0.
func (s *session) announces(ctx context.Context, asked bool) (yes bool, revision int) {
	asked = asked && s.ports.Notifier != nil
	w, err := workflow.Workflow{}, error(nil)
	switch {
	case s.run.Seq == 0:
		w = s.workflow
	case asked && !s.external:
		w, _, err = s.Engine.workflow(ctx, workflowKey{s.ref.Tenant, s.run.Started.Workflow})
	}
	return asked && (s.external || err != nil || w.LifecycleWebhookURL != ""), w.Revision
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
