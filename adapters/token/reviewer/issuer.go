// Package reviewer issues and verifies the bearer tokens and the sign-in links of
// reviewers, verifies the bearer tokens of an OpenID Connect issuer, and signs
// reviewers in at that issuer.
//
// A bearer token is a JWT that a key of token.Keys signs. It does not verify as a
// journey link, and a link does not verify as a bearer token. A token of an OpenID
// Connect issuer has another iss and another typ, and is verified with that issuer's
// keys only.
package reviewer

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jws"
	"github.com/lestrrat-go/jwx/v3/jwt"

	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// The claims and the header of every reviewer's token that an Issuer issues. Each is
// required, so that no other token signed with the same keys is accepted.
const (
	localIssuer   = "verifyd"
	localAudience = "verifyd-dashboard"
	localType     = "verifyd-reviewer+jwt"
)

// The audience and the type of sign-in links, which differ for the same reason.
const (
	linkAudience = "verifyd-console"
	linkType     = "verifyd-sign-in+jwt"
)

const (
	defaultTenantClaim = "tenant"
	roleClaim          = "role"
	identityClaim      = "identity" // without it, the identity is the sub
	sessionClaim       = "session"  // of a sign-in link: seconds
	teamsClaim         = "teams"    // a list; absent for none
	maxLocalToken      = 4000       // bytes of a token; browsers keep cookies of 4,096 bytes with their names
	localHeaders       = 3          // fields of the header: alg, kid, typ
)

// Issuer issues the tokens of reviewers, which are bearer tokens, and the tokens of
// sign-in links. It verifies both.
type Issuer struct{ keys *token.Keys }

// NewIssuer returns an issuer that signs with the first of keys.
func NewIssuer(keys *token.Keys) *Issuer { return &Issuer{keys: keys} }

// Issue returns a bearer token that is valid from now for ttl, in whole seconds, one second
// to 100 years. If r has no identity, the name is used. It fails with ErrInvalid unless the
// tenant is a UUID, the name is 1 to 200 printable characters, the identity 1 to 500, the
// role exists, rules.ValidateTeam accepts each team, ttl is within its bounds, and the
// token is at most 4,000 bytes. No two tokens are the same.
func (i *Issuer) Issue(r verification.Reviewer, ttl time.Duration, now time.Time) (string, error) {
	return i.issue(localType, localAudience, r, ttl, now, 0)
}

// IssueSignInLink returns the token of a link that signs a reviewer in once, within
// verification.SignInLinkTTL from now. The session then lasts for session, in whole
// seconds, one second to 100 years. It fails as Issue does.
func (i *Issuer) IssueSignInLink(r verification.Reviewer, session time.Duration, now time.Time) (string, error) {
	return i.issue(linkType, linkAudience, r, verification.SignInLinkTTL, now, session)
}

func (i *Issuer) issue(typ, audience string, r verification.Reviewer, ttl time.Duration, now time.Time, session time.Duration) (string, error) {
	tenant, err := verification.ParseTenantID(string(r.Tenant))
	if err != nil {
		return "", err
	}
	if _, err := verification.ParseRole(string(r.Role)); err != nil {
		return "", err
	}
	r.Name = displayed(r.Name)
	r.Identity = cmp.Or(r.Identity, r.Name)
	if !printable(r.Name, maxReviewer) {
		return "", verification.InvalidField("bearer token", "reviewer", "must be 1 to 200 printable characters")
	}
	if !printable(r.Identity, maxIdentity) {
		return "", verification.InvalidField("bearer token", "identity", "must be 1 to 500 printable characters")
	}
	for _, team := range r.Teams {
		if err := rules.ValidateTeam(team); err != nil {
			return "", err
		}
	}
	lasts := ttl
	if typ == linkType {
		lasts = session
	}
	if lasts < time.Second || lasts > maxLifetime {
		return "", verification.InvalidField("bearer token", "ttl", "must be one second to 100 years")
	}
	b := jwt.NewBuilder().
		Issuer(localIssuer).Audience([]string{audience}).Subject(r.Name).JwtID(rand.Text()).
		Claim(defaultTenantClaim, string(tenant)).Claim(roleClaim, string(r.Role)).
		IssuedAt(now).Expiration(now.Add(ttl))
	if r.Identity != r.Name {
		b = b.Claim(identityClaim, r.Identity)
	}
	if len(r.Teams) > 0 {
		b = b.Claim(teamsClaim, r.Teams)
	}
	if typ == linkType {
		b = b.Claim(sessionClaim, int64(session/time.Second))
	}
	claims, err := b.Build()
	if err != nil {
		return "", fmt.Errorf("build a bearer token: %w", err)
	}
	k := i.keys.Signing()
	header := jws.NewHeaders()
	if err := errors.Join(header.Set(jws.TypeKey, typ), header.Set(jws.KeyIDKey, k.ID())); err != nil {
		return "", fmt.Errorf("build a bearer token: %w", err)
	}
	raw, err := jwt.Sign(claims, jwt.WithKey(algorithm(k), k.Private(), jws.WithProtectedHeaders(header)))
	if err != nil {
		return "", fmt.Errorf("sign a bearer token: %w", err)
	}
	if len(raw) > maxLocalToken {
		return "", verification.InvalidField("bearer token", "identity", "is too long for a token, together with the name and the teams")
	}
	return string(raw), nil
}

