// The commands about the accounts that call the API.

package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

type accountCommands struct {
	List      accountList    `cmd:"" help:"List the accounts of a tenant."`
	Create    accountCreate  `cmd:"" help:"Create an account and its API key."`
	Disable   accountDisable `cmd:"" help:"Disable an account."`
	Enable    accountEnable  `cmd:"" help:"Enable a disabled account."`
	RotateKey accountRotate  `cmd:"" help:"Replace the API key of an account."`
}

// saveAccount saves an account, and adds that to the audit trail.
func (s *session) saveAccount(ctx context.Context, db *database, a verification.Account, action store.AuditAction) error {
	if err := db.tables().SaveAccount(ctx, a); err != nil {
		return err
	}
	return s.audit(ctx, db, store.AuditEntry{Tenant: a.Tenant, Action: action, Subject: a.ClientID})
}

// noteBootstrap warns that a bootstrap file may undo a change.
func (s *session) noteBootstrap(what string) {
	s.note("a bootstrap file that names " + what + " undoes this change when a host starts: change the file as well")
}

type accountJSON struct {
	ClientID string                 `json:"client_id"`
	TenantID verification.TenantID  `json:"tenant_id"`
	APIKey   string                 `json:"api_key,omitempty"` // a new key
	Disabled bool                   `json:"disabled"`
	Surfaces []verification.Surface `json:"surfaces"`
	FromFile bool                   `json:"from_file"` // a bootstrap file lists it, or did

	PreviousKey      bool                `json:"previous_key,omitempty"`       // a second key, which is accepted, too
	PreviousKeyUntil *apitypes.Timestamp `json:"previous_key_until,omitempty"` // none for a key of a bootstrap file
}

func newAccountJSON(a verification.Account) accountJSON {
	out := accountJSON{ClientID: a.ClientID, TenantID: a.Tenant, Disabled: a.Disabled, Surfaces: append([]verification.Surface{}, a.Surfaces...), FromFile: a.FromFile}
	out.PreviousKey = a.PreviousKeyHash != [32]byte{}
	if !a.PreviousUntil.IsZero() {
		out.PreviousKeyUntil = &apitypes.Timestamp{Time: a.PreviousUntil}
	}
	return out
}

type accountList struct {
	tenantFlags
	jsonFlag
}

// Run prints the accounts by client id.
func (c accountList) Run(ctx context.Context, s *session) error {
	return c.with(ctx, s, func(db *database, t verification.Tenant) error {
		all, err := db.tables().Accounts(ctx, t.ID)
		if err != nil {
			return err
		}
		return printList(s, c.JSON, mapSlice(all, newAccountJSON), "CLIENT_ID DISABLED SURFACES FROM_FILE")
	})
}

type accountCreate struct {
	ClientID string `arg:"" name:"client-id" help:"Client identifier: the client-id header of the client."`
	tenantFlags
	Surfaces   []string `default:"workflows,runs,signals" enum:"workflows,runs,signals,files,erase" placeholder:"NAME" help:"Surfaces that the account may use: workflows, runs, signals, files, erase (default all but files, reports that say who decided and why, and erase, the redaction of runs)."`
	TenantName string   `placeholder:"NAME" help:"Create the tenant under this name if there is none with the id of --tenant."`
	keyFlag
	jsonFlag
}

// Run prints the API key.
func (c accountCreate) Run(ctx context.Context, s *session) error {
	a := verification.Account{
		ClientID: c.ClientID,
		Surfaces: slices.DeleteFunc(verification.AllSurfaces(), func(surface verification.Surface) bool {
			return !slices.Contains(c.Surfaces, string(surface))
		}),
	}
	if err := a.Validate(); err != nil {
		return argumentError("CLIENT_ID", err)
	}
	key, err := s.apiKey(c.keyFlag)
	if err != nil {
		return err
	}
	a.KeyHash = verification.HashAPIKey(key.text)
	return c.databaseFlag.with(ctx, s, func(db *database) error {
		switch _, err := db.tables().Account(ctx, a.ClientID); {
		case err == nil:
			return verification.Conflict("account", "an account with this client id exists already; verifyctl account rotate-key gives it another API key")
		case !errors.Is(err, verification.ErrNotFound):
			return err
		}
		if a.Tenant, err = c.tenant(ctx, s, db); err != nil {
			return err
		}
		all, err := db.tables().Accounts(ctx, a.Tenant)
		if err := cmp.Or(err, verification.RoomForAccounts(len(all)+1)); err != nil {
			return err
		}
		if err := s.saveAccount(ctx, db, a, store.AuditAccountCreated); err != nil {
			return err
		}
		return s.printKey(a, key, c.JSON)
	})
}

// tenant finds the tenant. If it does not exist and --tenant-name is given, tenant
// creates it.
func (c accountCreate) tenant(ctx context.Context, s *session, db *database) (verification.TenantID, error) {
	id, parsing := verification.ParseTenantID(c.Tenant)
	if c.TenantName != "" && parsing != nil {
		return "", errors.New("--tenant: must be the id of the tenant, a UUID, together with --tenant-name")
	}
	t, err := db.tenant(ctx, c.tenantFlag)
	switch {
	case err == nil && c.TenantName != "" && c.TenantName != t.Name:
		return "", fmt.Errorf("--tenant-name: the tenant has another name, %s: leave --tenant-name out", t.Name)
	case c.TenantName == "" || !errors.Is(err, verification.ErrNotFound):
		return t.ID, err
	case len([]rune(c.TenantName)) > maxTenantName:
		return "", fmt.Errorf("--tenant-name: must be 1 to %d characters", maxTenantName)
	}
	_, err = bootstrap.SaveTenant(ctx, db.tables(), verification.Tenant{ID: id, Name: c.TenantName}, s.noteSecret)
	return id, err
}

