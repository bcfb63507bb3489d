// Tests of facts whose difference flags a step.

package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// flagging flags a difference of the name, the birth date and the number.
func flagging(d workflow.Definition) workflow.Definition {
	for _, fact := range [][]string{{"Name", "name"}, {"Born", "dob"}, {"PAN", "pan"}} {
		c := workflow.Comparison{Fact: fact[0], OnDifference: workflow.DifferenceFlag}
		for _, node := range []string{"details", "registry", "card"} {
			if _, ok := d.Nodes[verification.NodeID(node)]; ok {
				c.Of = append(c.Of, "steps."+node+".data."+fact[1])
			}
		}
		d.Compare = append(d.Compare, c)
	}
	return d
}

// differing returns which steps have which facts in differs, as in "card Name,Born".
func differing(t *testing.T, j *journey) (all []string) {
	t.Helper()
	for _, s := range j.run.Steps {
		data := s.Data.Map()
		facts, differs := data["differs"].([]any)
		if flagged := slices.ContainsFunc(j.report().Flags, func(f rules.Flag) bool { return f.NodeID == s.Node }); flagged != differs {
			t.Errorf("%s is flagged: %t, its data is %s", s.Node, flagged, s.Data)
		}
		if !differs {
			continue
		}
		var names []string
		for _, f := range facts {
			names = append(names, fmt.Sprint(f))
		}
		all = append(all, string(s.Node)+" "+strings.Join(names, ","))
		if data["analysis_ok"] != false || s.Status != rules.StepPassed {
			t.Errorf("%s is %s with the data %s", s.Node, s.Status, s.Data)
		}
	}
	return all
}

