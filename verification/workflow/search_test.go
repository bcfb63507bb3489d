// Tests of the rules of search.

package workflow_test

import (
	"testing"

	"github.com/verifyd/verifyd/verification/workflow"
)

func TestEveryProblemOfSearch(t *testing.T) {
	type def = workflow.Definition
	field := func(typ workflow.FieldType) func(*def) {
		return func(d *def) {
			form := d.Nodes["details"]
			form.Fields = append(form.Fields[:len(form.Fields):len(form.Fields)], workflow.InputField{
				Name: "x", Type: typ, Search: true, Options: []workflow.Option{{Value: "a"}},
			})
			d.Nodes["details"] = form
		}
	}
	const types = "is for fields of the types text, number, date, email, phone"
	eachProblem(t, []invalid{
		{"a text of many lines", field(workflow.FieldTextarea), "nodes.details.fields.x.search", types},
		{"a choice", field(workflow.FieldSelect), "nodes.details.fields.x.search", types},
		{"a checkbox", field(workflow.FieldCheckbox), "nodes.details.fields.x.search", types},
		{"a photo", field(workflow.FieldImage), "nodes.details.fields.x.search", types},
		{"a place", field(workflow.FieldLocation), "nodes.details.fields.x.search", types},
	})
}
