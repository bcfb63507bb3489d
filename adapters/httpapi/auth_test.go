// Tests of credentials, with the exact texts of refusals.

package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/httpapi"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
)

const (
	missingCredentials = `{"error":"missing credentials: send client-id + x-api-key headers"}`
	wrongCredentials   = `{"error":"invalid service credentials"}`
)

func TestMissingOrWrongCredentialsAreRefused(t *testing.T) {
	a := newAPI(t, setup{})
	for _, c := range []struct {
		name    string
		headers []string
		want    string
	}{
		{"none", []string{"client-id:", "x-api-key:"}, missingCredentials},
		{"no key", []string{"x-api-key:"}, missingCredentials},
		{"no client", []string{"client-id:"}, missingCredentials},
		{"empty key", []string{"x-api-key: "}, missingCredentials},
		{"a bearer token where none is accepted", []string{"client-id:", "x-api-key:", "Authorization: Bearer good"}, missingCredentials},
		{"wrong key", []string{"x-api-key: a wrong key of twenty characters"}, wrongCredentials},
		{"unknown client", []string{"client-id: nobody"}, wrongCredentials},
	} {
		t.Run(c.name, func(t *testing.T) {
			a.t = t
			a.do(http.MethodGet, "/v1/workflows", "", c.headers...).is(401, c.want).
				header("WWW-Authenticate", `ApiKey realm="verifyd"`).header("Cache-Control", "no-store")
		})
	}
}

func TestCredentialsSentTwiceAreRefused(t *testing.T) {
	a := newAPI(t, setup{})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/runs", nil)
	must(t, err)
	r.Header["Client-Id"] = []string{"acme", "other"}
	r.Header.Set("x-api-key", apiKey)
	a.send(r).is(401, wrongCredentials)
}

func TestOnlyTheRightKeyRevealsThatAnAccountIsDisabled(t *testing.T) {
	a := newAPI(t, setup{})
	must(t, a.Store.SaveAccount(t.Context(), verification.Account{
		ClientID: "asleep", Tenant: enginetest.Tenant, KeyHash: verification.HashAPIKey(apiKey), Disabled: true,
	}))
	a.do(http.MethodGet, "/v1/workflows", "", "client-id: asleep", "x-api-key: wrong").is(401, wrongCredentials)
	a.do(http.MethodGet, "/v1/workflows", "", "client-id: asleep").is(403, `{"error":"account_disabled"}`)
}

func TestASurfaceOpensOnlyItsRoutes(t *testing.T) {
	a := newAPI(t, setup{})
	routes := map[verification.Surface][]string{
		verification.SurfaceWorkflows: {"GET /v1/workflows", "GET /v1/workflows/x", "POST /v1/workflows/x/webhook"},
		verification.SurfaceRuns: {
			"POST /v1/workflows/x/runs", "GET /v1/runs", "GET /v1/runs/x", "GET /v1/runs/x/report.pdf", "GET /v1/runs/x/report.pdf.jws", "POST /v1/runs/x/cancel",
		},
		verification.SurfaceSignals: {"POST /v1/signals/x/human_review_decision"},
		verification.SurfaceErase:   {"POST /v1/runs/x/redact"},
	}
	for owned := range routes {
		client := "only-" + string(owned)
		a.account(client, enginetest.Tenant, owned)
		for surface, of := range routes {
			for _, route := range of {
				method, path, _ := cut(route)
				got := a.do(method, path, "", "client-id: "+client)
				if header := got.Header.Get("X-Required-Surface"); header != string(surface) && surface != owned || header != "" && surface == owned {
					t.Errorf("%s with surface %s names the surface %q, want %s", route, owned, header, surface)
				}
				refused := string(got.Body) == `{"error":"service account not authorized for this surface"}`+"\n" && got.Status == 403
				if refused != (surface != owned) {
					t.Errorf("%s with surface %s = %d %s", route, owned, got.Status, got.Body)
				}
			}
		}
	}
}

