// Auth: how requests identify themselves to the vendor.

package rest

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/verifyd/verifyd/internal/transport"
)

// auth adds credentials to requests.
type auth struct {
	header, value, masked string // empty without such a header
	oauth                 *tokens
}

// auth compiles the credentials of requests.
func (c *compiler) auth(a authConfig, client *http.Transport, timeout time.Duration) *auth {
	const at, authorization = "auth", "Authorization"
	given := 0
	for _, is := range []bool{a.Bearer != "", a.Basic != nil, a.Header != nil, a.OAuth2 != nil} {
		if is {
			given++
		}
	}
	switch {
	case given > 1:
		c.problem(at, "must have only one of bearer, basic, header and oauth2")
	case a.Bearer != "":
		return &auth{header: authorization, value: "Bearer " + c.fixed("auth.bearer", a.Bearer), masked: "Bearer " + mask}
	case a.Basic != nil:
		pair := c.fixed("auth.basic.username", a.Basic.Username) + ":" + c.fixed("auth.basic.password", a.Basic.Password)
		return &auth{header: authorization, value: "Basic " + base64.StdEncoding.EncodeToString([]byte(pair)), masked: "Basic " + mask}
	case a.Header != nil:
		c.headerName("auth.header.name", a.Header.Name)
		return &auth{header: a.Header.Name, value: c.fixed("auth.header.value", a.Header.Value), masked: mask}
	case a.OAuth2 != nil:
		return &auth{header: authorization, masked: "Bearer " + mask, oauth: c.oauth(*a.OAuth2, client, timeout)}
	}
	return &auth{}
}

// apply adds the credentials to a request.
func (a *auth) apply(ctx context.Context, h http.Header) error {
	value := a.value
	if a.oauth != nil {
		t, err := a.oauth.token(ctx)
		if err != nil {
			return err
		}
		value = "Bearer " + t
	}
	if a.header != "" {
		h.Set(a.header, value)
	}
	return nil
}

// credentials returns what identifies the last request, without the scheme.
func (a *auth) credentials() string {
	if a.oauth != nil {
		if last := a.oauth.cached(); last != nil {
			return last.AccessToken
		}
		return ""
	}
	return strings.TrimPrefix(strings.TrimPrefix(a.value, "Bearer "), "Basic ")
}

// renew drops a token that the vendor refused, and reports whether the request can be
// sent with another one.
func (a *auth) renew(h http.Header) bool {
	if a.oauth == nil {
		return false
	}
	a.oauth.drop(strings.TrimPrefix(h.Get(a.header), "Bearer "))
	return true
}

// tokens caches the token of an OAuth 2.0 client.
type tokens struct {
	config clientcredentials.Config
	client *http.Client
	turn   chan struct{} // one fetch at a time

	mu   sync.Mutex
	last *oauth2.Token
}

func (c *compiler) oauth(o oauth2Config, client *http.Transport, timeout time.Duration) *tokens {
	const at = "auth.oauth2."
	if transport.Origin(o.TokenURL) == transport.NoOrigin {
		c.problem(at+"token_url", "must be an absolute http(s) URL")
	}
	params := url.Values{}
	for name, value := range o.Params {
		params.Set(name, value)
	}
	if len(o.Scopes) > 0 && params.Has("scope") {
		c.problem(at+"params.scope", "must not be given together with scopes")
	}
	return &tokens{
		config: clientcredentials.Config{
			TokenURL: o.TokenURL, ClientID: c.fixed(at+"client_id", o.ClientID), ClientSecret: c.fixed(at+"client_secret", o.ClientSecret),
			Scopes: o.Scopes, EndpointParams: params,
		},
		client: &http.Client{
			Transport: strictTokens{client}, Timeout: timeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		turn: make(chan struct{}, 1),
	}
}

// token returns a token that has not expired. An error of the token endpoint is a
// tokenError.
func (t *tokens) token(ctx context.Context) (string, error) {
	if last := t.cached(); last.Valid() {
		return last.AccessToken, nil
	}
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if last := t.cached(); last.Valid() {
		return last.AccessToken, nil
	}
	fresh, err := t.config.Token(context.WithValue(ctx, oauth2.HTTPClient, t.client))
	if err != nil {
		return "", &tokenError{err}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = fresh
	return fresh.AccessToken, nil
}

func (t *tokens) cached() *oauth2.Token {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// drop forgets a token that the vendor refused.
func (t *tokens) drop(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last != nil && t.last.AccessToken == token {
		t.last = nil
	}
}

// strictTokens refuses a response whose JSON has no clear meaning.
type strictTokens struct{ http.RoundTripper }

// maxToken is the maximum length of the response of a token endpoint in bytes.
const maxToken = 1 << 20

// RoundTrip implements http.RoundTripper.
func (s strictTokens) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Accept-Encoding", "identity")
	got, err := s.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer got.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(got.Body, maxToken))
	if err != nil {
		return nil, err
	}
	text, fault := readable(got.Header, raw, maxToken)
	if fault != "" {
		return nil, &unclearError{got.StatusCode, fault}
	}
	got.Body = io.NopCloser(bytes.NewReader(transport.TokenResponse(text)))
	return got, nil
}

// unclearError is a response of a token endpoint whose JSON has no clear meaning.
type unclearError struct {
	status int
	fault  string
}

func (e *unclearError) Error() string { return fmt.Sprintf("responded with %d: %s", e.status, e.fault) }

// tokenError is a failed request for a token. The text of its cause may have the
// response.
type tokenError struct{ cause error }

func (e *tokenError) Error() string { return "no OAuth 2.0 token" }

func (e *tokenError) Unwrap() error { return e.cause }

// response says what the endpoint responded, and whether the next response will be the
// same; empty if the request failed.
func (e *tokenError) response() (text string, final bool) {
	if unclear, ok := errors.AsType[*unclearError](e.cause); ok {
		return unclear.Error(), false
	}
	if refused, ok := errors.AsType[*oauth2.RetrieveError](e.cause); ok && refused.Response != nil {
		s := refused.Response.StatusCode
		return fmt.Sprintf("responded with %d", s), s < 500 && s != http.StatusTooManyRequests && s != http.StatusRequestTimeout
	}
	if _, failed := errors.AsType[*url.Error](e.cause); failed {
		return "", false
	}
	return "responded without a token", false
}

// credentials reads the client certificate and the vendor's authority.
func (c *compiler) credentials(m *mtlsConfig, ca string) (certificates []tls.Certificate, roots *x509.CertPool) {
	known := c.opt.Secret != nil
	if ca != "" {
		roots = x509.NewCertPool()
		if pem := c.fixed("ca", ca); pem != "" && known && !roots.AppendCertsFromPEM([]byte(pem)) {
			c.problem("ca", "must be certificates in PEM")
		}
	}
	if m == nil {
		return nil, roots
	}
	certificate, key := c.fixed("auth.mtls.certificate", m.Certificate), c.fixed("auth.mtls.key", m.Key)
	if certificate == "" || key == "" || !known {
		return nil, roots
	}
	pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
	if err != nil {
		c.problem("auth.mtls", "must be a certificate and its key, in PEM")
	}
	return []tls.Certificate{pair}, roots
}

// headerName reports a header that requests cannot set.
func (c *compiler) headerName(path, name string) {
	plain := name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~") == ""
	switch {
	case !plain:
		c.problem(path, "must be the name of a header")
	case map[string]bool{"Host": true, "Content-Length": true, "Transfer-Encoding": true, "Connection": true}[http.CanonicalHeaderKey(name)]:
		c.problem(path, "the header "+name+" cannot be set")
	}
}
