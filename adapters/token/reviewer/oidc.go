// The bearer tokens that an OpenID Connect issuer signs.

package reviewer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jws"
	"github.com/lestrrat-go/jwx/v3/jwt"

	"github.com/verifyd/verifyd/verification"
)

// maxSkew is how far the issuer's clock may be ahead or behind.
const maxSkew = 60 * time.Second

const (
	emailClaim         = "email"
	emailVerifiedClaim = "email_verified"
)

// OIDCOptions describe an issuer. Issuer, Now, and an Audience or a ClientID are
// required.
type OIDCOptions struct {
	// Issuer is the exact iss of its tokens: an https URL, or an http URL of a
	// loopback address.
	Issuer string
	// Audience is the aud that a bearer token must have, alone or among others. Without
	// it, Verify refuses every token.
	Audience string
	// ClientID is the id under which the issuer knows the console. With it, reviewers
	// can sign in: see Login.
	ClientID string
	// ClientSecret authenticates the console at the token endpoint; empty for a public
	// client.
	ClientSecret string
	// Scopes are what a sign-in requests beside openid, such as email.
	Scopes []string
	// RolesClaim names the claim with the roles of a reviewer: a string or a list of
	// strings. A name with dots, such as realm_access.roles, may also be a path into
	// objects. Empty means that every token has the role reviewer; NewLogin requires it.
	RolesClaim string
	// Roles are the roles by the values of the claim. A reviewer has the highest role
	// that one of the values gives; without one, the token is ErrForbidden.
	Roles map[string]verification.Role
	// Teams are the teams of a reviewer by the values of the claim. Other values give none.
	Teams map[string]string
	// JWKSURL is the URL of its keys; empty means the jwks_uri of its discovery
	// document. It is https, or http on a loopback address.
	JWKSURL string
	// TenantClaim names the claim with the UUID of the reviewer's tenant; empty
	// means tenant.
	TenantClaim string
	// Tenant is the tenant of all reviewers of the issuer: a token needs no claim for it then,
	// and one that names another tenant is refused. Empty means that each token names its own.
	Tenant verification.TenantID
	// ReviewerClaim names the claim with the reviewer's name; empty means email.
	// If the claim is missing, or is an email that the token says is not
	// verified, the name is the subject.
	ReviewerClaim string
	// SubjectClaim names the claim that identifies a person at the issuer. Every token must
	// have it. Empty means sub. It is required if ClientID and Audience are set and differ, since
	// some issuers give a person another sub for each client: one person would count as two.
	SubjectClaim string
	// Client fetches the keys; nil means a client without a proxy and without
	// kept connections. Unless it has its own CheckRedirect, it follows at most
	// three redirects, and none from https to http. With any client, a request
	// ends after 5 s and a body after 1 MiB.
	Client *http.Client
	// Now is the clock for the expiry of tokens and the age of keys.
	Now func() time.Time
	// Observe is called after each fetch of the keys, with the number of keys
	// that can verify tokens or with an error; nil means no call. Callers that
	// wait for the fetch wait for Observe too.
	Observe func(keys int, err error)
}

// OIDC verifies bearer tokens that an OpenID Connect issuer signed. It is safe
// for concurrent use.
type OIDC struct {
	opt  OIDCOptions
	keys *keyCache
}

// NewOIDC returns a verifier, or an error that names the invalid option. It
// fetches nothing: the first token does.
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
	case o.Audience == "" && o.ClientID == "":
		return nil, errors.New("oidc: the option Audience or ClientID is required")
	case o.Now == nil:
		return nil, errors.New("oidc: the option Now is required")
	case o.SubjectClaim == "" && o.ClientID != "" && o.Audience != "" && o.ClientID != o.Audience:
		return nil, errors.New("oidc: the option SubjectClaim is required if ClientID and Audience differ")
	}
	o.TenantClaim = cmp.Or(o.TenantClaim, defaultTenantClaim)
	o.ReviewerClaim = cmp.Or(o.ReviewerClaim, emailClaim)
	o.SubjectClaim = cmp.Or(o.SubjectClaim, jwt.SubjectKey)
	if o.Observe == nil {
		o.Observe = func(int, error) {}
	}
	return &OIDC{opt: o, keys: newKeyCache(o)}, nil
}

