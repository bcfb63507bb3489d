// The commands about tenants.

package main

import (
	"context"

	"github.com/verifyd/verifyd/verification"
)

type tenantCommands struct {
	List tenantList `cmd:"" help:"List all tenants."`
}

type tenantList struct {
	databaseFlag
	jsonFlag
}

// Help is shown below the usage.
func (tenantList) Help() string {
	return `Examples:

    verifyctl tenant list
    verifyctl tenant list --json`
}

// Run prints every tenant by id, without its secrets.
func (c tenantList) Run(ctx context.Context, s *session) error {
	return s.on(ctx, c.databaseFlag, func(db *database) error {
		all, err := db.Tenants(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return s.json(shapes(all, tenantOf))
		}
		return s.table([]string{"ID", "NAME", "ROTATING"}, shapes(all, func(t verification.Tenant) []string {
			return []string{string(t.ID), t.Name, yesNo(t.PreviousWebhookSecret != "")}
		}))
	})
}

type tenantJSON struct {
	ID                verification.TenantID `json:"id"`
	Name              string                `json:"name"`
	RedirectAllowlist []string              `json:"redirect_allowlist"`
	Colour            string                `json:"colour,omitempty"`
	// Rotating says that two webhook secrets sign.
	Rotating bool `json:"rotating"`
}

func tenantOf(t verification.Tenant) tenantJSON {
	return tenantJSON{
		ID: t.ID, Name: t.Name, RedirectAllowlist: append([]string{}, t.RedirectAllowlist...),
		Colour: t.Colour, Rotating: t.PreviousWebhookSecret != "",
	}
}
