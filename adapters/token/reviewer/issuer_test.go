package reviewer_test

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/lestrrat-go/jwx/v3/jwk"
	"github.com/lestrrat-go/jwx/v3/jwt"

	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/adapters/token/reviewer"
	"github.com/verifyd/verifyd/internal/rig/keytest"
	"github.com/verifyd/verifyd/verification"
)

const aTenant verification.TenantID = "0191f3c0-0000-7000-8000-00000000000a"

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func issue(t testing.TB, b *reviewer.Issuer) string {
	t.Helper()
	raw, err := b.Issue(ada("ada@example.com"), time.Hour, noon)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestABearerTokenReadsBackUnderAnyKey(t *testing.T) {
	for kind, raw := range keytest.Private() {
		t.Run(kind, func(t *testing.T) {
			b := reviewer.NewIssuer(read(t, keytest.JWK(t, raw)))
			signed, err := b.Issue(ada("Ada Lovelace 👩‍💻"), time.Hour, noon.Add(600*time.Millisecond))
			if err != nil {
				t.Fatal(err)
			}
			got, err := b.Verify(signed, noon.Add(time.Hour-time.Nanosecond))
			want := reviewer.Claims{Reviewer: ada("Ada Lovelace 👩‍💻"), IssuedAt: noon, ExpiresAt: noon.Add(time.Hour)}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v; bearer (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestTheAlgorithmAKeyNamesIsTheOneItUses(t *testing.T) {
	for alg, raw := range map[string]any{
		"EdDSA": keytest.Private()["Ed25519"], "Ed25519": keytest.Private()["Ed25519"], "PS384": keytest.Private()["RSA"], "RS512": keytest.Private()["RSA"],
		"HS512": []byte(strings.Repeat("0123456789abcdef", 4)),
	} {
		named := reviewer.NewIssuer(read(t, keytest.JWK(t, raw, "alg", alg, "kid", "k")))
		signed := issue(t, named)
		if head, _, _ := strings.Cut(signed, "."); !strings.Contains(decode(t, head), `"alg":"`+alg+`"`) {
			t.Errorf("signed with %s, want %s", decode(t, head), alg)
		}
		if _, err := named.Verify(signed, noon); err != nil {
			t.Errorf("%s: %v", alg, err)
		}
		if alg == "EdDSA" {
			continue
		}
		usual := reviewer.NewIssuer(read(t, keytest.JWK(t, raw, "kid", "k")))
		if _, err := usual.Verify(signed, noon); !errors.Is(err, verification.ErrUnauthenticated) {
			t.Errorf("a key for another algorithm verifies %s: %v", alg, err)
		}
	}
}

func TestBearerTokensEndAndRotate(t *testing.T) {
	old, fresh := keytest.JWK(t, keytest.Private()["P-384"]), keytest.JWK(t, keytest.Private()["Ed25519"])
	signed := issue(t, reviewer.NewIssuer(read(t, old)))
	during := reviewer.NewIssuer(read(t, fresh, old))
	if _, err := during.Verify(signed, noon); err != nil {
		t.Errorf("while the old key is kept: %v", err)
	}
	if _, err := reviewer.NewIssuer(read(t, fresh)).Verify(signed, noon); !errors.Is(err, verification.ErrUnauthenticated) {
		t.Errorf("once the old key is gone: %v, want ErrUnauthenticated", err)
	}
	if _, err := during.Verify(issue(t, during), noon.Add(-time.Minute)); err != nil {
		t.Errorf("on a host whose clock is a minute behind: %v", err)
	}
	for _, late := range []time.Duration{time.Hour, time.Hour + time.Nanosecond, 1000 * time.Hour} {
		_, err := during.Verify(signed, noon.Add(late))
		if !errors.Is(err, verification.ErrUnauthenticated) || fmt.Sprint(err) != "bearer token: it has expired" {
			t.Errorf("after %s: %v, want that it has expired", late, err)
		}
	}
}

func TestInvalidBearerTokensAreNotIssued(t *testing.T) {
	b := reviewer.NewIssuer(read(t, keytest.JWK(t, keytest.Private()["oct"])))
	for name, try := range map[string]func() (string, error){
		"no tenant": func() (string, error) {
			return b.Issue(verification.Reviewer{Tenant: "acme", Name: "ada", Role: verification.RoleReviewer}, time.Hour, noon)
		},
		"no role": func() (string, error) {
			return b.Issue(verification.Reviewer{Tenant: aTenant, Name: "ada"}, time.Hour, noon)
		},
		"no reviewer":   func() (string, error) { return b.Issue(ada(" "), time.Hour, noon) },
		"two lines":     func() (string, error) { return b.Issue(ada("ada\nadmin"), time.Hour, noon) },
		"not UTF-8":     func() (string, error) { return b.Issue(ada("ad\xe4"), time.Hour, noon) },
		"a long name":   func() (string, error) { return b.Issue(ada(strings.Repeat("a", 201)), time.Hour, noon) },
		"over at once":  func() (string, error) { return b.Issue(ada("ada"), 0, noon) },
		"over before":   func() (string, error) { return b.Issue(ada("ada"), -time.Hour, noon) },
		"half a second": func() (string, error) { return b.Issue(ada("ada"), time.Second/2, noon) },
	} {
		if raw, err := try(); !errors.Is(err, verification.ErrInvalid) {
			t.Errorf("%s: issued %q, %v; want ErrInvalid", name, raw, err)
		}
	}
}

// forge signs a header and claims with HMAC, or with nothing.
func forge(t testing.TB, header, claims map[string]any, sign func(signed string) []byte) string {
	t.Helper()
	h, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	c, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed := base64.RawURLEncoding.EncodeToString(h) + "." + base64.RawURLEncoding.EncodeToString(c)
	return signed + "." + base64.RawURLEncoding.EncodeToString(sign(signed))
}

func decode(t testing.TB, part string) string {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestForgedAndMisusedBearerTokensAreRefused(t *testing.T) {
	ed := keytest.Raw[ed25519.PrivateKey](t, "Ed25519")
	keys := read(t, keytest.JWK(t, ed, "kid", "ed"), keytest.JWK(t, keytest.Private()["oct"], "kid", "oct"))
	b := reviewer.NewIssuer(keys)
	with := func(m map[string]any, fields ...any) map[string]any {
		n := maps.Clone(m)
		for i := 0; i < len(fields); i += 2 {
			if n[fmt.Sprint(fields[i])] = fields[i+1]; fields[i+1] == nil {
				delete(n, fmt.Sprint(fields[i]))
			}
		}
		return n
	}
	header := map[string]any{"alg": "EdDSA", "kid": "ed", "typ": localType}
	claims := map[string]any{
		"iss": localIssuer, "aud": localAudience, "sub": "ada", "tenant": string(aTenant), "role": "reviewer", "exp": noon.Unix() + 60, "iat": noon.Unix(),
	}
	sign := func(signed string) []byte { return ed25519.Sign(ed, []byte(signed)) }
	hs256 := func(secret []byte) func(string) []byte {
		return func(signed string) []byte {
			mac := hmac.New(sha256.New, secret)
			mac.Write([]byte(signed))
			return mac.Sum(nil)
		}
	}
	public, err := jwk.Import(ed.Public())
	must(err)
	publicJSON, err := json.Marshal(public)
	must(err)
	der, err := x509.MarshalPKIXPublicKey(ed.Public())
	must(err)
	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	publicRaw, _ := ed.Public().(ed25519.PublicKey)
	good := forge(t, header, claims, sign)
	if _, err := b.Verify(good, noon); err != nil {
		t.Fatalf("the token without a change is refused: %v", err)
	}
	parts := strings.Split(good, ".")
	nested, err := jwt.Sign(jwt.New(), jwt.WithInsecureNoSignature())
	must(err)
	link, err := token.NewLinks(keys).SignLink(aLink)
	must(err)

	tests := map[string]string{
		"empty":                    "",
		"garbage":                  "not a token",
		"dots":                     "..",
		"a link":                   link,
		"a link in three parts":    link[:30] + "." + link[30:60] + "." + link[60:],
		"alg none":                 forge(t, with(header, "alg", "none"), claims, func(string) []byte { return nil }),
		"alg none, signed":         forge(t, with(header, "alg", "none"), claims, sign),
		"alg None":                 forge(t, with(header, "alg", "None"), claims, func(string) []byte { return nil }),
		"unsigned":                 parts[0] + "." + parts[1] + ".",
		"unsigned, two parts":      parts[0] + "." + parts[1],
		"unsigned by jwx":          string(nested),
		"HS256 with public key":    forge(t, with(header, "alg", "HS256"), claims, hs256(publicRaw)),
		"HS256 with public JWK":    forge(t, with(header, "alg", "HS256"), claims, hs256(publicJSON)),
		"HS256 with public PEM":    forge(t, with(header, "alg", "HS256"), claims, hs256(publicPEM)),
		"HS256 with an empty key":  forge(t, with(header, "alg", "HS256", "kid", "oct"), claims, hs256(nil)),
		"a header for another key": forge(t, with(header, "kid", "oct"), claims, sign),
		"another algorithm named":  forge(t, with(header, "alg", "Ed25519"), claims, sign),
		"no algorithm named":       forge(t, with(header, "alg", nil, "x", "y"), claims, sign),
		"no kid":                   forge(t, with(header, "kid", nil), claims, sign),
		"no kid, one field more":   forge(t, with(header, "kid", nil, "x", "y"), claims, sign),
		"an empty kid":             forge(t, with(header, "kid", ""), claims, sign),
		"an unknown kid":           forge(t, with(header, "kid", "other"), claims, sign),
		"a kid that is no text":    forge(t, with(header, "kid", 1), claims, sign),
		"a key in the header":      forge(t, with(header, "jwk", json.RawMessage(publicJSON)), claims, sign),
		"a key set elsewhere":      forge(t, with(header, "jku", "https://evil.example/jwks"), claims, sign),
		"critical extensions":      forge(t, with(header, "crit", []string{"b64"}, "b64", true), claims, sign),
		"no typ":                   forge(t, with(header, "typ", nil, "x", "y"), claims, sign),
		"typ JWT":                  forge(t, with(header, "typ", "JWT"), claims, sign),
		"typ in other letters":     forge(t, with(header, "typ", strings.ToUpper(localType)), claims, sign),
		"no exp":                   forge(t, header, with(claims, "exp", nil), sign),
		"exp null":                 forge(t, header, with(claims, "exp", json.RawMessage("null")), sign),
		"exp in words":             forge(t, header, with(claims, "exp", "tomorrow"), sign),
		"exp now":                  forge(t, header, with(claims, "exp", noon.Unix()), sign),
		"exp long ago":             forge(t, header, with(claims, "exp", 1), sign),
		"exp below 0":              forge(t, header, with(claims, "exp", -1), sign),
		"nbf later":                forge(t, header, with(claims, "nbf", noon.Unix()+1), sign),
		"no iss":                   forge(t, header, with(claims, "iss", nil), sign),
		"another iss":              forge(t, header, with(claims, "iss", "https://id.example"), sign),
		"no aud":                   forge(t, header, with(claims, "aud", nil), sign),
		"another aud":              forge(t, header, with(claims, "aud", []string{"verifyd", "api"}), sign),
		"an identity of a number":  forge(t, header, with(claims, "identity", 7), sign),
		"an empty identity":        forge(t, header, with(claims, "identity", ""), sign),
		"no sub":                   forge(t, header, with(claims, "sub", nil), sign),
		"an empty sub":             forge(t, header, with(claims, "sub", ""), sign),
		"no tenant":                forge(t, header, with(claims, "tenant", nil), sign),
		"no role":                  forge(t, header, with(claims, "role", nil), sign),
		"an unknown role":          forge(t, header, with(claims, "role", "owner"), sign),
		"a tenant that is none":    forge(t, header, with(claims, "tenant", "*"), sign),
		"tenants":                  forge(t, header, with(claims, "tenant", []string{string(aTenant)}), sign),
		"claims of another token":  parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"root"}`)) + "." + parts[2],
		"padding":                  good + "=",
		"padding inside":           parts[0] + "=." + parts[1] + "." + parts[2],
		"a line break":             good + "\n",
		"a line break inside":      parts[0] + "\n." + parts[1] + "." + parts[2],
		"a space":                  " " + good,
		"Bearer":                   "Bearer " + good,
		"four parts":               good + "." + parts[2],
		"five parts":               good + ".e30.e30",
		"JSON":                     `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`,
		"large":                    forge(t, header, with(claims, "pad", strings.Repeat("x", 4096)), sign),
	}
	for name, raw := range tests {
		t.Run(name, func(t *testing.T) {
			bearer, err := b.Verify(raw, noon)
			if !errors.Is(err, verification.ErrUnauthenticated) || !reflect.DeepEqual(bearer, reviewer.Claims{}) {
				t.Errorf("Verify = %+v, %v; want ErrUnauthenticated", bearer, err)
			}
		})
	}
}

func TestEveryChangeOfABearerTokenIsRefused(t *testing.T) {
	b := reviewer.NewIssuer(read(t, keytest.JWK(t, keytest.Private()["Ed25519"]), keytest.JWK(t, keytest.Private()["oct"])))
	signed := issue(t, b)
	for i := range len(signed) {
		others := "AZ_9.\x00"
		if i+1 == len(signed) || signed[i+1] == '.' {
			others += alphabet // where bits are to spare
		}
		for _, c := range others {
			if changed := signed[:i] + string(c) + signed[i+1:]; changed != signed {
				if bearer, err := b.Verify(changed, noon); !errors.Is(err, verification.ErrUnauthenticated) {
					t.Fatalf("with %q at %d: %+v, %v; want ErrUnauthenticated", c, i, bearer, err)
				}
			}
		}
		for _, changed := range []string{signed[:i], signed[i+1:], signed[:i] + signed[i+1:]} {
			if _, err := b.Verify(changed, noon); !errors.Is(err, verification.ErrUnauthenticated) {
				t.Fatalf("cut at %d: %v, want ErrUnauthenticated", i, err)
			}
		}
	}
}

func TestABearerTokenIsNoLink(t *testing.T) {
	keys := read(t, keytest.JWK(t, keytest.Private()["oct"]))
	signed := issue(t, reviewer.NewIssuer(keys))
	links := token.NewLinks(keys)
	for _, raw := range append(strings.Split(signed, "."), signed, signed[:92], signed[len(signed)-92:]) {
		if link, err := links.OpenLink(raw); !errors.Is(err, verification.ErrInvalid) {
			t.Errorf("OpenLink(%q) = %+v, %v; want ErrInvalid", raw, link, err)
		}
	}
}

func FuzzVerifyBearer(f *testing.F) {
	b := reviewer.NewIssuer(read(f, keytest.JWK(f, keytest.Private()["oct"]), keytest.JWK(f, keytest.Private()["Ed25519"])))
	issued := issue(f, b) // each process of the fuzzer issues its own, with another id
	want, err := b.Verify(issued, noon)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(issued)
	f.Add("e30.e30.e30")
	f.Add("eyJhbGciOiJub25lIn0.e30.")
	f.Fuzz(func(t *testing.T, raw string) {
		bearer, err := b.Verify(raw, noon)
		switch {
		case err == nil && !reflect.DeepEqual(bearer, want):
			t.Errorf("Verify(%q) = %+v, want it refused or the claims of %+v", raw, bearer, want)
		case err != nil && !errors.Is(err, verification.ErrUnauthenticated):
			t.Errorf("Verify(%q): %v, want ErrUnauthenticated", raw, err)
		}
	})
}

func BenchmarkVerifyBearer(b *testing.B) {
	for _, kind := range []string{"Ed25519", "P-256", "RSA", "oct"} {
		b.Run(kind, func(b *testing.B) {
			bearers := reviewer.NewIssuer(read(b, keytest.JWK(b, keytest.Private()[kind])))
			signed := issue(b, bearers)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := bearers.Verify(signed, noon); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// ada is a reviewer of a name, which is also the identity.
func ada(name string) verification.Reviewer {
	return verification.Reviewer{Tenant: aTenant, Identity: name, Name: name, Role: verification.RoleReviewer}
}

func TestATokenCarriesTheIdentityOfItsReviewer(t *testing.T) {
	b := reviewer.NewIssuer(read(t, keytest.JWK(t, keytest.Private()["Ed25519"])))
	for _, c := range []struct{ identity, name, want string }{
		{"", "Ada", "Ada"},
		{"Ada", "Ada", "Ada"},
		{"https://id.example#u-1", "ada@example.com", "https://id.example#u-1"},
		{strings.Repeat("é", 500), strings.Repeat("é", 200), strings.Repeat("é", 500)},
	} {
		who := ada(c.name)
		who.Identity = c.identity
		raw, err := b.Issue(who, time.Hour, noon)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := b.Verify(raw, noon); err != nil || got.Identity != c.want || got.Name != c.name {
			t.Errorf("the token of %+v is that of %+v, %v", who, got, err)
		}
		raw, err = b.IssueSignInLink(who, time.Hour, noon)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := b.OpenSignInLink(raw, noon); err != nil || got.Identity != c.want || got.Name != c.name {
			t.Errorf("the link of %+v is that of %+v, %v", who, got, err)
		}
	}
	for _, identity := range []string{" ", "a\nb", "\xe4", strings.Repeat("a", 501), strings.Repeat("\U0001F469", 500)} {
		who := ada(strings.Repeat("\U0001F469", 200))
		who.Identity = identity
		if raw, err := b.Issue(who, time.Hour, noon); !errors.Is(err, verification.ErrInvalid) {
			t.Errorf("the identity %.20q gives a token of %d bytes, %v; want ErrInvalid", identity, len(raw), err)
		}
	}
}

func TestATokenCarriesTheTeamsOfItsReviewer(t *testing.T) {
	b := reviewer.NewIssuer(read(t, keytest.JWK(t, keytest.Private()["Ed25519"])))
	for _, teams := range [][]string{nil, {"seniors"}, {"KYC fraud", "टीम"}} {
		who := ada("Ada")
		who.Teams = teams
		raw, err := b.Issue(who, time.Hour, noon)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := b.Verify(raw, noon); err != nil || !slices.Equal(got.Teams, teams) {
			t.Errorf("the token of the teams %q has %q, %v", teams, got.Teams, err)
		}
		if raw, err = b.IssueSignInLink(who, time.Hour, noon); err != nil {
			t.Fatal(err)
		}
		if got, err := b.OpenSignInLink(raw, noon); err != nil || !slices.Equal(got.Teams, teams) {
			t.Errorf("the link of the teams %q has %q, %v", teams, got.Teams, err)
		}
	}
	for _, team := range []string{"", " a", "a\nb", strings.Repeat("x", 61)} {
		who := ada("Ada")
		who.Teams = []string{team}
		if _, err := b.Issue(who, time.Hour, noon); !errors.Is(err, verification.ErrInvalid) {
			t.Errorf("a token of the team %q = %v, want ErrInvalid", team, err)
		}
	}
}

func TestASignInLinkReadsBackAndEnds(t *testing.T) {
	b := reviewer.NewIssuer(read(t, keytest.JWK(t, keytest.Private()["Ed25519"])))
	who := verification.Reviewer{Tenant: aTenant, Identity: "https://id.example#u-1", Name: "Ada", Role: verification.RoleAdmin}
	raw, err := b.IssueSignInLink(who, 8*time.Hour, noon)
	if err != nil {
		t.Fatal(err)
	}
	last := noon.Add(verification.SignInLinkTTL - time.Second)
	got, err := b.OpenSignInLink(raw, last)
	want := verification.SignInLink{Reviewer: who, ID: got.ID, ExpiresAt: noon.Add(verification.SignInLinkTTL), Session: 8 * time.Hour}
	if diff := cmp.Diff(want, got); diff != "" || err != nil || len(got.ID) < 20 {
		t.Errorf("%v; link (-want +got):\n%s", err, diff)
	}
	if _, err := b.OpenSignInLink(raw, last.Add(time.Second)); !errors.Is(err, verification.ErrUnauthenticated) {
		t.Errorf("after its time: %v, want ErrUnauthenticated", err)
	}
	another, err := b.IssueSignInLink(who, 8*time.Hour, noon)
	if err != nil || another == raw {
		t.Errorf("the second link is %v the first: %v", another == raw, err)
	}
	for _, session := range []time.Duration{time.Second, 100 * 365 * 24 * time.Hour} {
		if _, err := b.IssueSignInLink(who, session, noon); err != nil {
			t.Errorf("a session of %s: %v", session, err)
		}
		if _, err := b.Issue(who, session, noon); err != nil {
			t.Errorf("a token for %s: %v", session, err)
		}
	}
	for _, session := range []time.Duration{0, -time.Hour, time.Millisecond, 101 * 365 * 24 * time.Hour} {
		if _, err := b.IssueSignInLink(who, session, noon); !errors.Is(err, verification.ErrInvalid) {
			t.Errorf("a session of %s: %v, want ErrInvalid", session, err)
		}
		if _, err := b.Issue(who, session, noon); !errors.Is(err, verification.ErrInvalid) {
			t.Errorf("a token for %s: %v, want ErrInvalid", session, err)
		}
	}
}

func TestASignInLinkIsNoBearerToken(t *testing.T) {
	b := reviewer.NewIssuer(read(t, keytest.JWK(t, keytest.Private()["Ed25519"])))
	link, err := b.IssueSignInLink(ada("Ada"), time.Hour, noon)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := b.Verify(link, noon); !errors.Is(err, verification.ErrUnauthenticated) {
		t.Errorf("a link is a bearer token of %+v: %v", c, err)
	}
	if l, err := b.OpenSignInLink(issue(t, b), noon); !errors.Is(err, verification.ErrUnauthenticated) {
		t.Errorf("a bearer token is a link of %+v: %v", l, err)
	}
	for i := range len(link) {
		for _, c := range "A." {
			if changed := link[:i] + string(c) + link[i+1:]; changed != link {
				if l, err := b.OpenSignInLink(changed, noon); err == nil {
					t.Fatalf("the link with %q at %d is accepted: %+v", c, i, l)
				}
			}
		}
	}
}
