// Package oidctest is an OpenID Connect provider for tests. It runs in the process of
// the test, with real keys, and without passwords: everybody who signs in is the person
// that the test has set.
package oidctest

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwk"
	"github.com/lestrrat-go/jwx/v3/jws"
	"github.com/lestrrat-go/jwx/v3/jwt"
)

// The client that a Provider knows.
const (
	ClientID     = "verifyd-console"
	ClientSecret = "secret of the console"
)

// Provider is an identity provider at URL. Its methods may be called at any time.
type Provider struct {
	*httptest.Server

	tb       testing.TB
	mu       sync.Mutex
	key      jwk.Key
	codes    map[string]grant // by code
	person   map[string]any   // claims
	lies     map[string]any   // claims that replace those of every token
	now      func() time.Time
	signOuts []url.Values
	public   bool
	down     bool
	asks     bool
}

// grant is what a code was issued for.
type grant struct {
	redirect, challenge, nonce string
	person                     map[string]any
}

// New starts a provider that runs until the test ends. Its tokens have the time of now.
func New(tb testing.TB, now func() time.Time) *Provider {
	tb.Helper()
	p := &Provider{tb: tb, codes: map[string]grant{}, now: now}
	p.Rotate()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /end", p.end)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.down {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	tb.Cleanup(p.Close)
	return p
}

// SignIn makes the person with these claims the one who signs in from now on.
func (p *Provider) SignIn(claims map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.person = maps.Clone(claims)
}

// Lie replaces claims of every ID token from now on; a nil value removes the claim.
func (p *Provider) Lie(claims map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lies = maps.Clone(claims)
}

// Rotate replaces the signing key.
func (p *Provider) Rotate() {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		p.tb.Fatal(err)
	}
	key, err := jwk.Import(private)
	if err == nil {
		err = key.Set(jwk.KeyIDKey, rand.Text())
	}
	if err != nil {
		p.tb.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key = key
}

// Public makes the client one without a secret.
func (p *Provider) Public() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.public = true
}

// Down makes the provider answer every request with 502, or ends that.
func (p *Provider) Down(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
}

// Ask makes the provider show a page with a link, a, that leads the browser back.
func (p *Provider) Ask() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asks = true
}

// SignOuts returns the queries of the requests to sign out.
func (p *Provider) SignOuts() []url.Values {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.signOuts)
}

func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	methods := []string{"client_secret_basic", "client_secret_post"}
	if p.public {
		methods = []string{"none"}
	}
	p.write(w, http.StatusOK, map[string]any{
		"issuer": p.URL, "jwks_uri": p.URL + "/keys", "authorization_endpoint": p.URL + "/authorize",
		"token_endpoint": p.URL + "/token", "end_session_endpoint": p.URL + "/end",
		"token_endpoint_auth_methods_supported": methods,
	})
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	public, err := p.key.PublicKey()
	if err != nil {
		p.tb.Error(err)
	}
	p.write(w, http.StatusOK, map[string]any{"keys": []jwk.Key{public}})
}

// authorize sends the browser back with a code.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || q.Get("client_id") != ClientID || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" ||
		q.Get("code_challenge") == "" || q.Get("state") == "" || !slices.Contains(strings.Fields(q.Get("scope")), "openid") {
		p.write(w, http.StatusBadRequest, map[string]any{"error": "invalid_request"})
		return
	}
	answer := url.Values{"state": {q.Get("state")}, "iss": {p.URL}}
	if p.person == nil {
		answer.Set("error", "access_denied")
	} else {
		code := rand.Text()
		p.codes[code] = grant{redirect: back.String(), challenge: q.Get("code_challenge"), nonce: q.Get("nonce"), person: p.person}
		answer.Set("code", code)
	}
	back.RawQuery = answer.Encode()
	if p.asks {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if _, err := io.WriteString(w, `<a href="`+html.EscapeString(back.String())+`">Sign in</a>`); err != nil {
			p.tb.Error(err)
		}
		return
	}
	http.Redirect(w, r, back.String(), http.StatusSeeOther)
}

// token exchanges a code, once, for an ID token.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, basic := r.BasicAuth()
	if basic {
		secret, _ = url.QueryUnescape(secret)
	} else {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if id != ClientID || !p.public && secret != ClientSecret || p.public && basic {
		p.write(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	g, ok := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !ok || g.redirect != r.PostFormValue("redirect_uri") || g.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
		p.write(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
		return
	}
	claims := map[string]any{
		"iss": p.URL, "aud": ClientID, "nonce": g.nonce, "iat": p.now().Unix(), "exp": p.now().Add(5 * time.Minute).Unix(),
	}
	maps.Copy(claims, g.person)
	maps.Copy(claims, p.lies)
	p.write(w, http.StatusOK, map[string]any{"access_token": "of no use", "token_type": "Bearer", "id_token": p.sign(claims)})
}

func (p *Provider) sign(claims map[string]any) string {
	t := jwt.New()
	for name, value := range claims {
		if value == nil {
			continue
		}
		if err := t.Set(name, value); err != nil {
			p.tb.Error(err)
		}
	}
	header := jws.NewHeaders()
	kid, _ := p.key.KeyID()
	if err := header.Set(jws.KeyIDKey, kid); err != nil {
		p.tb.Error(err)
	}
	raw, err := jwt.Sign(t, jwt.WithKey(jwa.EdDSA(), p.key, jws.WithProtectedHeaders(header)))
	if err != nil {
		p.tb.Error(err)
	}
	return string(raw)
}

// end sends the browser back after signing out.
func (p *Provider) end(w http.ResponseWriter, r *http.Request) {
	p.signOuts = append(p.signOuts, r.URL.Query())
	http.Redirect(w, r, r.URL.Query().Get("post_logout_redirect_uri"), http.StatusSeeOther)
}

func (p *Provider) write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		p.tb.Error(err)
	}
}
