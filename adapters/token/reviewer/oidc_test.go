package reviewer_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/lestrrat-go/jwx/v3/jwa"

	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/adapters/token/reviewer"
	"github.com/verifyd/verifyd/internal/rig/keytest"
	"github.com/verifyd/verifyd/verification"
)

func TestATokenOfTheIssuerReadsBackUnderAnyAlgorithm(t *testing.T) {
	p521, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	must(err)
	ed, rsa2048 := keytest.Private()["Ed25519"], keytest.Private()["RSA"]
	for _, c := range []struct {
		alg jwa.SignatureAlgorithm
		key any
	}{
		{jwa.EdDSA(), ed},
		{jwa.EdDSAEd25519(), ed},
		{jwa.ES256(), keytest.Private()["P-256"]},
		{jwa.ES384(), keytest.Private()["P-384"]},
		{jwa.ES512(), p521},
		{jwa.RS256(), rsa2048},
		{jwa.RS384(), rsa2048},
		{jwa.RS512(), rsa2048},
		{jwa.PS256(), rsa2048},
		{jwa.PS384(), rsa2048},
		{jwa.PS512(), rsa2048},
	} {
		for _, fields := range [][]any{
			{"kid", "k"},
			{"kid", "k", "alg", c.alg.String()},
			{"kid", "k", "use", "sig"},
			{"kid", "k", "key_ops", []string{"verify"}},
		} {
			for _, typ := range []any{nil, "JWT", "at+jwt"} {
				t.Run(fmt.Sprint(c.alg, fields[2:], typ), func(t *testing.T) {
					i := newIssuer(t, publicOf(t, c.key, fields...))
					header := but(map[string]any{"alg": c.alg.String(), "kid": "k"}, "typ", typ)
					got, err := i.verifier(t).Verify(t.Context(), forge(t, header, i.claims(), signer(t, c.alg, c.key)))
					want := reviewer.Claims{Reviewer: i.ada(), ExpiresAt: noon.Add(time.Hour)}
					if diff := cmp.Diff(want, got); diff != "" || err != nil {
						t.Errorf("%v (%v); bearer (-want +got):\n%s", err, causeOf(err), diff)
					}
				})
			}
		}
	}
}

func TestTheReviewerIsTheConfiguredClaimOrTheSub(t *testing.T) {
	i := newIssuer(t, publicOf(t, keytest.Private()["Ed25519"], "kid", "k"))
	for name, c := range map[string]struct {
		claim  string
		fields []any
		want   string // empty: refused
	}{
		"email":                           {"", nil, "ada@example.com"},
		"a verified email":                {"", []any{"email_verified", true}, "ada@example.com"},
		"an email verified in a word":     {"", []any{"email_verified", "true"}, "ada@example.com"},
		"an email that is not verified":   {"", []any{"email_verified", false}, "u-1"},
		"not verified in a word":          {"", []any{"email_verified", "false"}, "u-1"},
		"email_verified is null":          {"", []any{"email_verified", json.RawMessage("null")}, "u-1"},
		"no email":                        {"", []any{"email", nil}, "u-1"},
		"an empty email":                  {"", []any{"email", ""}, "u-1"},
		"an email that is none":           {"", []any{"email", []string{"ada@example.com"}}, "u-1"},
		"neither email nor sub":           {"", []any{"email", nil, "sub", nil}, ""},
		"an email in two lines":           {"", []any{"email", "ada\nadmin"}, ""},
		"a blank email":                   {"", []any{"email", "  "}, ""},
		"a long email":                    {"", []any{"email", strings.Repeat("a", 201)}, ""},
		"a sub with a NUL":                {"", []any{"email", nil, "sub", "a\x00"}, ""},
		"another claim":                   {"name", []any{"name", "Ada Lovelace"}, "Ada Lovelace"},
		"another claim, email unverified": {"name", []any{"name", "Ada", "email_verified", false}, "Ada"},
		"another claim that is not there": {"name", nil, "u-1"},
		"sub":                             {"sub", nil, "u-1"},
	} {
		t.Run(name, func(t *testing.T) {
			o := i.verifier(t, func(o *reviewer.OIDCOptions) { o.ReviewerClaim = c.claim })
			raw := edToken(t, "k", i.claims(c.fields...))
			if c.want == "" {
				bad(t, o, raw, verification.ErrUnauthenticated)
				return
			}
			if got, err := o.Verify(t.Context(), raw); err != nil || got.Name != c.want {
				t.Errorf("Verify = %+v, %v; want %q", got, err, c.want)
			}
		})
	}
}

