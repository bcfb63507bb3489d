// Tests of the table of facts: who said what.

package console_test

import (
	"net/http"
	"regexp"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestOnlyWhatTheCustomerSaidIsHeadedSo(t *testing.T) {
	fields := workflow.InputFields{{Name: "name", Type: workflow.FieldText, Label: "Name"}}
	each := "steps.details.data.?owners.orValue([])"
	w := workflow.Definition{
		Workflow: "heads", Name: "Heads", Start: "details",
		Nodes: map[verification.NodeID]workflow.Node{
			"details": {Type: workflow.NodeCustomerInput, Label: "The company", Next: "entry", Fields: append(workflow.InputFields{
				{Name: "owners", Type: workflow.FieldGroup, Label: "Owners", Max: new(4.0), Fields: fields},
			}, fields...)},
			"entry": {Type: workflow.NodeCheck, Label: "Register entry", Provider: "script", Next: "sources"},
			"sources": {Type: workflow.NodeChecks, Label: "Sources", OnNotMet: "look", Next: "persons", Members: workflow.Members{
				{Name: "register", Label: "Company register", Provider: "script"},
			}},
			"persons": {Type: workflow.NodeCheck, Label: "Person", ForEach: each, Provider: "script", Next: "groups"},
			"groups": {Type: workflow.NodeChecks, Label: "Owner", ForEach: each, OnNotMet: "look", Next: "look", Members: workflow.Members{
				{Name: "bureau", Label: "Credit bureau", Provider: "script"},
			}},
			"look": {Type: workflow.NodeReview, Label: "Look", Next: "done"},
			"done": {Type: workflow.NodeEnd},
		},
		Compare: []workflow.Comparison{
			{Fact: "Company", Of: []string{"input.company", "steps.details.data.name", "steps.entry.data.name", "steps.sources.members.register.data.name"}},
			{Fact: "Owner", Of: []string{
				"steps.details.data.owners[1].name", "steps.persons.items[1].data.name", "steps.groups.items[1].members.bureau.data.name", "steps.persons.items[0].data.name",
			}},
			{Fact: "Confirmed", Of: []string{"steps.sources.passed", "steps.persons.passed"}},
		},
	}
	d := serve(t)
	named := enginetest.Pass(map[string]any{"name": "Globex"})
	for _, check := range []string{"entry", "sources.register", "persons", "groups.bureau"} {
		d.Provider.On(check, named)
	}
	run := d.begin(d.Apply(w), "company-1")
	want := []string{
		"Customer said", "Start data", "Register entry", "Sources: Company register", "Person 1 of 2", "Person 2 of 2", "Owner 2 of 2: Credit bureau", "Sources", "Person",
	}
	heads := func() (all []string) {
		a := d.as(reviewer(verification.RoleReviewer)).get("/runs/" + string(run))
		wants(t, a, http.StatusOK)
		for _, part := range regexp.MustCompile(`(?s)id="facts">.*?</thead>`).FindAllString(a.body, -1) {
			for _, head := range regexp.MustCompile(`<th scope="col"><bdi>([^<]*)</bdi>`).FindAllStringSubmatch(part, -1) {
				all = append(all, head[1])
			}
		}
		return all
	}
	answer := owners("Acme", "Asha Rao", "Meera Iyer")
	rows, _ := answer["owners"].([]any)
	for _, row := range rows {
		if row, ok := row.(map[string]any); ok {
			delete(row, "share")
		}
	}
	d.Submit(run, "details_submitted", answer)
	d.Settle()
	if diff := gocmp.Diff(want, heads()); diff != "" {
		t.Errorf("heads (-want +got):\n%s", diff)
	}
	d.again(run) // a round changes no head
	d.Submit(run, "details_submitted", answer)
	d.Settle()
	if diff := gocmp.Diff(want, heads()); diff != "" {
		t.Errorf("heads after a round (-want +got):\n%s", diff)
	}
}

func TestANameInAnotherScriptIsNoDifference(t *testing.T) {
	d := serve(t)
	w := waiting("Names", "Look.")
	w.Start = "registry"
	w.Nodes["registry"] = workflow.Node{Type: workflow.NodeCheck, Label: "Register", Provider: "script", Next: "look"}
	w.Compare = []workflow.Comparison{{Fact: "Name", Of: []string{"input.name", "steps.registry.data.name"}}}
	applied := d.Apply(w)
	for _, row := range []struct {
		said, found string
		same        bool
	}{
		{"فاطمة السيد", "FATIMA AL SAYED", true},
		{"Иван Петров", "Ivan Petrov", true},
		{"فاطمة السيد", "VIKTOR ORLOV", false},
		{"Fatima Al Sayed", "Fatma Alsaid Hassan", false},
	} {
		d.Provider.On("registry", enginetest.Pass(map[string]any{"name": row.found}))
		run := d.Start(applied.ID, engine.StartRequest{ReferenceID: "case", Input: verification.DataOf(map[string]any{"name": row.said})}).ID
		d.Settle()
		p := d.as(reviewer(verification.RoleReviewer))
		page, queue := []string{`<span class="quiet small">same name, another script</span>`, "What the sources say", "!>differs<"}, "!Name\u2069 differs"
		if !row.same {
			page, queue = []string{"!another script", ">differs<"}, "Name\u2069 differs"
		}
		wants(t, p.get("/runs/"+string(run)), http.StatusOK, page...)
		wants(t, p.get("/queue"), http.StatusOK, queue)
		d.GiveVerdict(run, rules.DecisionApprove)
	}
}
