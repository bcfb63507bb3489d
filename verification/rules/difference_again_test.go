// Tests of facts that are compared anew after the customer was asked again.

package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// comparedFlow asks for details, asks a registry and a card that read none of them, and goes to a branch that asks again.
func comparedFlow(when string, rounds int) workflow.Definition {
	d := registry()
	card, details := d.Nodes["card"], d.Nodes["details"]
	card.With, card.Next = nil, "gate"
	details.MaxRounds = rounds
	d.Nodes["card"], d.Nodes["details"] = card, details
	d.Nodes["gate"] = workflow.Node{Type: workflow.NodeBranch, Else: "done", Rules: []workflow.Rule{
		{When: when, AskAgain: &workflow.AskAgain{Step: "details", Reasons: []string{"does_not_match"}}},
	}}
	return flagging(d)
}

// told describes what is flagged in a run: each step with its facts, its data about differences, and its sentences.
func told(j *journey) (all []string) {
	for _, f := range j.report().Flags {
		s, _ := j.run.Step(f.NodeID)
		data := s.Data.Map()
		all = append(all, fmt.Sprintf("%s %v analysis_ok=%v: %s", f.NodeID, data["differs"], data["analysis_ok"], f.Reason))
	}
	return all
}

const (
	unsure  = "The analysis could not be completed with confidence."
	earlier = "On an earlier visit, the analysis could not be completed with confidence."
)