func TestTheIdentityIsTheIssuerAndTheSubject(t *testing.T) {
	i := newIssuer(t, publicOf(t, keytest.Private()["Ed25519"], "kid", "k"))
	for name, c := range map[string]struct {
		claim  string
		fields []any
		want   string // the subject; empty: refused
	}{
		"email":                       {"", nil, "u-1"},
		"an email that is unverified": {"", []any{"email_verified", false}, "u-1"},
		"no email":                    {"", []any{"email", nil}, "u-1"},
		"no sub":                      {"", []any{"sub", nil}, ""},
		"a sub that is no text":       {"", []any{"sub", 7}, ""},
		"an empty sub":                {"", []any{"sub", ""}, ""},
		"a sub in two lines":          {"", []any{"sub", "a\nb"}, ""},
		"a long sub":                  {"", []any{"sub", strings.Repeat("a", 500)}, ""},
		"another claim":               {"oid", []any{"oid", "o-1"}, "o-1"},
		"another claim, not there":    {"oid", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := i.verifier(t, func(o *reviewer.OIDCOptions) { o.SubjectClaim = c.claim })
			raw := edToken(t, "k", i.claims(c.fields...))
			if c.want == "" {
				bad(t, o, raw, verification.ErrUnauthenticated)
				return
			}
			if got, err := o.Verify(t.Context(), raw); err != nil || got.Identity != i.URL+"#"+c.want {
				t.Errorf("Verify = %+v, %v; want the subject %q", got, err, c.want)
			}
		})
	}
}

func TestTheConfiguredClaimNamesTheTenant(t *testing.T) {
	i := newIssuer(t, publicOf(t, keytest.Private()["Ed25519"], "kid", "k"))
	const other = "0191f3c0-0000-7000-8000-0000000000ff"
	const claim = "https://verifyd.example/tenant"
	o := i.verifier(t, func(o *reviewer.OIDCOptions) { o.TenantClaim = claim })
	good(t, o, edToken(t, "k", i.claims("tenant", other, claim, string(aTenant))))
	bad(t, o, edToken(t, "k", i.claims()), verification.ErrUnauthenticated)
}

func TestClocksMayDifferByAMinute(t *testing.T) {
	i := newIssuer(t, publicOf(t, keytest.Private()["Ed25519"], "kid", "k"))
	o := i.verifier(t)
	at := noon.Unix()
	for name, c := range map[string]struct {
		fields []any
		turn   time.Duration
		want   string // empty: accepted
	}{
		"it ends now":                 {[]any{"exp", at}, 0, ""},
		"it ended 59.9 seconds ago":   {[]any{"exp", at}, time.Minute - 100*time.Millisecond, ""},
		"it ended a minute ago":       {[]any{"exp", at}, time.Minute, "bearer token: it has expired"},
		"it ends in half a second":    {[]any{"exp", float64(at) + 0.5}, time.Minute, "bearer token: it has expired"},
		"it ended long ago":           {[]any{"exp", 1}, 0, "bearer token: it has expired"},
		"it holds from now":           {[]any{"nbf", at}, 0, ""},
		"it holds in a minute":        {[]any{"nbf", at + 60}, 0, ""},
		"it holds in 61 seconds":      {[]any{"nbf", at + 61}, 0, "bearer token: it is not meant for this"},
		"it holds since 1970":         {[]any{"nbf", 0}, 0, ""},
		"it was issued in the future": {[]any{"iat", at + 10000}, 0, ""},
		"an iat that is not a number": {[]any{"iat", "now"}, 0, "bearer token: it is malformed"},
		"it ends with the year 9999":  {[]any{"exp", 253402300799}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			raw := edToken(t, "k", i.claims(c.fields...))
			i.clock.advance(c.turn)
			defer i.clock.advance(-c.turn)
			if c.want == "" {
				good(t, o, raw)
			} else if err := fails(t, o, raw, verification.ErrUnauthenticated); fmt.Sprint(err) != c.want {
				t.Errorf("error %q, want %q", err, c.want)
			}
		})
	}
}

