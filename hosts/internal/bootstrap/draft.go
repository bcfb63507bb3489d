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

// Row implements store.RowStore.
func (d *draft) Row(ctx context.Context, kind store.RecordKind, key string) (store.Record, error) {
	for _, t := range d.setup.Tenants {
		if kind == store.RecordTenant && key == string(t.ID) {
			return store.TenantRecord{Tenant: t}, nil
		}
	}
	return d.Store.Row(ctx, kind, key)
}

// Change implements store.RowStore.
func (d *draft) Change(ctx context.Context, rows []store.Record) error {
	for _, row := range rows {
		switch r := row.(type) {
		case store.TenantRecord:
			d.setup.Tenants = append(d.setup.Tenants, r.Tenant)
		case store.AccountRecord:
			known, err := d.Row(ctx, store.KindOf(r), store.KeyOf(r))
			if err != nil && !errors.Is(err, verification.ErrNotFound) {
				return err
			}
			if err == nil && store.TenantOf(known) != store.TenantOf(r) {
				return store.ClientTaken()
			}
			d.setup.Accounts = append(d.setup.Accounts, r.Account)
		}
	}
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
