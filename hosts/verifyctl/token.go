// The commands about signing keys and dashboard tokens.

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/adapters/token/reviewer"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

type tokenCommands struct {
	Issue  tokenIssue  `cmd:"" help:"Issue a dashboard access token, or a link to the console, for a reviewer." see:"settings.md#reviewers"`
	NewKey tokenNewKey `cmd:"" help:"Create a signing key set, or add a key to one." see:"settings.md#signing-keys"`
	UseKey tokenUseKey `cmd:"" help:"Let a key of a set sign." see:"settings.md#signing-keys"`
}

type tokenIssue struct {
	tenantFlags
	Reviewer       string        `required:"" placeholder:"NAME" help:"Name of the reviewer, which is recorded with each verdict."`
	Identity       string        `placeholder:"TEXT" help:"What identifies the reviewer, such as ISSUER#SUBJECT for a person who also signs in at an identity provider (default: the name)."`
	Role           string        `default:"reviewer" placeholder:"ROLE" help:"Role of the reviewer: viewer, reviewer (default), admin or auditor."`
	Teams          []string      `name:"team" placeholder:"NAME" help:"Team of the reviewer, to which runs are assigned; may be repeated."`
	Console        bool          `help:"Print a link that signs the reviewer in to the console, once and within ten minutes."`
	PublicURL      string        `name:"public-url" default:"http://127.0.0.1:8080" placeholder:"URL" variable:"VERIFYD_PUBLIC_URL" help:"Base URL of the hosts, for the link (default http://127.0.0.1:8080)."`
	TTL            time.Duration `name:"ttl" default:"8h" help:"How long the token is valid, or the session of the link lasts (default 8h)."`
	SigningKeyFile string        `placeholder:"FILE" variable:"VERIFYD_SIGNING_KEY_FILE" help:"Key set of the hosts, whose first key signs. By default that of the data folder or the database."`
	jsonFlag
}

type tokenJSON struct {
	Token     string             `json:"token,omitempty"`
	Link      string             `json:"link,omitempty"`
	ExpiresAt apitypes.Timestamp `json:"expires_at"`
}

// Run prints the token or the link on stdout.
func (c tokenIssue) Run(ctx context.Context, s *session) error {
	if err := cli.CheckPublicURL(c.PublicURL); c.Console && err != nil {
		return fmt.Errorf("%s: %w", cli.Setting("public-url"), err)
	}
	keys, tenant, err := s.signingKeys(ctx, c)
	if err != nil {
		return err
	}
	who := verification.Reviewer{Tenant: tenant, Identity: c.Identity, Name: c.Reviewer, Role: verification.Role(c.Role), Teams: c.Teams}
	now, issuer := s.clock.Now(), reviewer.NewIssuer(keys)
	var printed tokenJSON
	if c.Console {
		raw, err := issuer.IssueSignInLink(who, c.TTL, now)
		if err != nil {
			return err
		}
		printed = tokenJSON{Link: cli.SignInURL(c.PublicURL, raw), ExpiresAt: apitypes.Timestamp{Time: now.Add(verification.SignInLinkTTL)}}
	} else {
		raw, err := issuer.Issue(who, c.TTL, now)
		if err != nil {
			return err
		}
		printed = tokenJSON{Token: raw, ExpiresAt: apitypes.Timestamp{Time: now.Add(c.TTL)}}
	}
	if c.given() {
		if err := c.record(ctx, s, who); err != nil {
			return err
		}
		if err := c.warnOfKey(ctx, s, keys.IDs()[0]); err != nil {
			s.note("warning: whether a live host has the signing key is not known: " + err.Error())
		}
	}
	return s.say(c.JSON, printed, "%s", printed.Token+printed.Link) // one of them is empty
}

// record adds what is issued to the audit trail.
func (c tokenIssue) record(ctx context.Context, s *session, who verification.Reviewer) error {
	return c.databaseFlag.with(ctx, s, func(db *database) error {
		detail := string(who.Role)
		if c.Console {
			detail += ", link"
		}
		return s.audit(ctx, db, store.AuditEntry{Tenant: who.Tenant, Action: store.AuditTokenIssued, Subject: cmp.Or(who.Identity, who.Name), Detail: detail})
	})
}