func TestForgedAndMisusedTokensOfAnIssuerAreRefused(t *testing.T) {
	ed := keytest.Raw[ed25519.PrivateKey](t, "Ed25519")
	rsaKey := keytest.Raw[*rsa.PrivateKey](t, "RSA")
	i := newIssuer(t,
		publicOf(t, ed, "kid", "ed"),
		publicOf(t, keytest.Private()["P-256"], "kid", "p256"),
		publicOf(t, rsaKey, "kid", "rsa", "alg", "RS256"),
		keytest.JWK(t, []byte("a secret that an issuer should not publish"), "kid", "oct", "alg", "HS256"),
	)
	header := map[string]any{"alg": "EdDSA", "kid": "ed", "typ": "JWT"}
	claims := i.claims("iat", noon.Unix())
	sign := signer(t, jwa.EdDSA(), ed)
	hs256 := func(secret []byte) func(string) []byte { return signer(t, jwa.HS256(), secret) }
	publicRaw, _ := ed.Public().(ed25519.PublicKey)
	publicJSON, err := json.Marshal(publicOf(t, ed))
	must(err)
	frame := forge(t, header, claims, sign)
	parts := strings.Split(frame, ".")
	b64 := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	text := func(header, claims string) string {
		signed := b64(header) + "." + b64(claims)
		return signed + "." + b64(string(sign(signed)))
	}
	none := func(string) []byte { return nil }
	const aHeader = `{"alg":"EdDSA","kid":"ed"}`

	// Those of the first table are refused by what they say, so that nothing is fetched for them.
	plain := map[string]string{
		"empty":                     "",
		"garbage":                   "not a token",
		"dots":                      "..",
		"alg none":                  forge(t, but(header, "alg", "none"), claims, none),
		"alg none, signed":          forge(t, but(header, "alg", "none"), claims, sign),
		"alg None":                  forge(t, but(header, "alg", "None"), claims, sign),
		"no alg":                    forge(t, but(header, "alg", nil), claims, sign),
		"an alg that is no text":    forge(t, but(header, "alg", []string{"EdDSA"}), claims, sign),
		"ES256K":                    forge(t, but(header, "alg", "ES256K"), claims, sign),
		"unsigned":                  parts[0] + "." + parts[1] + ".",
		"unsigned, two parts":       parts[0] + "." + parts[1],
		"HS256 with the public key": forge(t, but(header, "alg", "HS256"), claims, hs256(publicRaw)),
		"HS256 with the public JWK": forge(t, but(header, "alg", "HS256"), claims, hs256(publicJSON)),
		"HS256 with the oct key":    forge(t, but(header, "alg", "HS256", "kid", "oct"), claims, hs256([]byte("a secret that an issuer should not publish"))),
		"HS512":                     forge(t, but(header, "alg", "HS512"), claims, sign),
		"a kid that is no text":     forge(t, but(header, "kid", 1), claims, sign),
		"an empty kid":              forge(t, but(header, "kid", ""), claims, sign),
		"kid null":                  forge(t, but(header, "kid", json.RawMessage("null")), claims, sign),
		"critical extensions":       forge(t, but(header, "crit", []string{"b64"}, "b64", true), claims, sign),
		"critical, but empty":       forge(t, but(header, "crit", []string{}), claims, sign),
		"typ of our own tokens":     forge(t, but(header, "typ", localType), claims, sign),
		"another typ":               forge(t, but(header, "typ", "logout+jwt"), claims, sign),
		"typ in other letters":      forge(t, but(header, "typ", "jwt"), claims, sign),
		"a typ that is no text":     forge(t, but(header, "typ", 1), claims, sign),
		"an empty typ":              forge(t, but(header, "typ", ""), claims, sign),
		"no exp":                    forge(t, header, but(claims, "exp", nil), sign),
		"exp null":                  forge(t, header, but(claims, "exp", json.RawMessage("null")), sign),
		"exp in a text":             forge(t, header, but(claims, "exp", fmt.Sprint(noon.Unix()+60)), sign),
		"exp as a date":             forge(t, header, but(claims, "exp", noon.Add(time.Hour)), sign),
		"exp below 0":               forge(t, header, but(claims, "exp", -1), sign),
		"exp after the year 9999":   forge(t, header, but(claims, "exp", 253402300800), sign),
		"exp beyond all bounds":     forge(t, header, but(claims, "exp", json.RawMessage("1e400")), sign),
		"nbf in words":              forge(t, header, but(claims, "nbf", "tomorrow"), sign),
		"nbf null":                  forge(t, header, but(claims, "nbf", json.RawMessage("null")), sign),
		"no iss":                    forge(t, header, but(claims, "iss", nil), sign),
		"an iss that is no text":    forge(t, header, but(claims, "iss", []string{i.URL}), sign),
		"another iss":               forge(t, header, but(claims, "iss", "https://id.example"), sign),
		"our own iss":               forge(t, header, but(claims, "iss", localIssuer), sign),
		"the iss with a slash":      forge(t, header, but(claims, "iss", i.URL+"/"), sign),
		"the iss in other letters":  forge(t, header, but(claims, "iss", strings.ToUpper(i.URL)), sign),
		"no aud":                    forge(t, header, but(claims, "aud", nil), sign),
		"aud null":                  forge(t, header, but(claims, "aud", json.RawMessage("null")), sign),
		"another aud":               forge(t, header, but(claims, "aud", anAudience+"/"), sign),
		"other auds":                forge(t, header, but(claims, "aud", []string{"a", "b"}), sign),
		"aud in an object":          forge(t, header, but(claims, "aud", map[string]any{anAudience: true}), sign),
		"auds not all of them text": forge(t, header, but(claims, "aud", []any{anAudience, 1}), sign),
		"no tenant":                 forge(t, header, but(claims, "tenant", nil), sign),
		"a tenant that is none":     forge(t, header, but(claims, "tenant", "*"), sign),
		"tenants":                   forge(t, header, but(claims, "tenant", []string{string(aTenant)}), sign),
		"padding":                   frame + "=",
		"a line break":              frame + "\n",
		"a space":                   " " + frame,
		"Bearer":                    "Bearer " + frame,
		"four parts":                frame + "." + parts[2],
		"five parts":                frame + ".e30.e30",
		"JSON":                      `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`,
		"more than 8 KiB":           forge(t, header, but(claims, "pad", strings.Repeat("x", 6<<10)), sign),
		"a header that is null":     text("null", `{}`),
		"a header that is a list":   text("[]", `{}`),
		"claims that are null":      text(aHeader, "null"),
		"claims that are a text":    text(aHeader, `"x"`),
		"claims that are not JSON":  text(aHeader, "{"),
		"claims in two documents":   text(aHeader, `{}{}`),
		"claims not in UTF-8":       text(aHeader, strings.Replace(string(mustJSON(claims)), "ada@", "ad\xff@", 1)),
		"names in other letters":    text(`{"ALG":"EdDSA","kid":"ed"}`, string(mustJSON(claims))),
	}
	// Those of the second are refused by the keys.
	keyed := map[string]string{
		"no kid where there are keys":     forge(t, but(header, "kid", nil), claims, sign),
		"an unknown kid":                  forge(t, but(header, "kid", "other"), claims, sign),
		"the kid of a secret":             forge(t, but(header, "kid", "oct"), claims, sign),
		"a header for another key":        forge(t, but(header, "kid", "rsa"), claims, sign),
		"the algorithm of another key":    forge(t, but(header, "alg", "ES256"), claims, sign),
		"another of the kind's":           forge(t, but(header, "alg", "PS256", "kid", "rsa"), claims, signer(t, jwa.PS256(), rsaKey)),
		"ES384 with a key of P-256":       forge(t, but(header, "alg", "ES384", "kid", "p256"), claims, sign),
		"another key":                     forge(t, header, claims, func(s string) []byte { return ed25519.Sign(another(t), []byte(s)) }),
		"a key in the header":             forge(t, but(header, "jwk", publicOf(t, another(t))), claims, func(s string) []byte { return ed25519.Sign(another(t), []byte(s)) }),
		"a signature of another kind":     forge(t, header, claims, func(s string) []byte { return hmacOf(publicRaw, s) }),
		"an empty signature in base64url": forge(t, header, claims, func(string) []byte { return []byte{0} }),
		"claims of another token":         parts[0] + "." + b64(string(mustJSON(but(claims, "email", "root@example.com")))) + "." + parts[2],
		"two algs":                        text(`{"alg":"ES256","alg":"EdDSA","kid":"ed"}`, string(mustJSON(claims))),
		"b64 without crit":                forge(t, but(header, "b64", false), claims, sign),
	}
	o := i.verifier(t)
	for name, raw := range plain {
		t.Run(name, func(t *testing.T) { bad(t, o, raw, verification.ErrUnauthenticated) })
	}
	i.wantRequests(t, 0, 0)
	good(t, o, frame)
	i.wantRequests(t, 1, 1)
	for name, raw := range keyed {
		t.Run(name, func(t *testing.T) { bad(t, o, raw, verification.ErrUnauthenticated) })
	}
	i.wantRequests(t, 0, 0)
}

