package verification_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
)

// parsed is a definition in JSON.
func parsed(t *testing.T, text string) verification.Definition {
	t.Helper()
	var d verification.Definition
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestAComparisonListsWhatDiffersFieldByField(t *testing.T) {
	before := parsed(t, `{"workflow": "w", "name": "W", "run_ttl_seconds": 60, "publish": false, "start": "details", "nodes": {
		"details": {"type": "customer_input", "next": "pan", "fields": {"pan": {"type": "text", "label": {"en": "PAN", "hi": "पैन"}}, "dob": {"type": "date"}}},
		"pan": {"type": "check", "provider": "registry", "with": {"number": "${steps.details.data.pan}", "level": 0.80, "none": null}, "retry": {"max_dispatches": 3}, "next": "risk"},
		"risk": {"type": "branch", "rules": [{"when": "a", "next": "old"}, {"when": "b", "next": "done"}], "else": "done"},
		"old": {"type": "review", "next": "done"},
		"same": {"type": "end"},
		"done": {"type": "end"}}}`)
	after := parsed(t, `{"workflow": "w", "name": "W2", "id": "0191f3c0-0000-7000-8000-000000000001", "start": "details", "nodes": {
		"details": {"type": "customer_input", "next": "pan", "fields": {"dob": {"type": "date"}, "pan": {"type": "text", "label": {"en": "PAN", "hi": "पैन संख्या"}, "required": true}}},
		"pan": {"type": "check", "provider": "registry", "with": {"level": 0.8, "none": "x", "number": "${steps.details.data.pan}"}, "next": "risk", "on_failed": "new"},
		"risk": {"type": "branch", "rules": [{"when": "a && c", "next": "new"}], "else": "done"},
		"new": {"type": "review", "reason": "<b>", "next": "done"},
		"same": {"type": "end"},
		"done": {"type": "end"}}}`)
	want := verification.Comparison{
		Fields: []verification.FieldChange{{"name", `"W"`, `"W2"`}, {"run_ttl_seconds", "60", ""}},
		Nodes: []verification.NodeChange{
			{"details", verification.ChangeChanged, []verification.FieldChange{
				{"fields.pan.label.hi", `"पैन"`, `"पैन संख्या"`},
				{"fields.pan.required", "", "true"},
				{"fields (order)", `["pan","dob"]`, `["dob","pan"]`},
			}},
			{"pan", verification.ChangeChanged, []verification.FieldChange{
				{"on_failed", "", `"new"`},
				{"retry", `{"max_dispatches":3}`, ""},
				{"with.level", "0.80", "0.8"},
				{"with.none", "null", `"x"`},
			}},
			{"risk", verification.ChangeChanged, []verification.FieldChange{
				{"rules[0].next", `"old"`, `"new"`},
				{"rules[0].when", `"a"`, `"a && c"`},
				{"rules[1]", `{"next":"done","when":"b"}`, ""},
			}},
			{"new", verification.ChangeAdded, []verification.FieldChange{{"next", "", `"done"`}, {"reason", "", `"<b>"`}, {"type", "", `"review"`}}},
			{"old", verification.ChangeRemoved, []verification.FieldChange{{"next", `"done"`, ""}, {"type", `"review"`, ""}}},
		},
	}
	got := verification.Compare(before, after)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("comparison (-want +got):\n%s", diff)
	}
	if change := got.Of("risk"); change != verification.ChangeChanged {
		t.Errorf("risk is %q", change)
	}
	if change := got.Of("same"); change != verification.ChangeNone {
		t.Errorf("same is %q", change)
	}
	for _, f := range got.Nodes[1].Fields {
		want := map[string]verification.Change{"on_failed": verification.ChangeAdded, "retry": verification.ChangeRemoved}[f.Path]
		if want != "" && f.Change() != want {
			t.Errorf("%s is %q, want %q", f.Path, f.Change(), want)
		}
	}
}

func TestADefinitionDoesNotDifferFromItself(t *testing.T) {
	for _, d := range []verification.Definition{{}, desk(), single(nil), ladder(), loop(), refusal()} {
		other := d
		other.ID, other.LifecycleWebhookURL, other.Publish = "x", "https://a.example", new(bool)
		if diff := cmp.Diff(verification.Comparison{}, verification.Compare(d, other)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", d.Workflow, diff)
		}
	}
}
