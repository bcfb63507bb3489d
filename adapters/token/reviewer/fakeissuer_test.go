// An OpenID Connect issuer for the tests, with keys that rotate, and a manual clock.

package reviewer_test

import (
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jws"
	"go.uber.org/goleak"

	"github.com/verifyd/verifyd/adapters/token/reviewer"
	"github.com/verifyd/verifyd/internal/rig/keytest"
	"github.com/verifyd/verifyd/verification"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	discovery  = "/.well-known/openid-configuration"
	anAudience = "https://verifyd.example/dashboard"

	// What the tokens of an Issuer have.
	localIssuer   = "verifyd"
	localAudience = "verifyd-dashboard"
	localType     = "verifyd-reviewer+jwt"
)

// manualClock is a clock that shows noon until it is advanced.
type manualClock struct {
	mu sync.Mutex
	at time.Time
}

func newManualClock() *manualClock { return &manualClock{at: noon} }

func (h *manualClock) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

func (h *manualClock) advance(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = h.at.Add(d)
}

// issuer is an issuer on this machine. Its responses may be changed at any time.
type issuer struct {
	*httptest.Server
	clock *manualClock

	mu       sync.Mutex
	answers  map[string]http.HandlerFunc // by path
	requests map[string]int              // by path
}

func newIssuer(t testing.TB, keys ...map[string]any) *issuer {
	t.Helper()
	i := &issuer{clock: newManualClock(), answers: map[string]http.HandlerFunc{}, requests: map[string]int{}}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		i.requests[r.URL.Path]++
		answer := i.answers[r.URL.Path]
		i.mu.Unlock()
		if answer == nil {
			http.NotFound(w, r)
			return
		}
		answer(w, r)
	}))
	t.Cleanup(i.Close)
	i.says(discovery, map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "token_endpoint": i.URL + "/token"})
	i.publish(keys...)
	return i
}

// ada is the reviewer of the claims of the issuer.
func (i *issuer) ada() verification.Reviewer {
	who := ada("ada@example.com")
	who.Identity = i.URL + "#u-1"
	return who
}

// answer sets the response to a path from now on.
func (i *issuer) answer(path string, with http.HandlerFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answers[path] = with
}

// says sets the response to a path: JSON, with pairs of headers.
func (i *issuer) says(path string, what any, headers ...string) {
	text, err := json.Marshal(what)
	must(err)
	i.answer(path, func(w http.ResponseWriter, _ *http.Request) {
		for n := 0; n < len(headers); n += 2 {
			w.Header().Add(headers[n], headers[n+1])
		}
		_, _ = w.Write(text)
	})
}

// publish makes these the keys.
func (i *issuer) publish(keys ...map[string]any) {
	i.says("/keys", map[string]any{"keys": append([]map[string]any{}, keys...)})
}

// breaks sets the response to a path: a status without a body.
func (i *issuer) breaks(path string, status int) {
	i.answer(path, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
}

// wantRequests fails the test unless these are the numbers of requests for the discovery document
// and for the keys since the last call.
func (i *issuer) wantRequests(t testing.TB, documents, keys int) {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.requests[discovery] != documents || i.requests["/keys"] != keys {
		t.Errorf("%d requests for the document and %d for the keys, want %d and %d", i.requests[discovery], i.requests["/keys"], documents, keys)
	}
	clear(i.requests)
}

// verifier returns a verifier for the issuer, which is closed when the test ends.
func (i *issuer) verifier(t testing.TB, changes ...func(*reviewer.OIDCOptions)) *reviewer.OIDC {
	t.Helper()
	opt := reviewer.OIDCOptions{Issuer: i.URL, Audience: anAudience, Now: i.clock.now}
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

// claims returns the claims of a valid token for an hour; pairs of names and values change
// them, and nil removes one.
func (i *issuer) claims(fields ...any) map[string]any {
	return claimsOf(i.URL, i.clock.now(), fields...)
}

func claimsOf(issuer string, now time.Time, fields ...any) map[string]any {
	return but(map[string]any{
		"iss": issuer, "aud": anAudience, "sub": "u-1", "email": "ada@example.com", "tenant": string(aTenant), "exp": now.Add(time.Hour).Unix(),
	}, fields...)
}

// but returns a copy of m with some fields changed; nil removes a field.
func but(m map[string]any, fields ...any) map[string]any {
	m = maps.Clone(m)
	for i := 0; i < len(fields); i += 2 {
		if m[fmt.Sprint(fields[i])] = fields[i+1]; fields[i+1] == nil {
			delete(m, fmt.Sprint(fields[i]))
		}
	}
	return m
}

// publicOf is the public JWK of a private key, with further fields.
func publicOf(t testing.TB, private any, fields ...any) map[string]any {
	t.Helper()
	k, ok := private.(crypto.Signer)
	if !ok {
		t.Fatalf("a %T has no public half", private)
	}
	return keytest.JWK(t, k.Public(), fields...)
}

// signer signs with an algorithm and a key.
func signer(t testing.TB, alg jwa.SignatureAlgorithm, private any) func(string) []byte {
	t.Helper()
	by, err := jws.SignerFor(alg)
	must(err)
	return func(signed string) []byte {
		signature, err := by.Sign(private, []byte(signed))
		must(err)
		return signature
	}
}

// edToken is signed with the Ed25519 key of the tests.
func edToken(t testing.TB, kid string, claims map[string]any) string {
	t.Helper()
	header := map[string]any{"alg": "EdDSA", "kid": kid, "typ": "JWT"}
	return forge(t, header, claims, signer(t, jwa.EdDSA(), keytest.Private()["Ed25519"]))
}

// good fails the test unless a token is accepted.
func good(t testing.TB, o *reviewer.OIDC, raw string) {
	t.Helper()
	if b, err := o.Verify(t.Context(), raw); err != nil || b.Tenant != aTenant || b.Name == "" {
		t.Errorf("Verify = %+v, %v (%v); want the bearer", b, err, causeOf(err))
	}
}

// bad fails the test unless a token is refused with an error of this kind, none of whose texts quotes it.
func bad(t testing.TB, o *reviewer.OIDC, raw string, kind error) {
	t.Helper()
	_ = fails(t, o, raw, kind)
}

// fails is like bad and returns the error.
func fails(t testing.TB, o *reviewer.OIDC, raw string, kind error) error {
	t.Helper()
	b, err := o.Verify(t.Context(), raw)
	if !errors.Is(err, kind) || !reflect.DeepEqual(b, reviewer.Claims{}) {
		t.Errorf("Verify = %+v, %v (%v); want that it is %v", b, err, causeOf(err), kind)
	}
	quotesNothing(t, err, raw)
	return err
}

// quotesNothing fails the test when an error or what caused it quotes a token.
func quotesNothing(t testing.TB, err error, raw string) {
	t.Helper()
	words := fmt.Sprint(err, causeOf(err))
	for _, part := range strings.Split(raw, ".") {
		text := part
		if len(part)%4 != 1 && strings.Trim(part, alphabet) == "" {
			text = decode(t, part)
		}
		if len(part) > 8 && (strings.Contains(words, part[:8]) || strings.Contains(words, text)) {
			t.Errorf("the error %q quotes the token", words)
		}
	}
}

func causeOf(err error) error {
	var e *verification.Error
	if errors.As(err, &e) {
		return e.Cause
	}
	return nil
}
