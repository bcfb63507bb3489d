package workflow_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// asking is the ladder whose branch asks the customer again.
func asking() workflow.Definition {
	d := flows.Ladder()
	flows.Edit("risk", func(n *workflow.Node) {
		n.Rules = []workflow.Rule{{When: "pan failed", AskAgain: &workflow.AskAgain{
			Step: "details", Reasons: []string{"blurred"}, Fields: []string{"pan"}, Note: strings.Repeat("ä", 1000),
		}, WhenUsedUp: "review"}}
		n.Else = "review"
	})(&d)
	return d
}

func TestARuleThatAsksAgainIsValid(t *testing.T) {
	if problems := problemsOf(t, asking()); problems != nil {
		t.Errorf("problems = %+v, want none: the table below begins with it", problems)
	}
}

func TestEveryProblemOfARuleThatAsksAgain(t *testing.T) {
	const at = "nodes.risk.rules[0]"
	rule := func(change func(r *workflow.Rule)) func(*workflow.Definition) {
		return func(d *workflow.Definition) {
			*d = asking()
			flows.Edit("risk", func(n *workflow.Node) { change(&n.Rules[0]) })(d)
		}
	}
	ask := func(change func(a *workflow.AskAgain)) func(*workflow.Definition) {
		return rule(func(r *workflow.Rule) { change(r.AskAgain) })
	}
	details := func(change func(n *workflow.Node)) func(*workflow.Definition) {
		return func(d *workflow.Definition) {
			*d = asking()
			flows.Edit("details", change)(d)
		}
	}
	const kind = "must be a consent, or a customer_input without for_each"
	eachProblem(t, []invalid{
		{"a next beside it", rule(func(r *workflow.Rule) { r.Next = "review" }), at + ".next", "must not be there beside ask_again: after the answer the run goes its way from the step"},
		{"a node that is not there, once the rounds are used up", rule(func(r *workflow.Rule) { r.WhenUsedUp = "reviev" }), at + ".when_used_up", `there is no node "reviev"; did you mean review?`},
		{"the end of the run, once the rounds are used up", rule(func(r *workflow.Rule) { r.WhenUsedUp = workflow.TargetFail }), at + ".when_used_up", "must be a node: fail is for on_failed and on_unavailable"},
		{
			"a rule that asks nobody", rule(func(r *workflow.Rule) { r.AskAgain, r.Next = nil, "review" }), at + ".when_used_up",
			"is for a rule with ask_again",
		},
		{
			"a loop without a wait, once the rounds are used up", rule(func(r *workflow.Rule) { r.WhenUsedUp = "pan" }), "nodes.pan",
			"a loop must have a customer or review step on it: pan, risk",
		},
		{"no step", ask(func(a *workflow.AskAgain) { a.Step = "" }), at + ".ask_again.step", "is required"},
		{"a step that is not there", ask(func(a *workflow.AskAgain) { a.Step = "detail" }), at + ".ask_again.step", `there is no node "detail"; did you mean details?`},
		{"a check", ask(func(a *workflow.AskAgain) { a.Step, a.Fields = "pan", nil }), at + ".ask_again.step", kind},
		{"a form for each element", details(func(n *workflow.Node) { n.ForEach = "input.list" }), at + ".ask_again.step", kind},
		{"a field that is not there", ask(func(a *workflow.AskAgain) { a.Fields = []string{"pann"} }), at + ".ask_again.fields[0]", `the form details has no field "pann"; did you mean pan?`},
		{"no reason", ask(func(a *workflow.AskAgain) { a.Reasons = nil }), at + ".ask_again.reasons", "is required: name why the customer is asked again, such as blurred"},
		{"a reason that is not there", ask(func(a *workflow.AskAgain) { a.Reasons = []string{"blured"} }), at + ".ask_again.reasons[0]", `there is no reason "blured"; did you mean blurred?`},
		{"a reason twice", ask(func(a *workflow.AskAgain) { a.Reasons = []string{"other", "other"} }), at + ".ask_again.reasons[1]", "is there twice"},
		{"a long note", ask(func(a *workflow.AskAgain) { a.Note += "x" }), at + ".ask_again.note", "must be at most 1000 characters"},
		{"too many rounds", details(func(n *workflow.Node) { n.MaxRounds = 21 }), "nodes.details.max_rounds", "must be 0 to 20"},
	})
}

func TestARuleThatIsPassedOverIsWarnedOf(t *testing.T) {
	warnings := func(d workflow.Definition) (all []string) {
		p, err := workflow.Compile(t.Context(), flows.WorkflowID, workflow.Version{Definition: d}, flows.NewLanguage(), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range p.Warnings() {
			all = append(all, w.Name+": "+w.Message)
		}
		return all
	}
	d := asking()
	if got := warnings(d); got != nil {
		t.Errorf("with a node for it: %q, want no warning", got)
	}
	flows.Edit("risk", func(n *workflow.Node) { n.Rules[0].WhenUsedUp = "" })(&d)
	want := "nodes.risk.rules[0].when_used_up: is missing: once the customer was asked as often as max_rounds allows, " +
		"this rule is passed over although its condition holds; name the node that the run then goes to"
	if got := warnings(d); len(got) != 1 || got[0] != want {
		t.Errorf("without one: %q, want %q", got, want)
	}
	only := workflow.Definition{Start: "f", Nodes: map[verification.NodeID]workflow.Node{ // a node that only the new key leads to
		"f": {Type: workflow.NodeConsent, Text: "x", OnDeclined: "next", Next: "b"},
		"b": {Type: workflow.NodeBranch, Else: "done", Rules: []workflow.Rule{
			{When: "again wanted", AskAgain: &workflow.AskAgain{Step: "f", Reasons: []string{"other"}}, WhenUsedUp: "look"},
		}},
		"look": {Type: workflow.NodeReview, Next: "done"}, "done": {Type: workflow.NodeEnd},
	}}
	only.Workflow, only.Name = "w", "W"
	if got := warnings(only); got != nil {
		t.Errorf("a node for used up rounds alone: %q, want no warning", got)
	}
}

// The hash of a definition without the key is that of before.
func TestTheKeyForUsedUpRoundsIsLeftOutIfEmpty(t *testing.T) {
	for node, want := range map[verification.NodeID]string{
		"":       `{"when":"a","next":"","ask_again":{"step":"f","reasons":["other"]}}`,
		"review": `{"when":"a","next":"","ask_again":{"step":"f","reasons":["other"]},"when_used_up":"review"}`,
	} {
		raw, err := json.Marshal(workflow.Rule{When: "a", AskAgain: &workflow.AskAgain{Step: "f", Reasons: []string{"other"}}, WhenUsedUp: node})
		if err != nil || string(raw) != want {
			t.Errorf("%q: %s, %v, want %s", node, raw, err, want)
		}
	}
}
