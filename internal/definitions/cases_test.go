package definitions_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"

	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// tried is the workflow of the cases.
func tried(t testing.TB) workflow.Definition {
	t.Helper()
	doc, err := definitions.ReadWorkflow("w.yaml", []byte(`
workflow: w
name: W
start: consent
nodes:
  consent: {type: consent, text: Yes?, on_declined: next, next: details}
  details: {type: customer_input, fields: {name: {type: text}, photo: {type: image}}, next: pan}
  pan: {type: check, key: pan_check, provider: sandbox, next: face}
  face: {type: check, provider: sandbox, next: bureau}
  bureau: {type: check, provider: sandbox, next: more}
  more: {type: branch, rules: [{when: "steps.pan.passed", next: review}], else: done}
  review: {type: review, next: done}
  done: {type: end, outcome: approved}
`))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Definition
}

func TestProblemsOfCasesHaveTheirPositions(t *testing.T) {
	for _, c := range refusedFiles(t, "cases.txtar") {
		t.Run(c.name, func(t *testing.T) {
			_, err := definitions.ReadCases("c"+filepath.Ext(c.name), c.raw, tried(t))
			c.check(t, err)
		})
	}
}

func TestACaseTakesFromTheDefaultsWhatItLeavesOut(t *testing.T) {
	found, err := definitions.ReadCases("c.yaml", []byte(`
defaults:
  start: 2026-03-01T00:00:00+05:30
  zone: Asia/Kolkata
  input: {a: 1, b: 2}
  answers: {consent: success, details: {name: Asha, photo: asha.jpg}}
  results: {pan: passed, face: [error, {data: {score: 0.5}}]}
  after: {details: 3d}
cases:
  first:
    input: {b: 3}
    answers: {details: []}
    results: {face: {outcome: failed, after: 90s}}
    verdicts: [approve, {verdict: reject, reason: r, notes: n, by: meera}]
    cancel: review
    expect: {status: completed, outcome: none, flags: [], path: [consent]}
  second: {reference_id: person-2}
`), tried(t))
	if err != nil {
		t.Fatal(err)
	}
	type (
		answers = []definitions.Line[verification.Data]
		results = []definitions.Line[definitions.Result]
		times   = []definitions.Line[time.Duration]
	)
	consent := answers{{Field: "defaults.answers.consent", Value: verification.Data(`{"consent_status":"success"}`)}}
	pan := results{{Field: "defaults.results.pan", Value: definitions.Result{Outcome: "passed"}}}
	after := map[verification.NodeID][]definitions.Line[time.Duration]{"details": times{{Field: "defaults.after.details", Value: 72 * time.Hour}}}
	start := time.Date(2026, 2, 28, 18, 30, 0, 0, time.UTC)
	want := []definitions.Case{
		{
			Name: "first", Start: start, Zone: "Asia/Kolkata", ReferenceID: "case", Input: verification.Data(`{"a":1,"b":3}`),
			Answers: map[verification.NodeID][]definitions.Line[verification.Data]{"consent": consent, "details": {}},
			Results: map[string][]definitions.Line[definitions.Result]{
				"pan": pan, "face": {{Field: "cases.first.results.face", Value: definitions.Result{Outcome: "failed", After: 90 * time.Second}}},
			},
			After: after, Cancel: "review",
			Verdicts: []definitions.Line[rules.Command]{
				{Field: "cases.first.verdicts[0]", Value: rules.GiveVerdict{Decision: "approve", By: "reviewer", Identity: "reviewer"}},
				{Field: "cases.first.verdicts[1]", Value: rules.GiveVerdict{Decision: "reject", Reason: "r", Notes: "n", By: "meera", Identity: "meera"}},
			},
			Expect: definitions.Expect{Status: "completed", Outcome: "none", Flags: []verification.NodeID{}, Path: []verification.NodeID{"consent"}},
		},
		{
			Name: "second", Start: start, Zone: "Asia/Kolkata", ReferenceID: "person-2", Input: verification.Data(`{"a":1,"b":2}`),
			Answers: map[verification.NodeID][]definitions.Line[verification.Data]{"consent": consent, "details": {{
				Field: "defaults.answers.details", Value: verification.Data(`{"name":"Asha","photo":{"document_id":"00000000-0000-7000-8000-0000000000dd"}}`),
			}}},
			Results: map[string][]definitions.Line[definitions.Result]{"pan": pan, "face": {
				{Field: "defaults.results.face[0]", Value: definitions.Result{Outcome: "error"}},
				{Field: "defaults.results.face[1]", Value: definitions.Result{Outcome: "passed", Data: verification.Data(`{"score":0.5}`)}},
			}},
			After: after,
		},
	}
	if diff := cmp.Diff(want, found.List, cmpopts.EquateApproxTime(0)); diff != "" {
		t.Errorf("cases (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"defaults.answers.consent", "defaults.answers.details", "defaults.results.pan", "defaults.results.face", "defaults.after.details",
	}, found.Defaults); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func FuzzReadCases(f *testing.F) {
	archive, err := txtar.ParseFile("testdata/problems/cases.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range archive.Files {
		f.Add(file.Data)
	}
	f.Add([]byte("defaults: {results: {face: [error, {after: 3d}]}}\ncases: {a: {after: {pan: [1h]}, verdicts: {verdict: reject}, expect: {path: [pan, 1]}}}"))
	def := tried(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		found, err := definitions.ReadCases("c.yaml", raw, def)
		checkDiagnostics(t, err)
		if err == nil && len(found.List) == 0 {
			t.Error("there is neither a case nor a problem")
		}
	})
}
