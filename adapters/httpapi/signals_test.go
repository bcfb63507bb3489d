// Tests of signals: verdicts with the exact texts of errors, and answers of customers.

package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/verification/rules"
)

const (
	nodeIDGone  = `{"error":"payload.node_id is no longer accepted: a review decision applies to the whole run"}`
	badDecision = `{"error":"payload rejected: decision must be \"approve\" or \"reject\""}`
)

func TestTheBodyOfAVerdict(t *testing.T) {
	a := newAPI(t, setup{})
	review := "/v1/signals/" + string(a.parked()) + "/human_review_decision"
	for body, want := range map[string]string{
		`{"payload":{"decision":"approve","node_id":"pan"}}`: nodeIDGone,
		`{"payload":{"decision":"approve","node_id":null}}`:  nodeIDGone,
		`{"payload":{"decision":"maybe","node_id":1,"x":1}}`: nodeIDGone,
		`{"payload":{}}`:                                         badDecision,
		`{"payload":{"notes":"x"}}`:                              badDecision,
		`{"payload":{"decision":"review"}}`:                      badDecision,
		`{"payload":{"decision":"Approve"}}`:                     badDecision,
		`{"payload":{"decision":""}}`:                            badDecision,
		`{"payload":{"decision":null}}`:                          badDecision,
		`{"payload":{"decision":true}}`:                          badDecision,
		`{"payload":{"decision":["approve"]}}`:                   badDecision,
		`{"payload":{"decision":7,"notes":7}}`:                   badDecision,
		`{"payload":{"decision":"approve","note":"x"}}`:          badField("payload.note", "is not a known field"),
		`{"payload":{"decision":"approve","notes":7}}`:           badField("payload.notes", "must be a string"),
		`{"payload":{"decision":"approve","notes":null}}`:        badField("payload.notes", "must be a string"),
		`{"payload":{"decision":"approve","notes":"\u0000"}}`:    badField("payload.notes", "must not contain a NUL character"),
		`{"payload":{"decision":"approve","decision":"reject"}}`: badField("payload.decision", "is given twice"),
		`{"payload":{"decision":"approve"},"extra":1}`:           badField("extra", "is not a known field"),
		`{"decision":"approve"}`:                                 bad(`[{"field":"decision","message":"is not a known field"},{"field":"payload","message":"is required"}]`),
		`{}`:                                                     badField("payload", "is required"),
		`{"payload":null}`:                                       badField("payload", "must be an object"),
		`{"payload":"approve"}`:                                  badField("payload", "must be an object"),
		`{"payload":{"decision":"approve"`:                       badField("payload", "is not valid JSON at byte 32"),
		`{"payload":{"decision":"reject","notes":"` + strings.Repeat("é", 10001) + `"}}`: badField("payload.notes", "must be at most 10000 characters"),
	} {
		a.do(http.MethodPost, review, body).is(400, want)
	}
	a.do(http.MethodPost, review, `{"payload":{"notes":"`+strings.Repeat("é", 10000)+`","decision":"reject"}}`).
		is(200, `{"ok":true,"result":"signal_delivered","decision":"reject"}`)
	a.do(http.MethodPost, review, `{"payload":{"decision":"approve","notes":""}}`).
		is(200, `{"ok":true,"result":"review_recorded","decision":"approve"}`)
}

func TestSignalsThatAreNotOpen(t *testing.T) {
	a := newAPI(t, setup{})
	waiting := "/v1/signals/" + string(a.started(journey()).ID) + "/"
	const approve = `{"payload":{"decision":"approve"}}`
	a.do(http.MethodPost, waiting+"human_review_decision", approve).is(404, `{"error":"no open signal human_review_decision for this run"}`)
	a.do(http.MethodPost, waiting+"details_submitted", `{"payload":{}}`).is(404, `{"error":"no open signal details_submitted for this run"}`)
	a.do(http.MethodPost, waiting+"a%2Fb%20%22c%22", `{"payload":{}}`).is(404, `{"error":"no open signal a/b \"c\" for this run"}`)
	a.do(http.MethodPost, waiting+"human_review%5fdecision", approve).is(404, `{"error":"no open signal human_review_decision for this run"}`)
	a.do(http.MethodPost, waiting, approve).says(404, "There is no such route.")
	if got := a.do(http.MethodPost, waiting+strings.Repeat("n", 100000), `{"payload":{}}`).says(404, "no open signal nnn"); len(got.Body) > 1000 {
		t.Errorf("a long name makes an answer of %d bytes", len(got.Body))
	}

	a.do(http.MethodPost, "/v1/signals/"+nowhere+"/consent_submitted", `{"payload":{}}`).is(404, noRun)
	a.do(http.MethodPost, "/v1/signals/no-uuid/human_review_decision", approve).is(404, noRun)
}