// Verify returns the claims of a bearer token that was issued with one of the keys
// and is valid at now. For any other token it fails with ErrUnauthenticated.
func (i *Issuer) Verify(raw string, now time.Time) (Claims, error) {
	t, err := parse(raw, maxToken)
	if err != nil {
		return Claims{}, err
	}
	return i.verify(t, localType, localAudience, now)
}

// OpenSignInLink returns the link of a token that was issued with one of the keys and
// is valid at now. For any other token it fails with ErrUnauthenticated. It does not
// know whether the link was used.
func (i *Issuer) OpenSignInLink(raw string, now time.Time) (verification.SignInLink, error) {
	t, err := parse(raw, maxToken)
	if err != nil {
		return verification.SignInLink{}, err
	}
	claims, err := i.verify(t, linkType, linkAudience, now)
	if err != nil {
		return verification.SignInLink{}, err
	}
	id, _ := t.claims.JwtID()
	var seconds float64
	if err := t.claims.Get(sessionClaim, &seconds); err != nil || id == "" || seconds < 1 || seconds > maxLifetime.Seconds() {
		return verification.SignInLink{}, refused(notOurs, errors.New("its claims are not those of a sign-in link"))
	}
	return verification.SignInLink{
		Reviewer: claims.Reviewer, ID: id, ExpiresAt: claims.ExpiresAt, Session: time.Duration(seconds) * time.Second,
	}, nil
}

// maxLifetime bounds tokens and sessions, so that their end can be computed.
const maxLifetime = 100 * 365 * 24 * time.Hour

const notOurs = "it was not issued here"

func (i *Issuer) verify(t unverified, typ, audience string, now time.Time) (Claims, error) {
	if len(t.raw) > maxLocalToken {
		return Claims{}, refused(notOurs, fmt.Errorf("it is longer than %d bytes", maxLocalToken))
	}
	if its, _ := t.header.Type(); its != typ || len(t.header.Keys()) != localHeaders {
		return Claims{}, refused(notOurs, errors.New("its header is not that of such a token"))
	}
	kid, _ := t.header.KeyID()
	k, ok := i.keys.Find(kid)
	if !ok {
		return Claims{}, refused(notOurs, errors.New("its key is unknown"))
	}
	// The header only selects the key; the algorithm is the key's.
	if _, err := jws.VerifyCompactFast(k.Public(), t.raw, algorithm(k)); err != nil {
		return Claims{}, refused(notOurs, errBadSignature)
	}
	claims, err := t.validate(localIssuer, audience, tenantOf{claim: defaultTenantClaim}, 0, now)
	if err != nil {
		return Claims{}, err
	}
	claims.Name = t.text(jwt.SubjectKey)
	if claims.Identity = claims.Name; t.claims.Has(identityClaim) {
		claims.Identity = t.text(identityClaim)
	}
	claims.Name = displayed(claims.Name)
	if !printable(claims.Name, maxReviewer) || !printable(claims.Identity, maxIdentity) {
		return Claims{}, refused("it is not meant for this", errNoReviewer)
	}
	if claims.Role, err = verification.ParseRole(t.text(roleClaim)); err != nil {
		return Claims{}, refused("it is not meant for this", errors.New("it names no role"))
	}
	if t.claims.Has(teamsClaim) {
		var teams []any
		if err := t.claims.Get(teamsClaim, &teams); err != nil {
			return Claims{}, refused("it is not meant for this", errors.New("its teams are not a list"))
		}
		for _, team := range teams {
			name, _ := team.(string)
			claims.Teams = append(claims.Teams, name)
		}
	}
	return claims, nil
}

// algorithm returns the algorithm of one of our keys. Each has one that jwx has.
func algorithm(k *token.Key) jwa.SignatureAlgorithm {
	alg, _ := jwa.LookupSignatureAlgorithm(k.Algorithm())
	return alg
}

// The causes of a refusal. They replace the errors of the library, which may
// quote the token.
var (
	errBadSignature = errors.New("its signature is wrong")
	errNoReviewer   = errors.New("its name is not 1 to 200 printable characters, or its identity not 1 to 500")
)