func TestTheLaterOfTheStepsThatDifferIsFlagged(t *testing.T) {
	const answer = `{"name":"Asha Rao","dob":"1988-07-12","pan":"ABCPR1234F"}`
	for _, c := range []struct {
		name, registry, card string
		want                 []string
	}{
		{"all agree", `{"name":"ASHA  rao","dob":"12.07.1988"}`, `{"pan":"abcpr1234f"}`, nil},
		{"the order of words", `{"name":"Rao Asha"}`, ``, nil},
		{"the name, as names are compared", `{"name":"A. Rao"}`, ``, nil},
		{"the birth date", `{"name":"Asha Rao","dob":"1988-07-21"}`, ``, []string{"registry Born"}},
		{"two facts", `{"name":"Zoya Rao","dob":"1988-07-21"}`, ``, []string{"registry Name,Born"}},
		{"two steps", `{"dob":"1988-07-21"}`, `{"pan":"ABCPR1234G","dob":"1988-07-12"}`, []string{"registry Born", "card Born,PAN"}},
		{"the second check alone", `{"dob":"1988-07-12"}`, `{"dob":"1988-07-13"}`, []string{"card Born"}},
		{"two checks, and the customer is right", `{"dob":"1988-07-13"}`, `{"dob":"1988-07-12"}`, []string{"registry Born", "card Born"}},
		{"values that are not given", `{"dob":null,"name":" ","pan":[]}`, `{"dob":""}`, nil},
		{"a list with the value", `{"name":["Anu","Asha Rao"]}`, ``, nil},
		{"a value that cannot be compared", `{"name":{"given":"Asha"}}`, ``, []string{"registry Name"}},
	} {
		j := asked(t, flagging(registry()), "", answer, c.registry, c.card)
		if diff := cmp.Diff(c.want, differing(t, j)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if open := j.decision() == rules.DecisionReview; open != (c.want != nil) {
			t.Errorf("%s: decision %q", c.name, j.decision())
		}
		historyFolds(t, j)
	}
}

// Initials agree for names of people only.
func TestNamesAreComparedAsTheSubjectIs(t *testing.T) {
	for _, c := range []struct {
		name          string
		subject, fact workflow.FactKind
		want          []string
	}{
		{"nothing says what the subject is", "", "", nil},
		{"a person", workflow.FactPerson, "", nil},
		{"a company", workflow.FactCompany, "", []string{"registry Name"}},
		{"a company, and the name of a person", workflow.FactCompany, workflow.FactPerson, nil},
		{"a person, and the name of a company", workflow.FactPerson, workflow.FactCompany, []string{"registry Name"}},
	} {
		for _, name := range []string{"", "steps.details.data.name"} {
			d := flagging(registry())
			d.Subject = &workflow.SubjectFields{Name: name, Number: "steps.details.data.pan", Kind: c.subject}
			d.Compare[0].Kind = c.fact
			j := asked(t, d, "", `{"name":"Asha Rao","dob":"1988-07-12"}`, `{"name":"A. Rao","dob":"12.07.1988"}`, ``)
			if diff := cmp.Diff(c.want, differing(t, j)); diff != "" {
				t.Errorf("%s, subject.name %q (-want +got):\n%s", c.name, name, diff)
			}
		}
	}
	d := flagging(registry()) // a birth date stays a date
	d.Subject = &workflow.SubjectFields{Name: "steps.details.data.name", Kind: workflow.FactPerson}
	j := asked(t, d, "", `{"name":"Asha Rao","dob":"1988-07-12","pan":"ABCPR1234F"}`, `{"dob":"1988-07-21","pan":"A"}`, ``)
	if diff := cmp.Diff([]string{"registry Born,PAN"}, differing(t, j)); diff != "" {
		t.Errorf("what is no name (-want +got):\n%s", diff)
	}
}

func TestNamesOfAnUnknownSubjectAreNoted(t *testing.T) {
	subject := func(s workflow.SubjectFields) *workflow.SubjectFields { return &s }
	const name = "steps.pan.data.name"
	for _, c := range []struct {
		name    string
		subject *workflow.SubjectFields
		compare workflow.Comparison
		want    bool
	}{
		{"no subject", nil, workflow.Comparison{Of: []string{name, "input.name"}}, true},
		{"a subject without a birth date", subject(workflow.SubjectFields{Name: name}), workflow.Comparison{Of: []string{name, "input.a"}}, true},
		{"the name of the subject alone", subject(workflow.SubjectFields{Name: "input.a"}), workflow.Comparison{Of: []string{"input.a", "steps.pan.data.a"}}, true},
		{"a birth date", subject(workflow.SubjectFields{Name: name, BirthDate: "input.dob"}), workflow.Comparison{Of: []string{name, "input.a"}}, false},
		{"a company", subject(workflow.SubjectFields{Name: name, Kind: workflow.FactCompany}), workflow.Comparison{Of: []string{name, "input.a"}}, false},
		{"the fact says so", nil, workflow.Comparison{Of: []string{name, "input.a"}, Kind: workflow.FactPerson}, false},
		{"no name", subject(workflow.SubjectFields{Name: name}), workflow.Comparison{Of: []string{"steps.pan.data.b", "input.a"}}, false},
	} {
		d := flows.Define("pan", flows.Nodes{"pan": flows.CheckNode("PAN", "done"), "done": flows.EndNode()})
		c.compare.Fact, c.compare.OnDifference = "A", workflow.DifferenceFlag
		d.Subject, d.Compare = c.subject, []workflow.Comparison{c.compare}
		p, err := workflow.Compile(t.Context(), flows.WorkflowID, workflow.Version{Definition: d}, flows.NewLanguage(), nil, nil)
		if err != nil {
			t.Fatalf("%s: %+v", c.name, flows.FieldsOf(t, err))
		}
		var want []verification.FieldError
		if c.want {
			want = []verification.FieldError{{
				Name:    "compare[0].of",
				Message: "the values are compared as names of people: write kind: person or kind: company in subject, or at this fact",
			}}
		}
		if diff := cmp.Diff(want, p.Warnings()); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestADifferenceLeavesTheOtherDataAsItIs(t *testing.T) {
	answer := `{"name":"Asha Rao","dob":"1988-07-12"}`
	j := asked(t, flagging(registry()), "", answer, `{"amount":1.50,"dob":"1988-07-21","analysis_ok":true,"z":[1, 2]}`, `{"dob":"1988-07-21","analysis_ok":true}`)
	step, _ := j.run.Step("registry")
	if want := `{"amount":1.50,"dob":"1988-07-21","z":[1,2],"analysis_ok":false,"differs":["Born"]}`; step.Data.String() != want {
		t.Errorf("data = %s, want %s", step.Data, want)
	}
	j = asked(t, flagging(registry()), "", answer, `{"analysis_ok":true,"dob":"1988-07-12"}`, `{"differs":"of the vendor"}`)
	for node, want := range map[verification.NodeID]string{
		"registry": `{"analysis_ok":true,"dob":"1988-07-12"}`, "card": `{"differs":"of the vendor"}`,
	} {
		if step, _ := j.run.Step(node); step.Data.String() != want {
			t.Errorf("data without a difference = %s, want %s", step.Data, want)
		}
	}
}

// Without on_difference: flag, and without compare, nothing is flagged and nothing is added.
func TestADifferenceFlagsOnlyWhereTheWorkflowSaysSo(t *testing.T) {
	noted := flagging(registry())
	for i := range noted.Compare {
		noted.Compare[i].OnDifference = workflow.DifferenceNote
	}
	for _, d := range []workflow.Definition{registry(), noted} {
		j := asked(t, d, "", `{"name":"Asha Rao","dob":"1988-07-12"}`, `{"name":"Zoya","dob":"1988-07-21"}`, `{}`)
		if step, _ := j.run.Step("registry"); len(j.report().Flags) > 0 || strings.Contains(step.Data.String(), "differs") {
			t.Errorf("flags %+v, data %s", j.report().Flags, step.Data)
		}
		if f := factsOf(j); !slices.ContainsFunc(f.Rows, func(r facts.Row) bool { return r.Differs }) {
			t.Errorf("the table shows no difference: %s", table(f))
		}
	}
}

// A form may come after the check, and a check that failed has values, too.
func TestAFormMayBeTheLaterStep(t *testing.T) {
	d := registry()
	details := d.Nodes["details"]
	details.Next = "done"
	check := flows.CheckNode("Registry", "details")
	check.OnFailed = "details"
	d = flagging(flows.Define("registry", flows.Nodes{"registry": check, "details": details, "done": flows.EndNode()}))
	for _, c := range []struct {
		answer string
		want   []string
	}{
		{`{"name":"Asha Rao","dob":"1988-07-12"}`, nil},
		{`{"name":"Asha Rao","dob":"1988-07-21"}`, []string{"details Born"}},
	} {
		j := begin(t, d, "").result(verification.OutcomeFailed, `{"name":"Asha Rao","dob":"1988-07-12"}`).submit(c.answer)
		j.run.Steps[0].Status = rules.StepPassed // it failed, which differing does not expect
		if diff := cmp.Diff(c.want, differing(t, j)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.answer, diff)
		}
	}
}

// ownersLookedUp asks for one owner after another, and looks each of them up.
func ownersLookedUp() workflow.Definition {
	d := flows.Define("owner", flows.Nodes{
		"owner": {
			Type: workflow.NodeCustomerInput, Label: "Owner", Next: "registry",
			Fields: workflow.InputFields{{Name: "name", Type: workflow.FieldText}, {Name: "more", Type: workflow.FieldCheckbox}},
		},
		"registry": flows.CheckNode("Registry", "more"), "more": flows.BranchNode("more at owner", "owner", "done"), "done": flows.EndNode(),
	})
	d.Compare = []workflow.Comparison{{
		Fact: "Owner", Of: []string{"steps.owner.data.name", "steps.registry.data.name"}, OnDifference: workflow.DifferenceFlag,
	}}
	return d
}

// The answer about the first owner is not compared with the second one, because the registry
// is asked again about that one.
func TestEachVisitIsComparedWithItsOwn(t *testing.T) {
	for _, c := range []struct {
		first, second string
		want          []string // of the last visits
		reason        string
	}{
		{"Asha Rao", "Ben Kurt", nil, ""},
		{"Asha Rao", "Zoe Kurt", []string{"registry Owner"}, "The analysis could not be completed with confidence."},
		{"Zoe Rao", "Ben Kurt", nil, "On an earlier visit, the analysis could not be completed with confidence."},
	} {
		j := begin(t, ownersLookedUp(), "").
			submit(`{"name":"Asha Rao","more":true}`).result(verification.OutcomePassed, `{"name":"`+c.first+`"}`).
			submit(`{"name":"Ben Kurt","more":false}`).result(verification.OutcomePassed, `{"name":"`+c.second+`"}`)
		var got []string
		for _, s := range j.run.Steps {
			if strings.Contains(s.Data.String(), "differs") {
				got = append(got, string(s.Node)+" Owner")
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s, %s (-want +got):\n%s", c.first, c.second, diff)
		}
		if reason := j.card("registry").Reason; reason != c.reason || len(j.card("owner").Visits) != 1 || j.card("owner").Reason != "" {
			t.Errorf("%s, %s: the registry has the reason %q, want %q; the form has %q", c.first, c.second, reason, c.reason, j.card("owner").Reason)
		}
	}
}

// A run need not come to the registry again, so the new answer is compared with the old result.
func TestAnAnswerThatNobodyChecksAgainIsCompared(t *testing.T) {
	form := workflow.Node{
		Type: workflow.NodeCustomerInput, Label: "Owner", Next: "route",
		Fields: workflow.InputFields{{Name: "name", Type: workflow.FieldText}},
	}
	review := flows.ReviewNode("Review", "done")
	review.OnReject = "owner"
	d := flows.Define("owner", flows.Nodes{
		"owner": form, "route": flows.BranchNode("review wanted", "review", "registry"), "registry": flows.CheckNode("Registry", "review"),
		"review": review, "done": flows.EndNode(),
	})
	d.Compare = ownersLookedUp().Compare
	j := begin(t, d, "").submit(`{"name":"Asha Rao"}`).result(verification.OutcomePassed, `{"name":"Asha Rao"}`).reject("")
	again := j.fork().submit(`{"name":"Zoe Kurt"}`)
	if step, _ := again.run.Step("owner"); !strings.Contains(step.Data.String(), `"differs":["Owner"]`) || step.Status != rules.StepPassed {
		t.Errorf("the new answer has the data %s and is %s, want the difference", step.Data, step.Status)
	}
	if step, _ := j.submit(`{"name":"Asha Rao"}`).run.Step("owner"); strings.Contains(step.Data.String(), "differs") {
		t.Errorf("the same answer has the data %s", step.Data)
	}
}

// A difference that flags nothing and that nothing reads is a control in name only.
func TestAFactThatChangesNothingIsNoted(t *testing.T) {
	const message = "a difference changes nothing, because no condition reads the fact: " +
		"flag it with on_difference: flag, test it in a branch, or write on_difference: note"
	for _, c := range []struct {
		name string
		rule workflow.OnDifference
		when string
		of   []string
		want bool
	}{
		{"nothing reads it", "", "review wanted", []string{"steps.pan.data.a", "input.a"}, true},
		{"a condition reads it", "", "reads pan", []string{"steps.pan.data.a", "input.a"}, false},
		{"a condition reads more of it", "", "reads pan", []string{"steps.pan.data.a.b", "input.a"}, false},
		{"a condition reads another field", "", "reads pan", []string{"steps.pan.data.ab", "input.a"}, true},
		{"it flags", workflow.DifferenceFlag, "review wanted", []string{"steps.pan.data.a", "input.a"}, false},
		{"the author says so", workflow.DifferenceNote, "review wanted", []string{"steps.pan.data.a", "input.a"}, false},
	} {
		d := flows.Define("pan", flows.Nodes{
			"pan": flows.CheckNode("PAN", "b"), "b": flows.BranchNode(c.when, "review", "done"), "review": flows.ReviewNode("Review", "done"), "done": flows.EndNode(),
		})
		d.Compare = []workflow.Comparison{{Fact: "A", Of: c.of, OnDifference: c.rule}}
		p, err := workflow.Compile(t.Context(), flows.WorkflowID, workflow.Version{Definition: d}, flows.NewLanguage(), nil, nil)
		if err != nil {
			t.Fatalf("%s: %+v", c.name, flows.FieldsOf(t, err))
		}
		var want []verification.FieldError
		if c.want {
			want = []verification.FieldError{{Name: "compare[0].fact", Message: message}}
		}
		if diff := cmp.Diff(want, p.Warnings()); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", c.name, diff)
		}
	}
}
