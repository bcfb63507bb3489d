// Tests of query parameters, with the exact texts of errors.

package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

const (
	invalidStatus   = "invalid status (supported: completed, cancelled, expired, failed, in_progress, abandoned)"
	invalidDecision = "invalid decision (supported: review, approve, reject)"
)

func TestInvalidQueryParametersAreNamed(t *testing.T) {
	a := newAPI(t, setup{})
	for want, queries := range map[string][]string{
		invalidStatus: {
			"status=", "status", "status=done", "status=Completed", "status=completed,failed", "status=completed&status=failed",
			"status=completed&status=completed", "status=%zz", "%73tatus=x", "status=+completed",
		},
		invalidDecision: {"decision=", "decision=null", "decision=approved", "decision=review&decision=approve"},
		"invalid limit": {
			"limit=", "limit=0", "limit=201", "limit=-1", "limit=%2B5", "limit=+5", "limit=5.0", "limit=5e1", "limit=0x10", "limit=ten",
			"limit=99999999999999999999999999", "limit=1&limit=1", "limit=١", "limit=1_0", "limit=%",
		},
		"invalid offset":         {"offset=", "offset=-1", "offset=-0", "offset=x", "offset=99999999999999999999999999", "offset=9007199254740992", "offset=0&offset=0"},
		"invalid reference_id":   {"reference_id=", "reference_id=a%00", "reference_id=a&reference_id=b", "reference_id=%ff"},
		"invalid started_after":  {"started_after=", "started_after=2026-01-01", "started_after=1767225600", "started_after=2026-01-01T00:00:00"},
		"invalid started_before": {"started_before=yesterday", "started_before=2026-02-30T00:00:00Z"},
		"invalid workflow_id": {
			"workflow_id=", "workflow_id=x", "workflow_id={" + nowhere + "}", "workflow_id=urn:uuid:" + nowhere,
			"workflow_id=00000000000070008000000000000000", "workflow_id=" + nowhere + "&workflow_id=" + nowhere,
		},
	} {
		for _, q := range queries {
			a.do(http.MethodGet, "/v1/runs?"+q, "").is(400, invalidParameter(want))
			if want == "invalid limit" || want == "invalid offset" {
				a.do(http.MethodGet, "/v1/workflows?"+q, "").is(400, invalidParameter(want))
			}
		}
	}
	for _, q := range []string{"view=", "view", "view=Report", "view=pdf", "view=report&view=report", "view=%"} {
		a.do(http.MethodGet, "/v1/runs/"+nowhere+"?"+q, "").is(400, `{"error":"invalid view","code":"invalid_view"}`)
	}
}

func TestUnknownParametersOfListsAreNamed(t *testing.T) {
	a := newAPI(t, setup{})
	refused := func(fields ...string) string {
		var details []string
		for _, f := range fields {
			details = append(details, fmt.Sprintf(`{"field":%q,"message":"is not a parameter of this list"}`, f))
		}
		return `{"error":"Bad Request","message":"The request is not valid.","code":400,"details":[` + strings.Join(details, ",") + `]}`
	}
	for path, want := range map[string]string{
		"/v1/runs?colour=blue":                          refused("colour"),
		"/v1/runs?state=failed&Limit=0&state=x&limit=2": refused("state", "Limit"),
		"/v1/runs?limit%5B=1&=1":                        refused("limit[", ""),
		"/v1/runs?%zz=1":                                refused("%zz"),
		"/v1/runs?view=report":                          refused("view"),
		"/v1/workflows?status=failed":                   refused("status"),
	} {
		a.do(http.MethodGet, path, "").is(400, want)
	}
}

// invalidParameter returns the body of an invalid query parameter. The rows of the contract have no code.
func invalidParameter(text string) string {
	switch text {
	case invalidStatus, invalidDecision, "invalid limit":
		return fmt.Sprintf("{%q:%q}", "error", text)
	}
	return fmt.Sprintf("{%q:%q,%q:%q}", "error", text, "code", strings.ReplaceAll(text, " ", "_"))
}

func TestExactTextsComeBeforeUnknownParameters(t *testing.T) {
	a := newAPI(t, setup{})
	for query, want := range map[string]string{
		"foo=1&status=bad":    invalidStatus,
		"decision=bad&foo=1":  invalidDecision,
		"foo=1&limit=0":       "invalid limit",
		"offset=-1&foo=1":     "invalid offset",
		"workflow_id=x&foo=1": "invalid workflow_id",
	} {
		a.do(http.MethodGet, "/v1/runs?"+query, "").is(400, invalidParameter(want))
	}
	a.do(http.MethodGet, "/v1/workflows?foo=1&limit=0", "").is(400, `{"error":"invalid limit"}`)
}

func TestValidQueryParametersAreAccepted(t *testing.T) {
	a := newAPI(t, setup{})
	id := a.started(journey()).ID
	w := a.Apply(journey()).ID
	for q, want := range map[string]string{
		"limit=1":                  `"total":1,"limit":1,"offset":0`,
		"limit=200&offset=0":       `"total":1,"limit":200,"offset":0`,
		"limit=007":                `"total":1,"limit":7,"offset":0`,
		"%6cimit=%32":              `"total":1,"limit":2,"offset":0`,
		"offset=1":                 `{"data":[],"total":1,"limit":50,"offset":1}`,
		"offset=9007199254740991":  `{"data":[],"total":1,"limit":50,"offset":9007199254740991}`,
		"status=in_progress":       string(id),
		"status=completed":         `"total":0`,
		"decision=review":          `"total":0`,
		"workflow_id=" + string(w): string(id),
		"workflow_id=" + nowhere:   `"total":0`,
		"&&limit=3&":               string(id),
		"reference_id=person-1":    string(id),
		"reference_id=person-":     `"total":0`,
		"started_after=2000-01-01T05:30:00%2B05:30&started_before=2100-01-01T00:00:00.5Z": string(id),
		"started_after=2100-01-01T00:00:00Z":                                              `"total":0`,
		"started_before=2000-01-01T00:00:00Z":                                             `"total":0`,
	} {
		a.do(http.MethodGet, "/v1/runs?"+q, "").says(200, want)
	}
	a.do(http.MethodGet, "/v1/runs/"+string(id)+"?limit=0", "").says(200, string(id))
	a.do(http.MethodGet, "/v1/runs/"+string(id)+"?%76iew=report", "").says(200, `"cards":[`)
}

func TestAListedRunMatchesEveryFilter(t *testing.T) {
	a := newAPI(t, setup{})
	parked := a.parked()
	waiting := a.Start(a.Apply(journey()).ID, engine.StartRequest{ReferenceID: "person-2"}).ID
	list := func(query string) []verification.RunID {
		return idsOf(t, a.do(http.MethodGet, "/v1/runs?"+query, "").Body)
	}
	same(t, list("status=in_progress"), waiting, parked)
	same(t, list("decision=review"), parked)
	same(t, list("decision=review&status=in_progress"), parked)
	same(t, list("decision=review&status=completed"))
	same(t, list("decision=approve"))
}
