// Workflows: list, read, set the webhook, apply and publish versions.

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/verifyd/verifyd/internal/lru"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// WorkflowDetail is a workflow with the checks of its runs.
type WorkflowDetail struct {
	workflow.Workflow
	// Checks are the checks of the version that a new run would execute; never nil.
	Checks []workflow.CheckInfo
}

// Applied is the result of applying a definition.
type Applied struct {
	Workflow workflow.Workflow
	Changed  bool // the workflow or its versions changed
	// WebhookReplaced reports whether the definition has replaced the lifecycle webhook of an earlier one.
	WebhookReplaced bool
	// Warnings say what may be wrong in the definition: see workflow.Program.Warnings.
	Warnings []verification.FieldError
}

// maxSaves bounds the attempts to change a workflow that other requests change, too.
const maxSaves = 10

// Workflows returns one page of the workflows, newest first.
func (e *Engine) Workflows(ctx context.Context, t verification.TenantID, p store.PageQuery) (store.Page[workflow.Workflow], error) {
	if err := p.Validate(); err != nil {
		return store.Page[workflow.Workflow]{}, err
	}
	return e.ports.Store.Workflows(ctx, t, p)
}

// Workflow returns one workflow, or ErrNotFound.
func (e *Engine) Workflow(ctx context.Context, t verification.TenantID, id verification.WorkflowID) (WorkflowDetail, error) {
	w, err := e.store.Workflow(ctx, t, id)
	if err != nil {
		return WorkflowDetail{}, err
	}
	d := WorkflowDetail{Workflow: w, Checks: []workflow.CheckInfo{}}
	if w.Current() == "" {
		return d, nil
	}
	p, err := e.program(ctx, programKey{t, id, w.Current()})
	if err != nil {
		return WorkflowDetail{}, err
	}
	d.Checks = p.Version.Definition.Checks()
	return d, nil
}

// Versions returns one page of the versions of a workflow, newest first. ErrNotFound is
// returned if there is no such workflow.
func (e *Engine) Versions(
	ctx context.Context, t verification.TenantID, id verification.WorkflowID, p store.PageQuery,
) (store.Page[workflow.VersionInfo], error) {
	if err := p.Validate(); err != nil {
		return store.Page[workflow.VersionInfo]{}, err
	}
	page, err := e.ports.Store.Versions(ctx, t, id, p)
	if err == nil && page.Total == 0 {
		_, err = e.store.Workflow(ctx, t, id)
	}
	return page, err
}

// Version returns a version of a workflow with its definition, or ErrNotFound.
func (e *Engine) Version(ctx context.Context, t verification.TenantID, id verification.WorkflowID, hash string) (workflow.Version, error) {
	p, err := e.program(ctx, programKey{t, id, hash})
	return p.Version, err
}

// SetWebhook sets the lifecycle webhook of a workflow. ErrHasWebhook is returned when
// it has one, ErrInvalid when ValidateWebhookURL refuses url, even if there is no such
// workflow.
func (e *Engine) SetWebhook(ctx context.Context, t verification.TenantID, id verification.WorkflowID, url string) (workflow.Workflow, error) {
	w, err := e.rewriteWorkflow(ctx, t, id, store.AuditWorkflowSaved, func(w workflow.Workflow) (workflow.Workflow, error) { return w.WithWebhook(url) })
	if errors.Is(err, verification.ErrNotFound) {
		err = cmp.Or(workflow.ValidateWebhookURL(url), err)
	}
	return w, err
}

// ClearWebhook removes the lifecycle webhook of a workflow, so that the client can
// set another. ErrConflict is returned when it has none. ClearWebhook is for operators:
// the API can only add a webhook.
func (e *Engine) ClearWebhook(ctx context.Context, t verification.TenantID, id verification.WorkflowID) (workflow.Workflow, error) {
	return e.rewriteWorkflow(ctx, t, id, store.AuditWorkflowSaved, workflow.Workflow.WithoutWebhook)
}

// rewriteWorkflow changes a workflow that other requests may change, too.
func (e *Engine) rewriteWorkflow(
	ctx context.Context, t verification.TenantID, id verification.WorkflowID, action store.AuditAction,
	change func(workflow.Workflow) (workflow.Workflow, error),
) (workflow.Workflow, error) {
	for attempt := 1; ; attempt++ { // at most maxSaves
		w, err := e.store.Workflow(ctx, t, id)
		if err != nil {
			return workflow.Workflow{}, err
		}
		next, err := change(w)
		if err != nil || next == w {
			return next, err
		}
		err = e.ports.Store.SaveWorkflow(ctx, t, next, nil)
		if err == nil {
			err = e.auditWorkflow(ctx, t, id, action)
		}
		if err == nil || attempt == maxSaves || !errors.Is(err, verification.ErrConflict) {
			return next, err
		}
	}
}