// warnOfKey warns if hosts are alive and none of them has the key that signed.
func (c tokenIssue) warnOfKey(ctx context.Context, s *session, key string) error {
	return c.databaseFlag.with(ctx, s, func(db *database) error {
		hosts, err := db.Hosts(ctx)
		if err != nil {
			return err
		}
		known := false
		for _, h := range hosts {
			facts, err := cli.ParseHostFacts(h.Facts)
			if !h.Alive || err != nil || len(facts.Keys) == 0 {
				continue
			}
			if known = true; slices.Contains(facts.Keys, key) {
				return nil
			}
		}
		if known {
			s.note("warning: no live host has the signing key " + key + ", so the hosts refuse this with 401; give " +
				cli.Setting("signing-key-file") + " of the hosts")
		}
		return nil
	})
}

// signingKeys returns the keys of the file, or those of the database, and the tenant.
// The tenant must be in the database, unless its id and a key file are given.
func (s *session) signingKeys(ctx context.Context, c tokenIssue) (keys *token.Keys, tenant verification.TenantID, err error) {
	setting := cli.Setting("signing-key-file")
	if c.SigningKeyFile == "" && !c.given() {
		return nil, "", fmt.Errorf("%s, %s or %s: one of them is required", setting, cli.Setting("data-dir"), cli.Setting("database-url"))
	}
	if c.SigningKeyFile != "" {
		if keys, err = cli.ReadKeys(c.SigningKeyFile); err != nil {
			return nil, "", fmt.Errorf("%s: %w", setting, err)
		}
		tenant, err := verification.ParseTenantID(c.Tenant)
		switch {
		case err == nil:
			return keys, tenant, nil
		case !c.given():
			return nil, "", fmt.Errorf("%s: must be the id of the tenant, a UUID, without a data folder and a database", cli.Setting("tenant"))
		}
	}
	err = c.with(ctx, s, func(db *database, t verification.Tenant) (err error) {
		tenant = t.ID
		if keys == nil {
			keys, err = token.SharedKeys(ctx, db)
		}
		return err
	})
	return keys, tenant, err
}

type tokenNewKey struct {
	Append string `placeholder:"FILE" help:"Add the key at the end of this key set, where it verifies and does not sign yet."`
}

// Run prints the key set on stdout, or the kid of the key that it added to a file.
func (c tokenNewKey) Run(_ context.Context, s *session) error {
	added, err := token.NewKeys()
	if err != nil {
		return err
	}
	if c.Append == "" {
		set, err := added.PrivateJWKS()
		if err != nil {
			return err
		}
		return s.json(json.RawMessage(set))
	}
	err = changeKeys(c.Append, func(keys *token.Keys) (*token.Keys, error) { return keys.Append(added) })
	if err != nil {
		return fmt.Errorf("--append: %w", err)
	}
	return s.say(false, nil, "%s", added.IDs()[0])
}

type tokenUseKey struct {
	File string `arg:"" help:"Key set of the hosts."`
	KID  string `arg:"" optional:"" name:"kid" help:"The key. By default the last one."`
}

// Run moves a key to the front of the set and prints its kid.
func (c tokenUseKey) Run(_ context.Context, s *session) error {
	kid := c.KID
	err := changeKeys(c.File, func(keys *token.Keys) (*token.Keys, error) {
		if kid == "" {
			kid = keys.IDs()[len(keys.IDs())-1]
		}
		return keys.SigningWith(kid)
	})
	if err != nil {
		return err
	}
	return s.say(false, nil, "%s", kid)
}

// changeKeys replaces the key set of a file.
func changeKeys(file string, change func(*token.Keys) (*token.Keys, error)) error {
	keys, err := cli.ReadKeys(file)
	if err == nil {
		keys, err = change(keys)
	}
	if err == nil {
		err = cli.WriteKeys(file, keys)
	}
	return err
}
