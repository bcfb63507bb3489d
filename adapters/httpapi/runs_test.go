// Tests of runs: every shape byte for byte, with its headers.

package httpapi_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/httpapi"
	"github.com/verifyd/verifyd/internal/rig/golden"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

func idsOf(t *testing.T, body []byte) []verification.RunID {
	t.Helper()
	var page struct {
		Data []struct{ ID verification.RunID }
	}
	must(t, json.Unmarshal(body, &page))
	var ids []verification.RunID
	for _, r := range page.Data {
		ids = append(ids, r.ID)
	}
	return ids
}

func same(t *testing.T, got []verification.RunID, want ...verification.RunID) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("runs = %v, want %v", got, want)
	}
}

func (a *api) golden(name, path string) {
	a.t.Helper()
	got := a.do(http.MethodGet, path, "")
	if got.Status != http.StatusOK {
		a.t.Fatalf("GET %s = %d %s", path, got.Status, got.Body)
	}
	golden.Equal(a.t, "testdata/"+name+".json", masked(got.Body))
}

// masked hides hashes and link tokens, which this package does not make.
func masked(body []byte) []byte {
	body = regexp.MustCompile(`"[0-9a-f]{64}"`).ReplaceAll(body, []byte(`"<hash>"`))
	return regexp.MustCompile(`/journey/[0-9a-f]+"`).ReplaceAll(body, []byte(`/journey/<token>"`))
}

func (a *api) goldenRun(name string, id verification.RunID) {
	a.t.Helper()
	a.golden("run-"+name, "/v1/runs/"+string(id))
	a.golden("report-"+name, "/v1/runs/"+string(id)+"?view=report")
}

// TestRunShapes drives runs to each of their states, and reads each run alone and as a
// report.
func TestRunShapes(t *testing.T) {
	a := newAPI(t, setup{})
	w := a.Apply(journey())

	id := a.Start(w.ID, engine.StartRequest{ReferenceID: `Ünïcode & "quotes" <tags>`}).ID
	a.goldenRun("awaits-customer", id)
	a.Advance(31 * time.Minute)
	a.goldenRun("abandoned", id)
	a.Submit(id, "consent_submitted", map[string]any{"consent_status": "declined"})
	a.Provider.On("pan_verification",
		enginetest.Pass(map[string]any{"source_ok": false, "nested": map[string]any{"list": []any{1.5, nil, "é<"}}}))
	a.Submit(id, "details_submitted", map[string]any{"pan": "ABCDE1234F"})
	a.goldenRun("awaits-review", id)
	a.do(http.MethodPost, "/v1/signals/"+string(id)+"/human_review_decision", `{"payload":{"decision":"approve","notes":"Line one\nLine \"two\""}}`).
		is(200, `{"ok":true,"result":"signal_delivered","decision":"approve"}`)
	a.Settle()
	a.goldenRun("approved", id)
	a.do(http.MethodPost, "/v1/signals/"+string(id)+"/human_review_decision", `{"payload":{"decision":"reject"}}`).
		is(200, `{"ok":true,"result":"review_recorded","decision":"reject"}`)
	a.goldenRun("rejected", id)

	expired := a.Start(w.ID, engine.StartRequest{ReferenceID: "person-2"}).ID
	a.Advance(25 * time.Hour)
	a.goldenRun("expired", expired)

	a.Provider.On("pan_verification", enginetest.Fail(map[string]any{}))
	failed := a.started(simple()).ID
	a.goldenRun("failed", failed)

	a.Provider.On("pan_verification", enginetest.Slow(time.Hour, enginetest.Pass(nil)))
	v, err := a.Engine.Start(t.Context(), enginetest.Tenant, a.Apply(simple()).ID, engine.StartRequest{ReferenceID: "person-4"})
	must(t, err)
	a.goldenRun("running", v.ID)
	a.do(http.MethodPost, "/v1/runs/"+string(v.ID)+"/cancel", "").is(200, `{"id":"`+string(v.ID)+`","status":"cancelled"}`)
	a.goldenRun("cancelled", v.ID)

	a.golden("runs", "/v1/runs?limit=3&offset=1")
}

