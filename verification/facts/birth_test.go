package facts_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestAYearAgreesWithADayInIt(t *testing.T) {
	for _, row := range []struct {
		a, b string
		want bool
	}{
		{"1960", "1960-07-05", true},
		{"1960-07", "5 Jul 1960", true},
		{"1960", "1960-07", true},
		{"1960-07", "1960-08-05", false},
		{"1961", "05/07/1960", false},
		{"1960-07", "1960-08", false},
		{"19", "1960-07-05", false},
	} {
		if facts.Agree(row.a, row.b) != row.want || facts.Agree(row.b, row.a) != row.want {
			t.Errorf("%s and %s agree: want %t", row.a, row.b, row.want)
		}
	}
}

// A birth date without a day is found as it is typed. With the name it is of one person, and it is no number of a person.
func TestAPartOfABirthDateIsNoNumber(t *testing.T) {
	p, err := workflow.Restore(flows.WorkflowID, workflow.Version{Definition: workflow.Definition{Name: "w", Start: "form", Nodes: map[verification.NodeID]workflow.Node{
		"form": {Type: workflow.NodeCustomerInput, Next: "done", Fields: workflow.InputFields{
			{Name: "name", Type: workflow.FieldText, Search: true}, {Name: "dob", Type: workflow.FieldDate, Search: true},
		}},
		"done": {Type: workflow.NodeEnd},
	}}}, expression.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, date := range []string{"1960", "1960-07", "1960-07-05"} {
		run := rules.Run{Steps: []rules.Step{{Node: "form", Type: workflow.NodeCustomerInput, Data: verification.Data(fmt.Sprintf(`{"name": "Asha Rao", "dob": %q}`, date))}}}
		var persons []string
		for _, w := range facts.EarlierWords(p, run) {
			persons = append(persons, string(w.By)+" "+w.Same)
		}
		if diff := cmp.Diff([]string{"person asha rao " + date}, persons); diff != "" {
			t.Errorf("%s (-want +got):\n%s", date, diff)
		}
		words := facts.SearchWords(p, run)
		for _, typed := range facts.ParseSearch("Rao " + date) {
			if !slices.Contains(words, typed) {
				t.Errorf("%s is not found by %v, only by %v", date, typed, words)
			}
		}
	}
}
