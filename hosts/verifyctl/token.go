// The commands about signing keys and dashboard tokens.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/verification"
)

type tokenCommands struct {
	Issue  tokenIssue  `cmd:"" help:"Issue a dashboard access token for a reviewer."`
	NewKey tokenNewKey `cmd:"" help:"Make a signing key set."`
}

type tokenIssue struct {
	tenantFlag
	Reviewer       string        `required:"" placeholder:"NAME" help:"Who decides; kept in the history of a run."`
	TTL            time.Duration `name:"ttl" default:"8h" help:"How long the token holds (default 8h)."`
	SigningKeyFile string        `placeholder:"FILE" variable:"VERIFYD_SIGNING_KEY_FILE" help:"The key set that the hosts sign with; its first key signs. Without one, the key set of the database does."`
	databaseFlag
	jsonFlag
}

// Help is shown below the usage.
func (tokenIssue) Help() string {
	return `The token alone is printed. It is the Bearer credential of POST /v1/signals/{run_id}/{signal_name}.
Take the keys from where the hosts take them: the file that they were given, or the
database that they share.

Examples:

    verifyctl token issue --tenant Acme --reviewer asha
    verifyctl token issue --signing-key-file keys.json --ttl 1h \
      --tenant 0191f3c0-0000-7000-8000-00000000000a --reviewer asha`
}

type tokenJSON struct {
	Token     string `json:"token"`
	ExpiresAt moment `json:"expires_at"`
}

// Run prints the token on stdout.
func (c tokenIssue) Run(ctx context.Context, s *session) error {
	keys, tenant, err := s.signingKeys(ctx, c)
	if err != nil {
		return err
	}
	now := s.clock.Now()
	issued, err := token.NewIssuer(keys).Issue(tenant, c.Reviewer, c.TTL, now)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.json(tokenJSON{Token: issued, ExpiresAt: moment(now.Add(c.TTL))})
	}
	_, err = fmt.Fprintln(s.stdout, issued)
	return err
}

// signingKeys reads the keys from the file; without one, those that the hosts
// share in the database. It also returns the tenant, which must be in the
// database unless its id and a file of keys are given.
func (s *session) signingKeys(ctx context.Context, c tokenIssue) (keys *token.Keys, tenant verification.TenantID, err error) {
	if c.SigningKeyFile == "" && c.DatabaseURL == "" {
		return nil, "", errors.New("--signing-key-file (VERIFYD_SIGNING_KEY_FILE) or --database-url (VERIFYD_DATABASE_URL): one must be given")
	}
	if c.SigningKeyFile != "" {
		raw, err := os.ReadFile(c.SigningKeyFile)
		if err != nil {
			return nil, "", fmt.Errorf("--signing-key-file (VERIFYD_SIGNING_KEY_FILE): %w", err)
		}
		if keys, err = token.ReadKeys(raw); err != nil {
			return nil, "", fmt.Errorf("--signing-key-file (VERIFYD_SIGNING_KEY_FILE): %s: %w", c.SigningKeyFile, err)
		}
		tenant, err := verification.ParseTenantID(c.Tenant)
		switch {
		case err == nil:
			return keys, tenant, nil
		case c.DatabaseURL == "":
			return nil, "", errors.New("--tenant (VERIFYD_TENANT): must be the id of the tenant, a UUID, without a database")
		}
	}
	err = s.on(ctx, c.databaseFlag, func(db *database) error {
		t, err := db.tenant(ctx, c.tenantFlag)
		if err != nil || keys != nil {
			tenant = t.ID
			return err
		}
		set, err := db.SigningKeys(ctx, newKeySet)
		if err != nil {
			return err
		}
		tenant = t.ID
		keys, err = token.ReadKeys(set)
		return err
	})
	return keys, tenant, err
}

// newKeySet is a set of one new key, as it is kept.
func newKeySet() ([]byte, error) {
	keys, err := token.NewKeys()
	if err != nil {
		return nil, err
	}
	return keys.PrivateJWKS()
}

type tokenNewKey struct{}

// Help is shown below the usage.
func (tokenNewKey) Help() string {
	return `The set holds one private Ed25519 key: keep it secret, and give it to every host. To rotate,
put a new key first in the set and keep the old one until what it signed has ended.

Example:

    (umask 077; verifyctl token new-key > keys.json)`
}

// Run prints the key set on stdout.
func (tokenNewKey) Run(_ context.Context, s *session) error {
	set, err := newKeySet()
	if err != nil {
		return err
	}
	return s.json(json.RawMessage(set))
}
