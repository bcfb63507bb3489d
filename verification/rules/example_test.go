package rules_test

import (
	"context"
	"fmt"
	"time"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Decide turns a command into events, and the run folds them. The time is an argument.
func ExampleDecide() {
	program, err := workflow.Compile(context.Background(), "", workflow.Version{Definition: workflow.Definition{
		Workflow: "pan", Name: "PAN", Start: "pan",
		Nodes: map[verification.NodeID]workflow.Node{
			"pan":    {Type: workflow.NodeCheck, Provider: "registry", OnFailed: "review", Next: "done"},
			"review": {Type: workflow.NodeReview, Reason: "The PAN did not pass.", Next: "done"},
			"done":   {Type: workflow.NodeEnd},
		},
	}}, expression.New(), nil, nil)
	if err != nil {
		panic(err)
	}
	run, now := rules.Run{ID: "0191f3c0-0000-7000-8000-00000000000b"}, time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for _, c := range []rules.Command{
		rules.Start{ReferenceID: "customer-1"},
		rules.RecordResult{Node: "pan", Dispatch: 1, Outcome: verification.OutcomeFailed},
		rules.GiveVerdict{Decision: rules.DecisionApprove, By: "Asha"},
	} {
		events, after, err := rules.Decide(program, run, c, now)
		if err != nil {
			panic(err)
		}
		run = after
		for _, e := range events {
			fmt.Print(e.Kind(), " ")
		}
		summary := run.Summary()
		fmt.Printf("-> %s, %q\n", summary.StatusAt(now), summary.DecisionAt(now))
	}
	// Output:
	// started dispatched -> in_progress, ""
	// result_recorded review_asked -> in_progress, "review"
	// verdict_recorded completed -> completed, "approve"
}
