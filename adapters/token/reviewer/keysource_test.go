package reviewer_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwa"

	"github.com/verifyd/verifyd/adapters/token/reviewer"
	"github.com/verifyd/verifyd/internal/rig/keytest"
	"github.com/verifyd/verifyd/verification"
)

func TestInvalidOptionsAreRefused(t *testing.T) {
	fine := reviewer.OIDCOptions{Issuer: farIssuer, Audience: anAudience, Now: func() time.Time { return noon }}
	for name, c := range map[string]struct {
		change func(*reviewer.OIDCOptions)
		want   string // empty: fine
	}{
		"as it is":               {func(*reviewer.OIDCOptions) {}, ""},
		"a slash at the end":     {func(o *reviewer.OIDCOptions) { o.Issuer = "https://id.example/" }, ""},
		"http on localhost":      {func(o *reviewer.OIDCOptions) { o.Issuer = "http://localhost:8080/realms/one" }, ""},
		"http on 127.0.0.1":      {func(o *reviewer.OIDCOptions) { o.Issuer = "http://127.0.0.1" }, ""},
		"http on ::1":            {func(o *reviewer.OIDCOptions) { o.Issuer = "http://[::1]:8080" }, ""},
		"keys with a query":      {func(o *reviewer.OIDCOptions) { o.JWKSURL = "https://id.example/keys?tenant=1" }, ""},
		"no issuer":              {func(o *reviewer.OIDCOptions) { o.Issuer = "" }, "the option Issuer is required"},
		"our own issuer":         {func(o *reviewer.OIDCOptions) { o.Issuer = localIssuer }, "the option Issuer must be an absolute URL"},
		"a mailbox":              {func(o *reviewer.OIDCOptions) { o.Issuer = "mailto:id@example.com" }, "the option Issuer must be an absolute URL"},
		"no host":                {func(o *reviewer.OIDCOptions) { o.Issuer = "https:///one" }, "the option Issuer must be an absolute URL"},
		"not a URL":              {func(o *reviewer.OIDCOptions) { o.Issuer = "https://id.example/%" }, "the option Issuer must be an absolute URL"},
		"http":                   {func(o *reviewer.OIDCOptions) { o.Issuer = "http://id.example" }, "the option Issuer must be https, or http on a loopback address"},
		"http nearby":            {func(o *reviewer.OIDCOptions) { o.Issuer = "http://10.0.0.1" }, "the option Issuer must be https, or http on a loopback address"},
		"http like localhost":    {func(o *reviewer.OIDCOptions) { o.Issuer = "http://localhost.example" }, "the option Issuer must be https, or http on a loopback address"},
		"another scheme":         {func(o *reviewer.OIDCOptions) { o.Issuer = "ftp://localhost" }, "the option Issuer must be https, or http on a loopback address"},
		"credentials":            {func(o *reviewer.OIDCOptions) { o.Issuer = "https://me:secret@id.example" }, "the option Issuer must not contain credentials"},
		"a fragment":             {func(o *reviewer.OIDCOptions) { o.Issuer = "https://id.example#" }, "the option Issuer must not have a fragment"},
		"a query":                {func(o *reviewer.OIDCOptions) { o.Issuer = "https://id.example?" }, "the option Issuer must not have a query"},
		"keys over http":         {func(o *reviewer.OIDCOptions) { o.JWKSURL = "http://id.example/keys" }, "the option JWKSURL must be https, or http on a loopback address"},
		"keys with a fragment":   {func(o *reviewer.OIDCOptions) { o.JWKSURL = "https://id.example/keys#1" }, "the option JWKSURL must not have a fragment"},
		"no audience":            {func(o *reviewer.OIDCOptions) { o.Audience = "" }, "the option Audience or ClientID is required"},
		"one client":             {func(o *reviewer.OIDCOptions) { o.ClientID = o.Audience }, ""},
		"two clients":            {func(o *reviewer.OIDCOptions) { o.ClientID, o.SubjectClaim = "console", "oid" }, ""},
		"two clients, a default": {func(o *reviewer.OIDCOptions) { o.ClientID = "console" }, "the option SubjectClaim is required if ClientID and Audience differ"},
		"no clock":               {func(o *reviewer.OIDCOptions) { o.Now = nil }, "the option Now is required"},
		"keys at a relative URL": {func(o *reviewer.OIDCOptions) { o.JWKSURL = "/keys" }, "the option JWKSURL must be an absolute URL"},
	} {
		t.Run(name, func(t *testing.T) {
			opt := fine
			c.change(&opt)
			want := ""
			if c.want != "" {
				want = "oidc: " + c.want
			}
			o, err := reviewer.NewOIDC(opt)
			if (err == nil) != (c.want == "") || err != nil && err.Error() != want {
				t.Errorf("NewOIDC: %v, want %q", err, want)
			}
			if err == nil {
				o.Close()
			}
		})
	}
}

