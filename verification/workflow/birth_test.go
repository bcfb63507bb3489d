package workflow_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestABirthDateIsWhatIsReadOrNamedAsOne(t *testing.T) {
	screen := func(birth, kind string) workflow.Node {
		return workflow.Node{
			Type: workflow.NodeCheck, Key: "list", Label: "List", Provider: "p", Next: "done",
			With: verification.Data(fmt.Sprintf(`{"birth_date": %q, "kind": %q}`, birth, kind)),
		}
	}
	date := func(name, label string) workflow.InputField {
		return workflow.InputField{Name: name, Type: workflow.FieldDate, Label: label}
	}
	for _, row := range []struct {
		name    string
		subject *workflow.SubjectFields
		check   workflow.Node
		want    string // the fields with a kind
	}{
		{"nothing reads it", nil, screen("", "person"), "dob:person"},
		{"the subject", &workflow.SubjectFields{BirthDate: "steps.form.data.a"}, screen("", "person"), "a:person dob:person"},
		{"the subject, which may be missing", &workflow.SubjectFields{BirthDate: "steps.form.?data.?a.orValue('')"}, screen("", "person"), "a:person dob:person"},
		{"a company", &workflow.SubjectFields{BirthDate: "steps.form.data.a", Kind: workflow.FactCompany}, screen("", "person"), "a:company"},
		{"a screening of a person", nil, screen("${steps.form.data.b}", "person"), "b:person dob:person"},
		{"a screening of a company", nil, screen("${steps.form.data.b}", "company"), "b:company dob:person"},
		{"a screening of either", nil, screen("${steps.form.data.b}", "${input.kind}"), "b:company dob:person"},
		{"both", &workflow.SubjectFields{BirthDate: "steps.form.data.b"}, screen("${steps.form.data.b}", "company"), "b:company dob:person"},
		{"a row", nil, screen("${steps.form.data.owners[0].born}", "person"), "dob:person owners.born:person"},
		{"another step", nil, screen("${input.steps.form.data.a}, not xsteps.form.data.a", "person"), "dob:person"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := workflow.Definition{Name: "w", Start: "form", Subject: row.subject, Nodes: map[verification.NodeID]workflow.Node{
				"form": {Type: workflow.NodeCustomerInput, Next: "list", Fields: workflow.InputFields{
					date("a", "A"), date("b", "Date of issue"), date("dob", ""),
					{Name: "text", Type: workflow.FieldText, Label: "Date of birth"},
					{Name: "owners", Type: workflow.FieldGroup, Fields: workflow.InputFields{date("born", "Since"), date("left", "Until")}},
				}},
				"list": row.check,
				"done": {Type: workflow.NodeEnd},
			}}
			if diff := cmp.Diff(row.want, births(t, d)); diff != "" {
				t.Errorf("birth dates (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("an element", func(t *testing.T) {
		each := screen("${item.born}", "person")
		each.ForEach = "steps.form.data.owners"
		if got := births(t, workflow.Definition{Name: "w", Start: "form", Nodes: map[verification.NodeID]workflow.Node{
			"form": {Type: workflow.NodeCustomerInput, Next: "list", Fields: workflow.InputFields{
				date("c", "Your Date of Birth"), {Name: "owners", Type: workflow.FieldGroup, Fields: workflow.InputFields{date("born", "Since"), date("birth_date", "")}},
			}},
			"list": each,
			"done": {Type: workflow.NodeEnd},
		}}); got != "c:person owners.born:person owners.birth_date:person" {
			t.Errorf("birth dates %s", got)
		}
	})
	t.Run("who an element is", func(t *testing.T) {
		each := screen("", "")
		each.ForEach, each.Element = "steps.form.data.owners", &workflow.ElementFields{Name: "item.born", BirthDate: "item.born", Kind: workflow.FactCompany}
		if got := births(t, workflow.Definition{Name: "w", Start: "form", Nodes: map[verification.NodeID]workflow.Node{
			"form": {Type: workflow.NodeCustomerInput, Next: "list", Fields: workflow.InputFields{
				{Name: "owners", Type: workflow.FieldGroup, Fields: workflow.InputFields{date("born", "Since")}},
			}},
			"list": each,
			"done": {Type: workflow.NodeEnd},
		}}); got != "owners.born:company" {
			t.Errorf("birth dates %s", got)
		}
	})
}

func TestABirthDateOfAnElementOfAFormIsOne(t *testing.T) {
	fields := workflow.InputFields{{Name: "b", Type: workflow.FieldDate}, {Name: "c", Type: workflow.FieldDate}, {Name: "d", Type: workflow.FieldDate}}
	subject := &workflow.SubjectFields{BirthDate: "steps.form.items[0].data.c"}
	d := workflow.Definition{Name: "w", Start: "form", Subject: subject, Nodes: map[verification.NodeID]workflow.Node{
		"form": {Type: workflow.NodeCustomerInput, ForEach: "input.owners", Next: "list", Fields: fields},
		"list": {
			Type: workflow.NodeCheck, Key: "list", Provider: "p", ForEach: "steps.form.items", Next: "done",
			With: verification.Data(`{"birth_date": "${item.data.b}"}`),
		},
		"done": {Type: workflow.NodeEnd},
	}}
	if got := births(t, d); got != "b:person c:person" {
		t.Errorf("birth dates %s, want b:person c:person", got)
	}
}

// births returns the fields of the node form that are birth dates.
func births(t *testing.T, d workflow.Definition) (all string) {
	t.Helper()
	p, err := workflow.Restore(flows.WorkflowID, workflow.Version{Definition: d}, expression.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	add := func(place string, of workflow.FactKind) {
		if of == "" {
			return
		}
		if all != "" {
			all += " "
		}
		all += place + ":" + string(of)
	}
	for _, f := range p.Version.Definition.Nodes["form"].Fields {
		add(f.Name, f.BirthOf)
		for _, inRow := range f.Fields {
			add(f.Name+"."+inRow.Name, inRow.BirthOf)
		}
	}
	for _, f := range d.Nodes["form"].Fields {
		if f.BirthOf != "" {
			t.Errorf("the definition itself was changed: %s", f.Name)
		}
	}
	return all
}