func TestATokenOfEightKiBIsRead(t *testing.T) {
	i := newIssuer(t, publicOf(t, keytest.Private()["Ed25519"], "kid", "k"))
	o := i.verifier(t)
	pad := 8<<10 - len(edToken(t, "k", i.claims("pad", "")))
	raw := edToken(t, "k", i.claims("pad", strings.Repeat("x", pad*3/4)))
	if len(raw) > 8<<10 || len(raw) < 8<<10-4 {
		t.Fatalf("the token has %d bytes", len(raw))
	}
	good(t, o, raw)
	bad(t, o, edToken(t, "k", i.claims("pad", strings.Repeat("x", pad*3/4+4))), verification.ErrUnauthenticated)
}

// another returns a key that the issuer has not published.
func another(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	return ed25519.NewKeyFromSeed([]byte("0123456789abcdef0123456789abcdef"))
}

func hmacOf(secret []byte, signed string) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(signed))
	return mac.Sum(nil)
}

func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	must(err)
	return text
}

func TestEveryChangeOfATokenOfTheIssuerIsRefused(t *testing.T) {
	i := newIssuer(t, publicOf(t, keytest.Private()["Ed25519"], "kid", "k"), publicOf(t, keytest.Private()["P-256"], "kid", "l"))
	o := i.verifier(t)
	signed := edToken(t, "k", i.claims())
	good(t, o, signed)
	for n := range len(signed) {
		others := "AZ_9.\x00"
		if n+1 == len(signed) || signed[n+1] == '.' {
			others += alphabet // where bits are to spare
		}
		for _, c := range others {
			if changed := signed[:n] + string(c) + signed[n+1:]; changed != signed {
				bad(t, o, changed, verification.ErrUnauthenticated)
			}
		}
		for _, changed := range []string{signed[:n], signed[n+1:], signed[:n] + signed[n+1:]} {
			bad(t, o, changed, verification.ErrUnauthenticated)
		}
	}
}

