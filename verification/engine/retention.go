// Retention: how long the data of runs is kept.

package engine

import (
	"context"
	"errors"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// policy returns the retention of the runs of a workflow, as it is stored now.
func (e *Engine) policy(ctx context.Context, t verification.TenantID, id verification.WorkflowID) (verification.Retention, error) {
	tenant, err := e.store.Tenant(ctx, t)
	if err != nil && !errors.Is(err, verification.ErrNotFound) {
		return verification.Retention{}, err
	}
	w, err := e.store.Workflow(ctx, t, id)
	if err != nil && !errors.Is(err, verification.ErrNotFound) {
		return verification.Retention{}, err
	}
	return tenant.Retention.Merge(w.Retention), nil
}

// KeptUntil returns until when a run of a workflow that started and ended at these times must be kept: see
// verification.Retention.KeepDays. It is zero if nothing says so.
func (e *Engine) KeptUntil(ctx context.Context, t verification.TenantID, w verification.WorkflowID, started, ended time.Time) (time.Time, error) {
	p, err := e.policy(ctx, t, w)
	return p.KeptUntil(started, ended), err
}

// keeps returns an ErrConflict with rules.ErrKept while a run that has ended must be kept.
func (e *Engine) keeps(ctx context.Context, t verification.TenantID, r rules.Run) error {
	until, err := e.KeptUntil(ctx, t, r.Started.Workflow, r.StartedAt, r.CompletedAt)
	if err != nil || !until.After(e.now()) {
		return err
	}
	return &verification.Error{
		Kind: verification.ErrConflict, Subject: "run", Reason: "run_kept", Cause: rules.ErrKept,
		Message: "must be kept until " + until.UTC().Format(time.DateOnly) + " (keep_days); it can be restricted instead",
	}
}

// fitsTenant returns ErrInvalid if the retention of a definition and that of the tenant do not fit: then something
// would be removed within the larger minimum.
func (e *Engine) fitsTenant(ctx context.Context, t verification.TenantID, d workflow.Definition) error {
	if d.Retention == (verification.Retention{}) {
		return nil
	}
	tenant, err := e.store.Tenant(ctx, t)
	if err != nil && !errors.Is(err, verification.ErrNotFound) {
		return err
	}
	problems := tenant.Retention.Merge(d.Retention).Problems()
	if len(problems) == 0 {
		return nil
	}
	for i := range problems {
		problems[i].Name = "retention." + problems[i].Name
		problems[i].Message += " (of the tenant and the workflow together)"
	}
	return &verification.Error{Kind: verification.ErrInvalid, Subject: "workflow", Fields: problems}
}
