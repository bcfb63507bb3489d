// Package webhook sends lifecycle webhooks: one signed POST for each attempt, as
// Standard Webhooks defines it. See docs/webhooks.md for what clients are promised.
//
// The receiver is not trusted. Its address is checked when it is dialled, redirects
// are not followed, no proxy is used, and time, headers and body of the response
// are bounded. The engine decides when to retry.
package webhook

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/internal/transport"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// The bounds of an attempt.
const (
	defaultTimeout = 15 * time.Second
	maxBody        = 64 << 10 // bytes of the response's body that are read
	maxHeaders     = 16 << 10 // bytes of the response's headers
	maxIdle        = 64       // idle connections
	maxIdlePerHost = 4
)

// Options configure New. Secrets and Now are required.
type Options struct {
	// Secrets returns the whsec_ secrets of a tenant, the newest first. Each of
	// them signs; there are two while they rotate.
	Secrets func(ctx context.Context, t verification.TenantID) ([]string, error)
	// Now is the clock of the engine. Retry-After counts from it.
	Now func() time.Time
	// Timeout bounds an attempt, from name resolution to the end of the response; 0
	// means 15 s. It must be shorter than the engine's lease, or another host sends
	// the notice again.
	Timeout time.Duration
	// AllowPrivateNetworks allows every address and port, private and loopback
	// addresses included.
	AllowPrivateNetworks bool
	// Roots are the trusted certificate authorities; nil means the authorities of the system.
	Roots *x509.CertPool
	// Resolver resolves names; nil means the resolver of the system.
	Resolver *net.Resolver
	// Observe is called after every attempt that ctx did not end, before Notify returns;
	// it may be nil. Several goroutines may call it at once.
	Observe func(ctx context.Context, a Attempt)
}

// notifier sends notices over HTTP.
type notifier struct {
	opt       Options
	transport *http.Transport
}

// New returns a notifier that sends notices over HTTP, or an error that names the invalid option. It is safe for
// concurrent use. It does not log; Options.Observe receives every attempt.
func New(o Options) (rules.Notifier, error) {
	switch {
	case o.Secrets == nil:
		return nil, errors.New("webhook: the option Secrets is required")
	case o.Now == nil:
		return nil, errors.New("webhook: the option Now is required")
	case o.Timeout < 0:
		return nil, errors.New("webhook: the option Timeout must not be negative")
	case o.Timeout == 0:
		o.Timeout = defaultTimeout
	}
	return &notifier{opt: o, transport: transport.New(transport.Options{
		Timeout: o.Timeout, AllowPrivateNetworks: o.AllowPrivateNetworks, Roots: o.Roots, Resolver: o.Resolver,
		MaxIdle: maxIdle, MaxIdlePerHost: maxIdlePerHost, MaxHeaderBytes: maxHeaders,
	})}, nil
}

// Notify makes one attempt. It returns nil if the client accepted the notice, and a
// *verification.RetryError if the client said when to retry, or not to retry. After
// any other error the engine retries as planned. An attempt that ends because ctx is
// done returns an error, and does not count.
func (n *notifier) Notify(ctx context.Context, notice rules.Notice) error {
	began := n.opt.Now()
	r := n.send(ctx, notice)
	if r.status == 0 && ctx.Err() != nil {
		return &failure{origin: transport.Origin(notice.URL), reason: "this host stopped the attempt", cause: ctx.Err()}
	}
	ended := n.opt.Now()
	if n.opt.Observe != nil {
		n.opt.Observe(ctx, Attempt{
			Notice: notice.ID, Tenant: notice.Tenant, Run: notice.Run.ID, Number: notice.Attempt, At: notice.At,
			Class: r.class, Status: r.status, Took: ended.Sub(began), Err: r.err,
		})
	}
	if r.class == classGone {
		return &verification.RetryError{Cause: r.err}
	}
	if at, ok := transport.RetryAfter(r.retryAfter, ended); ok && at.After(ended) {
		return &verification.RetryError{At: at, Cause: r.err}
	}
	return r.err
}

type result struct {
	class      string
	status     int    // 0 without a response
	retryAfter string // the header of a response other than 2xx
	err        error  // nil if delivered
}

// send posts the notice and reads the response.
func (n *notifier) send(ctx context.Context, notice rules.Notice) result {
	origin := transport.Origin(notice.URL)
	failed := func(class, reason string, cause error) result {
		return result{class: class, err: &failure{class: class, origin: origin, reason: reason, cause: cause}}
	}
	ctx, cancel := context.WithTimeout(ctx, n.opt.Timeout)
	defer cancel()
	body, err := bodyOf(notice)
	if err != nil {
		return failed(classUnsent, "the notice cannot be encoded", err)
	}
	signatures, err := n.sign(ctx, notice, body)
	if err != nil {
		return failed(classUnsent, "the notice cannot be signed", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, notice.URL, bytes.NewReader(body))
	if err != nil || origin == transport.NoOrigin {
		return failed(classBlocked, "the URL must be an absolute http(s) URL", err)
	}
	h := request.Header
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "verifyd")
	h.Set(apitypes.WebhookID, notice.ID)
	h.Set(apitypes.WebhookTimestamp, strconv.FormatInt(notice.At.Unix(), 10))
	h.Set(apitypes.WebhookSignature, signatures)
	transport.Trace(request)
	// An http.Client would follow redirects, or at least parse their targets.
	response, err := n.transport.RoundTrip(request)
	if err != nil {
		class, reason := n.classify(err)
		return failed(class, reason, err)
	}
	defer response.Body.Close()
	class := classOf(response.StatusCode)
	if class != classDelivered {
		r := failed(class, "it answered "+strconv.Itoa(response.StatusCode), nil)
		r.status, r.retryAfter = response.StatusCode, response.Header.Get("Retry-After")
		return r
	}
	// The notice is delivered once the response, or maxBody of it, is read.
	if _, err := io.CopyN(io.Discard, response.Body, maxBody); err != nil && !errors.Is(err, io.EOF) {
		class, reason := n.classify(err)
		return failed(class, reason, err)
	}
	return result{class: class, status: response.StatusCode}
}

// bodyOf encodes the event of a notice.
func bodyOf(n rules.Notice) ([]byte, error) {
	if n.Seq == 0 && !n.Run.Status.Terminal() {
		return nil, fmt.Errorf("run %s has not ended: its status is %s", n.Run.ID, n.Run.Status)
	}
	return json.Marshal(apitypes.NewEvent(n), jsontext.AllowInvalidUTF8(true))
}
