// Starts: once for each idempotency key, and answered when there is something to say.

package engine

import (
	"context"
	"errors"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// StartRequest asks for a run.
type StartRequest struct {
	// ReferenceID is the client's name for the person: 1 to 255 characters.
	ReferenceID string `json:"reference_id"`
	// Input is what the workflow is started with.
	Input verification.Data `json:"input,omitempty"`
	// RedirectURI must be in the tenant's allowlist; empty for none.
	RedirectURI string `json:"redirect_uri,omitempty"`
	// IdempotencyKey makes the same request start one run alone, for 24 hours;
	// empty for none.
	IdempotencyKey string `json:"-"`
	// Wait is how long to wait for the run to park or end; nil leaves it to
	// the workflow: an interactive one waits for Options.StartWait, any other
	// not at all.
	Wait *time.Duration `json:"-"`
}

// watchEvery is how often a start that waits looks at the store, in case
// another host does the work.
const watchEvery = 100 * time.Millisecond

// Start begins a run. It is accepted once it is saved: a caller that goes away
// while it waits does not undo it.
//
// Errors: ErrInvalid naming the fields, ErrNotFound for the workflow,
// ErrConflict when it has no version, ErrKeyReused and ErrInFlight for the
// idempotency key.
func (e *Engine) Start(ctx context.Context, t verification.TenantID, id verification.WorkflowID, r StartRequest) (verification.RunView, error) {
	w, err := e.ports.Workflows.Workflow(ctx, t, id)
	if err != nil {
		return verification.RunView{}, err
	}
	run := verification.RunID(e.ports.NewID())
	var mine verification.IdempotencyRecord
	if r.IdempotencyKey != "" {
		if mine, err = e.newRecord(verification.ScopeStart, r.IdempotencyKey, string(run), startOf{id, r}); err != nil {
			return verification.RunView{}, err
		}
		// A start that was accepted is answered again, whatever the rules are now.
		kept, err := e.ports.Idempotency.IdempotencyRecord(ctx, t, mine.IdempotencyKey, mine.At)
		switch {
		case err == nil:
			if err := takeOver(kept, mine); err != nil {
				return verification.RunView{}, err
			}
			if v, saved, err := e.startedBefore(ctx, t, kept, r); saved || err != nil {
				return v, err
			}
			mine.ID = kept.ID // its host went away before it saved the run
		case !errors.Is(err, verification.ErrNotFound):
			return verification.RunView{}, err
		}
		run = verification.RunID(mine.ID)
	}
	return e.begin(ctx, t, w, run, mine, r)
}

// startOf is what has to be the same for a start to be the same request.
type startOf struct {
	Workflow verification.WorkflowID
	StartRequest
}

// begin decides and saves the first events of a run, and waits as asked.
func (e *Engine) begin(
	ctx context.Context, t verification.TenantID, w verification.Workflow, run verification.RunID,
	mine verification.IdempotencyRecord, r StartRequest,
) (verification.RunView, error) {
	if w.Current() == "" {
		return verification.RunView{}, &verification.Error{
			Kind: verification.ErrConflict, Subject: "workflow",
			Message: "the workflow has no version to run",
		}
	}
	program, err := e.program(ctx, programKey{t, w.ID, w.Current()})
	if err != nil {
		return verification.RunView{}, err
	}
	saved := func() {}
	if len(r.Input) > heavyRun { // one of a tenant at a time, until it is saved
		release, err := e.heavy.Acquire(ctx, string(t))
		if err != nil {
			return verification.RunView{}, err
		}
		saved = release
		defer saved()
	}
	none := verification.Run{ID: run}
	events, after, err := e.decideStart(ctx, t, program, none, r)
	if err != nil {
		return verification.RunView{}, err
	}
	if r.IdempotencyKey != "" {
		kept, err := e.ports.Idempotency.ClaimIdempotencyKey(ctx, t, mine)
		if err != nil {
			return verification.RunView{}, err
		}
		if kept.ID != mine.ID { // another request came first since the key was looked up
			if err := takeOver(kept, mine); err != nil {
				return verification.RunView{}, err
			}
			saved()
			v, found, err := e.startedBefore(ctx, t, kept, r)
			if err == nil && !found {
				err = &verification.Error{Kind: verification.ErrUnavailable, Subject: "run"}
			}
			return v, err
		}
	}
	ref := verification.RunRef{Tenant: t, Run: run}
	woken, unwatch := e.watch.add(ref)
	defer unwatch()
	err = e.append(context.WithoutCancel(ctx), ref, none, after, events, program)
	saved()
	if errors.Is(err, verification.ErrConflict) { // the host that claimed the key before has saved it after all
		after, err = e.load(context.WithoutCancel(ctx), ref)
	}
	if err != nil {
		return verification.RunView{}, err
	}
	v, err := e.started(ctx, ref, woken, after, e.startWait(r, program))
	if r.IdempotencyKey != "" {
		e.settle(context.WithoutCancel(ctx), t, mine)
	}
	return v, err
}

func (e *Engine) decideStart(
	ctx context.Context, t verification.TenantID, p verification.Program, run verification.Run, r StartRequest,
) ([]verification.Event, verification.Run, error) {
	events, after, err := e.decide(ctx, t, p, run, verification.Start{
		ReferenceID: r.ReferenceID, Input: r.Input, RedirectURI: r.RedirectURI,
	}, e.now())
	if r.RedirectURI == "" {
		return events, after, err
	}
	tenant, found := e.ports.Tenants.Tenant(ctx, t)
	if found != nil {
		return nil, run, found
	}
	return events, after, joinFields(err, tenant.CheckRedirect(r.RedirectURI))
}

// joinFields tells the faults of both errors at once.
func joinFields(a, b error) error {
	var one, other *verification.Error
	if !errors.As(a, &one) || !errors.As(b, &other) {
		return errors.Join(a, b)
	}
	joined := *one
	joined.Fields = append(one.Fields[:len(one.Fields):len(one.Fields)], other.Fields...)
	return &joined
}

// startedBefore answers the start that a key stands for already, if its run was
// saved.
func (e *Engine) startedBefore(
	ctx context.Context, t verification.TenantID, kept verification.IdempotencyRecord, r StartRequest,
) (v verification.RunView, saved bool, err error) {
	ref := verification.RunRef{Tenant: t, Run: verification.RunID(kept.ID)}
	woken, unwatch := e.watch.add(ref)
	defer unwatch()
	run, err := e.load(ctx, ref)
	if errors.Is(err, verification.ErrNotFound) {
		return verification.RunView{}, false, nil
	}
	if err != nil {
		return verification.RunView{}, false, err
	}
	program, err := e.programOf(ctx, t, run)
	if err != nil {
		return verification.RunView{}, true, err
	}
	v, err = e.started(ctx, ref, woken, run, e.startWait(r, program))
	return v, true, err
}

// started waits until a run parks on a human or ends, or the time is over, and
// returns it as it reads then.
func (e *Engine) started(
	ctx context.Context, ref verification.RunRef, woken <-chan struct{}, run verification.Run, wait time.Duration,
) (verification.RunView, error) {
	run = e.awaitRest(ctx, ref, woken, run, wait)
	run, now, err := e.current(context.WithoutCancel(ctx), ref, run)
	if err != nil {
		return verification.RunView{}, err
	}
	return e.view(ref.Tenant, run, now)
}

func (e *Engine) startWait(r StartRequest, p verification.Program) time.Duration {
	switch {
	case r.Wait != nil:
		return *r.Wait
	case p.Version.Definition.Interactive():
		return e.opt.StartWait
	}
	return 0
}

// awaitRest waits until the run parks on a human or ends, or the time is over,
// and returns the run as it was seen last.
func (e *Engine) awaitRest(
	ctx context.Context, ref verification.RunRef, woken <-chan struct{}, run verification.Run, most time.Duration,
) verification.Run {
	if most <= 0 {
		return run
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	look := time.NewTicker(watchEvery)
	defer look.Stop()
	for !atRest(run) {
		select {
		case <-ctx.Done():
			return run
		case <-woken: // by this host, which has just saved it
			if saved, ok := e.runs.get(ref); ok && saved.Seq > run.Seq {
				run = saved
				continue
			}
		case <-look.C:
		}
		if fresh, err := e.load(ctx, ref); err == nil {
			run = fresh
		}
	}
	return run
}

func atRest(r verification.Run) bool {
	return r.Ended != "" || r.Wait.Kind == verification.WaitCustomer || r.Wait.Kind == verification.WaitReview
}
