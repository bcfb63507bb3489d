// The commands about tenants and hosts.

package main

import (
	"context"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/verification"
)

type tenantCommands struct {
	List tenantList `cmd:"" help:"List all tenants."`
}

type tenantList struct {
	databaseFlag
	jsonFlag
}

type tenantJSON struct {
	ID                verification.TenantID `json:"id"`
	Name              string                `json:"name"`
	RedirectAllowlist []string              `json:"redirect_allowlist"`
	Colour            string                `json:"colour,omitempty"`
	Rotating          bool                  `json:"rotating"` // two webhook secrets sign
}

// Run prints every tenant by id, without its secrets.
func (c tenantList) Run(ctx context.Context, s *session) error {
	return c.with(ctx, s, func(db *database) error {
		all, err := db.Tenants(ctx)
		if err != nil {
			return err
		}
		convert := func(t verification.Tenant) tenantJSON {
			return tenantJSON{
				ID: t.ID, Name: t.Name, RedirectAllowlist: append([]string{}, t.RedirectAllowlist...),
				Colour: t.Colour, Rotating: t.PreviousWebhookSecret != "",
			}
		}
		return printList(s, c.JSON, mapSlice(all, convert), "ID NAME ROTATING")
	})
}

type hostCommands struct {
	List hostList `cmd:"" help:"List the hosts of the database."`
}

type hostList struct {
	databaseFlag
	jsonFlag
}

type hostJSON struct {
	ID        string             `json:"id"`
	Name      string             `json:"name"`
	Alive     bool               `json:"alive"`
	Roles     []string           `json:"roles"`
	Version   string             `json:"version"`
	StartedAt apitypes.Timestamp `json:"started_at"`
	SeenAt    apitypes.Timestamp `json:"seen_at"`
}

// Run prints every host by name.
func (c hostList) Run(ctx context.Context, s *session) error {
	return c.with(ctx, s, func(db *database) error {
		all, err := db.Hosts(ctx)
		if err != nil {
			return err
		}
		convert := func(h postgres.Host) hostJSON {
			return hostJSON{
				ID: h.ID, Name: h.Name, Alive: h.Alive, Roles: append([]string{}, h.Roles...), Version: h.Version,
				StartedAt: apitypes.Timestamp{Time: h.StartedAt}, SeenAt: apitypes.Timestamp{Time: h.SeenAt},
			}
		}
		return printList(s, c.JSON, mapSlice(all, convert), "NAME ALIVE ROLES VERSION STARTED_AT SEEN_AT ID")
	})
}