func TestTheDiscoveryDocumentIsBelowTheIssuer(t *testing.T) {
	for path, want := range map[string]string{
		"": discovery, "/": discovery, "/realms/one": "/realms/one" + discovery, "/realms/one/": "/realms/one" + discovery,
	} {
		i := newIssuer(t, publicOf(t, keytest.Private()["Ed25519"], "kid", "k"))
		i.breaks(discovery, http.StatusNotFound)
		i.says(want, map[string]any{"issuer": i.URL + path, "jwks_uri": i.URL + "/keys"})
		o := i.verifier(t, func(o *reviewer.OIDCOptions) { o.Issuer += path })
		good(t, o, edToken(t, "k", i.claims("iss", i.URL+path)))
	}
}

func TestWithAJWKSURLTheDiscoveryDocumentIsNotRead(t *testing.T) {
	i := newIssuer(t, publicOf(t, keytest.Private()["Ed25519"], "kid", "k"))
	good(t, i.verifier(t, func(o *reviewer.OIDCOptions) { o.JWKSURL = i.URL + "/keys" }), edToken(t, "k", i.claims()))
	i.wantRequests(t, 0, 1)
}

func TestMovedKeysAreDiscoveredAgain(t *testing.T) {
	i := newIssuer(t, publicOf(t, keytest.Private()["Ed25519"], "kid", "k"))
	o := i.verifier(t)
	good(t, o, edToken(t, "k", i.claims()))
	i.wantRequests(t, 1, 1)
	for range 23 {
		i.clock.advance(time.Hour)
		good(t, o, edToken(t, "k", i.claims()))
	}
	i.wantRequests(t, 0, 23)
	i.clock.advance(time.Hour)
	good(t, o, edToken(t, "k", i.claims()))
	i.wantRequests(t, 1, 1) // the discovery document is read again once a day

	i.breaks("/keys", http.StatusGone)
	i.says(discovery, map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/elsewhere"})
	i.says("/elsewhere", map[string]any{"keys": []any{publicOf(t, keytest.Private()["Ed25519"], "kid", "fresh")}})
	i.clock.advance(time.Hour)
	bad(t, o, edToken(t, "fresh", i.claims()), verification.ErrUnavailable)
	i.clock.advance(time.Minute)
	good(t, o, edToken(t, "fresh", i.claims()))
	bad(t, o, edToken(t, "k", i.claims()), verification.ErrUnauthenticated)
}

func TestInvalidResponsesGiveNoKeys(t *testing.T) {
	text := func(s string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) }
	}
	to := func(where string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, where, http.StatusFound) }
	}
	document := func(issuer, keys string) http.HandlerFunc {
		return text(fmt.Sprintf(`{"issuer": %q, "jwks_uri": %q}`, issuer, keys))
	}
	many := make([]map[string]any, 101)
	for name, c := range map[string]struct {
		path   string
		answer func(i *issuer) http.HandlerFunc
		want   string
	}{
		"no document":             {discovery, func(*issuer) http.HandlerFunc { return http.NotFound }, "read the issuer's discovery document: the response has status 404, not 200"},
		"not JSON":                {discovery, func(*issuer) http.HandlerFunc { return text("<html>") }, "read the issuer's discovery document: it is not a JSON object with strings for issuer and jwks_uri"},
		"another issuer":          {discovery, func(i *issuer) http.HandlerFunc { return document("https://evil.example", i.URL+"/keys") }, `read the issuer's discovery document: its issuer is "https://evil.example", not "ISSUER"`},
		"its issuer with a slash": {discovery, func(i *issuer) http.HandlerFunc { return document(i.URL+"/", i.URL+"/keys") }, `read the issuer's discovery document: its issuer is "ISSUER/", not "ISSUER"`},
		"no issuer in it":         {discovery, func(*issuer) http.HandlerFunc { return text(`{}`) }, `read the issuer's discovery document: its issuer is "", not "ISSUER"`},
		"a document of null":      {discovery, func(*issuer) http.HandlerFunc { return text(`null`) }, `read the issuer's discovery document: its issuer is "", not "ISSUER"`},
		"no jwks_uri":             {discovery, func(i *issuer) http.HandlerFunc { return document(i.URL, "") }, "read the issuer's discovery document: its jwks_uri is required"},
		"keys over http":          {discovery, func(i *issuer) http.HandlerFunc { return document(i.URL, "http://id.example/keys") }, "read the issuer's discovery document: its jwks_uri must be https, or http on a loopback address"},
		"keys in a file":          {discovery, func(i *issuer) http.HandlerFunc { return document(i.URL, "file:///etc/passwd") }, "read the issuer's discovery document: its jwks_uri must be an absolute URL"},
		"a large document":        {discovery, func(*issuer) http.HandlerFunc { return text(strings.Repeat(" ", 1<<20+1)) }, "read the issuer's discovery document: the response is larger than 1 MiB"},
		"moved over http":         {discovery, func(*issuer) http.HandlerFunc { return to("http://id.example/") }, "the URL that it redirects to must be https, or http on a loopback address"},
		"moved with credentials":  {discovery, func(i *issuer) http.HandlerFunc { return to(strings.Replace(i.URL, "//", "//me:secret@", 1)) }, "the URL that it redirects to must not contain credentials"},
		"moved in circles":        {discovery, func(i *issuer) http.HandlerFunc { return to(i.URL + discovery) }, "it redirects more than 3 times"},
		"no keys":                 {"/keys", func(*issuer) http.HandlerFunc { return http.NotFound }, "read the issuer's keys: the response has status 404, not 200"},
		"nothing": {"/keys", func(*issuer) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }
		}, "read the issuer's keys: the response has status 204, not 200"},
		"an empty answer":        {"/keys", func(*issuer) http.HandlerFunc { return text("") }, `read the issuer's keys: it is not a JWK set: {"keys": [...]}`},
		"an object without keys": {"/keys", func(*issuer) http.HandlerFunc { return text(`{"error": "not now"}`) }, `read the issuer's keys: it is not a JWK set: {"keys": [...]}`},
		"keys null":              {"/keys", func(*issuer) http.HandlerFunc { return text(`{"keys": null}`) }, `read the issuer's keys: it is not a JWK set: {"keys": [...]}`},
		"one key alone": {"/keys", func(*issuer) http.HandlerFunc {
			return text(string(mustJSON(publicOf(t, keytest.Private()["Ed25519"], "kid", "k"))))
		}, `read the issuer's keys: it is not a JWK set: {"keys": [...]}`},
		"101 keys":    {"/keys", func(*issuer) http.HandlerFunc { return text(string(keytest.Set(t, many...))) }, "read the issuer's keys: it holds more than 100 keys"},
		"a large set": {"/keys", func(*issuer) http.HandlerFunc { return text(`{"keys": []}` + strings.Repeat(" ", 1<<20)) }, "read the issuer's keys: the response is larger than 1 MiB"},
		"an answer cut short": {"/keys", func(*issuer) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "100")
				_, _ = io.WriteString(w, `{"keys": [`)
			}
		}, "read the issuer's keys: read the response: unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t, publicOf(t, keytest.Private()["Ed25519"], "kid", "k"))
			i.answer(c.path, c.answer(i))
			var observed error
			o := i.verifier(t, func(o *reviewer.OIDCOptions) { o.Observe = func(_ int, err error) { observed = err } })
			err := fails(t, o, edToken(t, "k", i.claims()), verification.ErrUnavailable)
			want := strings.ReplaceAll(c.want, "ISSUER", i.URL)
			if cause := causeOf(err); cause == nil || !strings.HasSuffix(cause.Error(), want) || !errors.Is(observed, cause) {
				t.Errorf("the cause is %v, and Observe gets %v; want %q", cause, observed, want)
			}
		})
	}
}

