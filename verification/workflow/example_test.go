package workflow_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// A definition is compiled before it is saved. Every problem is reported at once, by its path.
func ExampleCompile() {
	d := workflow.Definition{
		Workflow: "pan", Name: "PAN", Start: "pan",
		Nodes: map[verification.NodeID]workflow.Node{
			"pan":  {Type: workflow.NodeCheck, Provider: "registry", Next: "risk"},
			"risk": {Type: workflow.NodeBranch, Rules: []workflow.Rule{{When: "steps.pna.passed", Next: "done"}}, Else: "doen"},
			"done": {Type: workflow.NodeEnd},
		},
	}
	_, err := workflow.Compile(context.Background(), "", workflow.Version{Definition: d}, expression.New(), nil, nil)
	var e *verification.Error
	if errors.As(err, &e) {
		for _, f := range e.Fields {
			fmt.Println(f.Name+":", f.Message)
		}
	}
	// Output:
	// nodes.risk.else: there is no node "doen"; did you mean done?
	// nodes.risk.rules[0].when: there is no step pna; did you mean pan?
}
