// Reviewers: their tokens, how they sign in, and the console.

package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/console"
	"github.com/verifyd/verifyd/adapters/pdfpage"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/adapters/token/reviewer"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
)

// reviewers verifies and issues the tokens of reviewers. It implements console.Tokens.
type reviewers struct {
	keys  *token.Keys
	local *reviewer.Issuer
	oidc  *reviewer.OIDC // nil without an issuer
	now   func() time.Time
	outs  *signOuts
}

func newReviewers(s Settings, keys *token.Keys, now func() time.Time, outs *signOuts, log *slog.Logger) (*reviewers, error) {
	r := &reviewers{keys: keys, local: reviewer.NewIssuer(keys), now: now, outs: outs}
	if s.OIDCIssuer == "" {
		return r, nil
	}
	roles, _ := s.roles() // the settings were checked
	_, teams, _ := s.teams()
	tenant, _ := verification.ParseTenantID(s.OIDCTenant)
	var err error
	r.oidc, err = reviewer.NewOIDC(reviewer.OIDCOptions{
		Issuer: s.OIDCIssuer, Audience: s.OIDCAudience, JWKSURL: s.OIDCKeys,
		ClientID: s.OIDCClientID, ClientSecret: s.OIDCSecret, Scopes: s.OIDCScopes,
		TenantClaim: s.OIDCTenantClaim, Tenant: tenant, ReviewerClaim: s.OIDCReviewer, SubjectClaim: s.OIDCSubject, RolesClaim: s.OIDCRolesClaim, Roles: roles, Teams: teams,
		Now: time.Now, // its tokens expire by the system clock, also under a manual clock
		Observe: func(keys int, err error) {
			if err != nil && !errors.Is(err, context.Canceled) {
				log.Warn("the keys of the token issuer cannot be fetched", "error", err)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cli.Setting("oidc-issuer"), err)
	}
	return r, nil
}

func (r *reviewers) close() {
	if r.oidc != nil {
		r.oidc.Close()
	}
}

// bearer verifies a token for the signals route, on which every request is a verdict
// or an answer. It implements httpapi.Bearers.
func (r *reviewers) bearer(ctx context.Context, raw string) (verification.Reviewer, error) {
	claims, err := reviewer.NewVerifier(r.local, r.oidc, r.now)(ctx, raw)
	if err == nil {
		err = r.outs.refuse(claims.Reviewer, claims.IssuedAt)
	}
	if err == nil && !claims.Role.Includes(verification.RoleReviewer) {
		err = verification.Forbidden("bearer token", "its role only reads")
	}
	if err != nil {
		return verification.Reviewer{}, err
	}
	return claims.Reviewer, nil
}

// IssueSession implements console.Tokens.
func (r *reviewers) IssueSession(who verification.Reviewer, ttl time.Duration) (string, error) {
	return r.local.Issue(who, ttl, r.now())
}

// VerifySession implements console.Tokens.
func (r *reviewers) VerifySession(raw string) (verification.Reviewer, time.Time, error) {
	claims, err := r.local.Verify(raw, r.now())
	if err == nil {
		err = r.outs.refuse(claims.Reviewer, claims.IssuedAt)
	}
	return claims.Reviewer, claims.ExpiresAt, err
}

// OpenSignInLink implements console.Tokens.
func (r *reviewers) OpenSignInLink(raw string) (verification.SignInLink, error) {
	link, err := r.local.OpenSignInLink(raw, r.now())
	if err == nil {
		err = r.outs.refuse(link.Reviewer, link.ExpiresAt.Add(-verification.SignInLinkTTL))
	}
	return link, err
}

// console returns the console. Reviewers sign in at the issuer if it knows the console
// as a client. Its live updates end once stopping is closed.
func (r *reviewers) console(
	e *engine.Engine, st store.Store, documents verification.DocumentStore, s Settings, log *slog.Logger, stopping <-chan struct{},
) (http.Handler, error) {
	teams, _, _ := s.teams() // the settings were checked
	o := console.Options{
		URL: cli.ConsoleURL(s.PublicURL), Store: st, Documents: documents, Tokens: r, Generation: func() uint64 { return r.keys.Generation() + r.outs.generation() }, Session: s.ConsoleSession, Teams: teams, Now: r.now, Log: log, Stopping: stopping,
		Pages: pdfpage.New(pdfpage.Options{Clock: clock.System{}}), SignReport: token.NewReports(r.keys).SignReport,
	}
	if s.OIDCClientID != "" {
		login, err := reviewer.NewLogin(r.oidc, o.URL+console.CallbackPath, o.URL+console.SignInPath)
		if err != nil {
			return nil, err
		}
		o.IdentityProvider = login
	}
	return console.New(e, o)
}

// demoLink returns a link that signs an administrator of the demo's tenant in.
func (r *reviewers) demoLink(s Settings, b *definitions.Bootstrap) func() (string, error) {
	return func() (string, error) {
		who := verification.Reviewer{Tenant: b.Tenants[0].Tenant.ID, Identity: "demo", Name: "demo", Role: verification.RoleAdmin, Teams: []string{"Seniors"}}
		raw, err := r.local.IssueSignInLink(who, s.ConsoleSession, r.now())
		return cli.SignInURL(s.PublicURL, raw), err
	}
}
