// Workflows: list, read, set the webhook, apply and publish versions.

package engine

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/verifyd/verifyd/verification"
)

// WorkflowDetail is a workflow with the checks that its runs can produce.
type WorkflowDetail struct {
	verification.Workflow
	// Steps are of the version that a run would execute; empty, never nil.
	Steps []verification.WorkflowStep
}

// Applied is what applying a definition came to.
type Applied struct {
	Workflow verification.Workflow
	Changed  bool // something was saved
	NewHash  string
}

// saveTries bounds how often a change of a workflow is tried against others.
const saveTries = 10

// Workflows returns one page, newest first.
func (e *Engine) Workflows(ctx context.Context, t verification.TenantID, p verification.PageQuery) (verification.Page[verification.Workflow], error) {
	if err := p.Validate(); err != nil {
		return verification.Page[verification.Workflow]{}, err
	}
	return e.ports.Workflows.Workflows(ctx, t, p)
}

// Workflow returns one workflow, or ErrNotFound.
func (e *Engine) Workflow(ctx context.Context, t verification.TenantID, id verification.WorkflowID) (WorkflowDetail, error) {
	w, err := e.ports.Workflows.Workflow(ctx, t, id)
	if err != nil {
		return WorkflowDetail{}, err
	}
	d := WorkflowDetail{Workflow: w, Steps: []verification.WorkflowStep{}}
	if w.Current() == "" {
		return d, nil
	}
	p, err := e.program(ctx, programKey{t, id, w.Current()})
	if err != nil {
		return WorkflowDetail{}, err
	}
	d.Steps = p.Version.Definition.Steps()
	return d, nil
}

// SetWebhook sets the lifecycle webhook of a workflow that has none. A second
// set is ErrConflict; what is not an absolute http(s) URL is ErrInvalid.
func (e *Engine) SetWebhook(ctx context.Context, t verification.TenantID, id verification.WorkflowID, url string) (verification.Workflow, error) {
	return e.rewriteWorkflow(ctx, t, id, func(w verification.Workflow) (verification.Workflow, error) { return w.WithWebhook(url) })
}

// ClearWebhook takes the lifecycle webhook of a workflow away, so that the
// client can set another; ErrConflict when it has none. It is for operators.
func (e *Engine) ClearWebhook(ctx context.Context, t verification.TenantID, id verification.WorkflowID) (verification.Workflow, error) {
	return e.rewriteWorkflow(ctx, t, id, verification.Workflow.WithoutWebhook)
}

// rewriteWorkflow changes a workflow, against whoever changes it meanwhile.
func (e *Engine) rewriteWorkflow(
	ctx context.Context, t verification.TenantID, id verification.WorkflowID,
	change func(verification.Workflow) (verification.Workflow, error),
) (verification.Workflow, error) {
	for try := 1; ; try++ {
		w, err := e.ports.Workflows.Workflow(ctx, t, id)
		if err != nil {
			return verification.Workflow{}, err
		}
		next, err := change(w)
		if err != nil {
			return verification.Workflow{}, err
		}
		err = e.ports.Workflows.SaveWorkflow(ctx, t, next, nil)
		if err == nil || try == saveTries || !errors.Is(err, verification.ErrConflict) {
			return next, err
		}
	}
}

// Apply makes a definition a version of its workflow, creating the workflow
// when there is none. A definition that says nothing new changes nothing.
// ErrInvalid names every fault of the definition by its place.
func (e *Engine) Apply(ctx context.Context, t verification.TenantID, d verification.Definition) (Applied, error) {
	if d.ID == "" {
		d.ID = verification.DeriveWorkflowID(t, d.Workflow)
	}
	if id, err := verification.ParseWorkflowID(string(d.ID)); err == nil {
		d.ID = id
	}
	if _, err := verification.Compile(d.ID, verification.Version{Definition: d}, e.ports.Expressions, e.providers()); err != nil {
		return Applied{}, err
	}
	for try := 1; ; try++ {
		w, err := e.ports.Workflows.Workflow(ctx, t, d.ID)
		if err != nil && !errors.Is(err, verification.ErrNotFound) {
			return Applied{}, err
		}
		next, added, changed, err := w.Apply(d, e.now())
		if err != nil || !changed {
			return Applied{Workflow: w}, err
		}
		if added != nil {
			// What an earlier version says already is not kept twice.
			_, err := e.ports.Workflows.Version(ctx, t, d.ID, added.Hash)
			switch {
			case err == nil:
				added, next.Versions = nil, w.Versions
			case !errors.Is(err, verification.ErrNotFound):
				return Applied{}, err
			}
		}
		err = e.ports.Workflows.SaveWorkflow(ctx, t, next, added)
		if err == nil {
			return Applied{Workflow: next, Changed: true, NewHash: next.Latest}, nil
		}
		if try == saveTries || !errors.Is(err, verification.ErrConflict) {
			return Applied{}, err
		}
	}
}

// Publish makes an earlier version, by its hash, the one that runs execute.
func (e *Engine) Publish(ctx context.Context, t verification.TenantID, id verification.WorkflowID, hash string) (verification.Workflow, error) {
	for try := 1; ; try++ {
		w, err := e.ports.Workflows.Workflow(ctx, t, id)
		if err != nil {
			return verification.Workflow{}, err
		}
		v, err := e.ports.Workflows.Version(ctx, t, id, hash)
		if err != nil {
			return verification.Workflow{}, err
		}
		next, changed := w.Publish(v)
		if !changed {
			return w, nil
		}
		err = e.ports.Workflows.SaveWorkflow(ctx, t, next, nil)
		if err == nil || try == saveTries || !errors.Is(err, verification.ErrConflict) {
			return next, err
		}
	}
}

// providers returns the names of the registered providers in order. It is never
// nil, which would allow any provider.
func (e *Engine) providers() []string {
	names := slices.AppendSeq([]string{}, maps.Keys(e.ports.Providers))
	slices.Sort(names)
	return names
}

type programKey struct {
	tenant   verification.TenantID
	workflow verification.WorkflowID
	hash     string
}

// program is the runnable form of a version, compiled once.
func (e *Engine) program(ctx context.Context, key programKey) (verification.Program, error) {
	if p, ok := e.programs.get(key); ok {
		return p, nil
	}
	v, err := e.ports.Workflows.Version(ctx, key.tenant, key.workflow, key.hash)
	if err != nil {
		return verification.Program{}, err
	}
	p, err := verification.Restore(key.workflow, v, e.ports.Expressions)
	if err != nil {
		return verification.Program{}, err
	}
	e.programs.put(key, p)
	return p, nil
}
