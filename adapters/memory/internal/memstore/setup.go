// What a bootstrap file changes.

package memstore

import (
	"context"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// SaveSetup saves all of a setup, or nothing. It holds the locks of all four tables, in this order.
func (s *Store) SaveSetup(ctx context.Context, set store.Setup) error {
	return s.tenants.change(ctx, func(tenants map[verification.TenantID]verification.Tenant) error {
		return s.accounts.change(ctx, func(accounts map[string]verification.Account) error {
			return s.workflows.change(ctx, func(workflows map[workflowKey]*keptWorkflow) error {
				return s.audit.change(ctx, func(trails map[trailKey]*auditTrail) error {
					if err := fitsSetup(accounts, workflows, set); err != nil || set.DryRun {
						return err
					}
					for _, t := range set.Tenants {
						s.putTenant(tenants, t)
					}
					for _, a := range set.Accounts {
						s.putAccount(accounts, a)
					}
					for _, w := range set.Workflows {
						s.putWorkflow(workflows, w)
					}
					for _, e := range set.Audit {
						s.putEntry(at(trails, keyOfEntry(e)), e, true)
					}
					return nil
				})
			})
		})
	})
}

// fitsSetup returns the first error of saving a setup.
func fitsSetup(accounts map[string]verification.Account, workflows map[workflowKey]*keptWorkflow, set store.Setup) error {
	for _, t := range set.Tenants {
		if err := verification.ValidateTenantID(t.ID); err != nil {
			return err
		}
	}
	for _, a := range set.Accounts {
		if err := fitsClient(accounts, a); err != nil {
			return err
		}
	}
	for _, w := range set.Workflows {
		if err := fitsRevision(workflows, w); err != nil {
			return err
		}
	}
	return nil
}
