// Tests of what runs of one person have in common.

package facts_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// earlierWords returns what the runs of one person have in common, as BY:SAME in alphabetical order.
func earlierWords(t *testing.T, input, answer string) (all []string) {
	t.Helper()
	text := func(name string) workflow.InputField {
		return workflow.InputField{Name: name, Type: workflow.FieldText, Search: true}
	}
	d := workflow.Definition{
		Workflow: "people", Name: "People", Start: "form",
		Nodes: map[verification.NodeID]workflow.Node{
			"form": {Type: workflow.NodeCustomerInput, Next: "done", Fields: workflow.InputFields{
				text("name"), text("document"),
				{Name: "born", Type: workflow.FieldDate, Search: true},
				{Name: "phone", Type: workflow.FieldPhone, Search: true},
				{Name: "owners", Type: workflow.FieldGroup, Max: new(4.0), Fields: workflow.InputFields{
					text("name"), {Name: "born", Type: workflow.FieldDate, Search: true}, text("document"),
				}},
			}},
			"done": {Type: workflow.NodeEnd},
		},
	}
	d.InputSchema = verification.Data(`{"properties":{"account":{"type":"string","x-search":true},"serial":{"type":"integer","x-search":true},
		"mobile_no":{"type":"string","x-search":true},"other":{"type":"string"}}}`)
	p, err := workflow.Compile(t.Context(), "0191f3c0-0000-7000-8000-000000000001", workflow.Version{Definition: d}, expression.New(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	run := rules.Fold("r", []rules.Event{
		{At: at, Fact: rules.Started{ReferenceID: "x", Input: verification.Data(input)}},
		{At: at, Fact: rules.CustomerAwaited{Node: "form", Type: workflow.NodeCustomerInput, Signal: "form_submitted"}},
		{At: at, Fact: rules.CustomerSubmitted{Node: "form", Data: verification.Data(answer)}},
	})
	found := facts.SearchWords(p, run)
	for _, w := range facts.EarlierWords(p, run) {
		all = append(all, string(w.By)+":"+w.Same)
		if !slices.Contains(found, w.Key) {
			t.Errorf("the run is not found by %+v, but by %+v", w.Key, found)
		}
	}
	slices.Sort(all)
	return all
}

func TestWordsOfRunsOfOnePerson(t *testing.T) {
	for _, tt := range []struct {
		input, answer string
		want          []string
	}{
		{`{"account":"DE89 3704 0044","serial":4711,"other":"X99"}`, `{}`, []string{"number:4711", "number:de8937040044"}},
		{`{"account":"+91 98200 12345","mobile_no":"9820012345"}`, `{}`, nil},
		{`{"account":"asha99@example.com"}`, `{}`, nil},
		{`{"account":"0000 0000"}`, `{"document":"1111111"}`, nil},
		{`{"account":"0012345678"}`, `{"document":"12345678"}`, []string{"number:0012345678", "number:12345678"}},
		{`{}`, `{"phone":"98200 12345","document":"98200 12345"}`, []string{"number:9820012345"}},
		{`{}`, `{"document":"Passport P1234567"}`, []string{"number:p1234567"}},
		{`{}`, `{"document":"12 Rose Street"}`, nil},
		{`{}`, `{"document":"P١٢٣٤"}`, []string{"number:p1234"}},
		{`{}`, `{"name":"Asha Rao","born":"1990-04-12"}`, []string{"person:asha rao 1990-04-12"}},
		{`{}`, `{"name":"Asha Rao"}`, nil},
		{`{}`, `{"born":"1990-04-12"}`, nil},
		{
			`{}`, `{"name":"Acme","owners":[{"name":"Asha Rao","born":"1990-04-12"},{"name":"Ravi Nair","born":"1980-01-01","document":"P7654321"}]}`,
			[]string{"number:p7654321", "person:asha rao 1990-04-12", "person:nair ravi 1980-01-01"},
		},
	} {
		if d := cmp.Diff(tt.want, earlierWords(t, tt.input, tt.answer)); d != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.input, tt.answer, d)
		}
	}
}
