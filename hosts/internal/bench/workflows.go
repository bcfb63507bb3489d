// The workflows of a filled tenant.

package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// The timeouts of the workflows.
const (
	runTTL         = 400 * 24 * time.Hour // longer than the spread of the runs
	abandonTimeout = 15 * time.Minute
)

// definition returns a workflow with a consent, details, three checks and, if the bank
// account check does not pass, a review and a signature.
func definition(n int) workflow.Definition {
	check := func(label string, next verification.NodeID) workflow.Node {
		return workflow.Node{Type: workflow.NodeCheck, Label: label, Provider: "sandbox", Next: next}
	}
	return workflow.Definition{
		Workflow: fmt.Sprintf("filled-%d", n), Name: fmt.Sprintf("Filled %d", n), Description: "Its runs are generated.",
		RunTTLSeconds: int64(runTTL.Seconds()), AbandonTimeoutSeconds: int64(abandonTimeout.Seconds()),
		ReviewDueMinutes: int64(n % 3 * 24 * 60), Start: "consent",
		Nodes: map[verification.NodeID]workflow.Node{
			"consent": {Type: workflow.NodeConsent, Label: "Consent", Text: "We will verify your identity.", OnDeclined: workflow.TargetNext, Next: "details"},
			"details": {
				Type: workflow.NodeCustomerInput, Label: "Your details", Next: "pan",
				Fields: workflow.InputFields{{Name: "name", Type: workflow.FieldText, Label: "Name", Required: true}},
			},
			"pan":   check("PAN", "bank"),
			"bank":  check("Bank account", "court"),
			"court": check("Court records", "risk"),
			"risk": {
				Type: workflow.NodeBranch, Else: "done",
				Rules: []workflow.Rule{{When: "!steps.bank.passed", Next: "review"}},
			},
			"review": {Type: workflow.NodeReview, Label: "Manual review", Reason: "The name differs.", Next: "sign"},
			"sign":   {Type: workflow.NodeConsent, Label: "Signature", Text: "I confirm what I said.", OnDeclined: workflow.TargetNext, Next: "done"},
			"done":   {Type: workflow.NodeEnd},
		},
	}
}

// filledWorkflow is a workflow of generated runs.
type filledWorkflow struct {
	workflow.Workflow
	reviewDueMinutes int64
}

// saveWorkflows creates the tenant and its workflows if necessary.
func saveWorkflows(ctx context.Context, s *postgres.Store, o FillOptions) ([]filledWorkflow, error) {
	_, err := s.Tenant(ctx, o.Tenant)
	if errors.Is(err, verification.ErrNotFound) {
		err = s.SaveTenant(ctx, verification.Tenant{ID: o.Tenant, Name: "Filled"})
	}
	if err != nil {
		return nil, fmt.Errorf("save the tenant: %w", err)
	}
	all := make([]filledWorkflow, o.Workflows)
	for n := range all {
		d := definition(n + 1)
		d.ID = workflow.DeriveWorkflowID(o.Tenant, d.Workflow)
		w, err := s.Workflow(ctx, o.Tenant, d.ID)
		if err != nil && !errors.Is(err, verification.ErrNotFound) {
			return nil, fmt.Errorf("load workflow %s: %w", d.Workflow, err)
		}
		next, added, changed, err := w.Apply(d, o.Now.Add(-o.Spread))
		if err == nil && changed {
			err = s.SaveWorkflow(ctx, o.Tenant, next, added)
		}
		if err != nil {
			return nil, fmt.Errorf("save workflow %s: %w", d.Workflow, err)
		}
		all[n] = filledWorkflow{next, d.ReviewDueMinutes}
	}
	return all, nil
}
