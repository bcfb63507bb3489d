// The commands about the accounts that call the API.

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/internal/bootstrap"
	"github.com/verifyd/verifyd/verification"
)

type accountCommands struct {
	List      accountList    `cmd:"" help:"List the accounts of a tenant."`
	Create    accountCreate  `cmd:"" help:"Make an account, and its API key."`
	Disable   accountDisable `cmd:"" help:"Refuse an account from now on."`
	Enable    accountEnable  `cmd:"" help:"Let an account call again."`
	RotateKey accountRotate  `cmd:"" help:"Give an account another API key."`
}

// tellFile warns of the file that may say otherwise.
func (s *session) tellFile(what string) {
	s.note("a bootstrap file that names " + what + " sets it back at the next start of a host: change it there, too")
}

type accountList struct {
	databaseFlag
	tenantFlag
	jsonFlag
}

// Help is shown below the usage.
func (accountList) Help() string {
	return `Example:

    verifyctl account list --tenant Acme`
}

// Run prints the accounts by client identifier.
func (c accountList) Run(ctx context.Context, s *session) error {
	return s.on(ctx, c.databaseFlag, func(db *database) error {
		t, err := db.tenant(ctx, c.tenantFlag)
		if err != nil {
			return err
		}
		all, err := db.Accounts(ctx, t.ID)
		if err != nil {
			return err
		}
		if c.JSON {
			return s.json(shapes(all, accountOf))
		}
		return s.table([]string{"CLIENT_ID", "DISABLED", "SURFACES"}, shapes(all, func(a verification.Account) []string {
			return []string{a.ClientID, yesNo(a.Disabled), strings.Join(surfacesOf(a), ",")}
		}))
	})
}

type accountCreate struct {
	ClientID string `arg:"" name:"client-id" help:"What the client sends as client-id."`
	databaseFlag
	tenantFlag
	Surfaces   []string `default:"workflows,runs,signals" enum:"workflows,runs,signals" placeholder:"NAME" help:"What the account may use: workflows, runs, signals (default all)."`
	TenantName string   `placeholder:"NAME" help:"Make the tenant, too, under this name, when there is none of the id that --tenant gives."`
	keyFlag
	jsonFlag
}

// Help is shown below the usage.
func (accountCreate) Help() string {
	return `The API key alone is printed, this once: only its hash is kept. With --json it stands in
"api_key". A key that was given is not printed.

Examples:

    verifyctl account create acme --tenant Acme
    verifyctl account create bank --tenant 0191f3c0-0000-7000-8000-00000000000b --tenant-name Bank
    verifyctl account create bank-reader --tenant Bank --surfaces runs
    pass show acme/api-key | verifyctl account create acme --tenant Acme --api-key-file -`
}

// Run prints the API key.
func (c accountCreate) Run(ctx context.Context, s *session) error {
	a := verification.Account{ClientID: c.ClientID, Surfaces: c.surfaces()}
	if err := a.Validate(); err != nil {
		return argumentError("CLIENT_ID", err)
	}
	key, err := s.apiKey(c.keyFlag)
	if err != nil {
		return err
	}
	a.KeyHash = verification.HashAPIKey(key.text)
	return s.on(ctx, c.databaseFlag, func(db *database) error {
		switch _, err := db.Account(ctx, a.ClientID); {
		case err == nil:
			return conflict("account", "there is one of this client identifier already")
		case !errors.Is(err, verification.ErrNotFound):
			return err
		}
		if a.Tenant, err = s.makeTenant(ctx, db, c.tenantFlag, c.TenantName); err != nil {
			return err
		}
		if err := db.SaveAccount(ctx, a); err != nil {
			return err
		}
		return s.account(a, key, c.JSON)
	})
}

// surfaces are those that were given, each once, in the order of the API.
func (c accountCreate) surfaces() []verification.Surface {
	return slices.DeleteFunc(verification.Surfaces(), func(surface verification.Surface) bool {
		return !slices.Contains(c.Surfaces, string(surface))
	})
}

