// Applying the tenants, accounts and workflows of a file.

package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/verifyd/verifyd/adapters/definition"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
)

// Store is what applying a file reads and writes beside the workflows.
type Store interface {
	store.TenantStore
	store.TenantLister
}

// Apply applies a file and returns a change for each of its entries, in the order of
// the file. After the accounts of a tenant come the accounts that an earlier file listed
// and this one does not: Apply disables them. A tenant that the file does not list keeps
// its accounts. After an error Apply returns the changes until then, which remain applied.
// It calls made for each tenant for which it generated a webhook secret. The error
// joins the problems of all workflows, each a *definition.Diagnostics.
func Apply(
	ctx context.Context, b definition.Bootstrap, e *engine.Engine, tenants Store, made func(verification.Tenant),
) ([]Change, error) {
	var done []Change
	var problems error
	for _, t := range b.Tenants {
		outcome, err := SaveTenant(ctx, tenants, t.Tenant, made)
		if err != nil {
			return done, errors.Join(problems, err)
		}
		done = append(done, Change{Tenant: t.Tenant.ID, Kind: KindTenant, Name: t.Tenant.Name, Outcome: outcome})
		known, err := tenants.Accounts(ctx, t.Tenant.ID)
		if err != nil {
			return done, errors.Join(problems, fmt.Errorf("read the accounts of tenant %s: %w", t.Tenant.ID, err))
		}
		if err := roomForAccounts(known, t); err != nil {
			return done, errors.Join(problems, err)
		}
		for _, a := range t.Accounts {
			outcome, err := saveAccount(ctx, tenants, a)
			if err != nil {
				return done, errors.Join(problems, err)
			}
			done = append(done, Change{Tenant: t.Tenant.ID, Kind: KindAccount, Name: a.ClientID, Outcome: outcome})
		}
		disabled, err := disableUnlisted(ctx, tenants, t, known)
		done = append(done, disabled...)
		if err != nil {
			return done, errors.Join(problems, err)
		}
		for _, w := range t.Workflows {
			applied, err := e.Apply(ctx, t.Tenant.ID, w.Definition)
			var found *definition.Diagnostics
			switch err = w.Explain(err); {
			case errors.As(err, &found):
				problems = errors.Join(problems, found)
			case err != nil:
				return done, errors.Join(problems, fmt.Errorf("apply workflow %s: %w", w.Definition.Workflow, err))
			default:
				change := changeOf(t.Tenant.ID, applied)
				for _, warning := range w.ExplainFields(applied.Warnings).List {
					change.Warnings = append(change.Warnings, warning.String())
				}
				done = append(done, change)
			}
		}
	}
	return done, problems
}

func changeOf(t verification.TenantID, a engine.Applied) Change {
	c := Change{
		Tenant: t, Kind: KindWorkflow, Name: a.Workflow.Slug, Outcome: Unchanged,
		Workflow: a.Workflow.ID, VersionHash: a.Workflow.LatestHash,
	}
	switch {
	case a.Changed && a.Workflow.Revision == 1:
		c.Outcome = Created
	case a.Changed:
		c.Outcome = Changed
	}
	return c
}

func saveAccount(ctx context.Context, tenants store.TenantStore, a verification.Account) (Outcome, error) {
	a.FromFile = true
	known, err := tenants.Account(ctx, a.ClientID)
	there := err == nil
	switch {
	case err != nil && !errors.Is(err, verification.ErrNotFound):
		return "", fmt.Errorf("read account %s: %w", a.ClientID, err)
	case there && sameAccount(known, a):
		return Unchanged, nil
	}
	if err := tenants.SaveAccount(ctx, a); err != nil {
		return "", fmt.Errorf("save account %s: %w", a.ClientID, err)
	}
	return written(there), nil
}

// roomForAccounts returns an error if a tenant with the known accounts does not take those of
// the file.
func roomForAccounts(known []verification.Account, t definition.Tenant) error {
	n := len(known)
	for _, a := range t.Accounts {
		if !has(known, a) {
			n++
		}
	}
	if n == len(known) {
		return nil
	}
	if err := verification.RoomForAccounts(n); err != nil {
		return fmt.Errorf("tenant %s: %w", t.Tenant.ID, err)
	}
	return nil
}

func has(accounts []verification.Account, a verification.Account) bool {
	return slices.ContainsFunc(accounts, func(b verification.Account) bool { return b.ClientID == a.ClientID })
}

// disableUnlisted disables the accounts of a tenant that an earlier file listed and this
// one does not.
func disableUnlisted(ctx context.Context, tenants Store, t definition.Tenant, known []verification.Account) (done []Change, _ error) {
	for _, a := range known {
		if has(t.Accounts, a) || a.Disabled || !a.FromFile {
			continue
		}
		a.Disabled = true
		if err := tenants.SaveAccount(ctx, a); err != nil {
			return done, fmt.Errorf("disable account %s: %w", a.ClientID, err)
		}
		done = append(done, Change{Tenant: t.Tenant.ID, Kind: KindAccount, Name: a.ClientID, Outcome: Disabled})
	}
	return done, nil
}

func sameAccount(a, b verification.Account) bool {
	surfaces := slices.Equal(a.Surfaces, b.Surfaces)
	return a.Tenant == b.Tenant && a.KeyHash == b.KeyHash && a.Disabled == b.Disabled && a.FromFile == b.FromFile && surfaces
}
