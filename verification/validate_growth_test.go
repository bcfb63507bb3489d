package verification_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
)

// chain returns a definition of n checks in a row and an end. next returns the node that
// check i names as the one that follows.
func chain(n int, next func(i int) string) verification.Definition {
	all := nodes{"done": endNode()}
	for i := range n {
		all[verification.NodeID(fmt.Sprintf("n%d", i))] = checkNode("Check", verification.NodeID(next(i)))
	}
	return define("n0", all)
}

func following(n int) func(int) string {
	return func(i int) string {
		if i == n-1 {
			return "done"
		}
		return fmt.Sprintf("n%d", i+1)
	}
}

// growth returns how many times more allocations f needs for 480 nodes than for 60.
func growth(f func(nodes int)) float64 {
	few := testing.AllocsPerRun(1, func() { f(60) })
	many := testing.AllocsPerRun(1, func() { f(480) })
	return many / few
}

func TestTheWorkGrowsLinearlyWithTheNodes(t *testing.T) {
	for name, next := range map[string]func(n int) func(int) string{
		"all right": following,
		"one loop":  func(n int) func(int) string { return func(i int) string { return fmt.Sprintf("n%d", (i+1)%n) } },
		"each to itself": func(int) func(int) string {
			return func(i int) string { return fmt.Sprintf("n%d", i) }
		},
		"all misspelt": func(int) func(int) string { return func(i int) string { return fmt.Sprintf("m%d", i) } },
	} {
		definitions := map[int]verification.Definition{}
		for _, n := range []int{60, 480} {
			definitions[n] = chain(n, next(n))
		}
		got := growth(func(n int) {
			_, _ = verification.Compile(t.Context(), workflowID, verification.Version{Definition: definitions[n]}, newLanguage(), nil, nil)
		})
		if got > 12 {
			t.Errorf("%s: 8 times the nodes take %.0f times the allocations, want at most 12", name, got)
		}
	}
}

// counting is a compiler that counts its calls.
type counting struct {
	language
	calls *int
	each  func()
}

func (c counting) Condition(text string, d verification.Declarations) (verification.Condition, error) {
	*c.calls++
	c.each()
	return c.language.Condition(text, d)
}

func TestADefinitionAboveTheLimitIsNotExamined(t *testing.T) {
	d := chain(10_000, func(i int) string { return fmt.Sprintf("m%d", i) })
	d.Nodes["gate"] = branchNode("odd", "review", "nowhere")
	calls := 0
	_, err := verification.Compile(t.Context(), workflowID, verification.Version{Definition: d}, counting{newLanguage(), &calls, func() {}}, nil, nil)
	want := []verification.FieldError{{Name: "nodes", Message: "must have 1 to 500 nodes"}}
	if diff := cmp.Diff(want, fieldsOf(t, err)); diff != "" || calls != 0 {
		t.Errorf("%d expressions were compiled, want 0 (-want +got):\n%s", calls, diff)
	}
}

func TestCompileStopsWhenItsContextEnds(t *testing.T) {
	all := nodes{"done": endNode()}
	for i := range 100 {
		all[verification.NodeID(fmt.Sprintf("n%d", i))] = branchNode("again wanted", verification.NodeID(fmt.Sprintf("n%d", i+1)), "done")
	}
	all["n100"] = endNode()
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	_, err := verification.Compile(ctx, workflowID, verification.Version{Definition: define("n0", all)}, counting{newLanguage(), &calls, cancel}, nil, nil)
	if !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("Compile = %v after %d conditions, want %v after 1", err, calls, context.Canceled)
	}
}