func TestRedirectsStayWithHTTPS(t *testing.T) {
	key := publicOf(t, keytest.Private()["Ed25519"], "kid", "k")
	i := newIssuer(t, key)
	i.says("/three", map[string]any{"keys": []any{key}})
	i.answer("/two", http.RedirectHandler("/three", http.StatusMovedPermanently).ServeHTTP)
	i.answer("/one", http.RedirectHandler(i.URL+"/two", http.StatusTemporaryRedirect).ServeHTTP)
	i.answer("/keys", http.RedirectHandler("/one", http.StatusFound).ServeHTTP)
	good(t, i.verifier(t), edToken(t, "k", i.claims()))

	secure := httptest.NewTLSServer(http.RedirectHandler(i.URL+"/three", http.StatusFound))
	t.Cleanup(secure.Close)
	o := i.verifier(t, func(o *reviewer.OIDCOptions) { o.JWKSURL, o.Client = secure.URL, secure.Client() })
	err := fails(t, o, edToken(t, "k", i.claims()), verification.ErrUnavailable)
	if cause := fmt.Sprint(causeOf(err)); !strings.HasSuffix(cause, "it redirects from https to http") {
		t.Errorf("the cause is %q, want that it redirects", cause)
	}

	// A client with its own CheckRedirect keeps it.
	own := *secure.Client()
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return nil }
	good(t, i.verifier(t, func(o *reviewer.OIDCOptions) { o.JWKSURL, o.Client = secure.URL, &own }), edToken(t, "k", i.claims()))
	if secure.Client().CheckRedirect != nil {
		t.Error("the client that was given has changed")
	}
}

