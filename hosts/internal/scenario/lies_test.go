// A host that breaks the contract is detected.

package scenario_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/httpapi"
	"github.com/verifyd/verifyd/hosts/internal/scenario"
	"github.com/verifyd/verifyd/internal/rig/openapitest"
)

// liar is a proxy of a correct host that changes some responses.
type liar struct {
	scenario.Host
	url string
}

// URL returns the URL of the proxy.
func (l *liar) URL() string { return l.url }

// lying returns a proxy of a host whose responses change modifies.
func lying(t *testing.T, h scenario.Host, change func(r *http.Request, header http.Header, body string) string) scenario.Host {
	t.Helper()
	target, err := url.Parse(h.URL())
	check(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(response *http.Response) error {
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		changed := change(response.Request, response.Header, string(body))
		response.Body, response.ContentLength = io.NopCloser(bytes.NewReader([]byte(changed))), int64(len(changed))
		response.Header.Del("Content-Length")
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return &liar{h, server.URL}
}

const oneOfEach = `A run parked on review, one that completed with a flag, and one that failed.

-- they are started --
POST /v1/workflows/{reviewed}/runs
{"reference_id": "parked"}
--- 202
POST /v1/workflows/{lenient}/runs
{"reference_id": "flagged", "input": {"sandbox": {"pan_verification": {"outcome": "pass", "data": {"source_ok": false}}}}}
--- 202
{"id": "<uuid flagged>", "...": ""}
POST /v1/signals/{flagged}/human_review_decision
{"payload": {"decision": "approve", "notes": "n"}}
--- 200
POST /v1/workflows/{records}/runs
{"reference_id": "failed", "input": {"sandbox": {"pan_verification": "fail"}}}
--- 202
`

func TestAHostThatContradictsItselfIsFoundOut(t *testing.T) {
	contract, err := openapitest.NewContract(httpapi.OpenAPI())
	check(t, err)
	good := newMemoryHost(t)
	check(t, scenario.Talk(t, good, contract, oneOfEach))
	check(t, scenario.Consistent(t.Context(), t, good, contract))

	list := func(r *http.Request) bool { return r.URL.Path == "/v1/runs" }
	run := func(r *http.Request) bool { return !list(r) && r.URL.RawQuery == "" }
	report := func(r *http.Request) bool { return r.URL.RawQuery == "view=report" }
	filter := func(value string) func(*http.Request) bool {
		return func(r *http.Request) bool { return strings.Contains(r.URL.RawQuery, value) }
	}
	swap := func(when func(*http.Request) bool, old, new string) func(*http.Request, http.Header, string) string {
		return func(r *http.Request, _ http.Header, body string) string {
			if when(r) {
				return strings.ReplaceAll(body, old, new)
			}
			return body
		}
	}
	empty := func(when func(*http.Request) bool) func(*http.Request, http.Header, string) string {
		return func(r *http.Request, _ http.Header, body string) string {
			if when(r) {
				return `{"data":[],"total":0,"limit":3,"offset":0}`
			}
			return body
		}
	}
	for _, c := range []struct {
		name    string
		lie     func(*http.Request, http.Header, string) string
		problem string
	}{
		{"the queue lacks a run", empty(filter("decision=review")), `reads "review" and is found by decision []`},
		{"a run does not read review", swap(run, `"decision":"review"`, `"decision":null`), `reads "" and is found by decision [review]`},
		{"a verdict is not found", empty(filter("decision=approve")), `reads "approve" and is found by decision []`},
		{"a run is found by no status", empty(filter("status=failed")), "reads [failed] and is found by status []"},
		{"a list says something else", swap(list, `"reference_id":"parked"`, `"reference_id":"lost"`), "the list is"},
		{"a list says more", swap(list, `"error":null`, `"error":null,"decision":null`), "does not match the OpenAPI document"},
		{"total is wrong", swap(list, `"total":3`, `"total":4`), "has total 4 and 3 runs"},
		{"a report has other notes", swap(report, `"notes":"n"`, `"notes":"m"`), `notes is "n", and notes of its report is "m"`},
		{"a report has other flags", swap(report, `Every case is looked at."}]`, `Other."}]`), "reviews is"},
		{"a card needs review and is not flagged", swap(report, `"node_id":"pan","type":"check","key":"pan_verification","label":"PAN verification","status":"failed"`,
			`"node_id":"pan","type":"check","key":"pan_verification","label":"PAN verification","status":"needs_review"`), "the card of pan needs review"},
		{"a report is of another status", swap(report, `"status":"failed","started_at"`, `"status":"expired","started_at"`), "run of its report"},
		{"a field is missing", swap(run, `"action_required":null,`, ""), "does not match the OpenAPI document"},
		{"a null where none belongs", swap(run, `"resolved_at"`, `"notes":null,"resolved_at"`), "does not match the OpenAPI document"},
		{"a time with fractions", swap(run, `:00Z","completed_at"`, `:00.000Z","completed_at"`), "does not match the OpenAPI document"},
		{"an unknown field", swap(run, `"error":`, `"reviewer":"x","error":`), "does not match the OpenAPI document"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := scenario.Consistent(t.Context(), t, lying(t, good, c.lie), contract)
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("Consistent = %v, want %s", err, c.problem)
			}
		})
	}
}

func TestAResponseThatIsNotWantedIsFoundOut(t *testing.T) {
	contract, err := openapitest.NewContract(httpapi.OpenAPI())
	check(t, err)
	good := newMemoryHost(t)
	for name, c := range map[string]struct{ lines, problem string }{
		"status":            {"GET /v1/runs\n--- 404\n", "want status 404, got 200"},
		"body":              {"GET /v1/runs\n--- 200\n{\"total\": 1, \"...\": \"\"}\n", "total: want 1, got 0"},
		"header":            {"GET /v1/runs\n--- 200\nCache-Control: private\n", `Cache-Control: want "private", got "no-store"`},
		"no header":         {"GET /v1/runs\n--- 200\nETag: <any>\n", `ETag: want "<any>", got []`},
		"a header too many": {"GET /v1/runs\n--- 200\nX-Request-Id:\n", "X-Request-Id: want none"},
		"an unknown name":   {"GET /v1/runs/{lost}\n--- 200\n", "nothing is called {lost} yet"},
		"a webhook":         {"webhook /x {}\n", "want a webhook at /x, none came"},
	} {
		if err := scenario.Talk(t, good, contract, "Prose.\n-- step --\n"+c.lines); err == nil || !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %v, want %s", name, err, c.problem)
		}
	}
	undocumented := lying(t, good, func(_ *http.Request, h http.Header, body string) string {
		h.Del("Cache-Control")
		return body
	})
	for _, method := range []string{"GET", "HEAD"} {
		err := scenario.Talk(t, undocumented, contract, "Prose.\n-- step --\n"+method+" /v1/runs\n--- 200\n")
		if err == nil || !strings.Contains(err.Error(), "Cache-Control") {
			t.Errorf("a header is missing after %s: %v, want it found out", method, err)
		}
	}
}

func TestADocumentThatIsWrongIsRefused(t *testing.T) {
	if _, err := openapitest.NewContract([]byte("openapi: 3.1.0\ninfo: {title: x}\n")); err == nil {
		t.Error("a document without a version and paths is accepted")
	}
	wrong := bytes.Replace(httpapi.OpenAPI(), []byte("status: cancelled}"), []byte("status: gone}"), 1)
	if _, err := openapitest.NewContract(wrong); err == nil {
		t.Error("a document with a wrong example is accepted")
	}
}