// auditWorkflow records that a workflow was changed.
func (e *Engine) auditWorkflow(ctx context.Context, t verification.TenantID, id verification.WorkflowID, action store.AuditAction) error {
	return e.audit(ctx, store.AuditEntry{Tenant: t, Action: action, Subject: string(id)})
}

// Apply makes a definition the latest version of its workflow, and creates the
// workflow if necessary. A definition equal to the latest one changes nothing.
// ErrInvalid lists every problem of the definition with its path; what was no problem when a version was stored is a warning
// for a definition that equals it. ErrConflict is returned
// when the workflow takes no more versions, or the tenant no more workflows.
func (e *Engine) Apply(ctx context.Context, t verification.TenantID, d workflow.Definition) (Applied, error) {
	if err := verification.ValidateTenantID(t); err != nil {
		return Applied{}, err
	}
	if d.ID == "" {
		d.ID = workflow.DeriveWorkflowID(t, d.Workflow)
	}
	if id, err := verification.ParseWorkflowID(string(d.ID)); err == nil {
		d.ID = id
	}
	version := workflow.Version{Definition: d}
	providers := e.providers(t)
	names := slices.AppendSeq([]string{}, maps.Keys(providers)) // nil would allow any provider
	slices.Sort(names)
	described := workflow.Descriptions(providers)
	for name := range e.ports.TenantProviders[t] { // only providers of all tenants screen completed runs again
		own := described[name]
		own.Rescreens = false
		described[name] = own
	}
	program, err := workflow.Compile(ctx, d.ID, version, e.ports.Expressions, names, described)
	if errors.Is(err, verification.ErrInvalid) {
		version.Hash = d.VersionHash()
		if _, missing := e.store.Version(ctx, t, d.ID, version.Hash); missing == nil {
			program, err = workflow.Compile(ctx, d.ID, version, e.ports.Expressions, names, described)
		}
	}
	if err != nil {
		return Applied{Warnings: program.Warnings()}, err
	}
	if err := e.fitsTenant(ctx, t, d); err != nil {
		return Applied{Warnings: program.Warnings()}, err
	}
	refused, warnings := e.earlierProblems(t, program)
	warnings = slices.Concat(program.Warnings(), warnings)
	for attempt := 1; ; attempt++ { // at most maxSaves
		w, err := e.store.Workflow(ctx, t, d.ID)
		if err != nil && !errors.Is(err, verification.ErrNotFound) {
			return Applied{}, err
		}
		next, added, changed, err := w.Apply(d, e.now())
		if err != nil || !changed {
			return Applied{Workflow: w, Warnings: slices.Concat(warnings, refused)}, err
		}
		if added != nil {
			// A version equal to an earlier one is not saved again.
			_, err := e.store.Version(ctx, t, d.ID, added.Hash)
			switch {
			case err == nil:
				added, next.Versions = nil, w.Versions
				warnings, refused = slices.Concat(warnings, refused), nil // an unchanged file still loads
			case !errors.Is(err, verification.ErrNotFound):
				return Applied{}, err
			case len(refused) > 0:
				return Applied{Warnings: warnings}, &verification.Error{
					Kind: verification.ErrInvalid, Subject: "workflow", Message: "the definition is not valid", Fields: refused,
				}
			default:
				if err := e.roomFor(ctx, t, w); err != nil {
					return Applied{Warnings: warnings}, err
				}
			}
		}
		replaced := w.LifecycleWebhookURL != "" && w.LifecycleWebhookURL != next.LifecycleWebhookURL
		if replaced {
			moved, err := e.movedNotices(ctx, t, w.LifecycleWebhookURL)
			if err != nil {
				return Applied{}, err
			}
			warnings = slices.Concat(warnings, moved)
		}
		err = e.ports.Store.SaveWorkflow(ctx, t, next, added)
		if err == nil {
			err = e.auditWorkflow(ctx, t, d.ID, store.AuditWorkflowSaved)
		}
		if err == nil {
			return Applied{Workflow: next, Changed: true, WebhookReplaced: replaced, Warnings: slices.Concat(warnings, refused)}, nil
		}
		if attempt == maxSaves || !errors.Is(err, verification.ErrConflict) {
			return Applied{}, err
		}
	}
}

// maxMoved bounds the notices that movedNotices reads.
const maxMoved = 2000

// movedNotices returns a warning if notices wait that a lifecycle webhook which is replaced did not accept.
func (e *Engine) movedNotices(ctx context.Context, t verification.TenantID, url string) ([]verification.FieldError, error) {
	waiting, more := 0, ""
	for q := (store.PageQuery{Limit: store.MaxLimit}); ; {
		page, err := tablesOf(e).Deliveries(ctx, t, rules.DeliveryPending, q)
		if err != nil {
			return nil, err
		}
		for _, d := range page.Data {
			if d.URL == url {
				waiting++
			}
		}
		if q.Offset += len(page.Data); len(page.Data) == 0 || q.Offset >= page.Total {
			break
		}
		if q.Offset >= maxMoved {
			more = " or more"
			break
		}
	}
	if waiting == 0 {
		return nil, nil
	}
	return []verification.FieldError{{
		Name: "lifecycle_webhook_url", Message: fmt.Sprintf("notices that the earlier one has not accepted yet go to this one: %d%s", waiting, more),
	}}, nil
}

