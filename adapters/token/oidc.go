// The bearer tokens that an OpenID Connect issuer signs.

package token

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/lestrrat-go/jwx/v3/jws"

	"github.com/verifyd/verifyd/verification"
)

// The bounds of a token that was issued elsewhere.
const (
	maxForeign = 8 << 10          // bytes of a token
	leeway     = 60 * time.Second // that the issuer's clock may be ahead or behind
)

// The claims that name the reviewer.
const (
	emailClaim    = "email"
	verifiedClaim = "email_verified"
	subjectClaim  = "sub"
)

// OIDCOptions name an issuer. Issuer, Audience and Now are required.
type OIDCOptions struct {
	// Issuer is the iss of its tokens, to the letter. It is https, or http on
	// a loopback address.
	Issuer string
	// Audience is the aud that a token has to have, alone or among others.
	Audience string
	// JWKSURL is where its keys are; empty means where its discovery document
	// says. It is https, or http on a loopback address.
	JWKSURL string
	// TenantClaim holds the UUID of the reviewer's tenant; empty means tenant.
	TenantClaim string
	// ReviewerClaim holds the name of the reviewer; empty means email. Where a
	// token has no such text, and where it says itself that its email is not
	// verified, the name is its sub.
	ReviewerClaim string
	// Client fetches the keys; nil means one that uses no proxy and keeps no
	// connection. Unless it has a rule for redirects of its own, it follows
	// three at most, and none from https to http. A fetch ends after 5 s, and
	// a body after 1 MiB, whatever the client.
	Client *http.Client
	// Now is the clock by which tokens end and keys grow old.
	Now func() time.Time
	// Observe is told how each fetch of the keys ended, with how many keys
	// that can verify or with an error; nil tells nobody. What waits for the
	// fetch waits for Observe.
	Observe func(keys int, err error)
}

// OIDC verifies bearer tokens that an OpenID Connect issuer signed. It is safe
// for concurrent use.
type OIDC struct {
	opt  OIDCOptions
	keys *issuerKeys
}

// NewOIDC makes a verifier, or says which option is at fault. It fetches
// nothing: that is left to the first token.
func NewOIDC(o OIDCOptions) (*OIDC, error) {
	if err := checkURL(o.Issuer, true); err != nil {
		return nil, fmt.Errorf("oidc: the option Issuer %w", err)
	}
	if o.JWKSURL != "" {
		if err := checkURL(o.JWKSURL, false); err != nil {
			return nil, fmt.Errorf("oidc: the option JWKSURL %w", err)
		}
	}
	switch {
	case o.Audience == "":
		return nil, errors.New("oidc: the option Audience is required")
	case o.Now == nil:
		return nil, errors.New("oidc: the option Now is required")
	}
	if o.TenantClaim == "" {
		o.TenantClaim = tenantClaim
	}
	if o.ReviewerClaim == "" {
		o.ReviewerClaim = emailClaim
	}
	if o.Observe == nil {
		o.Observe = func(int, error) {}
	}
	return &OIDC{opt: o, keys: newIssuerKeys(o)}, nil
}

// Verify tells what a token says, if the issuer signed it for this audience and
// it holds now, with 60 seconds of leeway for clocks that differ. Anything else
// is ErrUnauthenticated; it is ErrUnavailable when that cannot be told, because
// the issuer does not give its keys. Only a token that is good in all but its
// signature has them fetched.
func (o *OIDC) Verify(ctx context.Context, raw string) (Bearer, error) {
	t, err := parseJWT(raw)
	if err != nil {
		return Bearer{}, refused("it was not issued by this issuer", err)
	}
	if iss, ok := t.claims.text("iss"); !ok || iss != o.opt.Issuer {
		return Bearer{}, refused("it was not issued by this issuer", errors.New("its iss is another"))
	}
	alg, kid, err := t.checkHeader()
	if err != nil {
		return Bearer{}, refused("it was not issued by this issuer", err)
	}
	bearer, err := o.read(t.claims, o.opt.Now())
	if err != nil {
		return Bearer{}, err
	}
	k, err := o.keys.find(ctx, kid)
	if err != nil {
		return Bearer{}, err
	}
	named, ok := k.algorithm(alg)
	if !ok {
		return Bearer{}, refused("it was not issued by this issuer", errors.New("its algorithm does not fit its key"))
	}
	if _, err := jws.VerifyCompactFast(k.public, []byte(raw), named); err != nil {
		// Not the cause: what the library says may quote the token.
		return Bearer{}, refused("it was not issued by this issuer", errors.New("its signature is wrong"))
	}
	return bearer, nil
}

// Close ends a fetch that is under way and waits for its end. Verify then goes
// on with the keys that are known, and fetches no more.
func (o *OIDC) Close() { o.keys.close() }

// read checks what the claims say.
func (o *OIDC) read(c members, now time.Time) (Bearer, error) {
	unmeant := func(cause string) (Bearer, error) {
		return Bearer{}, refused("it is not meant for this", errors.New(cause))
	}
	if !c.holds("aud", o.opt.Audience) {
		return unmeant("its aud is another")
	}
	expiry, ok := c.moment("exp")
	if !ok {
		return unmeant("it has no sound exp")
	}
	if !now.Before(expiry.Add(leeway)) {
		return Bearer{}, refused("it has expired", nil)
	}
	if _, there := c["nbf"]; there {
		if from, ok := c.moment("nbf"); !ok || now.Before(from.Add(-leeway)) {
			return unmeant("its nbf is to come, or not sound")
		}
	}
	named, _ := c.text(o.opt.TenantClaim)
	tenant, err := verification.ParseTenantID(named)
	if err != nil {
		return unmeant("it names no tenant")
	}
	reviewer := o.reviewer(c)
	if !soundReviewer(reviewer) {
		return unmeant("it names no reviewer in 1 to 200 printable characters")
	}
	return Bearer{Tenant: tenant, Reviewer: reviewer, ExpiresAt: expiry}, nil
}

// reviewer is the name that a token gives, else its sub. An email that the
// issuer says it has not verified is whatever its user typed, and may be that of
// somebody else.
func (o *OIDC) reviewer(c members) string {
	name, ok := c.text(o.opt.ReviewerClaim)
	if ok && (o.opt.ReviewerClaim != emailClaim || c.affirmed(verifiedClaim)) {
		return name
	}
	name, _ = c.text(subjectClaim)
	return name
}
