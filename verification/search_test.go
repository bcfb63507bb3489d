// Tests of the rules of search.

package verification_test

import (
	"testing"

	"github.com/verifyd/verifyd/verification"
)

func TestEveryProblemOfSearch(t *testing.T) {
	type def = verification.Definition
	field := func(typ verification.FieldType) func(*def) {
		return func(d *def) {
			form := d.Nodes["details"]
			form.Fields = append(form.Fields[:len(form.Fields):len(form.Fields)], verification.InputField{
				Name: "x", Type: typ, Search: true, Options: []verification.Option{{Value: "a"}},
			})
			d.Nodes["details"] = form
		}
	}
	const types = "is for fields of the types text, number, date, email, phone"
	eachProblem(t, []invalid{
		{"a text of many lines", field(verification.FieldTextarea), "nodes.details.fields.x.search", types},
		{"a choice", field(verification.FieldSelect), "nodes.details.fields.x.search", types},
		{"a checkbox", field(verification.FieldCheckbox), "nodes.details.fields.x.search", types},
		{"a photo", field(verification.FieldImage), "nodes.details.fields.x.search", types},
		{"a place", field(verification.FieldLocation), "nodes.details.fields.x.search", types},
	})
}
