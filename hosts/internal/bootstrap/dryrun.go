// Applying a file without writing anything.

package bootstrap

import (
	"context"
	"errors"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// DryRun returns a store that reads s and writes nothing: Apply on it, with an engine on
// it, returns the changes that it would make.
func DryRun(s store.Store) store.Store { return dryRun{s} }

type dryRun struct{ store.Store }

// SaveTenant implements store.TenantStore.
func (dryRun) SaveTenant(context.Context, verification.Tenant) error { return nil }

// SaveAccount implements store.TenantStore.
func (d dryRun) SaveAccount(ctx context.Context, a verification.Account) error {
	known, err := d.Account(ctx, a.ClientID)
	switch {
	case errors.Is(err, verification.ErrNotFound):
		return nil
	case err == nil && known.Tenant != a.Tenant:
		return verification.Conflict("account", "another tenant has that client id")
	}
	return err
}

// SaveWorkflow implements store.WorkflowStore.
func (dryRun) SaveWorkflow(context.Context, verification.TenantID, workflow.Workflow, *workflow.Version) error {
	return nil
}

// AppendAudit implements store.AuditStore.
func (dryRun) AppendAudit(context.Context, []store.AuditEntry) error { return nil }