// On returns an engine with the ports and options of e on another store, for Apply. It drives no runs.
func (e *Engine) On(s store.Store) *Engine {
	other := *e
	other.ports.Store, other.store, other.runner = s, wholeOf(s), nil
	return &other
}

// roomFor returns ErrConflict if a workflow takes no more versions, or, if there is no such
// workflow yet, its tenant takes no more workflows.
func (e *Engine) roomFor(ctx context.Context, t verification.TenantID, w workflow.Workflow) error {
	if w.Revision > 0 {
		return w.RoomForVersion()
	}
	page, err := e.ports.Store.Workflows(ctx, t, store.PageQuery{Limit: 1})
	if err != nil {
		return err
	}
	return workflow.RoomForWorkflow(page.Total)
}

// Publish makes the version with a hash the one that new runs execute. ErrNotFound is
// returned if there is no such workflow or version.
func (e *Engine) Publish(ctx context.Context, t verification.TenantID, id verification.WorkflowID, hash string) (workflow.Workflow, error) {
	return e.rewriteWorkflow(ctx, t, id, store.AuditWorkflowPublished, func(w workflow.Workflow) (workflow.Workflow, error) {
		v, err := e.store.Version(ctx, t, id, hash)
		if err != nil {
			return w, err
		}
		next, _ := w.Publish(v)
		return next, nil
	})
}

// Retire makes a workflow retired, so that it takes no new runs, or, if retired is false,
// makes it take runs again. Runs that have started go on.
func (e *Engine) Retire(ctx context.Context, t verification.TenantID, id verification.WorkflowID, retired bool) (workflow.Workflow, error) {
	return e.rewriteWorkflow(ctx, t, id, store.AuditWorkflowRetired, func(w workflow.Workflow) (workflow.Workflow, error) { return w.Retire(retired), nil })
}

// provider returns a provider of a tenant by its name, nil if there is none. own
// reports whether it belongs to this tenant alone.
func (e *Engine) provider(t verification.TenantID, name string) (p verification.Provider, own bool) {
	if p, own = e.ports.TenantProviders[t][name]; own {
		return p, true
	}
	return e.ports.Providers[name], false
}

// providers returns the providers of a tenant by their names; its own come before
// those of all tenants.
func (e *Engine) providers(t verification.TenantID) map[string]verification.Provider {
	all := map[string]verification.Provider{}
	maps.Copy(all, e.ports.Providers)
	maps.Copy(all, e.ports.TenantProviders[t])
	return all
}

type workflowKey struct {
	tenant verification.TenantID
	id     verification.WorkflowID
}

// maxWorkflows bounds the workflows in memory.
const maxWorkflows = 10_000

func newWorkflowCache() *lru.Cache[workflowKey, workflow.Workflow] {
	return lru.New[workflowKey](maxWorkflows, 1, func(workflow.Workflow) int { return 1 })
}

// workflow returns a workflow as it was last read, for a commit that names its
// revision. fresh reports that it was read now.
func (e *Engine) workflow(ctx context.Context, key workflowKey) (w workflow.Workflow, fresh bool, err error) {
	if w, ok := e.workflows.Get(key); ok {
		return w, false, nil
	}
	if w, err = e.store.Workflow(ctx, key.tenant, key.id); err == nil {
		e.workflows.Put(key, w)
	}
	return w, true, err
}

type programKey struct {
	tenant   verification.TenantID
	workflow verification.WorkflowID
	hash     string
}

// program returns a compiled version.
func (e *Engine) program(ctx context.Context, key programKey) (workflow.Program, error) {
	if p, ok := e.programs.Get(key); ok {
		return p, nil
	}
	v, err := e.store.Version(ctx, key.tenant, key.workflow, key.hash)
	if err != nil {
		return workflow.Program{}, err
	}
	if v.Definition.VersionHash() != key.hash { // decoding has dropped what this build does not know
		return workflow.Program{}, &verification.Error{
			Kind: verification.ErrUnavailable, Subject: "workflow", Message: "this host does not know a part of the version; another host may",
			Cause: verification.Lacking(errors.New("this build does not know a part of version " + key.hash + " of workflow " + string(key.workflow))),
		}
	}
	p, err := workflow.Restore(key.workflow, v, e.ports.Expressions, e.Describer(key.tenant))
	if err != nil {
		return workflow.Program{}, err
	}
	e.programs.Put(key, p)
	return p, nil
}