// An outcome is shown with the run, in lists and in the report, and only where there is one.
func TestOutcomesAreShownWithTheRun(t *testing.T) {
	a := newAPI(t, setup{})
	d := simple()
	d.Nodes["done"] = workflow.Node{Type: workflow.NodeEnd, Outcome: "approved"}
	id := a.started(d).ID
	a.goldenRun("outcome", id)
	a.do(http.MethodGet, "/v1/runs?limit=1", "").says(200, `"completed_at":"2026-01-05T09:00:00Z","outcome":"approved","action_required":null`)
	a.Provider.On("pan_verification", enginetest.Fail(nil))
	failed := a.started(d).ID
	if got := a.do(http.MethodGet, "/v1/runs/"+string(failed), ""); strings.Contains(string(got.Body), "outcome") {
		t.Errorf("a run that failed has an outcome: %s", got.Body)
	}
}

func TestAStartReturnsTheListShape(t *testing.T) {
	a := newAPI(t, setup{})
	w := a.Apply(journey())
	got := a.do(http.MethodPost, "/v1/workflows/"+string(w.ID)+"/runs",
		`{"reference_id":"person-1","input":{"name":"Asha"},"redirect_uri":"https://app.example/verify/done"}`)
	if got.Status != http.StatusAccepted {
		t.Fatalf("start = %d %s", got.Status, got.Body)
	}
	golden.Equal(t, "testdata/run-started.json", masked(got.Body))
	a.do(http.MethodPost, "/v1/workflows/"+string(w.ID)+"/runs", `{"reference_id":"p","input":{"name":7}}`).says(400, `{"field":"input.name"`)
}

func TestCancelSaysWhatTheRunIs(t *testing.T) {
	a := newAPI(t, setup{})
	done := a.started(simple()).ID
	cancel := "/v1/runs/" + string(done) + "/cancel"
	a.do(http.MethodPost, cancel, "").is(409, `{"error":"Conflict","message":"The run is completed and can no longer be cancelled.","code":409,"reason":"run_over"}`)

	live := a.started(journey()).ID
	for range 2 {
		a.do(http.MethodPost, "/v1/runs/"+string(live)+"/cancel", "").is(200, `{"id":"`+string(live)+`","status":"cancelled"}`)
	}
	a.do(http.MethodPost, "/v1/runs/no-uuid/cancel", "").is(404, noRun)
}

func TestARedactedRunIsReadWithoutPersonalData(t *testing.T) {
	a := newAPI(t, setup{})
	live := string(a.started(journey()).ID)
	a.do(http.MethodPost, "/v1/runs/"+live+"/redact", "").
		is(409, `{"error":"Conflict","message":"The run is live: cancel it, or wait for its end.","code":409,"reason":"run_live"}`)
	a.do(http.MethodGet, "/v1/runs/"+live, "").says(200, `"reference_id":"person-1"`)

	path := "/v1/runs/" + string(a.started(simple()).ID)
	if before := a.do(http.MethodGet, path, ""); strings.Contains(string(before.Body), "redacted_at") {
		t.Errorf("the run has a redacted_at: %s", before.Body)
	}
	got := a.do(http.MethodPost, path+"/redact", "{}").says(200, `"reference_id":"redacted"`).header("Cache-Control", "no-store")
	at := field(t, got, "redacted_at")
	if want := a.Clock.Now().UTC().Format(time.RFC3339); at != want {
		t.Errorf("redacted_at = %s, want %s", at, want)
	}
	a.Advance(time.Hour)
	complete := strings.TrimSuffix(string(got.Body), "}\n") + `,"erased_at":"` + a.Clock.Now().Add(11*time.Minute-time.Hour).UTC().Format(time.RFC3339) + "\"}\n"
	for _, again := range []string{string(a.do(http.MethodPost, path+"/redact", "").Body), string(a.do(http.MethodGet, path, "").Body)} {
		if again != complete {
			t.Errorf("the run then reads %s, want %s", again, complete)
		}
	}
	a.do(http.MethodGet, path+"?view=report", "").says(200, `"redacted_at":"`+at+`"`)
	a.do(http.MethodGet, "/v1/runs?reference_id=redacted", "").says(200, `"redacted_at":"`+at+`"`)
}

