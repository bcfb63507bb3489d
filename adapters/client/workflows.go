// Workflows.

package client

import (
	"context"
	"iter"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/verification"
)

// ListWorkflows returns one page of the tenant's workflows, newest first. limit is 1 to 200, and 0
// means 50; offset is the number of workflows to skip.
func (c *Client) ListWorkflows(ctx context.Context, limit, offset int) (apitypes.Page[apitypes.Workflow], error) {
	call := get("listWorkflows", "v1", "workflows")
	call.query = pageQuery(limit, offset)
	return read[apitypes.Page[apitypes.Workflow]](ctx, c, call)
}

// Workflows returns all workflows of the tenant, newest first, each once. It ends with the first
// error. Workflows that are added meanwhile may be missing.
func (c *Client) Workflows(ctx context.Context) iter.Seq2[apitypes.Workflow, error] {
	return func(yield func(apitypes.Workflow, error) bool) {
		list[apitypes.Workflow, verification.WorkflowID]{
			limit: maxPage,
			page: func(limit, offset int) (apitypes.Page[apitypes.Workflow], error) {
				return c.ListWorkflows(ctx, limit, offset)
			},
			id:     func(w apitypes.Workflow) verification.WorkflowID { return w.ID },
			narrow: func(apitypes.Workflow) bool { return false },
		}.each(yield)
	}
}

// ReadWorkflow returns a workflow with the check keys that its runs can produce.
func (c *Client) ReadWorkflow(ctx context.Context, id verification.WorkflowID) (apitypes.WorkflowDetail, error) {
	return read[apitypes.WorkflowDetail](ctx, c, get("readWorkflow", "v1", "workflows", string(id)))
}

// SetWebhook sets the URL to which the host sends the webhooks of a workflow. A URL that is set cannot
// be changed: a second call returns ErrConflict. The call is repeated only after a 429: when its
// connection fails, read the workflow to see whether it took effect.
func (c *Client) SetWebhook(ctx context.Context, id verification.WorkflowID, url string) (apitypes.Workflow, error) {
	body := struct {
		URL string `json:"lifecycle_webhook_url"`
	}{url}
	call, err := post("setWebhook", body, "v1", "workflows", string(id), "webhook")
	if err != nil {
		return apitypes.Workflow{}, err
	}
	call.unrepeatable = true
	return read[apitypes.Workflow](ctx, c, call)
}
