// Tests of the order of checks: the first error is answered.

package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/httpapi"
	"github.com/verifyd/verifyd/verification"
)

// TestTheFirstFailedCheckDeterminesTheAnswer begins with a request that fails every
// check, and corrects one after the other.
func TestTheFirstFailedCheckDeterminesTheAnswer(t *testing.T) {
	a := newAPI(t, setup{options: httpapi.Options{RateLimit: 2}})
	none := a.Apply(simple())
	unpublished := none
	unpublished.ID = "00000000-0000-7000-8000-0000000000f0"
	unpublished.PublishedHash, unpublished.LatestHash, unpublished.Revision = "", "", 1
	must(t, a.Store.SaveWorkflow(t.Context(), enginetest.Tenant, unpublished, nil))
	must(t, a.Store.SaveAccount(t.Context(), verification.Account{
		ClientID: "asleep", Tenant: enginetest.Tenant, KeyHash: verification.HashAPIKey(apiKey), Disabled: true,
	}))
	a.account("narrow", enginetest.Tenant, verification.SurfaceWorkflows, verification.SurfaceSignals)
	a.account("hasty", enginetest.Tenant, verification.Surfaces()...)
	for range 2 {
		a.do(http.MethodGet, "/v1/runs", "", "client-id: hasty").says(http.StatusOK, `"total":0`)
	}

	const wrongType, malformed, invalid, good = "Content-Type: text/plain", `{"reference_id":`, `{"reference_id":""}`, `{"reference_id":"p"}`
	known, unknown := "/v1/workflows/"+string(unpublished.ID)+"/runs", "/v1/workflows/"+nowhere+"/runs"
	long := `{"reference_id":"` + strings.Repeat("x", 1<<20) + `"}`
	for _, step := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		want                     string
	}{
		{"route", http.MethodPost, unknown + "/", malformed, []string{"client-id:", wrongType}, 404, "There is no such route."},
		{"method", http.MethodPut, unknown, malformed, []string{"client-id:", wrongType}, 405, "Method Not Allowed"},
		{"missing credentials", http.MethodPost, unknown, malformed, []string{"client-id:", wrongType}, 401, "missing credentials: send client-id + x-api-key headers"},
		{"wrong credentials", http.MethodPost, unknown, malformed, []string{"client-id: asleep", "x-api-key: wrong", wrongType}, 401, "invalid service credentials"},
		{"account state", http.MethodPost, unknown, malformed, []string{"client-id: asleep", wrongType}, 403, "account_disabled"},
		{"surface", http.MethodPost, unknown, malformed, []string{"client-id: narrow", wrongType}, 403, "service account not authorized for this surface"},
		{"rate limit", http.MethodPost, unknown, malformed, []string{"client-id: hasty", wrongType}, 429, "rate_limited"},
		{"body shape: type", http.MethodPost, unknown, malformed, []string{"client-id: other", wrongType}, 415, "Unsupported Media Type"},
		{"body shape: length", http.MethodPost, unknown, long, []string{"client-id: other"}, 413, "1 MiB"},
	} {
		t.Run(step.name, func(t *testing.T) {
			a.t = t
			a.do(step.method, step.path, step.body, step.headers...).says(step.status, step.want)
		})
	}

	// The rate limit is the client's, so the rest goes through another API.
	a.handler = httpapi.New(a.Engine, httpapi.Options{})
	for _, step := range []struct {
		name, path, body string
		status           int
		want             string
	}{
		{"body shape: JSON", unknown, malformed, 400, "is not valid JSON"},
		{"body rules", unknown, invalid, 400, "is required"},
		{"existence", unknown, good, 404, "There is no such workflow."},
		{"state", known, good, 409, "The workflow has no version to run."},
	} {
		t.Run(step.name, func(t *testing.T) {
			a.t = t
			a.do(http.MethodPost, step.path, step.body).says(step.status, step.want)
		})
	}
	a.t = t
}

func TestBodyRulesComeBeforeExistence(t *testing.T) {
	a := newAPI(t, setup{})
	missing := "/v1/signals/" + nowhere + "/"
	a.do(http.MethodPost, missing+"human_review_decision", `{"payload":{"decision":"maybe"}}`).says(400, "payload rejected")
	a.do(http.MethodPost, missing+"human_review_decision", `{"payload":{"decision":"approve"}}`).is(404, noRun)
	a.do(http.MethodPost, missing+"consent_submitted", `{"payload":[]}`).is(400, badField("payload", "must be an object"))
	a.do(http.MethodPost, missing+"consent_submitted", `{"payload":{}}`).is(404, noRun)
	a.do(http.MethodPost, "/v1/workflows/"+nowhere+"/webhook", `{"lifecycle_webhook_url":"http://u@h/"}`).
		is(400, badField("lifecycle_webhook_url", "must be an absolute http(s) URL without user information or fragment"))
	a.do(http.MethodPost, "/v1/workflows/"+nowhere+"/webhook", `{"lifecycle_webhook_url":"http://h/"}`).is(404, noWorkflow)
	a.do(http.MethodGet, "/v1/runs/"+nowhere+"?view=pdf", "").is(400, `{"error":"invalid view","code":"invalid_view"}`)
	a.do(http.MethodPost, "/v1/runs/"+nowhere+"/cancel", `{"why":1}`).is(400, badField("why", "is not a known field"))
	a.do(http.MethodPost, "/v1/runs/"+nowhere+"/cancel", "").is(404, noRun)
	a.do(http.MethodPost, "/v1/runs/"+nowhere+"/redact", `{"why":1}`).is(400, badField("why", "is not a known field"))
	a.do(http.MethodPost, "/v1/runs/"+nowhere+"/redact", "").is(404, noRun)
}