func TestACustomerIsAskedAgain(t *testing.T) {
	a := newAPI(t, setup{})
	id := a.started(journey()).ID
	signal := func(name, payload string) response {
		return a.do(http.MethodPost, "/v1/signals/"+string(id)+"/"+name, `{"payload":`+payload+`}`)
	}
	const ask = `{"reasons":["blurred"],"fields":["pan"],"note_to_customer":"Please type it again."}`
	signal("human_review_resubmit", ask).is(404, `{"error":"no open signal human_review_resubmit for this run"}`)
	for _, lacking := range []string{`{}`, `{"reasons":[]}`, `{"note_to_customer":"Again."}`} {
		signal("human_review_resubmit", lacking).says(400, `"payload.reasons","message":"is required"`)
	}
	signal("consent_submitted", `{"consent_status":"success"}`).is(200, `{"ok":true,"result":"signal_delivered"}`)
	signal("details_submitted", `{"pan":"ABCDE1234F"}`).is(200, `{"ok":true,"result":"signal_delivered"}`)
	a.Settle()
	signal("human_review_resubmit", `{"reasons":["ugly"]}`).says(400, "payload.reasons[0]")
	signal("human_review_resubmit", `{"reason":"blurred"}`).says(400, "is not a known field")
	signal("human_review_resubmit", ask).is(200, `{"ok":true,"result":"signal_delivered"}`)
	signal("human_review_resubmit", ask).is(404, `{"error":"no open signal human_review_resubmit for this run"}`)
	signal("human_review_decision", `{"decision":"approve"}`).is(404, `{"error":"no open signal human_review_decision for this run"}`)
	a.do(http.MethodGet, "/v1/runs/"+string(id), "").says(200, `"signal_name":"details_submitted"`)
	const round = `"rounds":[{"round":1,"visit":1,"reasons":["blurred"],"fields":["pan"],"note_to_customer":"Please type it again.","asked_at":"2026-01-05T09:00:00Z"`
	a.do(http.MethodGet, "/v1/runs/"+string(id)+"?view=report", "").says(200, round+"}]")
	signal("details_submitted", `{"pan":"ABCDE1234G"}`).is(200, `{"ok":true,"result":"signal_delivered"}`)
	a.Settle()
	a.do(http.MethodGet, "/v1/runs/"+string(id)+"?view=report", "").says(200, round+`,"answered_at":"2026-01-05T09:00:00Z"}]`)
	signal("human_review_decision", `{"decision":"approve"}`).is(200, `{"ok":true,"result":"signal_delivered","decision":"approve"}`)
}

func TestTheDataOfACustomer(t *testing.T) {
	a := newAPI(t, setup{})
	id := a.started(journey()).ID
	consent, details := "/v1/signals/"+string(id)+"/consent_submitted", "/v1/signals/"+string(id)+"/details_submitted"
	a.do(http.MethodPost, consent, `{"payload":{"consent_status":"yes"}}`).is(400, badField("payload.consent_status", `must be \"success\" or \"declined\"`))
	a.do(http.MethodPost, consent, `{"payload":{"a":{"b":1,"b":1}}}`).is(400, badField("payload.a.b", "is given twice"))
	a.do(http.MethodPost, consent, `{"consent_status":"success"}`).
		is(400, bad(`[{"field":"consent_status","message":"is not a known field"},{"field":"payload","message":"is required"}]`))
	a.do(http.MethodPost, consent, `{"payload":{"consent_status":"success"}}`).is(200, `{"ok":true,"result":"signal_delivered"}`)
	a.do(http.MethodPost, consent, `{"payload":{"consent_status":"success"}}`).is(404, `{"error":"no open signal consent_submitted for this run"}`)
	a.do(http.MethodPost, details, `{"payload":{"colour":"red"}}`).
		is(400, bad(`[{"field":"payload.colour","message":"is not a field of this step"},{"field":"payload.pan","message":"is required"}]`))
	a.do(http.MethodPost, details, `{"payload":{"pan":"ABCDE1234F"}}`).is(200, `{"ok":true,"result":"signal_delivered"}`)
	if d := a.Run(id); d.Action == nil || d.Action.Type != rules.ActionReview {
		t.Errorf("action = %+v, want a review", d.Action)
	}
}
