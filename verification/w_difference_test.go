package verification_test

import (
	"testing"

	"github.com/verifyd/verifyd/verification"
)

func TestEveryProblemOfOnDifference(t *testing.T) {
	const pan, other = "steps.details.data.pan", "steps.pan.data.pan"
	edited := func(change func(c *verification.Comparison)) func(*verification.Definition) {
		return func(d *verification.Definition) {
			c := verification.Comparison{Fact: "PAN", Of: []string{pan, other}}
			change(&c)
			d.Compare = []verification.Comparison{c}
		}
	}
	eachProblem(t, []invalid{
		{
			"another word", edited(func(c *verification.Comparison) { c.OnDifference = "flags" }), "compare[0].on_difference",
			"must be one of note, flag; did you mean flag?",
		},
		{
			"another kind", edited(func(c *verification.Comparison) { c.Kind = "persn" }), "compare[0].kind",
			"must be one of text, person, company; did you mean person?",
		},
		{"no step", edited(func(c *verification.Comparison) {
			c.OnDifference, c.Of = verification.DifferenceFlag, []string{"input.a", "input.b"}
		}), "compare[0].on_difference", "no expression of the fact reads a check or a form, so a difference has no step to flag"},
	})
}
