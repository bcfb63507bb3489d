package expression_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// companyDeclarations has a group of checks, and a check and a group for each owner.
func companyDeclarations() workflow.Declarations {
	found := verification.Data(`{"type":"object","properties":{"confidence":{"type":"number"},"name":{"type":"string"}}}`)
	check := workflow.StepDeclaration{Type: workflow.NodeCheck, Data: found, MayPrecede: true}
	group := workflow.StepDeclaration{
		Type: workflow.NodeChecks, MayPrecede: true, Members: map[string]workflow.StepDeclaration{"bureau": check, "register": check},
	}
	each, groups := check, group
	each.Each, groups.Each = true, true
	return workflow.Declarations{
		Each: true, Item: verification.Data(`{"type":"object","properties":{"name":{"type":"string"}}}`), Member: &check,
		Steps: map[verification.NodeID]workflow.StepDeclaration{"address": group, "owners": each, "each_address": groups},
	}
}

func companyScope() workflow.Scope {
	called := func(node verification.NodeID, passed bool, data string) workflow.StepValues {
		status := map[bool]string{true: "passed", false: "failed"}[passed]
		return workflow.StepValues{Node: node, Status: status, Passed: passed, Data: verification.Data(data), Dispatches: 1}
	}
	bureau := called("bureau", true, `{"confidence":0.9,"name":"Asha"}`)
	group := workflow.StepValues{Node: "address", Status: "passed", Passed: true, Group: true, Members: []workflow.StepValues{bureau}}
	each := workflow.StepValues{Node: "owners", Status: "failed", Each: true, Items: []workflow.StepValues{
		called("owners[1]", true, `{"name":"Asha"}`), called("owners[2]", false, `{"name":"Ravi"}`),
	}}
	groups := workflow.StepValues{Node: "each_address", Status: "passed", Passed: true, Each: true, Items: []workflow.StepValues{group}}
	return workflow.Scope{
		Steps: []workflow.StepValues{group, each, groups}, Item: map[string]any{"name": "Asha"}, Position: 2, Member: &bureau,
	}
}

func TestExpressionsReadGroupsAndElements(t *testing.T) {
	c, d, scope := expression.New(), companyDeclarations(), companyScope()
	for text, want := range map[string]string{
		`steps.address.passed`:                                                               "true",
		`steps.address.members.bureau.data.confidence > 0.8`:                                 "true",
		`has(steps.address.members.register)`:                                                "false",
		`steps.address.members.?register.?data.hasValue()`:                                   "false",
		`steps.address.members.register.passed`:                                              "steps.address.members.register has no value",
		`steps.owners.status == 'failed'`:                                                    "true",
		`size(steps.owners.items) == 2`:                                                      "true",
		`steps.owners.items[1].data.name == 'Ravi'`:                                          "true",
		`steps.owners.items.exists(i, !i.passed)`:                                            "true",
		`steps.owners.items.all(i, i.data.name != 'Mira')`:                                   "true",
		`steps.each_address.items[0].members.bureau.passed`:                                  "true",
		`steps.each_address.items.exists(i, i.members.bureau.data.name == 'Asha')`:           "true",
		`steps.each_address.items.all(i, i.members.?register.?data.?name.orValue('') == '')`: "true",
		`item.name == 'Asha' && position == 2`:                                               "true",
		`member.passed && member.data.confidence >= 0.8`:                                     "true",
	} {
		condition, err := c.Condition(text, d)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		holds, _, err := condition.Holds(scope)
		got := fmt.Sprint(holds)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

func TestExpressionsOverGroupsAreTyped(t *testing.T) {
	c, d := expression.New(), companyDeclarations()
	for text, want := range map[string]string{
		`steps.address.members.buro.passed`:                                         "steps.address.members.buro: undefined field 'buro'",
		`steps.address.members.bureau.passed || steps.address.members.burea.passed`: "undefined field 'burea'; did you mean bureau?",
		`steps.each_address.items[0].members.registr.passed`:                        "undefined field 'registr'; did you mean register?",
		`steps.address.data.x == 1`:                                                 "data",
		`steps.owners.data.x == 1`:                                                  "data",
		`steps.address.members.bureau.data.name > 1`:                                "name",
		`steps.owners.items[0].data.nam == ''`:                                      "nam",
		`item.nme == ''`:                                                            "nme",
	} {
		if _, err := c.Condition(text, d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want one about %s", text, err, want)
		}
	}
	if _, err := c.Condition("item.name == ''", workflow.Declarations{}); err == nil {
		t.Error("item can be read outside for_each")
	}
}
