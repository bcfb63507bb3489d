package workflow_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestValidDefinitionsCompile(t *testing.T) {
	declared := flows.DeskFlow()
	declared.ID, declared.Description = flows.WorkflowID, "All of it."
	declared.LifecycleWebhookURL = "https://app.example/hooks"
	for name, d := range map[string]workflow.Definition{
		"desk": flows.DeskFlow(), "check alone": flows.Single(nil), "ladder": flows.Ladder(), "loops with a customer step": flows.Loop(),
		"a loop with a review step": flows.Refusal(), "every optional field": declared,
		"an end alone": flows.Define("done", flows.Nodes{"done": flows.EndNode()}),
	} {
		p, err := workflow.Compile(t.Context(), flows.WorkflowID, workflow.Version{Number: 7, Definition: d}, flows.NewLanguage(), nil, nil)
		if err != nil || p.Workflow != flows.WorkflowID || p.Version.Number != 7 {
			t.Errorf("%s: Compile = %+v, %v", name, p.Version, err)
		}
		if _, err := workflow.Restore(flows.WorkflowID, workflow.Version{Definition: d}, flows.NewLanguage(), nil); err != nil {
			t.Errorf("%s: Restore = %v", name, err)
		}
	}
}

func TestProgramFindsItsNodes(t *testing.T) {
	p := flows.Compile(t, flows.DeskFlow())
	if n, ok := p.Node("pan"); !ok || n.Label != "PAN" || !n.IsStep() {
		t.Errorf("Node(pan) = %+v, %v", n, ok)
	}
	if _, ok := p.Node("nowhere"); ok {
		t.Error("Node finds what is not there")
	}
	if n, _ := p.Node("gate"); n.IsStep() {
		t.Error("a branch is a step")
	}
}

func TestCompileReportsTheProblemsOfEveryText(t *testing.T) {
	d := flows.Ladder()
	d.InputSchema = verification.Data(`{"type":"odd"}`)
	d.Nodes["risk"] = workflow.Node{Type: workflow.NodeBranch, Else: "face", Rules: []workflow.Rule{
		{When: "pan failed", Next: "review"}, {When: "odd", Next: "review"}, {When: "reads face", Next: "review"},
	}}
	face := d.Nodes["face"]
	face.With = verification.Data(`{"odd":"${"}`)
	d.Nodes["face"] = face
	details := d.Nodes["details"]
	details.Fields = workflow.InputFields{{Name: "pan", Type: workflow.FieldText, Pattern: "("}}
	d.Nodes["details"] = details
	want := []verification.FieldError{
		{Name: "input_schema", Message: `there is no function "{\"type\":\"odd\"}"`},
		{Name: "nodes.details.fields.pan.pattern", Message: "error parsing regexp: missing closing ): `(`"},
		{Name: "nodes.face.with", Message: `there is no function "{\"odd\":\"${\"}"`},
		{Name: "nodes.risk.rules[1].when", Message: `there is no function "odd"`},
		{Name: "nodes.risk.rules[2].when", Message: "the step face cannot have run"},
	}
	for name, make := range map[string]func() (workflow.Program, error){
		"Compile": func() (workflow.Program, error) {
			return workflow.Compile(t.Context(), flows.WorkflowID, workflow.Version{Definition: d}, flows.NewLanguage(), nil, nil)
		},
		"Restore": func() (workflow.Program, error) {
			return workflow.Restore(flows.WorkflowID, workflow.Version{Definition: d}, flows.NewLanguage(), nil)
		},
	} {
		_, err := make()
		if diff := cmp.Diff(want, flows.FieldsOf(t, err)); diff != "" || flows.Outcome(nil, err) != "invalid" {
			t.Errorf("%s = %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// The values that an expression may read do not depend on broken edges.
func TestBrokenEdgesLeadToNoOtherProblems(t *testing.T) {
	d := flows.DeskFlow()
	gate := flows.BranchNode("reads pan", "review", "done")
	d.Nodes["gate"] = gate
	pan := d.Nodes["pan"]
	pan.Next = "gaet"
	d.Nodes["pan"] = pan
	_, err := workflow.Compile(t.Context(), flows.WorkflowID, workflow.Version{Definition: d}, flows.NewLanguage(), nil, nil)
	want := []verification.FieldError{{Name: "nodes.pan.next", Message: `there is no node "gaet"; did you mean gate?`}}
	if diff := cmp.Diff(want, flows.FieldsOf(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// watcher is a compiler that records the declarations of expressions.
type watcher struct {
	flows.Language
	seen *[]workflow.Declarations
}

func (w watcher) Condition(text string, d workflow.Declarations) (workflow.Condition, error) {
	*w.seen = append(*w.seen, d)
	return w.Language.Condition(text, d)
}

func TestExpressionsMayReadStepsThatMayPrecede(t *testing.T) {
	d := flows.Ladder()
	d.InputSchema = verification.Data(`{"type":"object"}`)
	var seen []workflow.Declarations
	if _, err := workflow.Restore(flows.WorkflowID, workflow.Version{Definition: d}, watcher{flows.NewLanguage(), &seen}, nil); err != nil {
		t.Fatal(err)
	}
	step := func(kind workflow.NodeType, can bool) workflow.StepDeclaration {
		return workflow.StepDeclaration{Type: kind, MayPrecede: can}
	}
	details := d.Nodes["details"]
	want := []workflow.Declarations{{
		Input: d.InputSchema,
		Steps: map[verification.NodeID]workflow.StepDeclaration{
			"consent": step(workflow.NodeConsent, true),
			"details": {Type: workflow.NodeCustomerInput, Fields: details.Fields, Optional: true, MayPrecede: true},
			"pan":     {Type: workflow.NodeCheck, Key: d.Nodes["pan"].Key, MayPrecede: true},
			"face":    step(workflow.NodeCheck, false),
			"review":  step(workflow.NodeReview, false),
		},
	}}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("declarations (-want +got):\n%s", diff)
	}
}

// Every start of a host compiles definitions, so the largest one must take little time.
func TestLargeDefinitionsCompile(t *testing.T) {
	n := flows.Nodes{"done": flows.EndNode()}
	for i := range 499 {
		next := verification.NodeID(fmt.Sprintf("n%d", i+1))
		if i == 498 {
			next = "done"
		}
		check := flows.CheckNode("Check", next)
		check.Key, check.With = "check", verification.Data(`{"number":"${pan}"}`)
		n[verification.NodeID(fmt.Sprintf("n%d", i))] = check
	}
	if _, err := workflow.Compile(t.Context(), flows.WorkflowID, workflow.Version{Definition: flows.Define("n0", n)}, flows.NewLanguage(), nil, nil); err != nil {
		t.Error(err)
	}
}