// This holds even if one key signs both kinds.
func TestNoKindOfTokenPassesForAnother(t *testing.T) {
	ed := keytest.Private()["Ed25519"]
	keys := read(t, keytest.JWK(t, ed, "kid", "k"))
	local, links := reviewer.NewIssuer(keys), token.NewLinks(keys)
	i := newIssuer(t, publicOf(t, ed, "kid", "k"))
	o := i.verifier(t)
	foreign := edToken(t, "k", i.claims())
	good(t, o, foreign)
	i.wantRequests(t, 1, 1)

	link := sign(t, links, aLink)
	header := map[string]any{"alg": "EdDSA", "kid": "k", "typ": localType}
	by := signer(t, jwa.EdDSA(), ed)
	for _, raw := range []string{
		link, link[:30] + "." + link[30:60] + "." + link[60:], issue(t, local),
		forge(t, header, i.claims(), by),
		forge(t, header, i.claims("iss", localIssuer, "aud", localAudience), by),
		forge(t, header, i.claims("aud", []string{localAudience, anAudience}), by),
		edToken(t, "k", i.claims("iss", localIssuer)),
		edToken(t, "k", i.claims("aud", localAudience)),
	} {
		bad(t, o, raw, verification.ErrUnauthenticated)
	}
	for _, raw := range []string{
		foreign, forge(t, header, i.claims(), by), forge(t, header, i.claims("aud", localAudience), by),
		edToken(t, "k", i.claims("iss", localIssuer, "aud", localAudience)),
	} {
		if b, err := local.Verify(raw, noon); !errors.Is(err, verification.ErrUnauthenticated) {
			t.Errorf("as a token of our own: %+v, %v; want ErrUnauthenticated", b, err)
		}
	}
	for _, raw := range append(strings.Split(foreign, "."), foreign, foreign[:92], foreign[len(foreign)-92:]) {
		if l, err := links.OpenLink(raw); !errors.Is(err, verification.ErrInvalid) {
			t.Errorf("as a link: %+v, %v; want ErrInvalid", l, err)
		}
	}
}