func TestAnUntrustedCertificateGivesNoKeys(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	i := newIssuer(t)
	o := i.verifier(t, func(o *reviewer.OIDCOptions) { o.JWKSURL = secure.URL })
	err := fails(t, o, edToken(t, "k", i.claims()), verification.ErrUnavailable)
	if cause := fmt.Sprint(causeOf(err)); !strings.Contains(cause, "certificate") {
		t.Errorf("the cause is %q, want that the certificate is not trusted", cause)
	}
}

func TestKeysThatCannotVerifyAreSkipped(t *testing.T) {
	ed := keytest.Private()["Ed25519"]
	number := func(n int) string { return base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("\xff", n))) }
	skipped := []map[string]any{
		nil,
		{},
		{"kty": "quantum", "kid": "a"},
		{"kty": "EC", "crv": "secp256k1", "x": b64(32), "y": b64(32)},
		{"kty": "EC", "crv": "P-256", "x": b64(32), "y": b64(32)},
		{"kty": "OKP", "crv": "Ed448", "x": b64(57)},
		{"kty": "OKP", "crv": "X25519", "x": b64(32)},
		{"kty": "OKP", "crv": "Ed25519", "x": b64(31)},
		{"kty": "RSA", "e": "AQAB", "n": number(128)},
		{"kty": "RSA", "e": "AQAB", "n": number(1025)},
		{"kty": "RSA", "e": "AQAB"},
		{"kty": "oct", "k": b64(64), "alg": "HS256"},
		keytest.JWK(t, ed, "kid", "private"),
		keytest.JWK(t, keytest.Private()["RSA"], "kid", "private"),
		keytest.JWK(t, keytest.Private()["P-256"], "kid", "private"),
		publicOf(t, ed, "use", "enc"),
		publicOf(t, ed, "key_ops", []string{"encrypt"}),
		publicOf(t, ed, "alg", "ES256"),
		publicOf(t, ed, "alg", "none"),
		publicOf(t, keytest.Private()["RSA"], "alg", "RSA-OAEP"),
		publicOf(t, keytest.Private()["RSA"], "alg", "HS256"),
		publicOf(t, keytest.Private()["P-256"], "alg", "ES384"),
	}
	i := newIssuer(t, append(skipped, publicOf(t, ed, "kid", "k"))...)
	count := 0
	o := i.verifier(t, func(o *reviewer.OIDCOptions) { o.Observe = func(n int, _ error) { count = n } })
	good(t, o, edToken(t, "k", i.claims()))
	if count != 1 {
		t.Errorf("%d keys verify, want one", count)
	}
	bad(t, o, edToken(t, "private", i.claims()), verification.ErrUnauthenticated)
}

