// Workflows.

package apitypes

import (
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Workflow is a workflow as lists show it.
type Workflow struct {
	ID                    verification.WorkflowID `json:"id"`
	Name                  string                  `json:"name"`
	Description           string                  `json:"description,omitempty"`
	Published             bool                    `json:"published"`
	RunTTLSeconds         int64                   `json:"run_ttl_seconds"`
	AbandonTimeoutSeconds int64                   `json:"abandon_timeout_seconds"`
	LifecycleWebhookURL   string                  `json:"lifecycle_webhook_url,omitempty"`
	Retired               bool                    `json:"retired,omitzero"` // it takes no new runs
	CreatedAt             Timestamp               `json:"created_at"`
}

// WorkflowDetail is a single workflow.
type WorkflowDetail struct {
	Workflow
	Steps []workflow.CheckInfo `json:"steps"`
}

// NewWorkflow converts a workflow, as lists show it.
func NewWorkflow(w workflow.Workflow) Workflow {
	return Workflow{
		ID: w.ID, Name: w.Name, Description: w.Description, Published: w.PublishedHash != "",
		RunTTLSeconds: w.RunTTLSeconds, AbandonTimeoutSeconds: w.AbandonTimeoutSeconds,
		LifecycleWebhookURL: w.LifecycleWebhookURL, Retired: w.Retired, CreatedAt: Timestamp{w.CreatedAt},
	}
}
