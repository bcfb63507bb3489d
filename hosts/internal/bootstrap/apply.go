// Applying the tenants, accounts and workflows of a file.

package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
)

// Options say how a file is applied.
type Options struct {
	// DryRun saves nothing.
	DryRun bool
	// By is who applies the file, for the audit trail; the zero Actor adds nothing to it.
	By  verification.Actor
	Now func() time.Time // of the entries
	// File becomes the newest one of the store; zero for none.
	File store.AppliedFile
	// Ready is called once nothing in the file is refused, before it is saved; nil does nothing.
	Ready func(context.Context) error
	// Made is called for each tenant whose webhook secret was generated, after the save; nil does nothing.
	Made func(verification.Tenant)
}

// maxTries bounds the attempts to apply a file to what others change, too.
const maxTries = 10

// Apply applies a file, all of it or nothing, and returns a change for each of its entries, in the order of
// the file. After the accounts of a tenant come the accounts that an earlier file listed
// and this one does not: Apply disables them. A tenant that the file does not list keeps
// its accounts. The error joins everything that is refused, the problems of each workflow as a *definitions.Diagnostics:
// then nothing was saved.
func Apply(ctx context.Context, b definitions.Bootstrap, e *engine.Engine, s store.Store, o Options) ([]Change, error) {
	for try := 1; ; try++ { // at most maxTries
		d := &draft{Store: s}
		done, made, err := drafted(ctx, b, e.On(d), d)
		if err != nil {
			return nil, err
		}
		if o.By != (verification.Actor{}) {
			d.setup.Audit = append(d.setup.Audit, AuditOf(done, o.By, o.Now())...)
		}
		if o.Ready != nil && !o.DryRun {
			if err := o.Ready(ctx); err != nil {
				return nil, err
			}
		}
		d.setup.File, d.setup.DryRun = o.File, o.DryRun
		err = s.SaveSetup(ctx, d.setup)
		if errors.Is(err, verification.ErrConflict) {
			if try < maxTries {
				continue
			}
			err = fmt.Errorf("others kept changing what the file changes, and nothing of it was saved; apply it again: %w", err)
		}
		if err == nil && o.Made != nil && !o.DryRun {
			for _, t := range made {
				o.Made(t)
			}
		}
		return done, err
	}
}

// drafted applies a file to a draft, and returns its changes and the tenants whose webhook secret was generated.
func drafted(ctx context.Context, b definitions.Bootstrap, e *engine.Engine, to *draft) (done []Change, made []verification.Tenant, _ error) {
	var problems []error
	tables := store.Tables{RowStore: to}
	for _, t := range b.Tenants {
		outcome, err := SaveTenant(ctx, tables, t.Tenant, func(t verification.Tenant) { made = append(made, t) })
		if err != nil {
			return nil, nil, err
		}
		done = append(done, Change{Tenant: t.Tenant.ID, Kind: KindTenant, Name: t.Tenant.Name, Outcome: outcome})
		known, err := tables.Accounts(ctx, t.Tenant.ID)
		if err != nil {
			return nil, nil, fmt.Errorf("read the accounts of tenant %s: %w", t.Tenant.ID, err)
		}
		if err := roomForAccounts(known, t); err != nil {
			problems = append(problems, err)
		}
		for _, a := range t.Accounts {
			outcome, err := saveAccount(ctx, tables, a)
			switch {
			case errors.Is(err, verification.ErrConflict):
				problems = append(problems, fmt.Errorf("client_id %s: %w", a.ClientID, err))
			case err != nil:
				return nil, nil, fmt.Errorf("save account %s: %w", a.ClientID, err)
			}
			done = append(done, Change{Tenant: t.Tenant.ID, Kind: KindAccount, Name: a.ClientID, Outcome: outcome})
		}
		disabled, err := disableUnlisted(ctx, tables, t, known)
		if err != nil {
			return nil, nil, err
		}
		done = append(done, disabled...)
		for _, w := range t.Workflows {
			applied, err := e.Apply(ctx, t.Tenant.ID, w.Definition)
			switch {
			case errors.Is(err, verification.ErrConflict), errors.Is(err, verification.ErrInvalid):
				problems = append(problems, w.Explain(err))
			case err != nil:
				return nil, nil, fmt.Errorf("apply workflow %s: %w", w.Definition.Workflow, err)
			default:
				change := changeOf(t.Tenant.ID, applied)
				change.Warnings = w.ExplainFields(applied.Warnings).List
				done = append(done, change)
			}
		}
	}
	return done, made, errors.Join(problems...)
}

func changeOf(t verification.TenantID, a engine.Applied) Change {
	c := Change{
		Tenant: t, Kind: KindWorkflow, Name: a.Workflow.Slug, Outcome: Unchanged,
		Workflow: a.Workflow.ID, VersionHash: a.Workflow.LatestHash, WebhookReplaced: a.WebhookReplaced,
	}
	switch {
	case a.Changed && a.Workflow.Revision == 1:
		c.Outcome = Created
	case a.Changed:
		c.Outcome = Changed
	}
	return c
}

func saveAccount(ctx context.Context, tenants store.Tables, a verification.Account) (Outcome, error) {
	a.FromFile = true
	known, err := tenants.Account(ctx, a.ClientID)
	there := err == nil
	if there && a.KeyHash == known.KeyHash && a.PreviousKeyHash == ([32]byte{}) && !known.PreviousUntil.IsZero() {
		a.PreviousKeyHash, a.PreviousUntil = known.PreviousKeyHash, known.PreviousUntil // of verifyctl account rotate-key
	}
	switch {
	case err != nil && !errors.Is(err, verification.ErrNotFound):
		return "", err
	case there && sameAccount(known, a):
		return Unchanged, nil
	}
	return written(there), tenants.SaveAccount(ctx, a)
}

// roomForAccounts returns an error if a tenant with the known accounts does not take those of
// the file.
func roomForAccounts(known []verification.Account, t definitions.Tenant) error {
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
func disableUnlisted(ctx context.Context, tenants store.Tables, t definitions.Tenant, known []verification.Account) (done []Change, _ error) {
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
	return a.Tenant == b.Tenant && a.KeyHash == b.KeyHash && a.PreviousKeyHash == b.PreviousKeyHash && a.PreviousUntil.Equal(b.PreviousUntil) && a.Disabled == b.Disabled && a.FromFile == b.FromFile && surfaces
}
