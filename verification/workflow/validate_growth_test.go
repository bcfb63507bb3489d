package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// chain returns a definition of n checks in a row and an end. next returns the node that
// check i names as the one that follows.
func chain(n int, next func(i int) string) workflow.Definition {
	all := flows.Nodes{"done": flows.EndNode()}
	for i := range n {
		all[verification.NodeID(fmt.Sprintf("n%d", i))] = flows.CheckNode("Check", verification.NodeID(next(i)))
	}
	return flows.Define("n0", all)
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
		definitions := map[int]workflow.Definition{}
		for _, n := range []int{60, 480} {
			definitions[n] = chain(n, next(n))
		}
		got := growth(func(n int) {
			_, _ = workflow.Compile(t.Context(), flows.WorkflowID, workflow.Version{Definition: definitions[n]}, flows.NewLanguage(), nil, nil)
		})
		if got > 12 {
			t.Errorf("%s: 8 times the nodes take %.0f times the allocations, want at most 12", name, got)
		}
	}
}

// counting is a compiler that counts its calls.
type counting struct {
	flows.Language
	calls *int
	each  func()
}

func (c counting) Condition(text string, d workflow.Declarations) (workflow.Condition, error) {
	*c.calls++
	c.each()
	return c.Language.Condition(text, d)
}

func TestADefinitionAboveTheLimitIsNotExamined(t *testing.T) {
	d := chain(10_000, func(i int) string { return fmt.Sprintf("m%d", i) })
	d.Nodes["gate"] = flows.BranchNode("odd", "review", "nowhere")
	calls := 0
	_, err := workflow.Compile(t.Context(), flows.WorkflowID, workflow.Version{Definition: d}, counting{flows.NewLanguage(), &calls, func() {}}, nil, nil)
	want := []verification.FieldError{{Name: "nodes", Message: "must have 1 to 500 nodes"}}
	if diff := cmp.Diff(want, flows.FieldsOf(t, err)); diff != "" || calls != 0 {
		t.Errorf("%d expressions were compiled, want 0 (-want +got):\n%s", calls, diff)
	}
}

func TestCompileStopsWhenItsContextEnds(t *testing.T) {
	all := flows.Nodes{"done": flows.EndNode()}
	for i := range 100 {
		all[verification.NodeID(fmt.Sprintf("n%d", i))] = flows.BranchNode("again wanted", verification.NodeID(fmt.Sprintf("n%d", i+1)), "done")
	}
	all["n100"] = flows.EndNode()
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	_, err := workflow.Compile(ctx, flows.WorkflowID, workflow.Version{Definition: flows.Define("n0", all)}, counting{flows.NewLanguage(), &calls, cancel}, nil, nil)
	if !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("Compile = %v after %d conditions, want %v after 1", err, calls, context.Canceled)
	}
}
