// Verification: the part that the verifiers of bearer tokens share.

package reviewer

import (
	"context"
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
	"golang.org/x/text/unicode/norm"

	"github.com/verifyd/verifyd/verification"
)

const (
	maxToken    = 8 << 10  // bytes of a token that a client sent
	maxIDToken  = 64 << 10 // bytes of a token that the issuer sent: it may name 200 groups
	maxReviewer = 200      // characters of a reviewer's name
	maxIdentity = 500      // characters of a reviewer's identity
)

// Claims are the verified claims of a bearer token.
type Claims struct {
	verification.Reviewer

	IssuedAt  time.Time // whole seconds; zero if the token does not say
	ExpiresAt time.Time
}

// NewVerifier returns a function that verifies the tokens of local and, unless
// remote is nil, of remote. The iss claim selects which of the two: no token is
// verified by both, and a token with an unknown iss is refused without a fetch.
func NewVerifier(local *Issuer, remote *OIDC, now func() time.Time) func(ctx context.Context, raw string) (Claims, error) {
	return func(ctx context.Context, raw string) (Claims, error) {
		t, err := parse(raw, maxToken)
		if err != nil {
			return Claims{}, err
		}
		if iss, _ := t.claims.Issuer(); remote != nil && iss == remote.opt.Issuer {
			return remote.verify(ctx, t, remote.opt.Audience)
		}
		return local.verify(t, localType, localAudience, now())
	}
}

// unverified is a JWT whose signature has not been verified. No error quotes it.
type unverified struct {
	raw    []byte
	header jws.Headers
	claims jwt.Token
}

// parse reads a compact JWT of at most limit bytes. Its error is ErrUnauthenticated.
func parse(raw string, limit int) (unverified, error) {
	malformed := func(reason string) (unverified, error) {
		return unverified{}, refused("it is malformed", errors.New(reason))
	}
	if len(raw) > limit {
		return malformed(fmt.Sprintf("it is longer than %d KiB", limit>>10))
	}
	if !compact(raw) {
		return malformed("it is not a compact JWT")
	}
	message, err := jws.Parse([]byte(raw), jws.WithCompact())
	if err != nil || len(message.Signatures()) != 1 {
		return malformed("its header is malformed")
	}
	t := unverified{raw: []byte(raw), header: message.Signatures()[0].ProtectedHeaders(), claims: jwt.New()}
	// A NumericDate is a number, but jwx also reads one from a string.
	var dates struct {
		Expires   *float64 `json:"exp"`
		NotBefore *float64 `json:"nbf"`
	}
	payload := message.Payload()
	if !utf8.Valid(payload) || json.Unmarshal(payload, &dates) != nil || json.Unmarshal(payload, t.claims) != nil {
		return malformed("its claims are malformed")
	}
	return t, nil
}

// compact reports whether raw has three parts in base64url, without padding and
// without spare bits, so that no other text encodes the same token.
func compact(raw string) bool {
	parts := strings.Split(raw, ".")
	for _, part := range parts {
		if _, err := base64.RawURLEncoding.Strict().DecodeString(part); err != nil || part == "" {
			return false
		}
	}
	return len(parts) == 3 && !strings.ContainsAny(raw, "\r\n") // the decoder skips line breaks
}

// tenantOf says which tenant a token is for.
type tenantOf struct {
	claim string                // with the id of the tenant
	only  verification.TenantID // of tokens without the claim; any other tenant is refused. Empty for none
}

// validate checks every claim but the reviewer's name, identity and role, which it leaves empty. A clock
// may differ from the issuer's by skew.
func (t unverified) validate(issuer, audience string, of tenantOf, skew time.Duration, now time.Time) (Claims, error) {
	err := jwt.Validate(t.claims,
		jwt.WithClock(jwt.ClockFunc(func() time.Time { return now })),
		jwt.WithAcceptableSkew(skew),
		jwt.WithResetValidators(true), // without iat: a token may come from a host whose clock is ahead
		jwt.WithRequiredClaim(jwt.ExpirationKey),
		jwt.WithIssuer(issuer),
		jwt.WithAudience(audience),
		jwt.WithValidator(jwt.IsNbfValid()),
		jwt.WithValidator(jwt.IsExpirationValid()),
	)
	switch {
	case errors.Is(err, jwt.TokenExpiredError()):
		return Claims{}, refused("it has expired", nil)
	case errors.Is(err, jwt.InvalidIssuerError()):
		return Claims{}, refused("it was not issued by this issuer", nil)
	case err != nil:
		return Claims{}, refused("it is not meant for this", err)
	}
	expiry, _ := t.claims.Expiration()
	if expiry.Year() > 9999 {
		return Claims{}, refused("it is not meant for this", errors.New("its exp is after the year 9999"))
	}
	if of.only != "" && !t.claims.Has(of.claim) {
		return Claims{Reviewer: verification.Reviewer{Tenant: of.only}, IssuedAt: issuedAt(t), ExpiresAt: expiry.UTC()}, nil
	}
	tenant, err := verification.ParseTenantID(t.text(of.claim))
	switch {
	case err != nil:
		return Claims{}, refused("it is not meant for this", errors.New("it names no tenant"))
	case of.only != "" && tenant != of.only:
		return Claims{}, refused("it is not meant for this", errors.New("it names another tenant"))
	}
	return Claims{Reviewer: verification.Reviewer{Tenant: tenant}, IssuedAt: issuedAt(t), ExpiresAt: expiry.UTC()}, nil
}

// issuedAt returns the claim iat, or zero.
func issuedAt(t unverified) time.Time {
	at, _ := t.claims.IssuedAt()
	if at.IsZero() {
		return time.Time{}
	}
	return at.UTC()
}

// text returns a claim that is a string, or "".
func (t unverified) text(claim string) string {
	var s string
	if err := t.claims.Get(claim, &s); err != nil {
		return ""
	}
	return s
}

// displayed returns the name of a reviewer in the form in which people see and compare it:
// NFKC, without characters that have no width or change the direction of the text. So two
// names that look the same are the same, whatever keyboard they come from. The two joiners
// stay, because names of Persian and Indian scripts are written with them.
func displayed(name string) string {
	return strings.Map(func(r rune) rune {
		if joiner := r == '\u200c' || r == '\u200d'; unicode.Is(unicode.Cf, r) && !joiner {
			return -1
		}
		return r
	}, strings.TrimSpace(norm.NFKC.String(name)))
}

// printable reports whether a text is 1 to limit printable characters.
func printable(text string, limit int) bool {
	return strings.TrimSpace(text) != "" && utf8.ValidString(text) && utf8.RuneCountInString(text) <= limit &&
		!strings.ContainsFunc(text, unicode.IsControl)
}

func refused(message string, cause error) error {
	return &verification.Error{Kind: verification.ErrUnauthenticated, Subject: "bearer token", Message: message, Cause: cause}
}
