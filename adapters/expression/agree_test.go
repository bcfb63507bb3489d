package expression_test

import (
	"slices"
	"testing"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestValuesOfAFactAgree(t *testing.T) {
	values, _ := expression.New().Values(nil, workflow.Declarations{})
	type list = []any
	for _, c := range []struct {
		kind workflow.FactKind
		a, b any
		want bool
	}{
		{workflow.FactText, "Pune ", "PUNE", true},
		{workflow.FactText, "1988-07-12", "12.07.1988", true},
		{workflow.FactText, "1988-07-12", "1988-07-21", false},
		{workflow.FactText, 1.5, 1.50, true},
		{workflow.FactText, "K. Rao", "Kiran Rao", false},
		{workflow.FactPerson, "K. Rao", "Kiran Rao", true},
		{workflow.FactPerson, "Kiran Rao", list{"Mohan Das", "RAO Kiran"}, true},
		{workflow.FactPerson, "Kiran Rao", list{"Mohan Das", nil, 7.0}, false},
		{workflow.FactPerson, "Kiran Rao", map[string]any{"name": "Kiran Rao"}, false},
		{workflow.FactPerson, "...", "Kiran Rao", false},
		{workflow.FactPerson, "Kiran Rao", "—", false},
		{workflow.FactCompany, "Meridor Trading Pvt Ltd", "MERIDOR TRADING PRIVATE LIMITED", true},
		{workflow.FactCompany, "Meridor Trading", "Meridor Trading Holdings", false},
	} {
		if got := values.Agree(c.kind, c.a, c.b); got != c.want {
			t.Errorf("%s: %v and %v agree: %t, want %t", c.kind, c.a, c.b, got, c.want)
		}
		if got := values.Agree(c.kind, c.b, c.a); got != c.want {
			t.Errorf("%s: %v and %v agree: %t, want %t", c.kind, c.b, c.a, got, c.want)
		}
	}
}

// Names agree if a check of offline.name_match without a threshold of its own passes them.
func TestNamesAgreeAsTheCheckOfNamesFinds(t *testing.T) {
	values, _ := expression.New().Values(nil, workflow.Declarations{})
	people := []string{
		"María José García López", "Garcia Lopez Maria Jose", "M. J. García", "Maria Garcia", "Mohammed bin Rashid", "Muhammad Rashid",
		"रवि कुमार", "Ravi Kumar", "Kumar", "Ravi Kumar S/O Mohan Lal", "Ravi Kumari", "Nguyễn Văn An", "Nguyen An", "José Garcia",
		"Aleksandr Petrov", "Александр Петров", "Alexandra Petrova", "Kim Min-su", "Kim Su", "O'Brien Séan", "Sean Obrien",
	}
	companies := []string{
		"Acme Trading Ltd", "ACME TRADING LIMITED", "Acme Trading", "Acme Trading GmbH", "Acme Holding Ltd", "Acme & Co. Trading Ltd",
		"ООО Ромашка", "Romashka LLC", "Romashka",
	}
	match, passed := screening.NewNameMatch(), map[bool]int{}
	for kind, all := range map[workflow.FactKind][]string{workflow.FactPerson: people, workflow.FactCompany: companies} {
		for _, a := range all {
			for _, b := range all {
				with := map[string]any{"name": a, "other": b, "kind": string(kind)}
				result, err := match.Check(t.Context(), verification.CheckRequest{With: with})
				if err != nil {
					t.Fatal(err)
				}
				want := result.Outcome == verification.OutcomePassed
				if got := values.Agree(kind, a, b); got != want {
					t.Errorf("%q and %q agree: %t; the check passes: %t", a, b, got, want)
				}
				passed[want]++
			}
		}
	}
	if passed[true] < 40 || passed[false] < 40 {
		t.Errorf("%d pairs pass and %d do not: the names are too alike", passed[true], passed[false])
	}
}

func TestConditionsAndTemplatesSayWhatTheyRead(t *testing.T) {
	d := workflow.Declarations{Steps: map[verification.NodeID]workflow.StepDeclaration{
		"list": {Type: workflow.NodeCheck, MayPrecede: true},
	}}
	c, err := expression.New().Condition("steps.list.data.?analysis_ok.orValue(true) && input.a == 1.0", d)
	if err != nil {
		t.Fatal(err)
	}
	object := verification.Data(`{"a":"${steps.list.data.name}","b":[{"c":"x ${input.z} ${run.id}"}]}`)
	tpl, err := expression.New().Template(object, d)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		reads any
		want  []string
	}{
		{c, []string{"steps.list.data.analysis_ok", "input.a"}},
		{tpl, []string{"steps.list.data.name", "input.z", "run.id"}},
	} {
		r, ok := row.reads.(workflow.Reader)
		if !ok {
			t.Fatalf("%T does not say what it reads", row.reads)
		}
		if got := r.ReadPaths(); !slices.Equal(got, row.want) {
			t.Errorf("reads %v, want %v", got, row.want)
		}
	}
}

// The fields that a difference adds are declared, of a form and of a check whose data is known.
func TestExpressionsReadDifferences(t *testing.T) {
	d := workflow.Declarations{Steps: map[verification.NodeID]workflow.StepDeclaration{
		"form":  {Type: workflow.NodeCustomerInput, MayPrecede: true, Differs: true},
		"check": {Type: workflow.NodeCheck, MayPrecede: true, Differs: true, Data: verification.Data(`{"type":"object","properties":{"n":{"type":"number"}},"additionalProperties":false}`)},
	}}
	compiler := expression.New()
	for _, step := range []string{"form", "check"} {
		text := "'Name' in steps." + step + ".data.?differs.orValue([]) && !steps." + step + ".data.?analysis_ok.orValue(true)"
		c, err := compiler.Condition(text, d)
		if err != nil {
			t.Fatal(err)
		}
		for data, want := range map[string]bool{`{"analysis_ok":false,"differs":["Name"]}`: true, `{"n":1}`: false} {
			scope := workflow.Scope{Steps: []workflow.StepValues{{Node: verification.NodeID(step), Data: verification.Data(data)}}}
			if holds, _, err := c.Holds(scope); err != nil || holds != want {
				t.Errorf("%s of %s holds: %t, %v", text, data, holds, err)
			}
		}
	}
	form := d.Steps["form"]
	form.Differs = false
	d.Steps["form"] = form
	if _, err := compiler.Condition("has(steps.form.data.differs)", d); err == nil {
		t.Error("a form without differences has differs")
	}
}
