// Workflows: list, read, set the webhook.

package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

func (a *api) listWorkflows(w *response, r *http.Request, who caller) error {
	p := &params{query: r.URL.RawQuery}
	q := p.page()
	p.only(pageParams()...)
	if p.err != nil {
		return p.err
	}
	page, err := a.engine.Workflows(r.Context(), who.tenant, q)
	if err != nil {
		return err
	}
	return a.write(w, http.StatusOK, apitypes.NewPage(page, apitypes.NewWorkflow))
}

func (a *api) readWorkflow(w *response, r *http.Request, who caller) error {
	id, _ := verification.ParseWorkflowID(pathParam(r, "id")) // an invalid id has no workflow
	d, err := a.engine.Workflow(r.Context(), who.tenant, id)
	if err != nil {
		return err
	}
	return a.write(w, http.StatusOK, apitypes.WorkflowDetail{Workflow: apitypes.NewWorkflow(d.Workflow), Steps: d.Checks})
}

// setWebhook sets the lifecycle webhook of a workflow that has none.
func (a *api) setWebhook(w *response, r *http.Request, who caller) error {
	var b webhookBody
	problems, err := a.body(w, r, who, &b)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return badFields(problems)
	}
	id, _ := verification.ParseWorkflowID(pathParam(r, "id")) // an invalid id has no workflow
	changed, err := a.engine.SetWebhook(context.WithoutCancel(r.Context()), who.tenant, id, b.LifecycleWebhookURL)
	switch {
	case errors.Is(err, workflow.ErrHasWebhook):
		return errHasWebhook
	case err != nil:
		return err
	}
	return a.write(w, http.StatusOK, apitypes.NewWorkflow(changed))
}
