// The bearer tokens that verifyd issues to reviewers.

package token

import (
	"errors"
	"fmt"
	"time"

	"github.com/lestrrat-go/jwx/v3/jws"
	"github.com/lestrrat-go/jwx/v3/jwt"

	"github.com/verifyd/verifyd/verification"
)

// The claims and the header of every token that an Issuer issues. Each is
// required, so that no other token signed with the same keys is accepted.
const (
	LocalIssuer   = "verifyd"
	LocalAudience = "verifyd-dashboard"
	LocalType     = "verifyd-reviewer+jwt"
)

const (
	defaultTenantClaim = "tenant"
	maxLocalToken      = 4096 // bytes of a token
	localHeaders       = 3    // fields of the header: alg, kid, typ
)

// Issuer issues bearer tokens and verifies them.
type Issuer struct{ keys *Keys }

// NewIssuer returns an issuer that signs with the first of keys.
func NewIssuer(keys *Keys) *Issuer { return &Issuer{keys: keys} }

// Issue returns a token that is valid from now for ttl, in whole seconds and at
// least one. It fails with ErrInvalid unless tenant is a UUID and reviewer is 1
// to 200 printable characters.
func (i *Issuer) Issue(tenant verification.TenantID, reviewer string, ttl time.Duration, now time.Time) (string, error) {
	tenant, err := verification.ParseTenantID(string(tenant))
	if err != nil {
		return "", err
	}
	invalid := func(field, message string) error {
		return &verification.Error{
			Kind: verification.ErrInvalid, Subject: "bearer token",
			Fields: []verification.FieldError{{Name: field, Message: message}},
		}
	}
	if !validReviewer(reviewer) {
		return "", invalid("reviewer", "must be 1 to 200 printable characters")
	}
	if ttl < time.Second {
		return "", invalid("ttl", "must be at least one second")
	}
	claims, err := jwt.NewBuilder().
		Issuer(LocalIssuer).Audience([]string{LocalAudience}).Subject(reviewer).Claim(defaultTenantClaim, string(tenant)).
		IssuedAt(now).Expiration(now.Add(ttl)).Build()
	if err != nil {
		return "", fmt.Errorf("build a bearer token: %w", err)
	}
	k := i.keys.list[0]
	header := jws.NewHeaders()
	if err := errors.Join(header.Set(jws.TypeKey, LocalType), header.Set(jws.KeyIDKey, k.id)); err != nil {
		return "", fmt.Errorf("build a bearer token: %w", err)
	}
	raw, err := jwt.Sign(claims, jwt.WithKey(k.alg, k.private, jws.WithProtectedHeaders(header)))
	if err != nil {
		return "", fmt.Errorf("sign a bearer token: %w", err)
	}
	return string(raw), nil
}

// Verify returns the claims of a token that was issued with one of the keys and
// is valid at now. For any other token it fails with ErrUnauthenticated.
func (i *Issuer) Verify(raw string, now time.Time) (Claims, error) {
	t, err := parse(raw)
	if err != nil {
		return Claims{}, err
	}
	return i.verify(t, now)
}

func (i *Issuer) verify(t unverified, now time.Time) (Claims, error) {
	const notOurs = "it was not issued here"
	if len(t.raw) > maxLocalToken {
		return Claims{}, refused(notOurs, errors.New("it is longer than 4 KiB"))
	}
	if typ, _ := t.header.Type(); typ != LocalType || len(t.header.Keys()) != localHeaders {
		return Claims{}, refused(notOurs, errors.New("its header is not that of a bearer token"))
	}
	kid, _ := t.header.KeyID()
	k, ok := i.keys.byID[kid]
	if !ok {
		return Claims{}, refused(notOurs, errors.New("its key is unknown"))
	}
	// The header only selects the key; the algorithm is the key's.
	if _, err := jws.VerifyCompactFast(k.public, t.raw, k.alg); err != nil {
		return Claims{}, refused(notOurs, errBadSignature)
	}
	claims, err := t.validate(LocalIssuer, LocalAudience, defaultTenantClaim, 0, now)
	if err != nil {
		return Claims{}, err
	}
	if claims.Reviewer = t.text(jwt.SubjectKey); !validReviewer(claims.Reviewer) {
		return Claims{}, refused("it is not meant for this", errNoReviewer)
	}
	return claims, nil
}

// The causes of a refusal. They replace the errors of the library, which may
// quote the token.
var (
	errBadSignature = errors.New("its signature is wrong")
	errNoReviewer   = errors.New("it does not name a reviewer in 1 to 200 printable characters")
)
