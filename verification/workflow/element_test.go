package workflow_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestEveryProblemOfAnElement(t *testing.T) {
	type element = workflow.ElementFields
	problems := func(list string, e element) []verification.FieldError {
		owners := flows.CheckNode("Owner", "done")
		owners.ForEach, owners.Element, owners.OnFailed, owners.OnUnavailable = list, &e, workflow.TargetNext, workflow.TargetNext
		d := flows.Define("owners", flows.Nodes{"owners": owners, "done": flows.EndNode()})
		d.InputSchema = verification.Data(`{"type":"object","required":["owners"],"properties":{"owners":{"type":"array","maxItems":9,"items":{
			"type":"object","required":["name","home"],"additionalProperties":false,"properties":{
				"name":{"type":"string"},"home":{"type":"object","properties":{"city":{"type":"string"}}}}}}}}`)
		_, err := workflow.Compile(t.Context(), flows.WorkflowID, workflow.Version{Definition: d}, expression.New(), nil, nil)
		var invalid *verification.Error
		errors.As(err, &invalid)
		if invalid == nil {
			return nil
		}
		for i := range invalid.Fields {
			invalid.Fields[i].Character = 0
		}
		return invalid.Fields
	}
	const at = "nodes.owners.element"
	for _, row := range []struct {
		name, list    string
		element       element
		path, message string
	}{
		{"a valid one", "input.owners", element{Name: "item.name + string(position)", BirthDate: "item.home.?city.orValue('')", Kind: workflow.FactCompany}, "", ""},
		{"no list", "", element{Name: "input.owners[0].name"}, at, "is for a node with for_each: write for_each beside it, or leave it out"},
		{"no name", "input.owners", element{BirthDate: "item.name"}, at + ".name", "is required"},
		{"another kind", "input.owners", element{Name: "item.name", Kind: "text"}, at + ".kind", "must be one of person, company"},
		{"an object", "input.owners", element{Name: "item.home"}, at + ".name", "must be a text, a number or a list, not an object"},
		{"an unknown field", "input.owners", element{Name: "item.nam"}, at + ".name", "item.nam: undefined field 'nam'; did you mean name?"},
		{"an unknown step", "input.owners", element{Name: "item.name", BirthDate: "steps.lost.data.dob"}, at + ".birth_date", "there is no step lost"},
		{"its own answer", "input.owners", element{Name: "steps.owners.items[0].data.name"}, at + ".name", "the step owners cannot have run before this node"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var want []verification.FieldError
			if row.path != "" {
				want = []verification.FieldError{{Name: row.path, Message: row.message}}
			}
			if diff := cmp.Diff(want, problems(row.list, row.element)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
