// The commands about signing keys and dashboard tokens.

package main

import (
	"context"
	"encoding/json"
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
	SigningKeyFile string        `required:"" placeholder:"FILE" env:"VERIFYD_SIGNING_KEY_FILE" help:"The key set that the host signs with; its first key signs."`
	Tenant         string        `required:"" placeholder:"ID" help:"The tenant whose runs the reviewer decides."`
	Reviewer       string        `required:"" placeholder:"NAME" help:"Who decides; kept in the history of a run."`
	TTL            time.Duration `name:"ttl" default:"8h" help:"How long the token holds."`
}

// Help is shown below the usage.
func (tokenIssue) Help() string {
	return `The token alone is printed. It is the Bearer credential of POST /v1/signals/{run_id}/{signal_name}.

Example:

    verifyctl token issue --signing-key-file keys.json \
      --tenant 0191f3c0-0000-7000-8000-00000000000a --reviewer asha`
}

// Run prints the token on stdout.
func (c tokenIssue) Run(_ context.Context, s *session) error {
	raw, err := os.ReadFile(c.SigningKeyFile)
	if err != nil {
		return err
	}
	keys, err := token.ReadKeys(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", c.SigningKeyFile, err)
	}
	issued, err := token.NewBearers(keys).Issue(verification.TenantID(c.Tenant), c.Reviewer, c.TTL, time.Now())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.stdout, issued)
	return err
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
	keys, err := token.NewKeys()
	if err != nil {
		return err
	}
	set, err := keys.PrivateJWKS()
	if err != nil {
		return err
	}
	enc := json.NewEncoder(s.stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(json.RawMessage(set))
}