func cut(route string) (method, path string, ok bool) {
	for i := range route {
		if route[i] == ' ' {
			return route[:i], route[i+1:], true
		}
	}
	return "", "", false
}

func bearers(_ context.Context, token string) (verification.Reviewer, error) {
	switch token {
	case "good":
		return verification.Reviewer{Tenant: enginetest.Tenant, Identity: "https://id.example#7", Name: "ravi"}, nil
	case "foreign":
		return verification.Reviewer{Tenant: otherTenant, Identity: "eve", Name: "eve"}, nil
	case "down":
		return verification.Reviewer{}, &verification.Error{Kind: verification.ErrUnavailable}
	case "broken":
		return verification.Reviewer{}, errors.New("the key set is gone")
	}
	return verification.Reviewer{}, &verification.Error{Kind: verification.ErrUnauthenticated, Message: "expired"}
}

func TestTheSignalsRouteAcceptsAnAccessToken(t *testing.T) {
	a := newAPI(t, setup{options: httpapi.Options{Bearers: bearers}})
	id := a.parked()
	signal, body := "/v1/signals/"+string(id)+"/human_review_decision", `{"payload":{"decision":"approve"}}`
	bearer := func(token string) []string {
		return []string{"client-id:", "x-api-key:", "Authorization: " + token}
	}
	both := `ApiKey realm="verifyd" | Bearer realm="verifyd"`

	a.do(http.MethodPost, signal, body, bearer("Bearer bad")...).is(401, wrongCredentials).header("WWW-Authenticate", both)
	a.do(http.MethodPost, signal, body, bearer("Bearer ")...).is(401, missingCredentials)
	a.do(http.MethodPost, signal, body, bearer("Basic good")...).is(401, missingCredentials)
	a.do(http.MethodPost, signal, body, bearer("Bearer down")...).says(503, "Service Unavailable").header("Retry-After", "1")
	a.do(http.MethodPost, signal, body, bearer("Bearer broken")...).says(500, "Internal Server Error")
	a.do(http.MethodPost, signal, body, bearer("Bearer foreign")...).is(404, noRun)
	a.do(http.MethodGet, "/v1/runs/"+string(id), "", bearer("Bearer good")...).is(401, missingCredentials)
	// The pair comes first: a bearer token beside it is ignored.
	a.do(http.MethodPost, signal, body, "x-api-key: wrong", "Authorization: Bearer good").is(401, wrongCredentials)
	a.do(http.MethodPost, signal, body, "x-api-key:", "Authorization: Bearer good").is(401, missingCredentials)

	claim := engine.ClaimRequest{By: "asha", Name: "Asha"}
	if _, err := a.Engine.Claim(t.Context(), enginetest.Tenant, id, claim); err != nil {
		t.Fatal(err)
	}
	a.do(http.MethodPost, signal, body, bearer("Bearer good")...).is(409, `{"error":"Conflict","message":"Another reviewer has claimed the run; `+
		`wait until they release it or their claim ends, or take it over in the console.","code":409,"reason":"run_claimed"}`)
	if err := a.Engine.ReleaseClaim(t.Context(), enginetest.Tenant, id, "asha"); err != nil {
		t.Fatal(err)
	}

	a.do(http.MethodPost, signal, body, bearer("bearer good")...).is(200, `{"ok":true,"result":"signal_delivered","decision":"approve"}`)
	if by, want := verdictBy(t, a, id), (verification.Person{Identity: "https://id.example#7", Name: "ravi"}); by != want {
		t.Errorf("the verdict was given by %q, want %q", by, want)
	}
	a.do(http.MethodPost, signal, body, "Authorization: Bearer foreign").is(200, `{"ok":true,"result":"review_recorded","decision":"approve"}`)
	if by, want := verdictBy(t, a, id), (verification.Person{Name: "acme"}); by != want {
		t.Errorf("the verdict was given by %q, want %q", by, want)
	}
}