// Each row is a run: the answers of the customer in turn, those of registry and card once, and what is told at the end.
func TestARoundComparesWhatKeepsItsAnswer(t *testing.T) {
	const asha, zoya = `{"name":"Asha Rao","dob":"1988-07-12"}`, `{"name":"Zoya Khan","dob":"1988-07-12"}`
	for _, row := range []struct {
		name, when     string
		answers        []string
		registry, card string
		want           []string
		compared       string // events
	}{
		{
			"agrees, then differs", "again wanted",
			[]string{asha, zoya},
			`{"name":"Asha Rao"}`, `{}`,
			[]string{"registry [Name] analysis_ok=false: " + unsure},
			"registry [Name]",
		},
		{
			"agrees, then differs from both", "again wanted",
			[]string{asha, zoya},
			`{"name":"Asha Rao"}`, `{"name":"Asha Rao"}`,
			[]string{"registry [Name] analysis_ok=false: " + unsure, "card [Name] analysis_ok=false: " + unsure},
			"registry [Name], card [Name]",
		},
		{
			"differs, then agrees", "registry differs",
			[]string{zoya, asha},
			`{"name":"Asha Rao"}`, `{}`,
			[]string{"registry <nil> analysis_ok=true: " + earlier},
			"registry []",
		},
		{
			"differs, then agrees, and the source was in doubt", "registry differs",
			[]string{zoya, asha},
			`{"name":"Asha Rao","analysis_ok":false}`, `{}`,
			[]string{"registry <nil> analysis_ok=false: " + unsure},
			"registry []",
		},
		{
			"differs, differs, then agrees", "registry differs",
			[]string{zoya, zoya, asha},
			`{"name":"Asha Rao"}`, `{}`,
			[]string{"registry <nil> analysis_ok=true: " + earlier},
			"registry []",
		},
		{
			"differs each time", "registry differs",
			[]string{zoya, zoya, zoya},
			`{"name":"Asha Rao"}`, `{}`,
			[]string{"registry [Name] analysis_ok=false: " + unsure},
			"",
		},
		{
			"agrees, differs, then agrees", "again wanted",
			[]string{asha, zoya, asha},
			`{"name":"Asha Rao"}`, `{}`,
			[]string{"registry <nil> analysis_ok=true: " + earlier},
			"registry [Name], registry []",
		},
		{
			"another fact differs", "again wanted",
			[]string{zoya, `{"name":"Asha Rao","dob":"1990-07-12"}`},
			`{"name":"Asha Rao","dob":"1988-07-12"}`, `{}`,
			[]string{"registry [Born] analysis_ok=false: " + unsure},
			"registry [Born]",
		},
		{
			"two checks differ, and the customer does not matter", "again wanted",
			[]string{asha, asha},
			`{"pan":"A"}`, `{"pan":"B"}`,
			[]string{"card [PAN] analysis_ok=false: " + unsure},
			"",
		},
		{"agrees each time", "again wanted", []string{asha, asha}, `{"name":"Asha Rao"}`, `{"name":"Asha Rao"}`, nil, ""},
	} {
		j := asked(t, comparedFlow(row.when, len(row.answers)-1), `{"again":true}`, row.answers[0], row.registry, row.card)
		for _, answer := range row.answers[1:] {
			if j.run.Wait().Node != "details" {
				t.Fatalf("%s: the run waits at %q, want details", row.name, j.run.Wait().Node)
			}
			j.submit(answer)
		}
		if diff := cmp.Diff(row.want, told(j)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
		var compared []string
		for _, e := range j.history {
			if f, ok := e.Fact.(rules.Compared); ok {
				compared = append(compared, fmt.Sprint(f.Node, " ", f.Differs))
			}
		}
		if got := strings.Join(compared, ", "); got != row.compared {
			t.Errorf("%s: compared anew: %s, want %s", row.name, got, row.compared)
		}
		d := j.detail()
		if want := map[bool]rules.Decision{true: rules.DecisionReview, false: rules.DecisionNone}[row.want != nil]; d.Status != rules.StatusCompleted || d.Decision != want {
			t.Errorf("%s: the run is %s with the decision %q, want %q", row.name, d.Status, d.Decision, want)
		}
		historyFolds(t, j)
	}
}

// The table of facts has the newest values, whatever was flagged before.
func TestTheFactsOfARoundAreTheNewest(t *testing.T) {
	j := asked(t, comparedFlow("again wanted", 1), `{"again":true}`, `{"name":"Asha Rao"}`, `{"name":"Asha Rao"}`, `{}`).submit(`{"name":"Zoya Khan"}`)
	if got := table(factsOf(j)); !strings.Contains(got, "Zoya") || !strings.Contains(got, "!") {
		t.Errorf("the table is %s, want that Zoya differs", got)
	}
	j = asked(t, comparedFlow("registry differs", 1), "", `{"name":"Zoya Khan"}`, `{"name":"Asha Rao"}`, `{}`).submit(`{"name":"Asha Rao"}`)
	if got := table(factsOf(j)); strings.Contains(got, "Zoya") || strings.Contains(got, "!") {
		t.Errorf("the table is %s, want that nothing differs", got)
	}
}

// A member of a group that keeps its answer, a step whose condition no longer holds, and a step that the round avoids.
func TestARoundComparesWhereverTheStepIs(t *testing.T) {
	const asha, zoya = `{"name":"Asha Rao"}`, `{"name":"Zoya Khan"}`
	again := func(next verification.NodeID) workflow.Node {
		return workflow.Node{Type: workflow.NodeBranch, Else: next, Rules: []workflow.Rule{
			{When: "again wanted", AskAgain: &workflow.AskAgain{Step: "details", Reasons: []string{"does_not_match"}}},
		}}
	}
	details := workflow.Node{Type: workflow.NodeCustomerInput, MaxRounds: 1, Next: "registry", Fields: workflow.InputFields{{Name: "name", Type: workflow.FieldText}}}
	compare := func(path string) []workflow.Comparison {
		return []workflow.Comparison{{Fact: "Name", Kind: workflow.FactText, Of: []string{"steps.details.data.name", path}, OnDifference: workflow.DifferenceFlag}}
	}
	group := flows.Define("details", flows.Nodes{
		"details":  details,
		"registry": {Type: workflow.NodeChecks, Label: "Registry", Next: "gate", Members: workflow.Members{{Name: "a", Provider: "sandbox"}, {Name: "b", Provider: "sandbox"}}},
		"gate":     again("done"), "done": flows.EndNode(),
	})
	group.Compare = compare("steps.registry.members.b.data.name")
	for _, row := range []struct{ first, second, want string }{
		{asha, zoya, "registry.b [Name] analysis_ok=false: " + unsure},
		{zoya, asha, "registry.b <nil> analysis_ok=true: " + earlier},
	} {
		j := begin(t, group, `{"again":true}`).submit(row.first).answer("registry.a", verification.OutcomePassed)
		s, _ := j.run.Step("registry.b")
		j.do(rules.RecordResult{Node: "registry.b", Dispatch: s.Dispatches, Outcome: verification.OutcomePassed, Data: verification.Data(asha)}).submit(row.second)
		if got := strings.Join(told(j), "; "); got != row.want {
			t.Errorf("a member, %s and then %s: %s, want %s", row.first, row.second, got, row.want)
		}
		historyFolds(t, j)
	}
	// The registry is asked only in the first pass: then its condition does not hold, or a branch leads past it.
	for name, change := range map[string]func(nodes map[verification.NodeID]workflow.Node){
		"left out": func(nodes map[verification.NodeID]workflow.Node) {
			r := nodes["registry"]
			r.When = "details more"
			nodes["registry"] = r
		},
		"avoided": func(nodes map[verification.NodeID]workflow.Node) {
			d := nodes["details"]
			d.Next = "way"
			nodes["details"] = d
			nodes["way"] = workflow.Node{Type: workflow.NodeBranch, Else: "gate", Rules: []workflow.Rule{{When: "details more", Next: "registry"}}}
		},
	} {
		d := flows.Define("details", flows.Nodes{
			"details": details, "registry": flows.CheckNode("Registry", "gate"), "gate": again("done"), "done": flows.EndNode(),
		})
		form := d.Nodes["details"]
		form.Fields = append(form.Fields, workflow.InputField{Name: "more", Type: workflow.FieldCheckbox})
		d.Nodes["details"] = form
		d.Compare = compare("steps.registry.data.name")
		change(d.Nodes)
		j := begin(t, d, `{"again":true}`).submit(`{"name":"Zoya Khan","more":true}`).result(verification.OutcomePassed, asha).submit(asha)
		if got, want := strings.Join(told(j), "; "), "registry <nil> analysis_ok=true: "+earlier; got != want {
			t.Errorf("%s, and then agrees: %s, want %s", name, got, want)
		}
		j = begin(t, d, `{"again":true}`).submit(`{"name":"Asha Rao","more":true}`).result(verification.OutcomePassed, asha).submit(zoya)
		if got := strings.Join(told(j), "; "); !strings.Contains(got, "[Name] analysis_ok=false") || j.decision() != rules.DecisionReview {
			t.Errorf("%s, and then differs: %s with the decision %q, want that a step is flagged", name, got, j.decision())
		}
		historyFolds(t, j)
	}
}
