// Tests of `clear`: that a step has passed, and nothing about it is open.

package expression_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// clearScope is companyScope with a check; all of it is clear but the second owner.
func clearScope() workflow.Scope {
	s := companyScope()
	for i := range s.Steps {
		s.Steps[i].Clear = true
		for k := range s.Steps[i].Items {
			s.Steps[i].Items[k].Clear = k == 0
		}
		for k := range s.Steps[i].Members {
			s.Steps[i].Members[k].Clear = true
		}
	}
	s.Member.Clear = true
	s.Steps = append(s.Steps, workflow.StepValues{Node: "tax", Status: "passed", Passed: true, Dispatches: 1, Data: verification.Data(`{"clear":"yes","name":"Asha"}`)})
	return s
}

func clearDeclarations() workflow.Declarations {
	d := companyDeclarations()
	d.Steps["tax"] = workflow.StepDeclaration{Type: workflow.NodeCheck, MayPrecede: true}
	return d
}

func TestExpressionsReadWhatIsClear(t *testing.T) {
	c, d, scope := expression.New(), clearDeclarations(), clearScope()
	for text, want := range map[string]string{
		`steps.address.clear`:                                                    "true",
		`steps.address.members.bureau.clear`:                                     "true",
		`steps.address.members.?register.?clear.orValue(false)`:                  "false",
		`steps.owners.clear`:                                                     "true",
		`steps.owners.items.all(o, o.clear)`:                                     "false",
		`steps.owners.items[0].clear && !steps.owners.items[1].clear`:            "true",
		`steps.each_address.items.all(i, i.members.bureau.clear)`:                "true",
		`steps.each_address.items[0].clear`:                                      "true",
		`steps.tax.clear`:                                                        "false",
		`has(steps.tax.clear)`:                                                   "true",
		`steps.?tax.?clear.orValue(true)`:                                        "false",
		`member.clear`:                                                           "true",
		`steps.tax.data.clear == 'yes'`:                                          "true",
		`steps.tax.clear || size(steps.owners.items) == 2`:                       "true",
		`steps.each_address.items.filter(i, i.clear).size() == 1`:                "true",
		`steps.owners.items.map(o, o.clear ? 'low' : 'high') == ['low', 'high']`: "true",
	} {
		condition, err := c.Condition(text, d)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		holds, _, err := condition.Holds(scope)
		if got := fmt.Sprint(holds); err != nil || got != want {
			t.Errorf("%s is %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestClearIsTyped(t *testing.T) {
	c, d := expression.New(), clearDeclarations()
	for text, want := range map[string]string{
		`steps.tax.clear == 'yes'`:        "steps.tax.clear is true or false, 'yes' is a text: == cannot be used with them",
		`steps.address.clera`:             "undefined field 'clera'; did you mean clear?",
		`steps.owners.items[0].clear > 1`: "steps.owners.items[0].clear is true or false, 1 is a number",
		`member.claer`:                    "undefined field 'claer'; did you mean clear?",
	} {
		if _, err := c.Condition(text, d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %s", text, err, want)
		}
	}
}

// What reads a step as a whole gets what it always got: its values are recorded, or sent.
func TestOnlyWhatReadsClearSeesIt(t *testing.T) {
	c, d, scope := expression.New(), clearDeclarations(), clearScope()
	seen := func(text string) any {
		t.Helper()
		condition, err := c.Condition(text, d)
		if err != nil {
			t.Fatal(err)
		}
		_, seen, err := condition.Holds(scope)
		if err != nil {
			t.Fatal(err)
		}
		return seen
	}
	owner := func(name, status string, passed bool) map[string]any {
		return map[string]any{"status": status, "passed": passed, "dispatches": 1.0, "data": map[string]any{"name": name}}
	}
	whole := []any{owner("Asha", "passed", true), owner("Ravi", "failed", false)}
	if diff := cmp.Diff(map[string]any{"steps.owners.items": whole}, seen("steps.owners.items.exists(o, !o.passed)")); diff != "" {
		t.Errorf("what a condition reads of whole elements (-want +got):\\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"steps.tax.clear": false, "steps.address.clear": true}, seen("steps.tax.clear || steps.address.clear")); diff != "" {
		t.Errorf("what a condition reads that asks what is clear (-want +got):\\n%s", diff)
	}
	template, err := c.Template(verification.Data(`{"a":"${steps.tax.clear}","owners":"${steps.owners.items}","tax":"${steps.tax}","z":"${steps.owners.clear}"}`), d)
	if err != nil {
		t.Fatal(err)
	}
	got, err := template.Render(scope)
	want := map[string]any{
		"a": false, "owners": whole, "z": true,
		"tax": map[string]any{"status": "passed", "passed": true, "dispatches": 1.0, "data": map[string]any{"clear": "yes", "name": "Asha"}},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("a template renders %v (-want +got):\\n%s", err, diff)
	}
}

// What is clear has passed: behind a test of it, the data that comes with a pass is there.
func TestWhatIsClearHasItsData(t *testing.T) {
	c, d := expression.New(), companyDeclarations()
	check := d.Steps["address"].Members["bureau"]
	d.Steps["tax"] = check
	for text, want := range map[string]int{
		`steps.tax.clear && steps.tax.data.confidence > 0.5`:                                       0,
		`!steps.tax.clear || steps.tax.data.confidence > 0.5`:                                      0,
		`steps.tax.clear ? steps.tax.data.confidence > 0.5 : true`:                                 0,
		`steps.?tax.?clear.orValue(false) && steps.tax.data.confidence > 0.5`:                      0,
		`steps.tax.clear || steps.tax.data.confidence > 0.5`:                                       1,
		`!steps.tax.clear && steps.tax.data.confidence > 0.5`:                                      1,
		`steps.address.members.bureau.clear && steps.address.members.bureau.data.confidence > 0.5`: 0,
	} {
		condition, err := c.Condition(text, d)
		if err != nil {
			t.Errorf("%s: %v", text, errors.Unwrap(err))
			continue
		}
		failing := 0
		foreseen, ok := condition.(workflow.Foreseen)
		if !ok {
			t.Fatalf("%s: nothing is foreseen of it", text)
		}
		for _, a := range foreseen.Absences() {
			if !a.Passed && !a.NotCalled && a.Field == "" && !a.Met { // it failed, and has no data
				failing++
			}
		}
		if failing != want {
			t.Errorf("%s may fail in %d cases in which the check failed, want %d", text, failing, want)
		}
	}
}

func TestAnEarlierRuleOfWhatIsClearLeavesItsData(t *testing.T) {
	const branch = `"b":{"type":"branch","rules":[{"when":"%s","next":"done"},{"when":"%s","next":"done"}],"else":"done"}`
	check := `"pan":{"type":"check","provider":"registry","on_failed":"next","next":"b"},` + branch
	group := `"pan":{"type":"checks","on_not_met":"next","next":"b","members":{"one":{"provider":"registry"},"two":{"provider":"registry"}}},` + branch
	const score, member = "steps.pan.data.score > 0.5", "steps.pan.members.two.data.score > 0.5"
	for _, c := range []struct {
		name, nodes, first, second string
		want                       int
	}{
		{"a check that is not clear leads elsewhere", check, "!steps.pan.clear", score, 0},
		{"a check that is clear leads elsewhere", check, "steps.pan.clear", score, 1},
		{"something else", check, "input.x == true", score, 1},
		{"a group that is not clear leads elsewhere", group, "!steps.pan.clear", member, 0},
		{"a member that is not clear leads elsewhere", group, "!steps.pan.members.two.clear", member, 0},
		{"another member", group, "!steps.pan.members.one.clear", member, 1},
	} {
		if got := problems(t, workflowOf(t, fmt.Sprintf(c.nodes, c.first, c.second))); len(got) != c.want {
			t.Errorf("%s: the problems are %q, want %d", c.name, got, c.want)
		}
	}
}
