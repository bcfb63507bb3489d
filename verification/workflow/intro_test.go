// Tests of the introduction of a journey.

package workflow_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestEveryProblemOfAnIntro(t *testing.T) {
	with := func(i workflow.Intro) func(*workflow.Definition) {
		return func(d *workflow.Definition) { d.Intro = &i }
	}
	eachProblem(t, []invalid{
		{"a long text", with(workflow.Intro{Text: strings.Repeat("ä", 20001)}), "intro.text", "must be at most 20000 characters"},
		{"a wrong language", with(workflow.Intro{Text: "A", TextIn: workflow.Translations{"e": "A"}}), "intro.text.e", "a language must be a tag such as en or pt-BR"},
		{"negative minutes", with(workflow.Intro{Minutes: -1}), "intro.minutes", "must be 0 to 240"},
		{"many minutes", with(workflow.Intro{Minutes: 241}), "intro.minutes", "must be 0 to 240"},
		{"no customer", func(d *workflow.Definition) {
			d.Intro, d.Start = &workflow.Intro{Minutes: 1}, "end"
			d.Nodes = map[verification.NodeID]workflow.Node{"end": {Type: workflow.NodeEnd}}
		}, "intro", "has no effect: no step asks the customer for anything"},
	})
}

func TestAnIntroKeepsItsLanguages(t *testing.T) {
	for _, text := range []string{`{"text":"Hello","minutes":3}`, `{"text":{"en":"Hello","hi":"नमस्ते"}}`, `{"minutes":240}`} {
		var i workflow.Intro
		if err := json.Unmarshal([]byte(text), &i); err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(i)
		if diff := cmp.Diff(text, string(raw)); err != nil || diff != "" {
			t.Errorf("%s comes back as %s, %v", text, raw, err)
		}
	}
}

func TestTheFilesThatAJourneyNeeds(t *testing.T) {
	file := func(name, label string) workflow.InputField {
		return workflow.InputField{Name: name, Type: workflow.FieldImage, Label: label}
	}
	step := func(next verification.NodeID, fields ...workflow.InputField) workflow.Node {
		return workflow.Node{Type: workflow.NodeCustomerInput, Next: next, Fields: fields}
	}
	d := workflow.Definition{Start: "z", Nodes: map[verification.NodeID]workflow.Node{
		"z":    step("a", file("front", "Front"), workflow.InputField{Name: "name", Type: workflow.FieldText, Label: "Name"}),
		"a":    step("done", file("again", "Front"), file("bill", "Bill")),
		"done": {Type: workflow.NodeEnd}, "lost": step("done", file("other", "Never asked for")),
	}}
	var labels []string
	for _, f := range d.Needed() {
		labels = append(labels, f.Label)
	}
	if diff := cmp.Diff([]string{"Front", "Bill"}, labels); diff != "" {
		t.Errorf("what is needed (-want +got):\n%s", diff)
	}
}
