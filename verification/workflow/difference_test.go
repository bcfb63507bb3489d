package workflow_test

import (
	"testing"

	"github.com/verifyd/verifyd/verification/workflow"
)

func TestEveryProblemOfOnDifference(t *testing.T) {
	const pan, other = "steps.details.data.pan", "steps.pan.data.pan"
	edited := func(change func(c *workflow.Comparison)) func(*workflow.Definition) {
		return func(d *workflow.Definition) {
			c := workflow.Comparison{Fact: "PAN", Of: []string{pan, other}}
			change(&c)
			d.Compare = []workflow.Comparison{c}
		}
	}
	eachProblem(t, []invalid{
		{
			"another word", edited(func(c *workflow.Comparison) { c.OnDifference = "flags" }), "compare[0].on_difference",
			"must be one of note, flag; did you mean flag?",
		},
		{
			"another kind", edited(func(c *workflow.Comparison) { c.Kind = "persn" }), "compare[0].kind",
			"must be one of text, person, company; did you mean person?",
		},
		{"no step", edited(func(c *workflow.Comparison) {
			c.OnDifference, c.Of = workflow.DifferenceFlag, []string{"input.a", "input.b"}
		}), "compare[0].on_difference", "no expression of the fact reads a check or a form, so a difference has no step to flag"},
	})
}
