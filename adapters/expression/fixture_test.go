package expression_test

import (
	"encoding/json"
	"runtime"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

const onboarding = `{
	"type": "object",
	"properties": {
		"name": {"type": "string"},
		"age": {"type": "integer"},
		"score": {"type": ["number", "null"]},
		"nick": {"type": ["string", "null"]},
		"tags": {"type": "array", "items": {"type": "string"}},
		"limits": {"type": "array", "items": {"type": "number"}},
		"x-y": {"type": "string"},
		"active": {"type": "boolean"},
		"address": {"$ref": "#/$defs/address"},
		"people": {"type": "array", "items": {"type": "object", "properties": {"age": {"type": "number"}, "name": {"type": "string"}}}},
		"extra": {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": true},
		"typed_extra": {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}},
		"union": {"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [{"required": ["a"]}]},
		"free": {"type": "object"},
		"mixed": {"type": ["string", "number"]},
		"tree": {"$ref": "#/$defs/tree"},
		"any": true
	},
	"$defs": {
		"address": {"type": "object", "properties": {"city": {"type": "string"}, "zip": {"type": "string", "maxLength": 6}}},
		"tree": {"type": "object", "properties": {"value": {"type": "number"}, "left": {"$ref": "#/$defs/branch"}}},
		"branch": {"type": "object", "properties": {"value": {"type": "number"}, "left": {"$ref": "#/$defs/leaf"}}},
		"leaf": {"type": "object", "properties": {"value": {"type": "number"}}}
	}
}`

// language is the Compiler of all tests: it may be shared.
var language = expression.New()

// declared returns the declarations at a node near the end of an onboarding.
func declared() workflow.Declarations {
	return workflow.Declarations{
		Input: verification.Data(onboarding),
		Steps: map[verification.NodeID]workflow.StepDeclaration{
			"consent": {Type: workflow.NodeConsent, MayPrecede: true},
			"details": {
				Type: workflow.NodeCustomerInput, Optional: true, MayPrecede: true,
				Fields: workflow.InputFields{
					{Name: "pan", Type: workflow.FieldText},
					{Name: "about", Type: workflow.FieldTextarea},
					{Name: "age", Type: workflow.FieldNumber},
					{Name: "dob", Type: workflow.FieldDate},
					{Name: "country", Type: workflow.FieldSelect},
					{Name: "agree", Type: workflow.FieldCheckbox},
					{Name: "email", Type: workflow.FieldEmail},
					{Name: "phone", Type: workflow.FieldPhone},
					{Name: "front", Type: workflow.FieldFile},
					{Name: "face", Type: workflow.FieldImage},
					{Name: "place", Type: workflow.FieldLocation},
				},
			},
			"plain":  {Type: workflow.NodeCustomerInput, MayPrecede: true, Fields: workflow.InputFields{{Name: "a", Type: workflow.FieldText}}},
			"pan":    {Type: workflow.NodeCheck, Key: "register", MayPrecede: true},
			"review": {Type: workflow.NodeReview, MayPrecede: true},
			"later":  {Type: workflow.NodeCheck},
		},
	}
}

// reached returns a run after its details and a failed PAN check.
func reached() workflow.Scope {
	return workflow.Scope{
		Input: verification.Data(`{"name":"Asha Rao","age":30,"nick":null,"tags":["a","b"],"limits":[1,2.5],` +
			`"people":[{"age":3,"name":"x"},{"age":40}],"extra":{"a":"x","more":7},"any":{"list":[10,20]},"active":true}`),
		RunID:       "0191f3c0-0000-7000-8000-000000000001",
		ReferenceID: "ref-1",
		StartedAt:   time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
		Steps: []workflow.StepValues{
			{Node: "consent", Status: "passed", Passed: true, Data: verification.Data(`{"consent_status":"success"}`)},
			{Node: "details", Status: "passed", Passed: true, Data: verification.Data(
				`{"pan":"ABCDE1234F","age":18,"dob":"1990-01-31","country":"IN","agree":true,"email":"asha@example.com",` +
					`"phone":null,"front":{"document_id":"d-1"},"place":{"latitude":19.07,"longitude":72.87},"geo_ok":true}`)},
			{Node: "pan", Status: "failed", Dispatches: 2, Data: verification.Data(
				`{"name_match":0.7,"name":"Asha R","hits":[{"list":"a","score":0.9},{"list":"b","score":0.2}],"nested":{"n":1},"note":null}`)},
		},
	}
}

func compiled(t testing.TB, text string) workflow.Condition {
	t.Helper()
	c, err := language.Condition(text, declared())
	if err != nil {
		t.Fatalf("Condition(%q) = %v, want no error", text, err)
	}
	return c
}

func render(t testing.TB, object string) (map[string]any, error) {
	t.Helper()
	tpl, err := language.Template(verification.Data(object), declared())
	if err != nil {
		t.Fatalf("Template(%s) = %v, want no error", object, err)
	}
	return tpl.Render(reached())
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("marshal %v: %v", v, err)
	}
	return string(raw)
}

// allocated returns how many bytes f allocates, which measures its work independently of
// the load of the machine.
func allocated(f func()) uint64 {
	bytes, _ := allocations(f)
	return bytes
}

// allocations also returns how many objects f allocates.
func allocations(f func()) (bytes, objects uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, after.Mallocs - before.Mallocs
}
