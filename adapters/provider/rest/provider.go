// Package rest calls a vendor's REST API as an operator declares it in a file: see
// docs/providers.md for the format.
//
// New compiles and checks the whole declaration, so that a provider is either
// complete or not made. A provider keeps no state of runs: what it needs to poll is
// in the handle of a pending result.
package rest

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/verifyd/verifyd/internal/transport"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Expressions compiles the expressions of a declaration. Each reads variables with
// the given JSON Schemas. The errors of compiled expressions name paths and no values. An error whose
// method Absent() bool returns true says that the expression read something that is not there.
type Expressions interface {
	// Expression compiles an expression whose value has a JSON type; empty for any. It
	// also returns the paths that the expression reads.
	Expression(text, kind string, vars map[string]verification.Data) (eval func(vars map[string]any) (any, error), reads []string, err error)
	// Text compiles a string with ${...}. escape, if not nil, is applied to the text of each
	// value.
	Text(text string, escape func(string) string, vars map[string]verification.Data) (render func(vars map[string]any) (any, error), reads []string, err error)
	// Schema compiles a JSON Schema.
	Schema(schema verification.Data) (workflow.Schema, error)
}

// absentError is an error of a compiled expression. Absent reports whether the expression
// read a value that the response does not have.
type absentError interface {
	error
	Absent() bool
}

// Options are what a provider needs from its host. Expressions and Now are required.
type Options struct {
	Expressions Expressions
	// Secret returns the value of a secret, and false if there is none. With a nil
	// Secret a declaration can be checked, but the provider makes no calls.
	Secret func(name string) (value string, ok bool)
	// Documents has the uploads that multipart bodies send.
	Documents verification.DocumentStore
	// AllowPrivateNetworks allows private and loopback addresses.
	AllowPrivateNetworks bool
	// Now is the clock of the engine.
	Now func() time.Time
	// Trace receives every exchange with the vendor, with its secrets masked; nil for
	// none. It is for tools, not for hosts: an exchange may have personal data.
	Trace func(Exchange)
}

// provider is a vendor's API.
type provider struct {
	compile func() (*compiled, error)
	current atomic.Pointer[compiled]
}

// compiled is a provider with its secrets as they were read once.
type compiled struct {
	vendor   string // its name and origin, for messages
	base     string
	opt      Options
	limits   limits
	turns    *rate.Limiter // nil for no rate
	auth     *auth
	client   *http.Transport
	secrets  map[string]any
	masks    map[string]any // like secrets, for Trace
	check    *endpoint
	poll     *endpoint // nil if there is nothing to poll
	every    time.Duration
	callback *callback // nil if the vendor does not call back
	returns  *returns  // nil if it does not say what a return means

	description verification.ProviderDescription
}

// endpoint is one request and what its responses mean.
type endpoint struct {
	request  *request
	response *response
}

var (
	_ verification.CallbackReceiver = (*receiver)(nil)
	_ verification.CallbackReceiver = (*callingReturner)(nil)
	_ verification.ReturnReceiver   = (*callingReturner)(nil)
	_ verification.ReturnReceiver   = (*returner)(nil)
	_ verification.CallLimiter      = (*provider)(nil)
	_ verification.Describer        = (*provider)(nil)
)

// receiver is a provider whose vendor calls back.
type receiver struct{ *provider }

// New returns the provider that a declaration describes, safe for concurrent use: a verification.Poller, a
// CallLimiter, a Describer, a CallbackReceiver if the vendor calls back, and a ReturnReceiver if it has a return. A
// method Reload() (changed bool, err error) reads the secrets again. An
// invalid declaration is an ErrInvalid with all its problems by path. No error and no
// later message contains the value of a secret.
func New(name string, declaration verification.Data, o Options) (verification.Poller, error) {
	p := &provider{compile: func() (*compiled, error) {
		c := &compiler{opt: o, secrets: map[string]any{}, masks: map[string]any{}}
		made := c.provider(name, declaration)
		if len(c.problems) > 0 {
			return nil, &verification.Error{Kind: verification.ErrInvalid, Subject: "provider", Message: "the provider is not valid", Fields: c.problems}
		}
		return made, nil
	}}
	made, err := p.compile()
	if err != nil {
		return nil, err
	}
	p.current.Store(made)
	switch {
	case made.callback != nil && made.returns != nil:
		return &callingReturner{&receiver{p}}, nil
	case made.callback != nil:
		return &receiver{p}, nil
	case made.returns != nil:
		return &returner{p}, nil
	}
	return p, nil
}

// Reload reads the secrets again, and reports whether one of them has changed. Calls in
// flight keep the old ones, and so do all calls if Reload fails.
func (p *provider) Reload() (changed bool, err error) {
	before := p.current.Load()
	after, err := p.compile()
	if err != nil || maps.Equal(before.secrets, after.secrets) {
		return false, err
	}
	after.turns = before.turns
	p.current.Store(after)
	before.client.CloseIdleConnections()
	return true, nil
}

// Servers returns the URLs of the servers that calls of the vendor connect to, and the transport that connects.
func (p *provider) Servers() ([]string, *http.Transport) {
	now := p.current.Load()
	if now.auth.oauth == nil {
		return []string{now.base}, now.client
	}
	return []string{now.base, now.auth.oauth.config.TokenURL}, now.client
}

// Describe returns the schemas of the checks.
func (p *provider) Describe() verification.ProviderDescription { return p.current.Load().description }

// MaxCalls returns the maximum number of calls at once.
func (p *provider) MaxCalls() int { return p.current.Load().limits.Concurrent }

// WaitTurn waits until the rate limit allows another call.
func (p *provider) WaitTurn(ctx context.Context) error { return p.current.Load().waitTurn(ctx) }

func (p *compiled) waitTurn(ctx context.Context) error {
	if p.turns == nil {
		return nil
	}
	return p.turns.Wait(ctx)
}

// Check sends the request of a check.
func (p *provider) Check(ctx context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	now := p.current.Load()
	return now.call(ctx, now.check, r, "")
}

// Poll requests a pending result. Without a poll request, the provider waits for the
// callback.
func (p *provider) Poll(ctx context.Context, r verification.PollRequest) (verification.CheckResult, error) {
	now := p.current.Load()
	if now.poll == nil {
		return verification.CheckResult{Outcome: verification.OutcomePending, Handle: r.Handle, PollAfter: now.every}, nil
	}
	return now.call(ctx, now.poll, r.CheckRequest, r.Handle)
}

func variables(r verification.CheckRequest, handle string) map[string]any {
	with := r.With
	if with == nil {
		with = map[string]any{}
	}
	return map[string]any{
		"with": with, "handle": handle,
		"request": map[string]any{
			"idempotency_key": r.IdempotencyKey, "callback_url": r.CallbackURL, "return_url": r.ReturnURL, "reference_id": r.ReferenceID,
			"run_id": string(r.Run), "check": r.Key, "dispatch": float64(r.Dispatch),
			"started_at": r.StartedAt.UTC().Format(time.RFC3339),
		},
	}
}

// baseURL checks the base of the vendor's URLs, and returns it without a trailing
// slash.
func baseURL(s string) (base, problem string) {
	u, err := url.Parse(s)
	switch {
	case err != nil || transport.Origin(s) == transport.NoOrigin:
		return "", "must be an absolute http(s) URL"
	case u.User != nil:
		return "", "must not have a user or a password: use auth"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", "must not have a query or a fragment"
	}
	return strings.TrimRight(s, "/"), ""
}
