// Helpers: an API with an engine on memory, and a client that checks all responses against
// the OpenAPI document.

package httpapi_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/httpapi"
	"github.com/verifyd/verifyd/internal/rig/openapitest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

const (
	apiKey      = "a key of at least twenty characters"
	otherTenant = verification.TenantID("00000000-0000-7000-8000-0000000000bb")
	nowhere     = "00000000-0000-7000-8000-00000000dead"
)

// contract is read once, because validating the document is slow.
var contract = sync.OnceValues(func() (*openapitest.Contract, error) {
	return openapitest.NewContract(httpapi.OpenAPI())
})

// api is the API of a test kit.
type api struct {
	*enginetest.Kit
	handler http.Handler
	t       testing.TB
}

// setup changes the options and ports of an API.
type setup struct {
	options httpapi.Options
	ports   enginetest.Change
}

func newAPI(t testing.TB, s setup) *api {
	t.Helper()
	change := func(p *engine.Ports, o *engine.Options) {
		p.Printer = printer{}
		if s.ports != nil {
			s.ports(p, o)
		}
	}
	a := &api{Kit: enginetest.New(t, change), t: t}
	a.account("acme", enginetest.Tenant, verification.AllSurfaces()...)
	a.account("other", otherTenant, verification.AllSurfaces()...)
	must(t, a.Store.SaveTenant(t.Context(), verification.Tenant{
		ID: enginetest.Tenant, Name: "Acme", RedirectAllowlist: []string{"https://app.example/verify"},
	}))
	must(t, a.Store.SaveTenant(t.Context(), verification.Tenant{ID: otherTenant, Name: "Other"}))
	a.handler = httpapi.New(a.Engine, s.options)
	return a
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (a *api) account(clientID string, tenant verification.TenantID, surfaces ...verification.Surface) {
	a.t.Helper()
	must(a.t, a.Store.SaveAccount(a.t.Context(), verification.Account{
		ClientID: clientID, Tenant: tenant, KeyHash: verification.HashAPIKey(apiKey), Surfaces: surfaces,
	}))
}

// response is an HTTP response that was read.
type response struct {
	openapitest.Response
	t testing.TB
}

// do sends a request as acme, with a body announced as JSON. Headers are given
// as "name: value", or as "name:" to leave one out. The response must match
// the OpenAPI document.
func (a *api) do(method, path, body string, headers ...string) response {
	a.t.Helper()
	r := httptest.NewRequestWithContext(a.t.Context(), method, "http://api.example/", strings.NewReader(body))
	var err error
	if r.URL, err = url.ParseRequestURI(path); err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("client-id", "acme")
	r.Header.Set("x-api-key", apiKey)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ":")
		r.Header.Del(name)
		if value != "" {
			r.Header.Set(name, strings.TrimPrefix(value, " "))
		}
	}
	return a.send(r)
}

func (a *api) send(r *http.Request) response {
	a.t.Helper()
	rec := httptest.NewRecorder()
	a.handler.ServeHTTP(rec, r)
	body, err := io.ReadAll(rec.Result().Body)
	if err != nil {
		a.t.Fatal(err)
	}
	got := response{openapitest.Response{Status: rec.Code, Header: rec.Header(), Body: body}, a.t}
	c, err := contract()
	if err != nil {
		a.t.Fatal(err)
	}
	if err := c.Check(r.Method, r.URL.EscapedPath(), got.Response); err != nil {
		a.t.Errorf("%v\n%s", err, body)
	}
	return got
}

// is fails the test unless the response has this status and exactly this body,
// which ends with a line break if it is JSON.
func (got response) is(status int, body string) response {
	got.t.Helper()
	if strings.HasPrefix(body, "{") && !strings.HasSuffix(body, "\n") {
		body += "\n"
	}
	if got.Status != status || string(got.Body) != body {
		got.t.Errorf("response = %d %s\nwant     %d %s", got.Status, got.Body, status, body)
	}
	return got
}

