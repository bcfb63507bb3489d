// Starts: one run for each idempotency key.

package engine

import (
	"context"
	"errors"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// StartRequest is a request to start a run.
type StartRequest struct {
	// ReferenceID is the client's name for the person: 1 to 255 characters.
	ReferenceID string `json:"reference_id"`
	// Input is the input of the workflow.
	Input verification.Data `json:"input,omitempty"`
	// RedirectURI must be in the tenant's allowlist; empty for none.
	RedirectURI string `json:"redirect_uri,omitempty"`
	// IdempotencyKey makes repetitions of the request within 24 hours return the
	// same run; empty for none.
	IdempotencyKey string `json:"-"`
	// Wait is how long to wait for the run to park or end. With nil, a start of an
	// interactive workflow waits for Options.StartWait, and any other does not wait.
	Wait *time.Duration `json:"-"`
}

// Start begins a run. Once the run is saved it stays, even if ctx ends while Start
// waits.
//
// Errors: ErrInvalid naming the fields, ErrNotFound for the workflow,
// ErrConflict when it has no version, or the run of the idempotency key was deleted, ErrRetired when it is retired, ErrKeyReused and ErrInFlight for the
// idempotency key.
func (e *Engine) Start(ctx context.Context, t verification.TenantID, id verification.WorkflowID, r StartRequest) (rules.RunView, error) {
	if err := verification.ValidateTenantID(t); err != nil {
		return rules.RunView{}, err
	}
	w, fresh, err := e.workflow(ctx, workflowKey{t, id})
	if err != nil {
		return rules.RunView{}, err
	}
	begin := starting{e, t, r}
	run := verification.RunID(e.ports.NewID())
	var mine store.IdempotencyRecord
	if r.IdempotencyKey != "" {
		if mine, err = e.newRecord(store.ScopeStart, r.IdempotencyKey, string(run), startFingerprint{id, r}); err != nil {
			return rules.RunView{}, err
		}
		// A start that was accepted returns its run again, even if the present version
		// would refuse it.
		kept, err := tablesOf(e).IdempotencyRecord(ctx, t, mine.IdempotencyKey, mine.At)
		switch {
		case err == nil:
			if err := checkRepeat(kept, mine); err != nil {
				return rules.RunView{}, err
			}
			if v, found, err := begin.repeated(ctx, kept); found || err != nil {
				return v, err
			}
			mine.ID = kept.ID // its host stopped before it saved the run
		case !errors.Is(err, verification.ErrNotFound):
			return rules.RunView{}, err
		}
		run = verification.RunID(mine.ID)
	}
	for attempt := 1; ; attempt++ { // at most maxSaves
		v, err := begin.save(ctx, w, run, mine)
		changed := errors.Is(err, errWorkflowChanged)
		if err == nil || fresh && !changed || attempt == maxSaves {
			return v, err
		}
		e.workflows.Delete(workflowKey{t, id}) // a refusal on an old workflow does not count
		if w, fresh, err = e.workflow(ctx, workflowKey{t, id}); err != nil {
			return rules.RunView{}, err
		}
	}
}

// errWorkflowChanged is returned when the workflow of a start was changed before the
// run was saved.
var errWorkflowChanged = &verification.Error{
	Kind: verification.ErrUnavailable, Subject: "workflow", Message: "the workflow is being changed by too many requests at once",
}

// startFingerprint is what two starts have in common when they are the same request.
type startFingerprint struct {
	Workflow verification.WorkflowID
	StartRequest
}

// starting is a start of a run.
type starting struct {
	*Engine

	tenant  verification.TenantID
	request StartRequest
}

// save decides and saves the first events of a run, and waits as requested.
func (e starting) save(ctx context.Context, w workflow.Workflow, run verification.RunID, mine store.IdempotencyRecord) (rules.RunView, error) {
	t, r := e.tenant, e.request
	switch {
	case w.Retired:
		return rules.RunView{}, workflow.ErrRetired
	case w.Current() == "":
		return rules.RunView{}, verification.ConflictFor("workflow_without_version", "workflow", "the workflow has no version to run")
	}
	program, err := e.program(ctx, programKey{t, w.ID, w.Current()})
	if err != nil {
		return rules.RunView{}, err
	}
	s := &session{Engine: e.Engine, ref: verification.RunRef{Tenant: t, Run: run}, run: rules.Run{ID: run}, program: program, workflow: w}
	saved, err := s.admit(ctx, len(r.Input) > largeRun) // one large input of a tenant at a time, until it is saved
	if err != nil {
		return rules.RunView{}, err
	}
	defer saved()
	events, after, err := s.decideStart(ctx, r)
	if err != nil {
		return rules.RunView{}, err
	}
	if r.IdempotencyKey != "" {
		kept, err := tablesOf(e.Engine).ClaimIdempotencyKey(ctx, t, mine)
		if err != nil {
			return rules.RunView{}, err
		}
		if kept.ID != mine.ID { // another request claimed the key since it was looked up
			if err := checkRepeat(kept, mine); err != nil {
				return rules.RunView{}, err
			}
			saved()
			v, found, err := e.repeated(ctx, kept)
			if err == nil && !found {
				err = &verification.Error{Kind: verification.ErrUnavailable, Subject: "run"}
			}
			return v, err
		}
	}
	woken, unwatch := e.watch.add(s.ref)
	defer unwatch()
	err = s.append(context.WithoutCancel(ctx), after, events)
	saved()
	if errors.Is(err, verification.ErrConflict) { // the host that claimed the key first may have saved the run after all
		if err = s.reload(context.WithoutCancel(ctx)); errors.Is(err, verification.ErrNotFound) {
			err = errWorkflowChanged
		}
	}
	if err != nil {
		return rules.RunView{}, err
	}
	v, err := s.started(ctx, woken, r)
	if r.IdempotencyKey != "" {
		e.settle(context.WithoutCancel(ctx), t, mine)
	}
	return v, err
}

func (s *session) decideStart(ctx context.Context, r StartRequest) ([]rules.Event, rules.Run, error) {
	start := rules.Start{ReferenceID: r.ReferenceID, Input: r.Input, RedirectURI: r.RedirectURI}
	var err error
	if r.RedirectURI == "" {
		if start.Zone, err = s.zone(ctx, s.ref.Tenant); err != nil {
			return nil, s.run, err
		}
		return s.decide(ctx, start, s.now())
	}
	tenant, err := s.tenantOfStart(ctx, s.ref.Tenant) // its allowlist is of now
	if err != nil {
		return nil, s.run, err
	}
	start.Zone = tenant.Zone
	events, after, err := s.decide(ctx, start, s.now())
	return events, after, joinFields(err, tenant.ValidateRedirect(r.RedirectURI))
}

// joinFields returns one error with the fields of both.
func joinFields(a, b error) error {
	var one, other *verification.Error
	if !errors.As(a, &one) || !errors.As(b, &other) {
		return errors.Join(a, b)
	}
	joined := *one
	joined.Fields = append(one.Fields[:len(one.Fields):len(one.Fields)], other.Fields...)
	return &joined
}

// errRunDeleted is the ErrConflict for the repetition of a start whose run was deleted since.
func errRunDeleted() error {
	return verification.ConflictFor("run_deleted", "run", "the run that was started with this idempotency key was deleted; use another key to start another run")
}

// repeated returns the run of an earlier request with the same key. found is false
// when that run was never saved.
func (e starting) repeated(ctx context.Context, kept store.IdempotencyRecord) (v rules.RunView, found bool, err error) {
	s := &session{Engine: e.Engine, ref: verification.RunRef{Tenant: e.tenant, Run: verification.RunID(kept.ID)}}
	woken, unwatch := e.watch.add(s.ref)
	defer unwatch()
	err = s.reload(ctx)
	switch {
	case errors.Is(err, verification.ErrNotFound) && kept.Settled:
		return rules.RunView{}, true, errRunDeleted()
	case errors.Is(err, verification.ErrNotFound):
		return rules.RunView{}, false, nil
	case err == nil:
		err = s.loadProgram(ctx)
	}
	if err != nil {
		return rules.RunView{}, true, err
	}
	v, err = s.started(ctx, woken, e.request)
	return v, true, err
}

// started waits as requested until the run comes to rest, and returns it.
func (s *session) started(ctx context.Context, woken <-chan struct{}, r StartRequest) (rules.RunView, error) {
	s.run = s.awaitRest(ctx, s.ref, woken, s.run, r.waitFor(s.program, s.opt.StartWait))
	if err := s.expireIfOverdue(context.WithoutCancel(ctx)); err != nil {
		return rules.RunView{}, err
	}
	return s.view()
}

// waitFor returns how long a start waits for its run.
func (r StartRequest) waitFor(p workflow.Program, byDefault time.Duration) time.Duration {
	switch {
	case r.Wait != nil:
		return *r.Wait
	case p.Version.Definition.Interactive():
		return byDefault
	}
	return 0
}