// noteSecret says how to print the webhook secret of a new tenant.
func (s *session) noteSecret(t verification.Tenant) {
	s.note("created a webhook secret for tenant " + t.Name + ": print it with verifyctl webhook secret --tenant " + string(t.ID))
}

func (s *session) printKey(a verification.Account, key apiKey, asJSON bool) error {
	out := newAccountJSON(a)
	switch {
	case key.made:
		out.APIKey = key.text
	case !asJSON:
		return nil
	}
	return s.say(asJSON, out, "%s", key.text)
}

type accountDisable struct{ accountChange }

func (c accountDisable) Run(ctx context.Context, s *session) error { return c.set(ctx, s, true) }

type accountEnable struct{ accountChange }

func (c accountEnable) Run(ctx context.Context, s *session) error { return c.set(ctx, s, false) }

// accountChange is what disable and enable share.
type accountChange struct {
	ClientID string `arg:"" name:"client-id" help:"Client identifier of the account."`
	databaseFlag
	jsonFlag
}

func (c accountChange) set(ctx context.Context, s *session, disabled bool) error {
	return c.with(ctx, s, func(db *database) error {
		a, err := db.account(ctx, c.ClientID)
		if err != nil {
			return err
		}
		if a.Disabled != disabled {
			a.Disabled = disabled
			a.FromFile = a.FromFile && disabled // a file that does not list it leaves it alone from now on
			action := store.AuditAccountEnabled
			if disabled {
				action = store.AuditAccountDisabled
			}
			if err := s.saveAccount(ctx, db, a, action); err != nil {
				return err
			}
			s.noteBootstrap("account " + a.ClientID)
		}
		state := "enabled"
		if disabled {
			state = "disabled"
		}
		return s.say(c.JSON, newAccountJSON(a), "%s: %s", a.ClientID, state)
	})
}

type accountRotate struct {
	ClientID string        `arg:"" name:"client-id" help:"Client identifier of the account."`
	KeepOld  time.Duration `placeholder:"DURATION" help:"How long the key until now is accepted, too, such as 24h; at most 2160h. By default it is refused at once, and so is one that was kept before."`
	databaseFlag
	keyFlag
	jsonFlag
}

// maxKeepOld bounds how long two keys of an account are accepted.
const maxKeepOld = 90 * 24 * time.Hour

// Run prints the new API key.
func (c accountRotate) Run(ctx context.Context, s *session) error {
	if c.KeepOld < 0 || c.KeepOld > maxKeepOld {
		return errors.New("--keep-old: must be 0s to 2160h")
	}
	key, err := s.apiKey(c.keyFlag)
	if err != nil {
		return err
	}
	return c.with(ctx, s, func(db *database) error {
		a, err := db.account(ctx, c.ClientID)
		if err != nil {
			return err
		}
		old := a.KeyHash
		a.KeyHash, a.PreviousKeyHash, a.PreviousUntil = verification.HashAPIKey(key.text), [32]byte{}, time.Time{}
		if c.KeepOld > 0 && old != a.KeyHash {
			a.PreviousKeyHash, a.PreviousUntil = old, s.clock.Now().UTC().Add(c.KeepOld).Truncate(time.Microsecond)
			s.note("the key until now is accepted until " + a.PreviousUntil.Format(time.RFC3339))
		}
		if err := s.saveAccount(ctx, db, a, store.AuditKeyRotated); err != nil {
			return err
		}
		s.noteBootstrap("account " + a.ClientID)
		return s.printKey(a, key, c.JSON)
	})
}

// account returns an account, which must exist.
func (d *database) account(ctx context.Context, clientID string) (verification.Account, error) {
	a, err := d.tables().Account(ctx, clientID)
	if errors.Is(err, verification.ErrNotFound) {
		return a, notFound("account", "no account has this client id")
	}
	return a, err
}

// maxTenantName is the maximum length of a tenant's name, in characters.
const maxTenantName = 200

// keyFlag selects a given API key instead of a new one.
type keyFlag struct {
	APIKeyFile string `name:"api-key-file" placeholder:"FILE" help:"Read the API key from this file, or from stdin with -, instead of creating one. A line break at its end is removed."`
}

type apiKey struct {
	text string
	made bool // not given
}

// apiKey returns a new key of 52 letters and digits with 260 random bits, or the key
// of --api-key-file.
func (s *session) apiKey(f keyFlag) (apiKey, error) {
	if f.APIKeyFile == "" {
		return apiKey{text: rand.Text() + rand.Text(), made: true}, nil
	}
	raw, err := s.read(f.APIKeyFile)
	if err != nil {
		return apiKey{}, fmt.Errorf("--api-key-file: %w", err)
	}
	key := strings.TrimSuffix(strings.TrimSuffix(string(raw), "\n"), "\r")
	if err := verification.ValidateAPIKey(key); err != nil {
		return apiKey{}, argumentError("--api-key-file", err)
	}
	return apiKey{text: key}, nil
}

// read reads the first 1,024 bytes of a file or of stdin. An API key is shorter.
func (s *session) read(file string) ([]byte, error) {
	in := s.stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }() // it was only read
		in = f
	}
	return io.ReadAll(io.LimitReader(in, 1024))
}

// argumentError names the argument that breaks a rule.
func argumentError(name string, err error) error {
	if e, ok := errors.AsType[*verification.Error](err); ok && len(e.Fields) > 0 {
		return errors.New(name + ": " + e.Fields[0].Message)
	}
	return fmt.Errorf("%s: %w", name, err)
}
