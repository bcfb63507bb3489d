package workflow_test

import (
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification/workflow"
)

// asking is the ladder whose branch asks the customer again.
func asking() workflow.Definition {
	d := flows.Ladder()
	flows.Edit("risk", func(n *workflow.Node) {
		n.Rules = []workflow.Rule{{When: "pan failed", AskAgain: &workflow.AskAgain{
			Step: "details", Reasons: []string{"blurred"}, Fields: []string{"pan"}, Note: strings.Repeat("ä", 1000),
		}}}
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
