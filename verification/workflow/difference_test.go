package workflow_test

import (
	"slices"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/flows"
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
	members := func(order workflow.Order, of ...string) func(*workflow.Definition) {
		return func(d *workflow.Definition) {
			*d = grouped()
			flows.Edit("pan", func(n *workflow.Node) { n.Order = order })(d)
			d.Compare = []workflow.Comparison{{Fact: "PAN", OnDifference: workflow.DifferenceFlag, Of: of}}
		}
	}
	const tax, bureau = "steps.pan.members.tax.data.pan", "steps.pan.members.bureau.data.pan"
	for _, valid := range []func(*workflow.Definition){
		members("", pan, tax), members(workflow.OrderOneByOne, tax, bureau), members("", pan, tax, tax),
	} {
		d := flows.Ladder()
		if valid(&d); len(problemsOf(t, d)) > 0 {
			t.Errorf("%+v: %+v, want no problem", d.Compare, problemsOf(t, d))
		}
	}
	element := flows.Ladder()
	members("", "input.a", tax)(&element)
	flows.Edit("pan", func(n *workflow.Node) { n.ForEach = "steps.details.data.owners" })(&element)
	const nothing = "no expression of the fact reads a check or a form, so a difference has no step to flag"
	if got, _ := compiledPaths(t, element, nil); !slices.Equal(got, []string{"compare[0].on_difference: " + nothing}) {
		t.Errorf("an element: %q, want %s", got, nothing)
	}
	eachProblem(t, []invalid{
		{
			"members that answer in any order", members("", pan, tax, bureau), "compare[0].on_difference",
			"pan.tax and pan.bureau answer in any order, so there is no later step to flag: test the difference in a branch after pan, and write on_difference: note",
		},
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
		}), "compare[0].on_difference", nothing},
	})
}
