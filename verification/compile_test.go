package verification_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
)

func TestValidDefinitionsCompile(t *testing.T) {
	declared := deskFlow()
	declared.ID, declared.Description = workflowID, "All of it."
	declared.LifecycleWebhookURL = "https://app.example/hooks"
	for name, d := range map[string]verification.Definition{
		"desk": deskFlow(), "check alone": single(nil), "ladder": ladder(), "loops with a customer step": loop(),
		"a loop with a review step": refusal(), "every optional field": declared,
		"an end alone": define("done", nodes{"done": endNode()}),
	} {
		p, err := verification.Compile(t.Context(), workflowID, verification.Version{Number: 7, Definition: d}, newLanguage(), nil, nil)
		if err != nil || p.Workflow != workflowID || p.Version.Number != 7 {
			t.Errorf("%s: Compile = %+v, %v", name, p.Version, err)
		}
		if _, err := verification.Restore(workflowID, verification.Version{Definition: d}, newLanguage()); err != nil {
			t.Errorf("%s: Restore = %v", name, err)
		}
	}
}

func TestProgramFindsItsNodes(t *testing.T) {
	p := compile(t, deskFlow())
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
	d := ladder()
	d.InputSchema = verification.Data(`{"type":"odd"}`)
	d.Nodes["risk"] = verification.Node{Type: verification.NodeBranch, Else: "face", Rules: []verification.Rule{
		{When: "pan failed", Next: "review"}, {When: "odd", Next: "review"}, {When: "reads face", Next: "review"},
	}}
	face := d.Nodes["face"]
	face.With = verification.Data(`{"odd":"${"}`)
	d.Nodes["face"] = face
	details := d.Nodes["details"]
	details.Fields = verification.InputFields{{Name: "pan", Type: verification.FieldText, Pattern: "("}}
	d.Nodes["details"] = details
	want := []verification.FieldError{
		{Name: "input_schema", Message: `there is no function "{\"type\":\"odd\"}"`},
		{Name: "nodes.details.fields.pan.pattern", Message: "error parsing regexp: missing closing ): `(`"},
		{Name: "nodes.face.with", Message: `there is no function "{\"odd\":\"${\"}"`},
		{Name: "nodes.risk.rules[1].when", Message: `there is no function "odd"`},
		{Name: "nodes.risk.rules[2].when", Message: "the step face cannot have run"},
	}
	for name, make := range map[string]func() (verification.Program, error){
		"Compile": func() (verification.Program, error) {
			return verification.Compile(t.Context(), workflowID, verification.Version{Definition: d}, newLanguage(), nil, nil)
		},
		"Restore": func() (verification.Program, error) {
			return verification.Restore(workflowID, verification.Version{Definition: d}, newLanguage())
		},
	} {
		_, err := make()
		if diff := cmp.Diff(want, fieldsOf(t, err)); diff != "" || outcome(nil, err) != "invalid" {
			t.Errorf("%s = %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// The values that an expression may read do not depend on broken edges.
func TestBrokenEdgesLeadToNoOtherProblems(t *testing.T) {
	d := deskFlow()
	gate := branchNode("reads pan", "review", "done")
	d.Nodes["gate"] = gate
	pan := d.Nodes["pan"]
	pan.Next = "gaet"
	d.Nodes["pan"] = pan
	_, err := verification.Compile(t.Context(), workflowID, verification.Version{Definition: d}, newLanguage(), nil, nil)
	want := []verification.FieldError{{Name: "nodes.pan.next", Message: `there is no node "gaet"; did you mean gate?`}}
	if diff := cmp.Diff(want, fieldsOf(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// watcher is a compiler that records the declarations of expressions.
type watcher struct {
	language
	seen *[]verification.Declarations
}

func (w watcher) Condition(text string, d verification.Declarations) (verification.Condition, error) {
	*w.seen = append(*w.seen, d)
	return w.language.Condition(text, d)
}

func TestExpressionsMayReadStepsThatMayPrecede(t *testing.T) {
	d := ladder()
	d.InputSchema = verification.Data(`{"type":"object"}`)
	var seen []verification.Declarations
	if _, err := verification.Restore(workflowID, verification.Version{Definition: d}, watcher{newLanguage(), &seen}); err != nil {
		t.Fatal(err)
	}
	step := func(kind verification.NodeType, can bool) verification.StepDeclaration {
		return verification.StepDeclaration{Type: kind, MayPrecede: can}
	}
	details := d.Nodes["details"]
	want := []verification.Declarations{{
		Input: d.InputSchema,
		Steps: map[verification.NodeID]verification.StepDeclaration{
			"consent": step(verification.NodeConsent, true),
			"details": {Type: verification.NodeCustomerInput, Fields: details.Fields, Optional: true, MayPrecede: true},
			"pan":     {Type: verification.NodeCheck, Key: d.Nodes["pan"].Key, MayPrecede: true},
			"face":    step(verification.NodeCheck, false),
			"review":  step(verification.NodeReview, false),
		},
	}}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("declarations (-want +got):\n%s", diff)
	}
}

// Every start of a host compiles definitions, so the largest one must take little time.
func TestLargeDefinitionsCompile(t *testing.T) {
	n := nodes{"done": endNode()}
	for i := range 499 {
		next := verification.NodeID(fmt.Sprintf("n%d", i+1))
		if i == 498 {
			next = "done"
		}
		check := checkNode("Check", next)
		check.Key, check.With = "check", verification.Data(`{"number":"${pan}"}`)
		n[verification.NodeID(fmt.Sprintf("n%d", i))] = check
	}
	if _, err := verification.Compile(t.Context(), workflowID, verification.Version{Definition: define("n0", n)}, newLanguage(), nil, nil); err != nil {
		t.Error(err)
	}
}
