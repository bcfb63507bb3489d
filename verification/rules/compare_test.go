package rules_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/drawing"
	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification/workflow"
)

// parsed is a definition in JSON.
func parsed(t *testing.T, text string) workflow.Definition {
	t.Helper()
	var d workflow.Definition
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
	want := drawing.Comparison{
		Fields: []drawing.FieldChange{{Path: "name", Before: `"W"`, After: `"W2"`}, {Path: "run_ttl_seconds", Before: "60", After: ""}},
		Nodes: []drawing.NodeChange{
			{Node: "details", Change: drawing.ChangeChanged, Fields: []drawing.FieldChange{
				{Path: "fields.pan.label.hi", Before: `"पैन"`, After: `"पैन संख्या"`},
				{Path: "fields.pan.required", Before: "", After: "true"},
				{Path: "fields (order)", Before: `["pan","dob"]`, After: `["dob","pan"]`},
			}},
			{Node: "pan", Change: drawing.ChangeChanged, Fields: []drawing.FieldChange{
				{Path: "on_failed", Before: "", After: `"new"`},
				{Path: "retry", Before: `{"max_dispatches":3}`, After: ""},
				{Path: "with.level", Before: "0.80", After: "0.8"},
				{Path: "with.none", Before: "null", After: `"x"`},
			}},
			{Node: "risk", Change: drawing.ChangeChanged, Fields: []drawing.FieldChange{
				{Path: "rules[0].next", Before: `"old"`, After: `"new"`},
				{Path: "rules[0].when", Before: `"a"`, After: `"a && c"`},
				{Path: "rules[1]", Before: `{"next":"done","when":"b"}`, After: ""},
			}},
			{Node: "new", Change: drawing.ChangeAdded, Fields: []drawing.FieldChange{{Path: "next", Before: "", After: `"done"`}, {Path: "reason", Before: "", After: `"<b>"`}, {Path: "type", Before: "", After: `"review"`}}},
			{Node: "old", Change: drawing.ChangeRemoved, Fields: []drawing.FieldChange{{Path: "next", Before: `"done"`, After: ""}, {Path: "type", Before: `"review"`, After: ""}}},
		},
	}
	got := drawing.Compare(before, after)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("comparison (-want +got):\n%s", diff)
	}
	if change := got.Of("risk"); change != drawing.ChangeChanged {
		t.Errorf("risk is %q", change)
	}
	if change := got.Of("same"); change != drawing.ChangeNone {
		t.Errorf("same is %q", change)
	}
	for _, f := range got.Nodes[1].Fields {
		want := map[string]drawing.Change{"on_failed": drawing.ChangeAdded, "retry": drawing.ChangeRemoved}[f.Path]
		if want != "" && f.Change() != want {
			t.Errorf("%s is %q, want %q", f.Path, f.Change(), want)
		}
	}
}

func TestAComparisonShowsTheMembersOfAGroup(t *testing.T) {
	group := func(members string) workflow.Definition {
		return parsed(t, `{"workflow":"w","name":"W","start":"g","nodes":{"g":{"type":"checks","next":"d","members":`+members+`},"d":{"type":"end"}}}`)
	}
	got := drawing.Compare(group(`{"a":{"provider":"p"},"b":{"provider":"q"}}`), group(`{"b":{"provider":"q"},"a":{"provider":"r"}}`))
	want := []drawing.NodeChange{{Node: "g", Change: drawing.ChangeChanged, Fields: []drawing.FieldChange{
		{Path: "members.a.provider", Before: `"p"`, After: `"r"`}, {Path: "members (order)", Before: `["a","b"]`, After: `["b","a"]`},
	}}}
	if diff := cmp.Diff(want, got.Nodes); diff != "" {
		t.Errorf("comparison (-want +got):\n%s", diff)
	}
}

func TestADefinitionDoesNotDifferFromItself(t *testing.T) {
	for _, d := range []workflow.Definition{{}, flows.DeskFlow(), flows.Single(nil), flows.Ladder(), flows.Loop(), flows.Refusal()} {
		other := d
		other.ID, other.LifecycleWebhookURL, other.Publish = "x", "https://a.example", new(bool)
		if diff := cmp.Diff(drawing.Comparison{}, drawing.Compare(d, other)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", d.Workflow, diff)
		}
	}
}
