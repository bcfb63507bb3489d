// What applying a file would save.

package bootstrap

import (
	"context"
	"errors"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// draft is a store that collects what is saved in it, over a store that it only reads. A file names each
// tenant, account and workflow once, so that only a tenant and the number of workflows are read after a save.
type draft struct {
	store.Store

	setup store.Setup
}

// Tenant implements store.TenantStore.
func (d *draft) Tenant(ctx context.Context, id verification.TenantID) (verification.Tenant, error) {
	for _, t := range d.setup.Tenants {
		if t.ID == id {
			return t, nil
		}
	}
	return d.Store.Tenant(ctx, id)
}

// SaveTenant implements store.TenantStore.
func (d *draft) SaveTenant(_ context.Context, t verification.Tenant) error {
	d.setup.Tenants = append(d.setup.Tenants, t)
	return nil
}

// SaveAccount implements store.TenantStore.
func (d *draft) SaveAccount(ctx context.Context, a verification.Account) error {
	known, err := d.Account(ctx, a.ClientID)
	switch {
	case err == nil && known.Tenant != a.Tenant:
		return verification.Conflict("account", "another tenant has that client id")
	case err != nil && !errors.Is(err, verification.ErrNotFound):
		return err
	}
	d.setup.Accounts = append(d.setup.Accounts, a)
	return nil
}

// Workflows implements store.WorkflowStore. Its total counts the new workflows.
func (d *draft) Workflows(ctx context.Context, t verification.TenantID, q store.PageQuery) (store.Page[workflow.Workflow], error) {
	p, err := d.Store.Workflows(ctx, t, q)
	for _, c := range d.setup.Workflows {
		if c.Tenant == t && c.Workflow.Revision == 1 {
			p.Total++
		}
	}
	return p, err
}

// SaveWorkflow implements store.WorkflowStore.
func (d *draft) SaveWorkflow(_ context.Context, t verification.TenantID, w workflow.Workflow, added *workflow.Version) error {
	d.setup.Workflows = append(d.setup.Workflows, store.WorkflowChange{Tenant: t, Workflow: w, Added: added})
	return nil
}

// AppendAudit implements store.AuditStore.
func (d *draft) AppendAudit(_ context.Context, entries []store.AuditEntry) error {
	d.setup.Audit = append(d.setup.Audit, entries...)
	return nil
}
