// What applying a bootstrap file changes.

package store

import (
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Setup is what applying a bootstrap file changes. It names no tenant, client id or workflow twice.
type Setup struct {
	Tenants   []verification.Tenant
	Accounts  []verification.Account
	Workflows []WorkflowChange
	Audit     []AuditEntry
	// File names the file for hosts that share a store. A store that one process has may ignore it.
	File AppliedFile
	// DryRun saves nothing: only the error is that of a save.
	DryRun bool
}

// WorkflowChange has the arguments of WorkflowStore.SaveWorkflow.
type WorkflowChange struct {
	Tenant   verification.TenantID
	Workflow workflow.Workflow
	Added    *workflow.Version // nil for none
}

// AppliedFile is a bootstrap file that becomes the newest one of a store; zero for none.
type AppliedFile struct {
	Hash  string // of what the file says
	Names string // JSON: the names of what the file lists
}

// Rows returns the rows of the tenants and accounts.
func (s Setup) Rows() []Record {
	var rows []Record
	for _, t := range s.Tenants {
		rows = append(rows, TenantRecord{t})
	}
	for _, a := range s.Accounts {
		rows = append(rows, AccountRecord{a})
	}
	return rows
}