func TestIDsOfThePathAreUUIDs(t *testing.T) {
	a := newAPI(t, setup{})
	id := string(a.started(simple()).ID)
	a.do(http.MethodGet, "/v1/runs/"+strings.ToUpper(id), "").says(200, id)
	a.do(http.MethodGet, "/v1/runs/"+strings.Replace(id, "-", "%2D", 1), "").says(200, id)
	for _, bad := range []string{"x", "{" + id + "}", "urn:uuid:" + id, strings.ReplaceAll(id, "-", ""), id + "%00", id + "%2F", id + "0"} {
		a.do(http.MethodGet, "/v1/runs/"+bad, "").is(404, noRun)
		a.do(http.MethodGet, "/v1/runs/"+bad+"/report.pdf", "").is(404, noRun)
		a.do(http.MethodGet, "/v1/workflows/"+bad, "").is(404, noWorkflow)
	}
}

func TestOnlyTheSurfaceFilesPrintsForTheFile(t *testing.T) {
	a := newAPI(t, setup{options: httpapi.Options{Signer: newSigner(t)}})
	id := string(a.started(simple()).ID)
	a.account("usual", enginetest.Tenant, verification.Surfaces()...)
	a.account("runs", enginetest.Tenant, verification.SurfaceRuns)
	a.account("files", enginetest.Tenant, verification.SurfaceFiles)
	for _, path := range []string{"/v1/runs/" + id + "/report.pdf", "/v1/runs/" + id + "/report.pdf.jws", "/v1/runs/" + nowhere + "/report.pdf", "/v1/runs/x/report.pdf"} {
		for _, client := range []string{"usual", "runs"} {
			for _, query := range []string{"?for=file", "?for=%66ile", "?for=file&allow_missing=1", "?for=file&for=file"} {
				a.do(http.MethodGet, path+query, "", "client-id: "+client).is(403, `{"error":"service account not authorized for this surface"}`)
				if got := a.do(http.MethodHead, path+query, "", "client-id: "+client); got.Status != http.StatusForbidden {
					t.Errorf("HEAD %s%s as %s = %d, want 403", path, query, client, got.Status)
				}
			}
		}
	}
	a.do(http.MethodGet, "/v1/runs/"+id+"/report.pdf", "", "client-id: runs").says(200, "%PDF of ")
	a.do(http.MethodGet, "/v1/runs/"+id+"/report.pdf?for=customer", "", "client-id: runs").says(400, "for")
	a.do(http.MethodGet, "/v1/runs/"+id+"/report.pdf?for=file", "", "client-id: files").says(200, "for the file")
	a.do(http.MethodGet, "/v1/runs/"+id+"/report.pdf", "", "client-id: files").says(403, "surface")
	a.do(http.MethodGet, "/v1/runs/"+id, "", "client-id: files").says(403, "surface")
}

func TestThePrintedReport(t *testing.T) {
	a := newAPI(t, setup{})
	id := string(a.started(simple()).ID)
	a.do(http.MethodGet, "/v1/runs/"+id+"/report.pdf", "").is(200, "%PDF of "+id).
		header("Content-Type", "application/pdf").
		header("Content-Disposition", `inline; filename="verification-`+id+`.pdf"`).
		header("Content-Length", "44")
	a.do(http.MethodGet, "/v1/runs/"+id+"/report.pdf?for=file", "").is(200, "%PDF of "+id+" for the file")
	for _, q := range []string{"for=", "for", "for=File", "for=customer", "for=file&for=file", "for=%"} {
		a.do(http.MethodGet, "/v1/runs/"+id+"/report.pdf?"+q, "").is(400, badField("for", `must be \"file\", or left out`))
	}
	lacking := "/v1/runs/" + string(a.Start(a.Apply(simple()).ID, engine.StartRequest{ReferenceID: "漢-1"}).ID) + "/report.pdf"
	a.do(http.MethodGet, lacking+"?for=file", "").
		is(409, `{"error":"Conflict","message":"No font has U+6F22.","code":409,"reason":"conflict","details":[{"field":"allow_missing","message":"must be 1"}]}`)
	a.do(http.MethodGet, lacking+"?for=file&allow_missing=1", "").says(200, "for the file")
	a.do(http.MethodGet, lacking, "").says(200, "%PDF of ")
	for _, q := range []string{"allow_missing=", "for=file&allow_missing=true", "allow_missing=1&allow_missing=1"} {
		a.do(http.MethodGet, lacking+"?"+q, "").is(400, badField("allow_missing", "must be 1, or left out"))
	}
	live := string(a.started(journey()).ID)
	a.do(http.MethodGet, "/v1/runs/"+live+"/report.pdf", "").
		is(409, `{"error":"Conflict","message":"The run is in_progress; its report is printed once it is over.","code":409,"reason":"run_not_over"}`)
	a.do(http.MethodGet, "/v1/runs/"+nowhere+"/report.pdf", "").is(404, noRun)

	none := newAPI(t, setup{ports: func(p *engine.Ports, _ *engine.Options) { p.Printer = nil }})
	none.do(http.MethodGet, "/v1/runs/"+string(none.started(simple()).ID)+"/report.pdf", "").
		says(503, "Reports are not printed here.").header("Retry-After", "1")
}

