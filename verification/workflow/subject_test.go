package workflow_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/verification/workflow"
)

func TestEveryProblemOfSubjectAndCompare(t *testing.T) {
	type def = workflow.Definition
	const pan, place = "steps.details.data.pan", "steps.details.data.place"
	compare := func(fact string, of ...string) func(*def) {
		return func(d *def) { d.Compare = []workflow.Comparison{{Fact: fact, Of: of}} }
	}
	subject := func(s workflow.SubjectFields) func(*def) { return func(d *def) { d.Subject = &s } }
	const notObject = "must be a text, a number or a list, not an object"
	eachProblem(t, []invalid{
		{"an empty subject", subject(workflow.SubjectFields{}), "subject", "must have a name, birth_date, number or portrait"},
		{"a kind alone", subject(workflow.SubjectFields{Kind: workflow.FactPerson}), "subject", "must have a name, birth_date, number or portrait"},
		{"another kind", subject(workflow.SubjectFields{Number: pan, Kind: "text"}), "subject.kind", "must be one of person, company"},
		{"a name of no step", subject(workflow.SubjectFields{Name: "steps.lost.data.name"}), "subject.name", "there is no step lost"},
		{"a birth date of no step", subject(workflow.SubjectFields{BirthDate: "steps.lost.data.name"}), "subject.birth_date", "there is no step lost"},
		{"a number of no step", subject(workflow.SubjectFields{Number: "steps.lost.data.name"}), "subject.number", "there is no step lost"},
		{"a portrait of no step", subject(workflow.SubjectFields{Portrait: "steps.lost.data.name"}), "subject.portrait", "there is no step lost"},
		{"a name that is an object", subject(workflow.SubjectFields{Name: place}), "subject.name", notObject},
		{
			"a portrait that is a text", subject(workflow.SubjectFields{Portrait: pan}), "subject.portrait",
			"must be the answer of an image field, such as steps.details.data.photo",
		},
		{"a fact without a name", compare("", pan, pan), "compare[0].fact", "is required"},
		{"a fact with a long name", compare(strings.Repeat("ä", 201), pan, pan), "compare[0].fact", "must be at most 200 characters"},
		{"a fact twice", func(d *def) {
			d.Compare = []workflow.Comparison{{Fact: "PAN", Of: []string{pan, pan}}, {Fact: "PAN", Of: []string{pan, pan}}}
		}, "compare[1].fact", "is there twice"},
		{"one expression", compare("PAN", pan), "compare[0].of", "must have 2 to 8 expressions"},
		{"nine expressions", compare("PAN", slices.Repeat([]string{pan}, 9)...), "compare[0].of", "must have 2 to 8 expressions"},
		{"an empty expression", compare("PAN", pan, ""), "compare[0].of[1]", "is required"},
		{"a long expression", compare("PAN", pan, "input."+strings.Repeat("x", 20001)), "compare[0].of[1]", "must be at most 20000 characters"},
		{"an expression of no step", compare("PAN", pan, "steps.lost.data.pan"), "compare[0].of[1]", "there is no step lost"},
		{"an expression that is an object", compare("PAN", pan, place), "compare[0].of[1]", notObject},
		{"33 facts", func(d *def) {
			for i := range 33 {
				d.Compare = append(d.Compare, workflow.Comparison{Fact: fmt.Sprint(i), Of: []string{pan, pan}})
			}
		}, "compare", "must be at most 32 facts"},
	})
}
