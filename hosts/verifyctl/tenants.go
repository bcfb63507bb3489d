// The commands about tenants and hosts.

package main

import (
	"context"
	"fmt"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
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
	TimeZone          string                `json:"time_zone,omitempty"`
	Colour            string                `json:"colour,omitempty"`
	Rotating          bool                  `json:"rotating"` // two webhook secrets sign

	Retention verification.Retention `json:"retention,omitzero"`
}

// Run prints every tenant by id, without its secrets.
func (c tenantList) Run(ctx context.Context, s *session) error {
	return c.with(ctx, s, func(db *database) error {
		all, err := db.tables().Tenants(ctx)
		if err != nil {
			return err
		}
		convert := func(t verification.Tenant) tenantJSON {
			return tenantJSON{
				ID: t.ID, Name: t.Name, RedirectAllowlist: append([]string{}, t.RedirectAllowlist...),
				TimeZone: t.Zone, Colour: t.Colour, Rotating: t.PreviousWebhookSecret != "", Retention: t.Retention,
			}
		}
		return printList(s, c.JSON, mapSlice(all, convert), "ID NAME ROTATING")
	})
}

type hostCommands struct {
	List hostList `cmd:"" help:"List the hosts."`
}

type hostList struct {
	databaseFlag
	jsonFlag
}

type hostJSON struct {
	ID        string             `json:"id"`
	Name      string             `json:"name"`
	Address   string             `json:"address"`
	Alive     bool               `json:"alive"`
	LastSeen  seen               `json:"last_seen"`
	Roles     []string           `json:"roles"`
	Version   string             `json:"version"`
	StartedAt apitypes.Timestamp `json:"started_at"`
	SeenAt    apitypes.Timestamp `json:"seen_at"`
}

// seen is how long ago something was seen, such as "40 s ago".
type seen string

func seenAgo(h pgadmin.Host) seen {
	return seen(fmt.Sprintf("%.0f s ago", max(0, h.SeenAgo)))
}

// Run prints every host by name.
func (c hostList) Run(ctx context.Context, s *session) error {
	return c.with(ctx, s, func(db *database) error {
		all, err := db.Hosts(ctx)
		if err != nil {
			return err
		}
		convert := func(h pgadmin.Host) hostJSON {
			return hostJSON{
				ID: h.ID, Name: h.Name, Address: h.Address, Alive: h.Alive, LastSeen: seenAgo(h), Roles: append([]string{}, h.Roles...), Version: h.Version,
				StartedAt: apitypes.Timestamp{Time: h.StartedAt}, SeenAt: apitypes.Timestamp{Time: h.SeenAt},
			}
		}
		if err := printList(s, c.JSON, mapSlice(all, convert), "NAME ADDRESS ALIVE LAST_SEEN ROLES VERSION STARTED_AT ID"); err != nil || c.JSON {
			return err
		}
		for _, f := range hostDifferences(all) {
			if f.Status != healthOK {
				s.note(f.Message + "; " + f.Advice)
			}
		}
		return nil
	})
}
