package workflow_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification/workflow"
)

const plainForm = `{"workflow":"w","name":"W","start":"f","nodes":{"done":{"type":"end"},"f":{"type":"customer_input","next":"done",` +
	`"fields":{"data":{"type":"text","label":"A"}}`

// newForm returns a definition with a form that has more fields.
func newForm(more string) string { return plainForm + more + `}}}` }

// newAsks returns a definition with a rule that asks again for a step.
func newAsks(step, more string) string {
	return `{"workflow":"w","name":"W","start":"c","nodes":{"c":{"type":"consent","text":"x","on_declined":"next","next":"b"},
		"b":{"type":"branch","else":"done","rules":[{"when":"again wanted","when_used_up":"done","ask_again":{"step":"` + step + `","reasons":["other"]` + more + `}}]},
		"f":{"type":"customer_input","fields":{"a":{"type":"text"}},"next":"b"},"done":{"type":"end"}}}`
}

// Each row is a definition that was valid before a rule refused it. A version that is stored only has a warning, and its hash is the
// hash of before.
func TestWhatIsNewlyRefusedIsAWarningIfStored(t *testing.T) {
	const shown = "${...} is not filled in here: people read it as it is written"
	one := func(name, node string) string {
		return `{"workflow":"w","name":"W","start":"` + name + `","nodes":{"` + name + `":` + node + `,"done":{"type":"end"}}}`
	}
	for _, row := range []struct{ name, text, path, message string }{
		{"a label", newForm(`,"label":"Details of ${item.name}"`), "nodes.f.label", shown},
		{"a label by language", newForm(`,"label":{"en":"Details","hi":"${item.name}"}`), "nodes.f.label.hi", shown},
		{"the text of a form", newForm(`,"text":"Hello ${steps.f.data.a}"`), "nodes.f.text", shown},
		{
			"the label of a field", one("f", `{"type":"customer_input","fields":{"data":{"type":"text","label":"${input.a}"}},"next":"done"}`),
			"nodes.f.fields.data.label", shown,
		},
		{"the text of an end", `{"workflow":"w","name":"W","start":"done","nodes":{"done":{"type":"end","text":"Bye ${steps.f.data.a}"}}}`, "nodes.done.text", shown},
		{"the reason of a review", one("r", `{"type":"review","reason":"Look at ${input.a}","next":"done"}`), "nodes.r.reason", shown},
		{"a node with the name of a field", one("data", `{"type":"review","label":"${input.a}","next":"done"}`), "nodes.data.label", shown},
		{"the label of a member", one("g", `{"type":"checks","members":{"with":{"provider":"p","label":"${item.a}"}},"next":"done"}`), "nodes.g.members.with.label", shown},
		{"a reason", `{"workflow":"w","name":"W","start":"done","reject_reasons":[{"code":"a","label":"B","customer_text":"${input.a}"}],"nodes":{"done":{"type":"end"}}}`, "reject_reasons[0].customer_text", shown},
		{"a note to the customer", newAsks("c", `,"note":"Dear ${steps.f.data.a}"`), "nodes.b.rules[0].ask_again.note", shown},
		{"no rounds", newForm(`,"max_rounds":0`), "nodes.f.max_rounds", "must be 1 to 20: without it, a customer is asked again at most 3 times"},
		{
			"a form that nothing else reaches", `{"workflow":"w","name":"W","start":"c","nodes":{"c":{"type":"consent","text":"x","on_declined":"d","next":"e"},
				"d":{"type":"branch","else":"e","rules":[{"when":"again wanted","when_used_up":"e","ask_again":{"step":"f","reasons":["other"]}}]},
				"e":{"type":"branch","else":"done","rules":[{"when":"review wanted","when_used_up":"done","ask_again":{"step":"f","reasons":["other"]}}]},
				"f":{"type":"customer_input","fields":{"a":{"type":"text"}},"next":"d"},"done":{"type":"end"}}}`,
			"nodes.e.rules[0].ask_again.step", "only ask_again leads to f, so no customer answers it, and the rule is always passed over",
		},
	} {
		var d, again workflow.Definition
		if err := json.Unmarshal([]byte(row.text), &d); err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		raw, err := json.Marshal(d)
		if err != nil || json.Unmarshal(raw, &again) != nil || again.VersionHash() != d.VersionHash() {
			t.Errorf("%s: the hash is %s, and %s after a visit to a store", row.name, d.VersionHash(), again.VersionHash())
		}
		if row.path == "nodes.b.rules[0].ask_again.note" {
			delete(d.Nodes, "f")
		}
		for _, stored := range []bool{false, true} {
			v := workflow.Version{Definition: d}
			if stored {
				v.Hash = d.VersionHash()
			}
			p, err := workflow.Compile(t.Context(), flows.WorkflowID, v, flows.NewLanguage(), nil, nil)
			var got []string
			if stored {
				for _, f := range p.Warnings() {
					if f.Name == row.path {
						got = append(got, f.Name+": "+f.Message)
					}
				}
			} else {
				for _, f := range flows.FieldsOf(t, err) {
					if f.Message != row.message || f.Name == row.path {
						got = append(got, f.Name+": "+f.Message)
					}
				}
			}
			if diff := cmp.Diff([]string{row.path + ": " + row.message}, got); diff != "" || stored && err != nil {
				t.Errorf("%s, stored %t: %v (-want +got):\n%s", row.name, stored, err, diff)
			}
		}
	}
}

func TestWhatIsNotShownMayHaveExpressions(t *testing.T) {
	for _, text := range []string{
		newForm(`,"label":"A price of $5 {net}","text":"${"`), newForm(`,"max_rounds":1`), newForm(""),
		`{"workflow":"w","name":"W","start":"done","nodes":{"done":{"type":"end","data":{"class":"${class}"}}}}`,
	} {
		var d workflow.Definition
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		if _, err := workflow.Compile(t.Context(), flows.WorkflowID, workflow.Version{Definition: d}, flows.NewLanguage(), nil, nil); err != nil {
			t.Errorf("%s: %v, want no problem", text, fmt.Sprint(flows.FieldsOf(t, err)))
		}
	}
}
