// Random definitions.

package flows

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// maxSteps bounds the nodes of a drawn definition, without its end.
const maxSteps = 7

// drawnID returns the id of node number i of a drawn definition.
func drawnID(i int) verification.NodeID { return verification.NodeID(fmt.Sprint("n", i)) }

// AnyDefinition draws a definition: steps of the customer, checks, groups of checks, steps for each element of input.list,
// branches and reviews. They follow each other, and some lead past others, back to the customer, or ask again. A step may depend
// on one before it. Its input is an object with a list, and booleans review and again.
func AnyDefinition(t *rapid.T) workflow.Definition {
	d := Define("n0", Nodes{"done": EndNode()})
	d.FourEyes = rapid.IntRange(0, 9).Draw(t, "four eyes") == 0
	d.RejectReasons = Reasons()
	r := drawer{t, rapid.IntRange(2, maxSteps).Draw(t, "nodes"), nil, nil, nil}
	for i := range r.nodes {
		n := r.node(i)
		d.Nodes[drawnID(i)] = n
		if n.IsStep() {
			r.steps = append(r.steps, drawnID(i))
		}
		if n.Asks() && n.ForEach == "" {
			r.customer = append(r.customer, drawnID(i))
			if n.When == "" {
				r.back = append(r.back, drawnID(i))
			}
		}
	}
	return d
}

// drawer draws the nodes of a definition.
type drawer struct {
	*rapid.T

	nodes           int
	steps, customer []verification.NodeID // of the nodes before
	back            []verification.NodeID // those of customer that no run goes past
}

// after returns the node that follows node i.
func (r drawer) after(i int) verification.NodeID {
	if i+1 < r.nodes {
		return drawnID(i + 1)
	}
	return "done"
}

// target draws where a check leads that did not pass: the run fails, goes on, goes past the next node, or back to its customer.
func (r drawer) target(i int, name string) verification.NodeID {
	to := []verification.NodeID{"", workflow.TargetNext, workflow.TargetNext, r.after(i + 1)}
	if n := len(r.back); n > 0 {
		to = append(to, r.back[n-1])
	}
	return rapid.SampledFrom(to).Draw(r.T, name)
}

// when draws the condition of a step: mostly none.
func (r drawer) when(name string) string {
	texts := []string{"", "", "review wanted"}
	if len(r.steps) > 0 {
		follows := "follows " + string(rapid.SampledFrom(r.steps).Draw(r.T, name+" follows"))
		texts = append(texts, follows, follows)
	}
	return rapid.SampledFrom(texts).Draw(r.T, name)
}

func (r drawer) each() string {
	return rapid.SampledFrom([]string{"", "input.list"}).Draw(r.T, "for each")
}

// node draws node i, which leads to the one after it.
func (r drawer) node(i int) workflow.Node {
	label, next := fmt.Sprint("Step ", i), r.after(i)
	kinds := []workflow.NodeType{
		workflow.NodeConsent, workflow.NodeCustomerInput, workflow.NodeCheck, workflow.NodeCheck, workflow.NodeChecks, workflow.NodeChecks,
		workflow.NodeReview, workflow.NodeBranch,
	}
	if i == 0 { // mostly
		kinds = append(kinds[:3], workflow.NodeCustomerInput, workflow.NodeChecks)
	}
	switch kind := rapid.SampledFrom(kinds).Draw(r.T, "kind"); kind {
	case workflow.NodeConsent:
		n := ConsentNode(next)
		n.Label, n.When = label, r.when("when")
		return n
	case workflow.NodeCustomerInput:
		return workflow.Node{
			Type: kind, Label: label, Next: next, Optional: true, ForEach: r.each(), When: r.when("when"), MaxRounds: rapid.IntRange(0, 2).Draw(r.T, "rounds"),
			Fields: workflow.InputFields{{Name: "pan", Type: workflow.FieldText}, {Name: "place", Type: workflow.FieldLocation, Within: Mumbai()}},
		}
	case workflow.NodeChecks:
		return r.group(i, label)
	case workflow.NodeReview:
		n := ReviewNode(label, next)
		n.FourEyes = rapid.IntRange(0, 5).Draw(r.T, "four eyes") == 0
		if i > 0 && len(r.back) > 0 && rapid.IntRange(0, 3).Draw(r.T, "back") == 0 {
			n.OnReject = r.back[0]
		}
		return n
	case workflow.NodeBranch:
		n := BranchNode("review wanted", r.after(i+1), next)
		if len(r.customer) > 0 {
			n.Rules = append(n.Rules, workflow.Rule{When: "again wanted", AskAgain: &workflow.AskAgain{
				Step: rapid.SampledFrom(r.customer).Draw(r.T, "asks for"), Reasons: []string{"blurred"},
			}})
		}
		return n
	case workflow.NodeCheck, workflow.NodeEnd:
	}
	n := CheckNode(label, next)
	n.ForEach, n.When, n.OnFailed, n.OnUnavailable = r.each(), r.when("when"), r.target(i, "on failed"), r.target(i, "on unavailable")
	n.Fallback = rapid.SampledFrom([]string{"", "backup"}).Draw(r.T, "fallback")
	n.Provider = r.provider()
	if n.ForEach == "" && rapid.IntRange(0, 3).Draw(r.T, "leads away") == 0 {
		n.RedirectHosts = []string{"*.bank.example"}
	}
	if rapid.IntRange(0, 3).Draw(r.T, "rescreens") == 0 {
		n.Rescreen = &workflow.Rescreen{List: "sanctions", Every: workflow.RescreenOnChange}
	}
	return n
}

// provider draws the provider of a check: some screen.
func (r drawer) provider() string {
	return rapid.SampledFrom([]string{"registry", "registry", Screener}).Draw(r.T, "provider")
}

// group draws a group of checks.
func (r drawer) group(i int, label string) workflow.Node {
	n := workflow.Node{
		Type: workflow.NodeChecks, Label: label, Next: r.after(i), ForEach: r.each(), When: r.when("when"),
		Order:    rapid.SampledFrom([]workflow.Order{"", "", workflow.OrderOneByOne}).Draw(r.T, "order"),
		Until:    rapid.SampledFrom([]string{"", "", "always"}).Draw(r.T, "until"),
		OnNotMet: r.target(i, "on not met"), OnUnavailable: r.target(i, "on unavailable"),
	}
	members := rapid.IntRange(1, 4).Draw(r.T, "members")
	n.Need = workflow.Need(rapid.IntRange(0, members).Draw(r.T, "need"))
	if n.Order == "" {
		n.Finish = rapid.SampledFrom([]workflow.Finish{"", workflow.FinishAll}).Draw(r.T, "finish")
	}
	for k := range members {
		n.Members = append(n.Members, workflow.Member{
			Name: fmt.Sprint("m", k), Provider: r.provider(), Retry: &workflow.Retry{MaxDispatches: 2}, When: r.when("member when"),
			Fallback: rapid.SampledFrom([]string{"", "", "backup"}).Draw(r.T, "fallback"),
		})
	}
	return n
}

// AnyInput draws the input of a run of a drawn definition.
func AnyInput(t *rapid.T) verification.Data {
	return verification.DataOf(map[string]any{
		"list":   rapid.SampledFrom([]any{[]any{}, []any{"x"}, []any{"x", 2}, []any{1, 2, map[string]any{"name": "<Zoë>"}}}).Draw(t, "list"),
		"review": rapid.Bool().Draw(t, "review"), "again": rapid.Bool().Draw(t, "again"),
	})
}
