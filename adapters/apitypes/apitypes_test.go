// Tests that responses are decoded into the values that they were encoded from.

package apitypes_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestClientsDecodeWhatIsEncoded(t *testing.T) {
	at := time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC)
	run := rules.RunView{
		ID: "r", WorkflowID: "w", ReferenceID: "p", Status: rules.StatusFailed, StartedAt: at, CompletedAt: at,
		Action: &rules.Action{Type: rules.ActionReview, SignalName: "s"},
		Error:  &rules.RunError{Code: rules.CodeCheckFailed, Check: "c", Message: "m"},
	}
	flags := []rules.Flag{{NodeID: "n", Label: "l", Reason: "r"}}
	data := verification.Data(`{"a":1}`)
	roundTrip(t, apitypes.NewRun(rules.RunView{ID: "r", StartedAt: at}))
	roundTrip(t, apitypes.NewEvent(rules.Notice{Run: run}))
	roundTrip(t, apitypes.NewRunDetail(rules.RunDetail{
		RunView: run, Decision: rules.DecisionReview, Notes: "n", ResolvedAt: at,
		Checks: []rules.Check{{Key: "k", Label: "l", Status: rules.StepPassed, Data: data}, {Key: "k2"}}, Flags: flags,
	}))
	roundTrip(t, apitypes.NewReport(rules.Report{
		Digest: "d", Decision: rules.DecisionApprove, Flags: flags,
		Cards:            []rules.Card{{NodeID: "n", StartedAt: at, CompletedAt: at, Data: data, Corrections: []rules.Correction{{Field: "a", Text: "2", At: at}}}, {NodeID: "m", StartedAt: at}},
		InputCorrections: []rules.Correction{{Field: "b", Text: "3", At: at}},
	}))
	roundTrip(t, apitypes.WorkflowDetail{
		Workflow: apitypes.NewWorkflow(workflow.Workflow{ID: "w", CreatedAt: at}), Steps: []workflow.CheckInfo{{Key: "k", Label: "l"}},
	})
	roundTrip(t, apitypes.NewPage(store.Page[rules.RunView]{Data: []rules.RunView{run}, Total: 3}, apitypes.NewRun))
	roundTrip(t, apitypes.ShortError{Error: "e", Code: "c"})
	for _, details := range []any{nil, "a sentence", []apitypes.FieldError{{Field: "f", Message: "m"}}} {
		roundTrip(t, apitypes.FullError{Error: "Bad Request", Message: "m", Code: 400, Details: details})
	}
}

func TestAnErrorOfAnotherShapeIsNotDecoded(t *testing.T) {
	for _, raw := range []string{`{"code": "400"}`, `{"details": [{"field": 1}]}`, `{"details": ["f"]}`} {
		if err := json.Unmarshal([]byte(raw), &apitypes.FullError{}); err == nil {
			t.Errorf("decode %s = nil, want an error", raw)
		}
	}
}

func roundTrip[T any](t *testing.T, want T) {
	t.Helper()
	raw, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got T
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatalf("decode %s: %v", raw, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s is decoded into another value (-want +got):\n%s", raw, diff)
	}
}

func TestATimestampIsInUTCAndInWholeSeconds(t *testing.T) {
	at := time.Date(2026, time.January, 5, 9, 0, 0, 999, time.FixedZone("east", 3600))
	for _, c := range []struct {
		time       time.Time
		json, text string
	}{{at, `"2026-01-05T08:00:00Z"`, "2026-01-05T08:00:00Z"}, {time.Time{}, "null", ""}} {
		raw, err := json.Marshal(apitypes.Timestamp{Time: c.time})
		if got := (apitypes.Timestamp{Time: c.time}).String(); err != nil || string(raw) != c.json || got != c.text {
			t.Errorf("%s is written as %s (%v) and %q, want %s and %q", c.time, raw, err, got, c.json, c.text)
		}
	}
}

func TestATimeIsReadToTheMicrosecond(t *testing.T) {
	for text, want := range map[string]time.Time{
		"2026-01-05T08:00:00Z":              time.Date(2026, time.January, 5, 8, 0, 0, 0, time.UTC),
		"2026-01-05T09:00:00.0000019+01:00": time.Date(2026, time.January, 5, 8, 0, 0, 1000, time.UTC),
		"0001-01-01T00:00:01Z":              time.Date(1, time.January, 1, 0, 0, 1, 0, time.UTC),
		"0000-12-31T23:59:59Z":              {},
		"2026-01-05":                        {},
		"2026-01-05T08:00:00":               {},
		"":                                  {},
	} {
		got, err := apitypes.ParseTime(text)
		if (err != nil) != want.IsZero() || err == nil && !got.Equal(want) {
			t.Errorf("ParseTime(%q) = %s, %v; want %s", text, got, err, want)
		}
	}
}

func TestAnEmptyListIsNotNull(t *testing.T) {
	empty := store.Page[rules.RunView]{PageQuery: store.PageQuery{Limit: 50}}
	raw, err := json.Marshal(apitypes.NewPage(empty, apitypes.NewRun))
	if want := `{"data":[],"total":0,"limit":50,"offset":0}`; err != nil || string(raw) != want {
		t.Errorf("JSON = %s, %v; want %s", raw, err, want)
	}
}