// makeTenant finds a tenant, or makes it when it was given a name and an id that
// nobody has.
func (s *session) makeTenant(ctx context.Context, db *database, f tenantFlag, name string) (verification.TenantID, error) {
	id, parsing := verification.ParseTenantID(f.Tenant)
	if name != "" && parsing != nil {
		return "", errors.New("--tenant: must be the id of the tenant, a UUID, beside --tenant-name")
	}
	t, err := db.tenant(ctx, f)
	switch {
	case err == nil && name != "" && name != t.Name:
		return "", fmt.Errorf("--tenant-name: the tenant is there under another name, %s", t.Name)
	case name == "" || !errors.Is(err, verification.ErrNotFound):
		return t.ID, err
	case len([]rune(name)) > maxTenantName:
		return "", errors.New("--tenant-name: must be 1 to 200 characters")
	}
	_, err = bootstrap.SaveTenant(ctx, db, verification.Tenant{ID: id, Name: name}, s.tellSecret)
	return id, err
}

// tellSecret says where the webhook secret of a new tenant can be read.
func (s *session) tellSecret(t verification.Tenant) {
	s.note("made the webhook secret of tenant " + t.Name + "; read it with verifyctl webhook secret --tenant " + string(t.ID))
}

// account prints an account that has a new key.
func (s *session) account(a verification.Account, key apiKey, asJSON bool) error {
	shape := accountOf(a)
	if key.made {
		shape.APIKey = key.text
	}
	switch {
	case asJSON:
		return s.json(shape)
	case key.made:
		_, err := fmt.Fprintln(s.stdout, key.text)
		return err
	}
	return nil
}

type accountDisable struct{ accountChange }

// Help is shown below the usage.
func (accountDisable) Help() string {
	return `From the next request on, the client is answered with 403 account_disabled. Its runs go on.

Example:

    verifyctl account disable acme`
}

// Run keeps an account from calling.
func (c accountDisable) Run(ctx context.Context, s *session) error { return c.set(ctx, s, true) }

type accountEnable struct{ accountChange }

// Help is shown below the usage.
func (accountEnable) Help() string {
	return `Example:

    verifyctl account enable acme`
}

// Run lets an account call again.
func (c accountEnable) Run(ctx context.Context, s *session) error { return c.set(ctx, s, false) }

// accountChange is what disable and enable have in common.
type accountChange struct {
	ClientID string `arg:"" name:"client-id" help:"The client identifier of the account."`
	databaseFlag
	jsonFlag
}

func (c accountChange) set(ctx context.Context, s *session, disabled bool) error {
	return s.on(ctx, c.databaseFlag, func(db *database) error {
		a, err := db.account(ctx, c.ClientID)
		if err != nil {
			return err
		}
		if a.Disabled != disabled {
			a.Disabled = disabled
			if err := db.SaveAccount(ctx, a); err != nil {
				return err
			}
			s.tellFile("account " + a.ClientID)
		}
		if c.JSON {
			return s.json(accountOf(a))
		}
		state := "enabled"
		if disabled {
			state = "disabled"
		}
		_, err = fmt.Fprintf(s.stdout, "%s: %s\n", a.ClientID, state)
		return err
	})
}

type accountRotate struct {
	ClientID string `arg:"" name:"client-id" help:"The client identifier of the account."`
	databaseFlag
	keyFlag
	jsonFlag
}

// Help is shown below the usage.
func (accountRotate) Help() string {
	return `The new API key alone is printed, this once: only its hash is kept. The old one stops
working at once. To change over without a gap, create a second account, move the client,
and disable the first.

Examples:

    verifyctl account rotate-key acme
    verifyctl account rotate-key acme --api-key-file /run/secrets/acme`
}

// Run prints the new API key.
func (c accountRotate) Run(ctx context.Context, s *session) error {
	key, err := s.apiKey(c.keyFlag)
	if err != nil {
		return err
	}
	return s.on(ctx, c.databaseFlag, func(db *database) error {
		a, err := db.account(ctx, c.ClientID)
		if err != nil {
			return err
		}
		a.KeyHash = verification.HashAPIKey(key.text)
		if err := db.SaveAccount(ctx, a); err != nil {
			return err
		}
		s.tellFile("account " + a.ClientID)
		return s.account(a, key, c.JSON)
	})
}

// account reads an account that must be there.
func (d *database) account(ctx context.Context, clientID string) (verification.Account, error) {
	a, err := d.Account(ctx, clientID)
	if errors.Is(err, verification.ErrNotFound) {
		return a, notFound("account", "there is none of this client identifier")
	}
	return a, err
}