// verdictBy returns the name of the reviewer of the newest verdict, from the history.
func verdictBy(t *testing.T, a *api, id verification.RunID) verification.Person {
	t.Helper()
	a.Settle()
	events, err := a.Store.Load(t.Context(), enginetest.Tenant, id, 0)
	must(t, err)
	return rules.Fold(id, events).Verdict.Person()
}

func TestAccessTokensAreRefusedWithoutBearers(t *testing.T) {
	a := newAPI(t, setup{})
	a.do(http.MethodPost, "/v1/signals/"+nowhere+"/human_review_decision", "{}", "client-id:", "x-api-key:", "Authorization: Bearer good").
		is(401, missingCredentials).header("WWW-Authenticate", `ApiKey realm="verifyd"`)
}

func TestTheRateLimitCountsRequestsPerSecondAndClient(t *testing.T) {
	a := newAPI(t, setup{options: httpapi.Options{RateLimit: 3, Bearers: bearers}})
	a.do(http.MethodGet, "/v1/runs", "", "x-api-key: wrong").is(401, wrongCredentials)
	for range 3 {
		a.do(http.MethodGet, "/v1/runs", "").says(200, `"total":0`)
	}
	a.do(http.MethodGet, "/v1/runs", "").is(429, `{"error":"too many requests: slow down","code":"rate_limited"}`).header("Retry-After", "1")
	a.do(http.MethodGet, "/v1/runs", "", "client-id: other").says(200, `"total":0`)
	for range 3 {
		a.do(http.MethodPost, "/v1/signals/x/y", `{"payload":{}}`, "client-id:", "x-api-key:", "Authorization: Bearer good").is(404, noRun)
	}
	a.do(http.MethodPost, "/v1/signals/x/y", `{"payload":{}}`, "client-id:", "x-api-key:", "Authorization: Bearer good").says(429, "rate_limited")

	one := newAPI(t, setup{options: httpapi.Options{RateLimit: 1}})
	one.do(http.MethodGet, "/v1/runs", "").says(200, `"total":0`)
	one.do(http.MethodGet, "/v1/runs", "").says(429, "rate_limited")
}

func TestResourcesOfAnotherTenantAreNotFound(t *testing.T) {
	a := newAPI(t, setup{})
	w := a.Apply(simple())
	id := a.Start(w.ID, engine.StartRequest{ReferenceID: "person-1"}).ID
	for _, c := range []struct{ method, path, body, want string }{
		{http.MethodGet, "/v1/workflows/" + string(w.ID), "", noWorkflow},
		{http.MethodPost, "/v1/workflows/" + string(w.ID) + "/webhook", `{"lifecycle_webhook_url":"https://h.example/"}`, noWorkflow},
		{http.MethodPost, "/v1/workflows/" + string(w.ID) + "/runs", `{"reference_id":"p"}`, noWorkflow},
		{http.MethodGet, "/v1/runs/" + string(id), "", noRun},
		{http.MethodGet, "/v1/runs/" + string(id) + "?view=report", "", noRun},
		{http.MethodGet, "/v1/runs/" + string(id) + "/report.pdf", "", noRun},
		{http.MethodGet, "/v1/runs/" + string(id) + "/report.pdf.jws", "", noRun},
		{http.MethodPost, "/v1/runs/" + string(id) + "/cancel", "", noRun},
		{http.MethodPost, "/v1/runs/" + string(id) + "/redact", "", noRun},
		{http.MethodPost, "/v1/signals/" + string(id) + "/human_review_decision", `{"payload":{"decision":"approve"}}`, noRun},
		{http.MethodPost, "/v1/signals/" + string(id) + "/consent_submitted", `{"payload":{}}`, noRun},
	} {
		a.do(c.method, c.path, c.body, "client-id: other").is(404, c.want)
	}
	a.do(http.MethodGet, "/v1/runs", "", "client-id: other").is(200, `{"data":[],"total":0,"limit":50,"offset":0}`)
	a.do(http.MethodGet, "/v1/workflows", "", "client-id: other").is(200, `{"data":[],"total":0,"limit":50,"offset":0}`)
}
