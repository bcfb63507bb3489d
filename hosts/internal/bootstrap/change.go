// The changes that applying a file makes.

package bootstrap

import "github.com/verifyd/verifyd/verification"

// Change is the result of applying one entry of a file.
type Change struct {
	Tenant  verification.TenantID `json:"tenant_id"`
	Kind    Kind                  `json:"kind"`
	Name    string                `json:"name"` // of the tenant; the client id; the workflow's stable name
	Outcome Outcome               `json:"outcome"`
	// Workflow, and VersionHash of its newest version, are set only for a workflow.
	Workflow    verification.WorkflowID `json:"workflow_id,omitempty"`
	VersionHash string                  `json:"version_hash,omitempty"`
	// Warnings say what may be wrong in a workflow, each on a line with its position.
	Warnings []string `json:"warnings,omitempty"`
}

// Kind is the kind of an entry.
type Kind string

// The kinds of entries.
const (
	KindTenant   Kind = "tenant"
	KindAccount  Kind = "account"
	KindWorkflow Kind = "workflow"
)

// Outcome says whether an entry was written.
type Outcome string

// The outcomes.
const (
	Created   Outcome = "created"
	Changed   Outcome = "changed"
	Unchanged Outcome = "unchanged"
	// Disabled is the outcome of an account that the file no longer lists.
	Disabled Outcome = "disabled"
)

// written returns the outcome of writing an entry that existed before, or not.
func written(there bool) Outcome {
	if there {
		return Changed
	}
	return Created
}
