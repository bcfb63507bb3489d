// Tests of the introduction of a journey.

package verification_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
)

func TestEveryProblemOfAnIntro(t *testing.T) {
	with := func(i verification.Intro) func(*verification.Definition) {
		return func(d *verification.Definition) { d.Intro = &i }
	}
	eachProblem(t, []invalid{
		{"a long text", with(verification.Intro{Text: strings.Repeat("ä", 20001)}), "intro.text", "must be at most 20000 characters"},
		{"a wrong language", with(verification.Intro{Text: "A", TextIn: verification.Translations{"e": "A"}}), "intro.text.e", "a language must be a tag such as en or pt-BR"},
		{"negative minutes", with(verification.Intro{Minutes: -1}), "intro.minutes", "must be 0 to 240"},
		{"many minutes", with(verification.Intro{Minutes: 241}), "intro.minutes", "must be 0 to 240"},
		{"no customer", func(d *verification.Definition) {
			d.Intro, d.Start = &verification.Intro{Minutes: 1}, "end"
			d.Nodes = map[verification.NodeID]verification.Node{"end": {Type: verification.NodeEnd}}
		}, "intro", "has no effect: no step asks the customer for anything"},
	})
}

func TestAnIntroKeepsItsLanguages(t *testing.T) {
	for _, text := range []string{`{"text":"Hello","minutes":3}`, `{"text":{"en":"Hello","hi":"नमस्ते"}}`, `{"minutes":240}`} {
		var i verification.Intro
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
	file := func(name, label string) verification.InputField {
		return verification.InputField{Name: name, Type: verification.FieldImage, Label: label}
	}
	step := func(next verification.NodeID, fields ...verification.InputField) verification.Node {
		return verification.Node{Type: verification.NodeCustomerInput, Next: next, Fields: fields}
	}
	d := verification.Definition{Start: "z", Nodes: map[verification.NodeID]verification.Node{
		"z":    step("a", file("front", "Front"), verification.InputField{Name: "name", Type: verification.FieldText, Label: "Name"}),
		"a":    step("done", file("again", "Front"), file("bill", "Bill")),
		"done": {Type: verification.NodeEnd}, "lost": step("done", file("other", "Never asked for")),
	}}
	var labels []string
	for _, f := range d.Needed() {
		labels = append(labels, f.Label)
	}
	if diff := cmp.Diff([]string{"Front", "Bill"}, labels); diff != "" {
		t.Errorf("what is needed (-want +got):\n%s", diff)
	}
}
