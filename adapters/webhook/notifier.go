// One try of a notice, from its body to what its answer means.

package webhook

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/verifyd/verifyd/verification"
)

// The bounds of a try.
const (
	defaultTimeout = 15 * time.Second
	maxBody        = 64 << 10 // bytes of an answer that are read
	maxHeaders     = 16 << 10 // bytes of an answer's headers
)

// Options say how notices are sent. Secrets and Now are required.
type Options struct {
	// Secrets are the whsec_ secrets of a tenant, the newest first: one, or
	// several while they rotate. Each of them signs.
	Secrets func(ctx context.Context, t verification.TenantID) ([]string, error)
	// Now is the clock of the engine, by which a Retry-After counts.
	Now func() time.Time
	// Timeout bounds a try, from the look-up of the name to the end of the
	// answer; 0 means 15 s. It has to be shorter than the engine's lease: a
	// notice whose lease runs out is handed out again, and the try not counted.
	Timeout time.Duration
	// AllowPrivateNetworks lets notices go to any address and port, private
	// and loopback ones included.
	AllowPrivateNetworks bool
	// Roots are the authorities whose certificates are trusted; nil means
	// those of the system.
	Roots *x509.CertPool
	// Resolver looks names up; nil means the one of the system.
	Resolver *net.Resolver
	// Observe is told of every try that was counted, before Notify returns;
	// nil tells nobody. It may be called by many goroutines.
	Observe func(ctx context.Context, t Try)
}

// Notifier sends notices over HTTP. It is safe for concurrent use, and logs
// nothing: what is worth it is told to Options.Observe.
type Notifier struct {
	opt       Options
	transport *http.Transport
}

var _ verification.Notifier = (*Notifier)(nil)

// New makes a Notifier, or says which option is at fault.
func New(o Options) (*Notifier, error) {
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
	return &Notifier{opt: o, transport: newTransport(o)}, nil
}

// Notify makes one try. It returns nil when the client took the notice, a
// *verification.RetryError when the client said when to try again or never to,
// and any other error when the plan holds. A try that ended because ctx did is
// an error that is told to nobody, and is not one of the plan's.
func (n *Notifier) Notify(ctx context.Context, notice verification.Notice) error {
	began := n.opt.Now()
	a := n.try(ctx, notice)
	if a.status == 0 && ctx.Err() != nil {
		return &failure{origin: originOf(notice.URL), words: "it was cut off by this host", cause: ctx.Err()}
	}
	ended := n.opt.Now()
	if n.opt.Observe != nil {
		n.opt.Observe(ctx, Try{
			Notice: notice.ID, Tenant: notice.Tenant, Run: notice.Run.ID, Attempt: notice.Attempt, At: notice.At,
			Class: a.class, Status: a.status, Took: ended.Sub(began), Err: a.err,
		})
	}
	if a.class == ClassGone {
		return &verification.RetryError{Cause: a.err}
	}
	if at, ok := retryAfter(a.retryAfter, ended); ok {
		return &verification.RetryError{At: at, Cause: a.err}
	}
	return a.err
}

// answer is what came of a try.
type answer struct {
	class      Class
	status     int    // 0 without an answer
	retryAfter string // the header of one that is not 2xx
	err        error  // nil when delivered
}

// try posts the notice and waits for the answer.
func (n *Notifier) try(ctx context.Context, notice verification.Notice) answer {
	origin := originOf(notice.URL)
	failed := func(c Class, words string, cause error) answer {
		return answer{class: c, err: &failure{class: c, origin: origin, words: words, cause: cause}}
	}
	ctx, cancel := context.WithTimeout(ctx, n.opt.Timeout)
	defer cancel()
	body, err := bodyOf(notice.Run)
	if err != nil {
		return failed(ClassUnsent, "the notice cannot be written", err)
	}
	signatures, err := n.sign(ctx, notice, body)
	if err != nil {
		return failed(ClassUnsent, "the notice cannot be signed", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, notice.URL, bytes.NewReader(body))
	if err != nil || origin == nowhere {
		return failed(ClassBlocked, "it is no http(s) URL", err)
	}
	h := request.Header
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "verifyd")
	h.Set(standardwebhooks.HeaderWebhookID, notice.ID)
	h.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(notice.At.Unix(), 10))
	h.Set(standardwebhooks.HeaderWebhookSignature, signatures)
	// Not a Client: that would follow redirects, or at least parse them.
	response, err := n.transport.RoundTrip(request)
	if err != nil {
		class, words := n.reason(err)
		return failed(class, words, err)
	}
	defer response.Body.Close()
	class := classOf(response.StatusCode)
	if class != ClassDelivered {
		a := failed(class, "it answered "+strconv.Itoa(response.StatusCode), nil)
		a.status, a.retryAfter = response.StatusCode, response.Header.Get("Retry-After")
		return a
	}
	// The client has taken it once its answer is whole, or as long as we read.
	if _, err := io.CopyN(io.Discard, response.Body, maxBody); err != nil && !errors.Is(err, io.EOF) {
		class, words := n.reason(err)
		return failed(class, words, err)
	}
	return answer{class: class, status: response.StatusCode}
}
