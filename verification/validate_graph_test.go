package verification_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
)

func TestEveryProblemOfTheGraph(t *testing.T) {
	failing := func(next, failed verification.NodeID) verification.Node {
		n := checkNode("Check", next)
		n.OnFailed = failed
		return n
	}
	declining := func(next, declined verification.NodeID) verification.Node {
		n := consentNode(next)
		n.OnDeclined = declined
		return n
	}
	rejecting := func(next, rejected verification.NodeID) verification.Node {
		n := reviewNode("Review", next)
		n.OnReject = rejected
		return n
	}
	const island, endless = "no path leads here from the start", "no path leads from here to an end"
	loop := func(on string) string { return "a loop must have a customer or review step on it: " + on }
	for _, c := range []struct {
		name string
		n    nodes
		want []verification.FieldError
	}{
		{"a line", nodes{"a": failing("b", ""), "b": failing("done", ""), "done": endNode()}, nil},
		{
			"an island",
			nodes{"a": failing("done", ""), "done": endNode(), "b": failing("done", "")},
			[]verification.FieldError{{Name: "nodes.b", Message: island}},
		},
		{
			"an island of two",
			nodes{"a": failing("done", ""), "done": endNode(), "b": declining("c", "next"), "c": declining("b", "next")},
			[]verification.FieldError{{Name: "nodes.b", Message: island}, {Name: "nodes.c", Message: island}},
		},
		{
			"an end that nothing leads to",
			nodes{"a": failing("done", ""), "done": endNode(), "end": endNode()},
			[]verification.FieldError{{Name: "nodes.end", Message: island}},
		},
		{
			"no end",
			nodes{"a": declining("b", "next"), "b": declining("a", "next")},
			[]verification.FieldError{{Name: "nodes.a", Message: endless}, {Name: "nodes.b", Message: endless}},
		},
		{
			"no end on one of the paths",
			nodes{"a": failing("done", "b"), "done": endNode(), "b": declining("c", "next"), "c": rejecting("b", "c")},
			[]verification.FieldError{{Name: "nodes.b", Message: endless}, {Name: "nodes.c", Message: endless}},
		},
		{
			"failing is no end",
			nodes{"a": failing("b", verification.TargetFail), "b": declining("a", "next")},
			[]verification.FieldError{{Name: "nodes.a", Message: endless}, {Name: "nodes.b", Message: endless}},
		},
		{"reached by on_failed alone", nodes{"a": failing("done", "b"), "b": failing("done", ""), "done": endNode()}, nil},
		{"reached by on_declined alone", nodes{"a": declining("done", "b"), "b": failing("done", ""), "done": endNode()}, nil},
		{"reached by on_reject alone", nodes{"a": rejecting("done", "b"), "b": failing("done", ""), "done": endNode()}, nil},
		{"reached by a rule alone", nodes{"a": branchNode("again wanted", "b", "done"), "b": failing("done", ""), "done": endNode()}, nil},
		{
			"a check that leads to itself",
			nodes{"a": failing("done", "a"), "done": endNode()},
			[]verification.FieldError{{Name: "nodes.a", Message: loop("a")}},
		},
		{
			"a branch that leads to itself",
			nodes{"a": branchNode("again wanted", "a", "done"), "done": endNode()},
			[]verification.FieldError{{Name: "nodes.a", Message: loop("a")}},
		},
		{
			"two checks in a loop",
			nodes{"a": failing("b", ""), "b": failing("done", "a"), "done": endNode()},
			[]verification.FieldError{{Name: "nodes.a", Message: loop("a, b")}},
		},
		{"two loops", nodes{
			"a": failing("b", "a"), "b": branchNode("again wanted", "c", "done"), "c": failing("b", ""), "done": endNode(),
		}, []verification.FieldError{{Name: "nodes.a", Message: loop("a")}, {Name: "nodes.b", Message: loop("b, c")}}},
		{"a loop beside one with a customer", nodes{
			"a": declining("b", "next"), "b": branchNode("again wanted", "a", "c"), "c": failing("done", "b"), "done": endNode(),
		}, []verification.FieldError{{Name: "nodes.b", Message: loop("b, c")}}},
		{"a loop with consent", nodes{"a": declining("b", "next"), "b": failing("done", "a"), "done": endNode()}, nil},
		{"a consent that leads to itself", nodes{"a": declining("done", "a"), "done": endNode()}, nil},
		{"a loop with a review", nodes{"a": failing("b", ""), "b": rejecting("done", "a"), "done": endNode()}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, problemsOf(t, define("a", c.n))); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// An edge to such a node would mean the route.
func TestNodesAreNotNamedLikeRoutes(t *testing.T) {
	const message = "a node's name must be a lower-case letter followed by letters, digits or _, and not fail or next"
	for _, word := range []verification.NodeID{verification.TargetFail, verification.TargetNext} {
		want := []verification.FieldError{{Name: "nodes." + string(word), Message: message}}
		d := define("a", nodes{"a": checkNode("Check", "done"), word: endNode(), "done": endNode()})
		if diff := cmp.Diff(want, problemsOf(t, d)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", word, diff)
		}
	}
}

// Only a branch that reads the result of a screening, or a review step, keeps a hit from ending
// with an outcome.
func TestAnOutcomeThatAHitCanReachIsNoted(t *testing.T) {
	outcome := verification.Node{Type: verification.NodeEnd, Outcome: "approved"}
	refused := verification.Node{Type: verification.NodeEnd, Outcome: "refused"}
	screening := func(next verification.NodeID) verification.Node {
		n := checkNode("Screening", next)
		n.Provider, n.OnFailed, n.OnUnavailable = "list", "refused", "refused"
		return n
	}
	branch := func(first, next, second, to, otherwise string) verification.Node {
		return verification.Node{Type: verification.NodeBranch, Else: verification.NodeID(otherwise), Rules: []verification.Rule{
			{When: first, Next: verification.NodeID(next)}, {When: second, Next: verification.NodeID(to)},
		}}
	}
	const message = "the screening pan leads here whatever it finds: test steps.pan.data.analysis_ok in a branch, or add a review step"
	for _, c := range []struct {
		name string
		n    nodes
		want []string // the ends
	}{
		{"at once", nodes{"pan": screening("done")}, []string{"done"}},
		{"after a check", nodes{"pan": screening("face"), "face": checkNode("Face", "done")}, []string{"done"}},
		{"a branch that reads it", nodes{"pan": screening("b"), "b": branchNode("reads pan", "review", "done"), "review": reviewNode("Review", "done")}, nil},
		{"a branch on something else", nodes{"pan": screening("b"), "b": branchNode("review wanted", "review", "done"), "review": reviewNode("Review", "done")}, []string{"done"}},
		{"a review step", nodes{"pan": screening("review"), "review": reviewNode("Review", "done")}, nil},
		{"a rule before the one that reads it", nodes{
			"pan": screening("b"), "b": branch("again wanted", "done", "reads pan", "review", "other"), "review": reviewNode("Review", "done"),
			"other": {Type: verification.NodeEnd, Outcome: "other"},
		}, []string{"done"}},
		{"a rule behind the one that reads it", nodes{
			"pan": screening("b"), "b": branch("reads pan", "review", "again wanted", "done", "done"), "review": reviewNode("Review", "done"),
		}, nil},
		{"no outcome", nodes{"pan": screening("plain"), "plain": endNode(), "done": endNode()}, nil},
		{"the branch comes first", nodes{"consent": consentNode("b"), "b": branchNode("review wanted", "pan", "pan"), "pan": screening("done")}, []string{"done"}},
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
		p, err := verification.Compile(t.Context(), workflowID, verification.Version{Definition: define(start, c.n)}, newLanguage(), nil,
			map[string]verification.ProviderDescription{"list": {Rescreens: true}})
		if err != nil {
			t.Errorf("%s: %v %+v", c.name, err, fieldsOf(t, err))
		}
		var want []verification.FieldError
		for _, end := range c.want {
			want = append(want, verification.FieldError{Name: "nodes." + end + ".outcome", Message: message})
		}
		if diff := cmp.Diff(want, p.Warnings()); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", c.name, diff)
		}
		if p, err := verification.Restore(workflowID, p.Version, newLanguage()); err != nil || p.Warnings() != nil {
			t.Errorf("%s: a stored version has the warnings %v, %v", c.name, p.Warnings(), err)
		}
	}
}