// wire answers requests without a network.
type wire func(*http.Request) (*http.Response, error)

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) { return w(r) }

// printed answers every request with this body.
func printed(body string) *http.Client {
	return &http.Client{Transport: wire(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}, Request: r}, nil
	})}
}

const farIssuer = "https://id.example/realms/one"

// far returns a verifier for an issuer whose responses come from client.
func far(t testing.TB, client *http.Client, changes ...func(*reviewer.OIDCOptions)) *reviewer.OIDC {
	t.Helper()
	opt := reviewer.OIDCOptions{
		Issuer: farIssuer, JWKSURL: farIssuer + "/keys", Audience: anAudience, Client: client,
		Now: func() time.Time { return noon },
	}
	for _, change := range changes {
		change(&opt)
	}
	o, err := reviewer.NewOIDC(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	return o
}

func FuzzVerifyOIDC(f *testing.F) {
	keys := keytest.Set(f, publicOf(f, keytest.Private()["Ed25519"], "kid", "k"), publicOf(f, keytest.Private()["RSA"], "kid", "l"), publicOf(f, keytest.Private()["P-256"]))
	o := far(f, printed(string(keys)))
	issued := edToken(f, "k", claimsOf(farIssuer, noon))
	f.Add(issued)
	f.Add(forge(f, map[string]any{"alg": "RS256", "kid": "l"}, claimsOf(farIssuer, noon), signer(f, jwa.RS512(), keytest.Private()["RSA"])))
	f.Add(forge(f, map[string]any{"alg": "ES256", "kid": "m"}, claimsOf(farIssuer, noon), func(string) []byte { return make([]byte, 64) }))
	f.Add("e30.e30.e30")
	f.Add("eyJhbGciOiJub25lIn0.e30.")
	f.Fuzz(func(t *testing.T, raw string) {
		b, err := o.Verify(t.Context(), raw)
		switch {
		case err == nil && raw != issued:
			t.Errorf("Verify(%q) = %+v, want it refused", raw, b)
		case err != nil && !errors.Is(err, verification.ErrUnauthenticated):
			t.Errorf("Verify(%q): %v, want ErrUnauthenticated", raw, err)
		}
	})
}

func BenchmarkVerifyOIDC(b *testing.B) {
	for kind, alg := range map[string]jwa.SignatureAlgorithm{"Ed25519": jwa.EdDSA(), "P-256": jwa.ES256(), "RSA": jwa.RS256()} {
		b.Run(kind, func(b *testing.B) {
			o := far(b, printed(string(keytest.Set(b, publicOf(b, keytest.Private()[kind], "kid", "k")))))
			raw := forge(b, map[string]any{"alg": alg.String(), "kid": "k"}, claimsOf(farIssuer, noon), signer(b, alg, keytest.Private()[kind]))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := o.Verify(b.Context(), raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
