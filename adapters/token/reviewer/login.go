// Signing in at an OpenID Connect issuer: the authorization code flow with PKCE.

package reviewer

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"github.com/verifyd/verifyd/internal/transport"
	"github.com/verifyd/verifyd/verification"
)

const (
	exchangeTimeout = 10 * time.Second
	endpointsLife   = time.Hour        // for which the discovery document is used
	retryAfter      = 10 * time.Second // from one failed fetch of it to the next
	maxAttempt      = 500              // bytes of an attempt
)

// Login signs reviewers in to the console at an issuer, with its client id. It is
// safe for concurrent use. It implements console.IdentityProvider.
type Login interface {
	// Begin returns the URL at which a person signs in, and the secrets of this attempt,
	// which Finish needs. The attempt is at most 500 bytes that fit into a cookie. It
	// fails with ErrUnavailable if the issuer does not answer.
	Begin(ctx context.Context) (signIn, attempt string, err error)
	// Matches returns ErrUnauthenticated unless a response belongs to an attempt and has a code
	// of the issuer. It calls nobody.
	Matches(attempt string, response url.Values) error
	// Finish returns the reviewer who signed in, and the ID token for SignOutURL. The
	// response is the query of the request to the callback URL. It fails with
	// ErrUnauthenticated if the response does not belong to the attempt or the issuer
	// refused it, with ErrForbidden if the reviewer has no role, and with ErrUnavailable
	// if the issuer does not answer.
	Finish(ctx context.Context, attempt string, response url.Values) (verification.Reviewer, string, error)
	// SignOutURL returns the URL at which a person signs out of the issuer, or "" if the
	// issuer has none. The ID token may be empty. It waits for the issuer no longer than ctx.
	SignOutURL(ctx context.Context, idToken string) (string, error)
}

type login struct {
	oidc      *OIDC
	callback  string // the URL that the issuer sends browsers back to
	home      string // the URL that it sends them to after signing out
	discovery *keySource
	tokens    *http.Client // of the token endpoint

	mu       sync.Mutex
	known    discoveryDocument
	err      error         // of the latest fetch
	nextAt   time.Time     // of the next fetch
	fetching chan struct{} // closed at the end of the fetch in progress; nil without one
}

// NewLogin returns the login of an issuer that has a ClientID and a RolesClaim. The issuer must allow
// the URLs callback, for the responses to sign-ins, and home, for people who have
// signed out.
func NewLogin(o *OIDC, callback, home string) (Login, error) {
	switch {
	case o.opt.ClientID == "":
		return nil, errors.New("oidc: the option ClientID is required")
	case o.opt.RolesClaim == "":
		return nil, errors.New("oidc: the option RolesClaim is required")
	}
	discovery := newKeySource(o.opt)
	tokens := *discovery.client
	tokens.Transport = tokenTransport{tokens.Transport}
	return &login{oidc: o, callback: callback, home: home, discovery: discovery, tokens: &tokens}, nil
}

// tokenTransport reads the responses of a token endpoint.
type tokenTransport struct{ to http.RoundTripper } // nil for that of net/http

// RoundTrip implements http.RoundTripper.
func (t tokenTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	to := t.to
	if to == nil {
		to = http.DefaultTransport
	}
	response, err := to.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxFetch))
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(transport.TokenResponse(raw)))
	return response, nil
}

func (l *login) Begin(ctx context.Context) (signIn, attempt string, err error) {
	document, err := l.document(ctx)
	if err != nil {
		return "", "", err
	}
	state, nonce, verifier := rand.Text(), rand.Text(), oauth2.GenerateVerifier()
	signIn = l.config(document).AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("nonce", nonce))
	return signIn, strings.Join([]string{state, nonce, verifier}, "."), nil
}

func (l *login) Matches(attempt string, response url.Values) error {
	_, err := l.matches(attempt, response)
	return err
}

// matches is Matches. It returns the state, the nonce and the verifier of the attempt.
func (l *login) matches(attempt string, response url.Values) ([]string, error) {
	secrets := strings.Split(attempt, ".")
	if len(attempt) > maxAttempt || len(secrets) != 3 ||
		subtle.ConstantTimeCompare([]byte(secrets[0]), []byte(response.Get("state"))) != 1 {
		return nil, refusedSignIn("it does not belong to a sign-in that this browser began", nil)
	}
	if iss := response.Get("iss"); iss != "" && iss != l.oidc.opt.Issuer {
		return nil, refusedSignIn("it comes from another issuer", nil)
	}
	if response.Get("code") == "" {
		return nil, refusedSignIn("the issuer refused it", fmt.Errorf("its error is %.100q", response.Get("error")))
	}
	return secrets, nil
}

