package expression_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestValuesAreEvaluatedTogether(t *testing.T) {
	d := workflow.Declarations{
		Input: verification.Data(`{"type":"object","properties":{"name":{"type":"string"},"tags":{"type":"array"}}}`),
		Steps: map[verification.NodeID]workflow.StepDeclaration{
			"form": {Type: workflow.NodeCustomerInput, MayPrecede: true, Fields: workflow.InputFields{
				{Name: "name", Type: workflow.FieldText}, {Name: "photo", Type: workflow.FieldImage},
			}},
			"check": {Type: workflow.NodeCheck, MayPrecede: true},
		},
	}
	scope := workflow.Scope{
		Input: verification.Data(`{"name":"Asha","tags":["a","b"]}`),
		Steps: []workflow.StepValues{{Node: "form", Data: verification.Data(`{"name":"Ravi","photo":{"document_id":"x"}}`)}, {
			Node: "check", Data: verification.Data(`{"n":12345678901234567890,"long":"` + strings.Repeat("x", 70_000) + `"}`),
		}},
	}
	rows := []struct {
		text    string
		value   any
		reads   []string
		types   []string
		problem string
	}{
		{text: "input.name", value: "Asha", reads: []string{"input.name"}, types: []string{"string"}},
		{text: "steps.form.data.name + '!'", value: "Ravi!", reads: []string{"steps.form.data.name"}, types: []string{"string"}},
		{text: "steps.form.data.photo", value: map[string]any{"document_id": "x"}, reads: []string{"steps.form.data.photo"}, types: []string{"object"}},
		{text: "steps.check.data.lost", reads: []string{"steps.check.data.lost"}},
		{text: "steps.check.data.long", value: "the value is larger than 1048576 bytes", reads: []string{"steps.check.data.long"}},
		{text: "steps.form.data.nmae", problem: "steps.form.data.nmae: undefined field 'nmae'; did you mean name?"},
		{text: "input.name ==", problem: "Syntax error"},
		{text: " ", problem: "the expression is empty"},
		{text: "input.tags", value: []any{"a", "b"}, reads: []string{"input.tags"}, types: []string{"array"}},
	}
	var texts []string
	for _, r := range rows {
		texts = append(texts, r.text)
	}
	values, problems := expression.New().Values(texts, d)
	all := values.Evaluate(scope)
	for i, r := range rows {
		if got := problems[i]; (got == nil) != (r.problem == "") || got != nil && !strings.Contains(got.Error(), r.problem) {
			t.Errorf("%s: problem %v, want %q", r.text, got, r.problem)
		}
		if err, unclear := all[i].(error); unclear {
			all[i] = err.Error()
		}
		if diff := cmp.Diff(r.value, all[i]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", r.text, diff)
		}
		if diff := cmp.Diff([][]string{r.reads, r.types}, [][]string{values.Reads(i), values.Types(i)}); diff != "" {
			t.Errorf("reads and types of %s (-want +got):\n%s", r.text, diff)
		}
	}
	var at *verification.TextError
	if !errors.As(problems[5], &at) || at.Character == 0 {
		t.Errorf("the problem %v has no position", problems[5])
	}
	if all := values.Evaluate(workflow.Scope{}); !cmp.Equal(all, make([]any, len(rows))) {
		t.Errorf("values of a run without data = %v, want none", all)
	}
}

func TestValuesThatCannotBeMeantAreFound(t *testing.T) {
	d := workflow.Declarations{Inspect: true, Steps: map[verification.NodeID]workflow.StepDeclaration{
		"check": {Type: workflow.NodeCheck, MayPrecede: true},
	}}
	values, problems := expression.New().Values([]string{"steps.check.status == 'pass' ? 'a' : 'b'", "steps.check.status"}, d)
	if errors.Join(problems...) != nil || len(values.Findings(0)) != 1 || values.Findings(1) != nil {
		t.Errorf("findings = %v and %v, problems %v", values.Findings(0), values.Findings(1), problems)
	}
}
