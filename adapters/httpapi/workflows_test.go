// Workflows: their shapes, and the webhook that can be added.

package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/golden"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestWorkflowShapes(t *testing.T) {
	a := newAPI(t, setup{})
	first := a.Apply(journey())
	a.Advance(time.Second)
	second := a.Apply(simple())
	must(t, a.Store.SaveWorkflow(t.Context(), enginetest.Tenant, workflow.Workflow{
		ID: "00000000-0000-7000-8000-0000000000f0", Slug: "empty", Name: "Empty", CreatedAt: enginetest.Began(), Revision: 1,
	}, nil))
	a.golden("workflows", "/v1/workflows")
	a.golden("workflow-journey", "/v1/workflows/"+string(first.ID))
	a.golden("workflow-simple", "/v1/workflows/"+string(second.ID))
	a.golden("workflow-empty", "/v1/workflows/00000000-0000-7000-8000-0000000000f0")
}

func TestTheWebhookIsAddOnly(t *testing.T) {
	a := newAPI(t, setup{})
	set := "/v1/workflows/" + string(a.Apply(simple()).ID) + "/webhook"
	const form = "must be an absolute http(s) URL"
	for url, message := range map[string]string{
		"": "is required", "hooks": form, "/hooks": form, "ftp://h.example/": form, "http://": form, "mailto:a@b.example": form,
		"https://u:p@h.example/":                         form + " without user information or fragment",
		"https://h.example/#top":                         form + " without user information or fragment",
		"https://h.example:0/":                           form + " without user information or fragment",
		"https://h.example/" + strings.Repeat("x", 2048): "must be at most 2048 characters",
	} {
		a.do(http.MethodPost, set, `{"lifecycle_webhook_url":"`+url+`"}`).is(400, badField("lifecycle_webhook_url", message))
	}
	a.do(http.MethodPost, set, `{}`).is(400, badField("lifecycle_webhook_url", "is required"))
	a.do(http.MethodPost, set, `{"lifecycle_webhook_url":null}`).is(400, badField("lifecycle_webhook_url", "must be a string"))
	a.do(http.MethodPost, set, `{"url":"https://h.example/"}`).
		is(400, bad(`[{"field":"url","message":"is not a known field"},{"field":"lifecycle_webhook_url","message":"is required"}]`))

	got := a.do(http.MethodPost, set, `{"lifecycle_webhook_url":"https://h.example/hooks?a=1&b=2"}`)
	if got.Status != http.StatusOK {
		t.Fatalf("set the webhook = %d %s", got.Status, got.Body)
	}
	golden.Equal(t, "testdata/workflow-webhook.json", got.Body)
	for _, again := range []string{"https://h.example/hooks?a=1&b=2", "https://other.example/"} {
		a.do(http.MethodPost, set, `{"lifecycle_webhook_url":"`+again+`"}`).is(409,
			`{"error":"Conflict","message":"A lifecycle webhook is already configured and cannot be changed.","code":409,`+
				`"details":[{"field":"lifecycle_webhook_url","message":"is already configured and cannot be changed"}]}`)
	}
}

// changing is a store in which another request changes a workflow before each save.
type changing struct{ store.Store }

func (changing) SaveWorkflow(context.Context, verification.TenantID, workflow.Workflow, *workflow.Version) error {
	return store.WorkflowChanged()
}

func TestAConflictDoesNotSayThatThereIsAWebhook(t *testing.T) {
	a := newAPI(t, setup{ports: func(p *engine.Ports, _ *engine.Options) { p.Store = changing{p.Store} }})
	const id = "00000000-0000-7000-8000-0000000000f0"
	must(t, a.Store.SaveWorkflow(t.Context(), enginetest.Tenant, workflow.Workflow{
		ID: id, Slug: "empty", Name: "Empty", CreatedAt: enginetest.Began(), Revision: 1,
	}, nil))
	a.do(http.MethodPost, "/v1/workflows/"+id+"/webhook", `{"lifecycle_webhook_url":"https://h.example/hooks"}`).
		is(409, `{"error":"Conflict","message":"Another request has changed the workflow.","code":409,"reason":"workflow_changed"}`)
}