func (l *login) Finish(ctx context.Context, attempt string, response url.Values) (verification.Reviewer, string, error) {
	none := verification.Reviewer{}
	secrets, err := l.matches(attempt, response)
	if err != nil {
		return none, "", err
	}
	raw, err := l.exchange(ctx, response.Get("code"), secrets[2])
	if err != nil {
		return none, "", err
	}
	t, err := parse(raw, maxIDToken)
	if err != nil {
		return none, "", err
	}
	claims, err := l.oidc.verify(ctx, t, l.oidc.opt.ClientID)
	if err != nil {
		return none, "", err
	}
	// See OpenID Connect Core 1.0, section 3.1.3.7.
	if azp := t.text("azp"); azp != "" && azp != l.oidc.opt.ClientID {
		return none, "", refusedSignIn("it was made for another client", nil)
	}
	if subtle.ConstantTimeCompare([]byte(secrets[1]), []byte(t.text("nonce"))) != 1 {
		return none, "", refusedSignIn("it was made for another sign-in", nil)
	}
	return claims.Reviewer, raw, nil
}

func (l *login) SignOutURL(ctx context.Context, idToken string) (string, error) {
	document, err := l.document(ctx)
	if err != nil || document.LogoutURL == "" {
		return "", err
	}
	u, err := url.Parse(document.LogoutURL)
	if err != nil {
		return "", fmt.Errorf("parse the end_session_endpoint: %w", err)
	}
	q := u.Query()
	q.Set("client_id", l.oidc.opt.ClientID)
	q.Set("post_logout_redirect_uri", l.home)
	if idToken != "" {
		q.Set("id_token_hint", idToken)
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

func (l *login) exchange(ctx context.Context, code, verifier string) (string, error) {
	document, err := l.document(ctx)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, oauth2.HTTPClient, l.tokens), exchangeTimeout)
	defer cancel()
	tokens, err := l.config(document).Exchange(ctx, code, oauth2.VerifierOption(verifier))
	var refusal *oauth2.RetrieveError
	switch {
	case errors.As(err, &refusal) && refusal.Response.StatusCode < http.StatusInternalServerError:
		return "", refusedSignIn("the issuer refused it", fmt.Errorf("the token endpoint answered with status %d and the error %.100q",
			refusal.Response.StatusCode, refusal.ErrorCode))
	case errors.As(err, &refusal): // whose text would quote the response
		return "", signInUnavailable(fmt.Errorf("the token endpoint answered with status %d", refusal.Response.StatusCode))
	case err != nil:
		return "", signInUnavailable(err)
	}
	raw, _ := tokens.Extra("id_token").(string)
	if raw == "" {
		return "", refusedSignIn("the issuer gave no ID token", nil)
	}
	return raw, nil
}

// config returns the OAuth client. A client without a secret sends its id in the body,
// and one with a secret sends both as the document says.
func (l *login) config(document discoveryDocument) *oauth2.Config {
	style := oauth2.AuthStyleInHeader
	if l.oidc.opt.ClientSecret == "" || len(document.AuthMethods) > 0 && !slices.Contains(document.AuthMethods, "client_secret_basic") {
		style = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{
		ClientID: l.oidc.opt.ClientID, ClientSecret: l.oidc.opt.ClientSecret, RedirectURL: l.callback,
		Scopes:   append([]string{"openid"}, l.oidc.opt.Scopes...),
		Endpoint: oauth2.Endpoint{AuthURL: document.AuthURL, TokenURL: document.TokenURL, AuthStyle: style},
	}
}

// document returns the discovery document, which is fetched once an hour. If that
// fails, or does not end before ctx, the one before stays in use.
func (l *login) document(ctx context.Context) (discoveryDocument, error) {
	l.mu.Lock()
	if now := l.oidc.opt.Now(); l.fetching == nil && !now.Before(l.nextAt) {
		l.fetching = make(chan struct{})
		go l.refresh(context.WithoutCancel(ctx), now, l.fetching) // others wait for it
	}
	fetching := l.fetching
	l.mu.Unlock()
	if fetching != nil {
		select {
		case <-fetching:
		case <-ctx.Done():
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known.Issuer == "" {
		return l.known, signInUnavailable(cmp.Or(l.err, context.Cause(ctx)))
	}
	return l.known, nil
}

func (l *login) refresh(ctx context.Context, now time.Time, done chan struct{}) {
	defer close(done)
	fetched, err := l.fetch(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err, l.nextAt, l.fetching = err, now.Add(retryAfter), nil
	if err == nil {
		l.known, l.nextAt = fetched, now.Add(endpointsLife)
	}
}

func (l *login) fetch(ctx context.Context) (discoveryDocument, error) {
	document, err := l.discovery.read(ctx)
	if err != nil {
		return document, fmt.Errorf("read the issuer's discovery document: %w", err)
	}
	for name, endpoint := range map[string]string{
		"authorization_endpoint": document.AuthURL, "token_endpoint": document.TokenURL, "end_session_endpoint": document.LogoutURL,
	} {
		if name == "end_session_endpoint" && endpoint == "" {
			continue
		}
		if err := checkURL(endpoint, false); err != nil {
			return document, fmt.Errorf("read the issuer's discovery document: its %s %w", name, err)
		}
	}
	return document, nil
}

func refusedSignIn(message string, cause error) error {
	return &verification.Error{Kind: verification.ErrUnauthenticated, Subject: "sign-in", Message: message, Cause: cause}
}

func signInUnavailable(cause error) error {
	return &verification.Error{Kind: verification.ErrUnavailable, Subject: "sign-in", Message: "the issuer does not answer", Cause: cause}
}