// verify returns the claims of a token that the issuer signed for an audience
// and that is valid now, give or take 60 seconds. It fails with ErrUnavailable
// if the issuer's keys cannot be fetched, with ErrForbidden if the token gives no
// role, and with ErrUnauthenticated for any other token. Only a token that is valid
// except for its signature causes a fetch.
func (o *OIDC) verify(ctx context.Context, t unverified, audience string) (Claims, error) {
	if audience == "" {
		return Claims{}, refused("it is not meant for this", errors.New("no audience is configured"))
	}
	alg, kid, err := checkHeader(t.header)
	if err != nil {
		return Claims{}, refused(notOfIssuer, err)
	}
	claims, err := t.validate(o.opt.Issuer, audience, tenantOf{o.opt.TenantClaim, o.opt.Tenant}, maxSkew, o.opt.Now())
	if err != nil {
		return Claims{}, err
	}
	subject := t.text(o.opt.SubjectClaim)
	claims.Name, claims.Identity = displayed(o.reviewer(t, subject)), verification.IssuedIdentity(o.opt.Issuer, subject)
	if !printable(claims.Name, maxReviewer) || !printable(subject, maxIdentity) || !printable(claims.Identity, maxIdentity) {
		return Claims{}, refused("it is not meant for this", errNoReviewer)
	}
	k, err := o.keys.find(ctx, kid)
	if err != nil {
		return Claims{}, err
	}
	if !slices.Contains(k.algs, alg.String()) {
		return Claims{}, refused(notOfIssuer, errors.New("its algorithm does not fit its key"))
	}
	if _, err := jws.VerifyCompactFast(k.public, t.raw, alg); err != nil {
		return Claims{}, refused(notOfIssuer, errBadSignature)
	}
	if claims.Role = o.role(t); claims.Role == "" {
		return Claims{}, &verification.Error{
			Kind: verification.ErrForbidden, Subject: "bearer token", Message: "its roles are none of those that are configured",
		}
	}
	claims.Teams = o.teams(t)
	return claims, nil
}

// role returns the role that the claims give, of several the last one of verification.Roles: a person who
// audits changes nothing, whatever else the person may. It is empty for none.
func (o *OIDC) role(t unverified) (last verification.Role) {
	if o.opt.RolesClaim == "" {
		return verification.RoleReviewer
	}
	for _, name := range o.roleValues(t) {
		role := o.opt.Roles[name]
		if slices.Index(verification.Roles(), role) > slices.Index(verification.Roles(), last) {
			last = role
		}
	}
	return last
}

// teams returns the teams that the claims give, in the order of the claim.
func (o *OIDC) teams(t unverified) (teams []string) {
	for _, name := range o.roleValues(t) {
		if team := o.opt.Teams[name]; team != "" && !slices.Contains(teams, team) {
			teams = append(teams, team)
		}
	}
	return teams
}

// roleValues returns the values of the claim with the roles.
func (o *OIDC) roleValues(t unverified) (names []string) {
	var claim any
	if err := t.claims.Get(o.opt.RolesClaim, &claim); err != nil {
		top, path, _ := strings.Cut(o.opt.RolesClaim, ".")
		if err := t.claims.Get(top, &claim); err != nil {
			return nil
		}
		for name := range strings.SplitSeq(path, ".") {
			object, _ := claim.(map[string]any)
			claim = object[name]
		}
	}
	values, isList := claim.([]any)
	if !isList {
		values = []any{claim}
	}
	for _, value := range values {
		name, _ := value.(string)
		names = append(names, name)
	}
	return names
}

// FetchKeys fetches the keys of the issuer, and returns how many of them can verify tokens.
func (o *OIDC) FetchKeys(ctx context.Context) (int, error) {
	keys, _, err := newKeySource(o.opt).fetch(ctx, o.opt.Now())
	return len(keys), err
}

// Close cancels a fetch in progress and waits for its end. After Close, Verify
// uses the keys that it has and fetches no more.
func (o *OIDC) Close() { o.keys.close() }

const notOfIssuer = "it was not issued by this issuer"

// checkHeader returns the algorithm and the kid, which may be empty. It ignores
// keys and URLs of keys in the header.
func checkHeader(h jws.Headers) (alg jwa.SignatureAlgorithm, kid string, err error) {
	alg, hasAlg := h.Algorithm()
	kid, hasKID := h.KeyID()
	typ, hasType := h.Type()
	switch {
	case !hasAlg || alg.IsSymmetric() || alg == jwa.NoSignature() || alg == jwa.ES256K():
		err = errors.New("its alg is not accepted from an issuer")
	case h.Has(jws.CriticalKey):
		err = errors.New("its crit names an unknown extension")
	case hasType && typ != "JWT" && typ != "at+jwt": // our own typ is a third one
		err = errors.New("its typ is neither JWT nor at+jwt")
	case hasKID && kid == "":
		err = errors.New("its kid is empty")
	}
	return alg, kid, err
}

// reviewer returns the reviewer claim, or else the subject. An email that the issuer
// has not verified may belong to another person.
func (o *OIDC) reviewer(t unverified, subject string) string {
	name := t.text(o.opt.ReviewerClaim)
	if name == "" || o.opt.ReviewerClaim == emailClaim && !t.emailVerified() {
		return subject
	}
	return name
}

// emailVerified reports whether email_verified is absent, true or "true".
func (t unverified) emailVerified() bool {
	if !t.claims.Has(emailVerifiedClaim) {
		return true
	}
	var verified any
	err := t.claims.Get(emailVerifiedClaim, &verified)
	return err == nil && (verified == true || verified == "true")
}

func unavailable(cause error) error {
	return &verification.Error{
		Kind: verification.ErrUnavailable, Subject: "bearer token",
		Message: "the keys of its issuer cannot be fetched now", Cause: cause,
	}
}
