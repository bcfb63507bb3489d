package workflow_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestEveryProblemOfTheGraph(t *testing.T) {
	failing := func(next, failed verification.NodeID) workflow.Node {
		n := flows.CheckNode("Check", next)
		n.OnFailed = failed
		return n
	}
	declining := func(next, declined verification.NodeID) workflow.Node {
		n := flows.ConsentNode(next)
		n.OnDeclined = declined
		return n
	}
	rejecting := func(next, rejected verification.NodeID) workflow.Node {
		n := flows.ReviewNode("Review", next)
		n.OnReject = rejected
		return n
	}
	const island, endless = "no path leads here from the start", "no path leads from here to an end"
	loop := func(on string) string { return "a loop must have a customer or review step on it: " + on }
	for _, c := range []struct {
		name string
		n    flows.Nodes
		want []verification.FieldError
	}{
		{"a line", flows.Nodes{"a": failing("b", ""), "b": failing("done", ""), "done": flows.EndNode()}, nil},
		{
			"an island",
			flows.Nodes{"a": failing("done", ""), "done": flows.EndNode(), "b": failing("done", "")},
			[]verification.FieldError{{Name: "nodes.b", Message: island}},
		},
		{
			"an island of two",
			flows.Nodes{"a": failing("done", ""), "done": flows.EndNode(), "b": declining("c", "next"), "c": declining("b", "next")},
			[]verification.FieldError{{Name: "nodes.b", Message: island}, {Name: "nodes.c", Message: island}},
		},
		{
			"an end that nothing leads to",
			flows.Nodes{"a": failing("done", ""), "done": flows.EndNode(), "end": flows.EndNode()},
			[]verification.FieldError{{Name: "nodes.end", Message: island}},
		},
		{
			"no end",
			flows.Nodes{"a": declining("b", "next"), "b": declining("a", "next")},
			[]verification.FieldError{{Name: "nodes.a", Message: endless}, {Name: "nodes.b", Message: endless}},
		},
		{
			"no end on one of the paths",
			flows.Nodes{"a": failing("done", "b"), "done": flows.EndNode(), "b": declining("c", "next"), "c": rejecting("b", "c")},
			[]verification.FieldError{{Name: "nodes.b", Message: endless}, {Name: "nodes.c", Message: endless}},
		},
		{
			"failing is no end",
			flows.Nodes{"a": failing("b", workflow.TargetFail), "b": declining("a", "next")},
			[]verification.FieldError{{Name: "nodes.a", Message: endless}, {Name: "nodes.b", Message: endless}},
		},
		{"reached by on_failed alone", flows.Nodes{"a": failing("done", "b"), "b": failing("done", ""), "done": flows.EndNode()}, nil},
		{"reached by on_declined alone", flows.Nodes{"a": declining("done", "b"), "b": failing("done", ""), "done": flows.EndNode()}, nil},
		{"reached by on_reject alone", flows.Nodes{"a": rejecting("done", "b"), "b": failing("done", ""), "done": flows.EndNode()}, nil},
		{"reached by a rule alone", flows.Nodes{"a": flows.BranchNode("again wanted", "b", "done"), "b": failing("done", ""), "done": flows.EndNode()}, nil},
		{
			"a check that leads to itself",
			flows.Nodes{"a": failing("done", "a"), "done": flows.EndNode()},
			[]verification.FieldError{{Name: "nodes.a", Message: loop("a")}},
		},
		{
			"a branch that leads to itself",
			flows.Nodes{"a": flows.BranchNode("again wanted", "a", "done"), "done": flows.EndNode()},
			[]verification.FieldError{{Name: "nodes.a", Message: loop("a")}},
		},
		{
			"two checks in a loop",
			flows.Nodes{"a": failing("b", ""), "b": failing("done", "a"), "done": flows.EndNode()},
			[]verification.FieldError{{Name: "nodes.a", Message: loop("a, b")}},
		},
		{"two loops", flows.Nodes{
			"a": failing("b", "a"), "b": flows.BranchNode("again wanted", "c", "done"), "c": failing("b", ""), "done": flows.EndNode(),
		}, []verification.FieldError{{Name: "nodes.a", Message: loop("a")}, {Name: "nodes.b", Message: loop("b, c")}}},
		{"a loop beside one with a customer", flows.Nodes{
			"a": declining("b", "next"), "b": flows.BranchNode("again wanted", "a", "c"), "c": failing("done", "b"), "done": flows.EndNode(),
		}, []verification.FieldError{{Name: "nodes.b", Message: loop("b, c")}}},
		{"a loop with consent", flows.Nodes{"a": declining("b", "next"), "b": failing("done", "a"), "done": flows.EndNode()}, nil},
		{"a consent that leads to itself", flows.Nodes{"a": declining("done", "a"), "done": flows.EndNode()}, nil},
		{"a loop with a review", flows.Nodes{"a": failing("b", ""), "b": rejecting("done", "a"), "done": flows.EndNode()}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, problemsOf(t, flows.Define("a", c.n))); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// An edge to such a node would mean the route.
func TestNodesAreNotNamedLikeRoutes(t *testing.T) {
	const message = "a node's name must be a lower-case letter followed by letters, digits or _, and not fail or next"
	for _, word := range []verification.NodeID{workflow.TargetFail, workflow.TargetNext} {
		want := []verification.FieldError{{Name: "nodes." + string(word), Message: message}}
		d := flows.Define("a", flows.Nodes{"a": flows.CheckNode("Check", "done"), word: flows.EndNode(), "done": flows.EndNode()})
		if diff := cmp.Diff(want, problemsOf(t, d)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", word, diff)
		}
	}
}

// Only a branch that reads the result of a screening, or a review step, keeps a hit from ending
// with an outcome.
func TestAnOutcomeThatAHitCanReachIsNoted(t *testing.T) {
	outcome := workflow.Node{Type: workflow.NodeEnd, Outcome: "approved"}
	refused := workflow.Node{Type: workflow.NodeEnd, Outcome: "refused"}
	screening := func(next verification.NodeID) workflow.Node {
		n := flows.CheckNode("Screening", next)
		n.Provider, n.OnFailed, n.OnUnavailable = "list", "refused", "refused"
		return n
	}
	branch := func(first, next, second, to, otherwise string) workflow.Node {
		return workflow.Node{Type: workflow.NodeBranch, Else: verification.NodeID(otherwise), Rules: []workflow.Rule{
			{When: first, Next: verification.NodeID(next)}, {When: second, Next: verification.NodeID(to)},
		}}
	}
	const message = "the screening pan leads here whatever it finds: test steps.pan.clear in a branch, or add a review step"
	for _, c := range []struct {
		name string
		n    flows.Nodes
		want []string // the ends
	}{
		{"at once", flows.Nodes{"pan": screening("done")}, []string{"done"}},
		{"after a check", flows.Nodes{"pan": screening("face"), "face": flows.CheckNode("Face", "done")}, []string{"done"}},
		{"a branch that reads it", flows.Nodes{"pan": screening("b"), "b": flows.BranchNode("reads pan", "review", "done"), "review": flows.ReviewNode("Review", "done")}, nil},
		{"a branch on something else", flows.Nodes{"pan": screening("b"), "b": flows.BranchNode("review wanted", "review", "done"), "review": flows.ReviewNode("Review", "done")}, []string{"done"}},
		{"a review step", flows.Nodes{"pan": screening("review"), "review": flows.ReviewNode("Review", "done")}, nil},
		{"a rule before the one that reads it", flows.Nodes{
			"pan": screening("b"), "b": branch("again wanted", "done", "reads pan", "review", "other"), "review": flows.ReviewNode("Review", "done"),
			"other": {Type: workflow.NodeEnd, Outcome: "other"},
		}, []string{"done"}},
		{"a rule behind the one that reads it", flows.Nodes{
			"pan": screening("b"), "b": branch("reads pan", "review", "again wanted", "done", "done"), "review": flows.ReviewNode("Review", "done"),
		}, nil},
		{"no outcome", flows.Nodes{"pan": screening("plain"), "plain": flows.EndNode(), "done": flows.EndNode()}, nil},
		{"the branch comes first", flows.Nodes{"consent": flows.ConsentNode("b"), "b": flows.BranchNode("review wanted", "pan", "pan"), "pan": screening("done")}, []string{"done"}},
	} {
		start := verification.NodeID("pan")
		if _, ok := c.n["consent"]; ok {
			start = "consent"
		}
		if _, ok := c.n["done"]; !ok {
			c.n["done"] = outcome
		}
		c.n["refused"] = refused
		if c.name == "no outcome" {
			delete(c.n, "done")
		}
		p, err := workflow.Compile(t.Context(), flows.WorkflowID, workflow.Version{Definition: flows.Define(start, c.n)}, flows.NewLanguage(), nil,
			map[string]verification.ProviderDescription{"list": {Rescreens: true}})
		if err != nil {
			t.Errorf("%s: %v %+v", c.name, err, flows.FieldsOf(t, err))
		}
		var want []verification.FieldError
		for _, end := range c.want {
			want = append(want, verification.FieldError{Name: "nodes." + end + ".outcome", Message: message})
		}
		if diff := cmp.Diff(want, p.Warnings()); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", c.name, diff)
		}
		if p, err := workflow.Restore(flows.WorkflowID, p.Version, flows.NewLanguage(), nil); err != nil || p.Warnings() != nil {
			t.Errorf("%s: a stored version has the warnings %v, %v", c.name, p.Warnings(), err)
		}
	}
}