func TestTheFirstOfTwoKeysOfOneKidCounts(t *testing.T) {
	first, second := publicOf(t, keytest.Private()["Ed25519"], "kid", "k"), publicOf(t, another(t), "kid", "k")
	enc := publicOf(t, keytest.Private()["RSA"], "kid", "k", "use", "enc")
	for _, c := range []struct {
		keys []map[string]any
		want bool
	}{
		{[]map[string]any{first, second}, true},
		{[]map[string]any{second, first}, false},
		{[]map[string]any{enc, first, second}, true}, // of those that verify
	} {
		i := newIssuer(t, c.keys...)
		if c.want {
			good(t, i.verifier(t), edToken(t, "k", i.claims()))
		} else {
			bad(t, i.verifier(t), edToken(t, "k", i.claims()), verification.ErrUnauthenticated)
		}
	}
}

func TestAHundredKeysAreRead(t *testing.T) {
	keys := make([]map[string]any, 100)
	for n := range keys {
		keys[n] = maps.Clone(publicOf(t, keytest.Private()["Ed25519"], "kid", fmt.Sprint(n)))
	}
	i := newIssuer(t, keys...)
	good(t, i.verifier(t), edToken(t, "99", i.claims()))
}

func FuzzIssuerKeys(f *testing.F) {
	f.Add(string(keytest.Set(f, publicOf(f, keytest.Private()["Ed25519"], "kid", "k"))))
	f.Add(string(keytest.Set(f, publicOf(f, keytest.Private()["RSA"], "kid", "k"), publicOf(f, keytest.Private()["P-384"], "kid", "k", "alg", "ES384"))))
	f.Add(string(keytest.Set(f, keytest.JWK(f, keytest.Private()["P-256"], "kid", "k", "key_ops", []string{"sign", "verify"}))))
	f.Add(`{"keys": [{"kty": "RSA", "kid": "k", "e": "AQ", "n": "AQ", "x5c": ["AQ"]}]}`)
	f.Add(`{"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "k", "x": ""}, {"kty": "EC", "crv": "P-521", "x": "AQ", "y": "AQ"}]}`)
	f.Add(`{"keys": []}`)
	header := map[string]any{"alg": "EdDSA", "kid": "k"}
	tokens := []string{
		forge(f, header, claimsOf(farIssuer, noon), signer(f, jwa.EdDSA(), another(f))),
		forge(f, but(header, "alg", "RS256"), claimsOf(farIssuer, noon), func(string) []byte { return make([]byte, 256) }),
		forge(f, but(header, "alg", "ES256"), claimsOf(farIssuer, noon), func(string) []byte { return make([]byte, 64) }),
		forge(f, but(header, "alg", "ES384", "kid", nil), claimsOf(farIssuer, noon), func(string) []byte { return make([]byte, 96) }),
	}
	f.Fuzz(func(t *testing.T, body string) {
		o := far(t, printed(body))
		for _, raw := range tokens {
			if b, err := o.Verify(t.Context(), raw); !errors.Is(err, verification.ErrUnauthenticated) && !errors.Is(err, verification.ErrUnavailable) {
				t.Errorf("Verify(%s) = %+v, %v under %q", raw, b, err, body)
			}
		}
	})
}
