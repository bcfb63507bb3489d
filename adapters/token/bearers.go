// The bearer tokens of reviewers.

package token

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/lestrrat-go/jwx/v3/jws"
	"github.com/lestrrat-go/jwx/v3/jwt"

	"github.com/verifyd/verifyd/verification"
)

// What a bearer token says of itself. Each is required, so that no other token
// that the same keys may once sign can pass for one.
const (
	Issuer   = "verifyd"
	Audience = "verifyd-dashboard"
	Type     = "verifyd-reviewer+jwt"
)

const (
	tenantClaim  = "tenant"
	maxBearer    = 4096 // characters of a token
	maxReviewer  = 200  // characters of a reviewer's name
	bearerHeader = 3    // fields of the header: alg, kid, typ
)

// Bearer is what a bearer token says.
type Bearer struct {
	Tenant    verification.TenantID
	Reviewer  string
	ExpiresAt time.Time
}

// Bearers issues and verifies bearer tokens.
type Bearers struct{ keys *Keys }

// NewBearers makes an issuer from a key set.
func NewBearers(keys *Keys) *Bearers { return &Bearers{keys: keys} }

// Issue makes a token that holds from now for ttl, counted in whole seconds, at
// least one. It fails with ErrInvalid when the tenant is no UUID or the
// reviewer has no name of at most 200 printable characters.
func (b *Bearers) Issue(tenant verification.TenantID, reviewer string, ttl time.Duration, now time.Time) (string, error) {
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
	if !soundReviewer(reviewer) {
		return "", invalid("reviewer", "must be 1 to 200 printable characters")
	}
	if ttl < time.Second {
		return "", invalid("ttl", "must be at least one second")
	}
	claims, err := jwt.NewBuilder().
		Issuer(Issuer).Audience([]string{Audience}).Subject(reviewer).Claim(tenantClaim, string(tenant)).
		IssuedAt(now).Expiration(now.Add(ttl)).Build()
	if err != nil {
		return "", fmt.Errorf("make a bearer token: %w", err)
	}
	k := b.keys.list[0]
	header := jws.NewHeaders()
	if err := errors.Join(header.Set(jws.TypeKey, Type), header.Set(jws.KeyIDKey, k.id)); err != nil {
		return "", fmt.Errorf("make a bearer token: %w", err)
	}
	raw, err := jwt.Sign(claims, jwt.WithKey(k.alg, k.private, jws.WithProtectedHeaders(header)))
	if err != nil {
		return "", fmt.Errorf("sign a bearer token: %w", err)
	}
	return string(raw), nil
}

// Verify tells what a token says, if it was issued here and still holds at now.
// Anything else is ErrUnauthenticated.
func (b *Bearers) Verify(raw string, now time.Time) (Bearer, error) {
	claims, err := b.open(raw)
	if err != nil {
		return Bearer{}, refused("it was not issued here", err)
	}
	err = jwt.Validate(claims,
		jwt.WithClock(jwt.ClockFunc(func() time.Time { return now })),
		jwt.WithResetValidators(true), // not iat: the clocks of two hosts differ
		jwt.WithValidator(jwt.IsExpirationValid()),
		jwt.WithValidator(jwt.IsNbfValid()),
		jwt.WithRequiredClaim(jwt.ExpirationKey),
		jwt.WithIssuer(Issuer),
		jwt.WithAudience(Audience),
	)
	switch {
	case errors.Is(err, jwt.TokenExpiredError()):
		return Bearer{}, refused("it has expired", err)
	case err != nil:
		return Bearer{}, refused("it is not meant for this", err)
	}
	reviewer, _ := claims.Subject()
	expiry, _ := claims.Expiration()
	var named string
	if err := claims.Get(tenantClaim, &named); err != nil {
		return Bearer{}, refused("it is not meant for this", err)
	}
	tenant, err := verification.ParseTenantID(named)
	if err != nil || reviewer == "" {
		return Bearer{}, refused("it is not meant for this", err)
	}
	return Bearer{Tenant: tenant, Reviewer: reviewer, ExpiresAt: expiry.UTC()}, nil
}

// open checks the signature. The header only says which key: the algorithm is
// the key's.
func (b *Bearers) open(raw string) (jwt.Token, error) {
	if len(raw) > maxBearer || !canonicalJWT(raw) {
		return nil, errors.New("it is not a compact JWT")
	}
	message, err := jws.Parse([]byte(raw), jws.WithCompact())
	if err != nil {
		return nil, err
	}
	if len(message.Signatures()) != 1 {
		return nil, errors.New("it does not have one signature")
	}
	header := message.Signatures()[0].ProtectedHeaders()
	id, _ := header.KeyID()
	if typ, _ := header.Type(); typ != Type || len(header.Keys()) != bearerHeader {
		return nil, errors.New("its header is not that of a bearer token")
	}
	k, ok := b.keys.byID[id]
	if !ok {
		return nil, errors.New("its key is not known")
	}
	payload, err := jws.VerifyCompactFast(k.public, []byte(raw), k.alg)
	if err != nil {
		return nil, err
	}
	claims := jwt.New()
	if err := json.Unmarshal(payload, claims); err != nil {
		return nil, err
	}
	return claims, nil
}

// canonicalJWT holds that a token is three parts in base64url, written in the
// only way that encodes their bytes.
func canonicalJWT(raw string) bool {
	parts := strings.Split(raw, ".")
	for _, part := range parts {
		decoded, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil || part == "" || base64.RawURLEncoding.EncodeToString(decoded) != part {
			return false
		}
	}
	return len(parts) == 3
}

// soundReviewer holds that a name can be kept with a verdict.
func soundReviewer(name string) bool {
	return strings.TrimSpace(name) != "" && utf8.ValidString(name) && utf8.RuneCountInString(name) <= maxReviewer &&
		!strings.ContainsFunc(name, unicode.IsControl)
}

func refused(message string, cause error) error {
	return &verification.Error{Kind: verification.ErrUnauthenticated, Subject: "bearer token", Message: message, Cause: cause}
}