// says fails the test unless the response has this status and this text in it.
func (got response) says(status int, text string) response {
	got.t.Helper()
	if got.Status != status || !bytes.Contains(got.Body, []byte(text)) {
		got.t.Errorf("response = %d %s\nwant     %d with %s", got.Status, got.Body, status, text)
	}
	return got
}

func (got response) header(name, value string) response {
	got.t.Helper()
	if h := strings.Join(got.Header.Values(name), " | "); h != value {
		got.t.Errorf("%s = %q, want %q", name, h, value)
	}
	return got
}

// bad is the body of a 400 whose details are given as JSON.
func bad(details string) string {
	return `{"error":"Bad Request","message":"The request is not valid.","code":400,"details":` + details + `}`
}

func badField(field, message string) string {
	return bad(`[{"field":"` + field + `","message":"` + message + `"}]`)
}

const (
	noRun      = `{"error":"Not Found","message":"There is no such run.","code":404}`
	noWorkflow = `{"error":"Not Found","message":"There is no such workflow.","code":404,"reason":"workflow_not_found"}`
)

// printer prints a report as one line.
type printer struct{}

func (printer) PrintReport(_ context.Context, _ verification.TenantID, r report.Print) ([]byte, error) {
	if r.ForFile && !r.AllowMissing && strings.Contains(r.Run.ReferenceID, "漢") {
		return nil, &verification.Error{
			Kind: verification.ErrConflict, Subject: "report", Message: "no font has U+6F22", Fields: []verification.FieldError{{Name: "allow_missing", Message: "must be 1"}},
		}
	}
	if r.ForFile {
		return []byte("%PDF of " + string(r.Run.ID) + " for the file"), nil
	}
	return []byte("%PDF of " + string(r.Run.ID)), nil
}

// The workflows of the tests.

// simple has one check, and ends.
func simple() workflow.Definition {
	return workflow.Definition{
		Workflow: "simple", ID: "00000000-0000-7000-8000-00000000f001", Name: "Simple", Start: "pan",
		Nodes: map[verification.NodeID]workflow.Node{
			"pan":  {Type: workflow.NodeCheck, Key: "pan_verification", Label: "PAN verification", Provider: "script", Next: "done"},
			"done": {Type: workflow.NodeEnd},
		},
	}
}

// journey has a consent, a form, a check and a review.
func journey() workflow.Definition {
	return workflow.Definition{
		Workflow: "journey", ID: "00000000-0000-7000-8000-00000000f002", Name: "Journey", Description: "Consent, details, PAN, review.",
		RunTTLSeconds: 86400, AbandonTimeoutSeconds: 900, Start: "consent",
		InputSchema: verification.Data(`{"type":"object","properties":{"name":{"type":"string"}}}`),
		Nodes: map[verification.NodeID]workflow.Node{
			"consent": {Type: workflow.NodeConsent, Label: "Consent", Text: "May we?", OnDeclined: "next", Next: "details"},
			"details": {
				Type: workflow.NodeCustomerInput, Label: "Your details", Next: "pan",
				Fields: workflow.InputFields{{Name: "pan", Type: workflow.FieldText, Required: true}},
			},
			"pan":    {Type: workflow.NodeCheck, Key: "pan_verification", Label: "PAN verification", Provider: "script", Next: "review"},
			"review": {Type: workflow.NodeReview, Label: "Manual review", Reason: "A person has to look.", Next: "done"},
			"done":   {Type: workflow.NodeEnd},
		},
	}
}

// started starts a run of a workflow and lets it go as far as it can.
func (a *api) started(d workflow.Definition) rules.RunDetail {
	a.t.Helper()
	return a.Start(a.Apply(d).ID, engine.StartRequest{ReferenceID: "person-1"})
}

// parked brings a run of journey to its review step.
func (a *api) parked() verification.RunID {
	a.t.Helper()
	id := a.started(journey()).ID
	a.Submit(id, "consent_submitted", map[string]any{"consent_status": "success"})
	a.Submit(id, "details_submitted", map[string]any{"pan": "ABCDE1234F"})
	return id
}