func TestRecordedDataGoesOutAsItCameIn(t *testing.T) {
	a := newAPI(t, setup{})
	w := a.Apply(simple())
	at := enginetest.Began()
	id := verification.RunID("00000000-0000-7000-8000-00000000da7a")
	const data = `{"a":1,"a":2,"big":12345678901234567890.10,"e":1E5,"s":"\u00e9\/\ud800"}`
	history := []rules.Event{
		{At: at, Fact: rules.Started{Workflow: w.ID, WorkflowName: "Simple", Version: 1, VersionHash: w.LatestHash, ReferenceID: "p"}},
		{At: at, Fact: rules.Dispatched{Node: "pan", Key: "pan_verification", Label: "PAN", Provider: "script", Dispatch: 1, Visit: 1}},
		{At: at, Fact: rules.ResultRecorded{Node: "pan", Passed: true, Data: verification.Data(data)}},
		{At: at, Fact: rules.Completed{Node: "done"}},
	}
	must(t, a.Store.Append(t.Context(), enginetest.Tenant, id, 0, store.Commit{
		Events: history, Summary: rules.Fold(id, history).Summary(),
	}))
	a.do(http.MethodGet, "/v1/runs/"+string(id), "").says(200, `"data":`+data)
	a.do(http.MethodGet, "/v1/runs/"+string(id)+"?view=report", "").says(200, `"data":`+data)
}

func TestAReportHasTheGroupsOfItsRun(t *testing.T) {
	a := newAPI(t, setup{})
	members := workflow.Members{{Name: "bureau", Label: "Bureau", Provider: "script"}, {Name: "register", Label: "Register", Provider: "script", When: "has(input.abroad)"}}
	run := a.started(workflow.Definition{
		Workflow: "company", Name: "Company", Start: "address",
		Nodes: map[verification.NodeID]workflow.Node{
			"address": {Type: workflow.NodeChecks, Label: "Address", Need: 1, Members: members, OnNotMet: "done", Next: "owners"},
			"owners":  {Type: workflow.NodeCheck, Label: "Owner", Provider: "script", ForEach: "['a', 'b']", Next: "done"},
			"done":    {Type: workflow.NodeEnd},
		},
	})
	a.Settle()
	const at = `"2026-01-05T09:00:00Z"`
	a.do(http.MethodGet, "/v1/runs/"+string(run.ID)+"?view=report", "").says(200, `"groups":[{"node_id":"address","type":"checks","label":"Address","status":"met","order":"together","need":1,`+
		`"members":[{"node_id":"address.bureau","label":"Bureau","answer":"confirmed"},{"node_id":"address.register","label":"Register","answer":"left_out"}],"started_at":`+at+`,"decided_at":`+at+`},`+
		`{"node_id":"owners","type":"check","label":"Owner","status":"met",`+
		`"elements":[{"node_id":"owners[1]","label":"Owner 1 of 2","answer":"confirmed"},{"node_id":"owners[2]","label":"Owner 2 of 2","answer":"confirmed"}],"started_at":`+at+`,"decided_at":`+at+`}]`)
}
