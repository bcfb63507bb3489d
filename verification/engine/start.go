// Starts: once for each idempotency key, and answered when there is something to say.

package engine

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
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
	var mine claim
	if r.IdempotencyKey != "" {
		if mine, err = fingerprinted(id, run, r, e.now()); err != nil {
			return verification.RunView{}, err
		}
		// A start that was accepted answers again, whatever the rules are now.
		kept, err := e.ports.StartKeys.FindStart(ctx, t, r.IdempotencyKey, e.now())
		switch {
		case err == nil:
			if run, err = mine.standFor(kept); err != nil {
				return verification.RunView{}, err
			}
			if v, err := e.started(ctx, t, run); !errors.Is(err, verification.ErrNotFound) {
				return v, err
			}
			// The host that claimed the key went away before it saved the run.
		case !errors.Is(err, verification.ErrNotFound):
			return verification.RunView{}, err
		}
	}
	return e.begin(ctx, t, w, run, mine, r)
}

// begin decides and saves the first events of a run, and waits as asked.
func (e *Engine) begin(
	ctx context.Context, t verification.TenantID, w verification.Workflow, run verification.RunID, mine claim, r StartRequest,
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
	none := verification.Run{ID: run}
	events, after, err := e.decideStart(ctx, t, program, none, r)
	if err != nil {
		return verification.RunView{}, err
	}
	if r.IdempotencyKey != "" {
		kept, err := e.ports.StartKeys.ClaimStart(ctx, t, r.IdempotencyKey, verification.StartClaim(mine))
		if err != nil {
			return verification.RunView{}, err
		}
		if kept.Run != run { // another request came first since the key was looked up
			_, err := mine.standFor(kept)
			if err == nil {
				return e.started(ctx, t, kept.Run)
			}
			return verification.RunView{}, err
		}
	}
	ref := verification.RunRef{Tenant: t, Run: run}
	woken, unwatch := e.watch.add(ref)
	defer unwatch()
	err = e.append(context.WithoutCancel(ctx), ref, none, after, events, program)
	if errors.Is(err, verification.ErrConflict) { // the host that claimed the key before has saved it after all
		after, err = e.load(context.WithoutCancel(ctx), ref)
	}
	if err != nil {
		return verification.RunView{}, err
	}
	after = e.awaitRest(ctx, ref, woken, after, e.startWait(r, program))
	if r.IdempotencyKey != "" {
		if err := e.ports.StartKeys.SettleStart(context.WithoutCancel(ctx), t, r.IdempotencyKey, run); err != nil {
			e.log.Error("idempotency key not settled", "run", run, "tenant", t, "error", err)
		}
	}
	if now := e.now(); !overdue(after, now) {
		return e.view(t, after, now)
	}
	return e.started(ctx, t, run)
}

func (e *Engine) decideStart(
	ctx context.Context, t verification.TenantID, p verification.Program, run verification.Run, r StartRequest,
) ([]verification.Event, verification.Run, error) {
	events, after, err := verification.DecideAndFold(p, run, verification.Start{
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

// claim is what a start would have its idempotency key stand for.
type claim verification.StartClaim

func fingerprinted(w verification.WorkflowID, run verification.RunID, r StartRequest, now time.Time) (claim, error) {
	raw, err := json.Marshal(struct {
		Workflow verification.WorkflowID
		StartRequest
	}{w, r})
	if err != nil {
		return claim{}, fmt.Errorf("fingerprint the start: %w", err)
	}
	return claim{Fingerprint: fmt.Sprintf("%x", sha256.Sum256(raw)), Run: run, At: now}, nil
}

// standFor tells which run the key stands for already, or why the start is
// refused.
func (c claim) standFor(kept verification.StartClaim) (verification.RunID, error) {
	switch {
	case kept.Fingerprint != c.Fingerprint:
		return "", &verification.Error{
			Kind: verification.ErrKeyReused, Subject: "run",
			Message: "the idempotency key was used with another request",
		}
	case !kept.Settled && c.At.Sub(kept.At) < verification.StartKeyFlight:
		return "", &verification.Error{
			Kind: verification.ErrInFlight, Subject: "run",
			Message: "the first request with this idempotency key has not been answered yet",
		}
	}
	return kept.Run, nil
}

func (e *Engine) started(ctx context.Context, t verification.TenantID, id verification.RunID) (verification.RunView, error) {
	run, now, err := e.seen(ctx, verification.RunRef{Tenant: t, Run: id})
	if err != nil {
		return verification.RunView{}, err
	}
	return e.view(t, run, now)
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
