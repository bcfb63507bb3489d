// What became of the things that a file names.

package bootstrap

import "github.com/verifyd/verifyd/verification"

// Change is what became of one thing that the file names.
type Change struct {
	Tenant  verification.TenantID
	Kind    Kind
	Name    string // of the tenant; the client identifier; the workflow's stable name
	Outcome Outcome
	// Workflow and VersionHash, that of the newest version, are empty for
	// anything else.
	Workflow    verification.WorkflowID
	VersionHash string
}

// Kind is what a file names.
type Kind string

// The kinds.
const (
	KindTenant   Kind = "tenant"
	KindAccount  Kind = "account"
	KindWorkflow Kind = "workflow"
)

// Outcome says whether something was written.
type Outcome string

// The outcomes.
const (
	Created   Outcome = "created"
	Changed   Outcome = "changed"
	Unchanged Outcome = "unchanged"
)

// written is the outcome for something that was there before, or was not.
func written(there bool) Outcome {
	if there {
		return Changed
	}
	return Created
}
