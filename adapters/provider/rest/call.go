// Calls: one dispatch or poll, which may repeat its request.

package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/verifyd/verifyd/internal/transport"
	"github.com/verifyd/verifyd/verification"
)

const (
	maxHeaders = 64 << 10 // bytes of the headers of a response
	// maxShortWait is the longest Retry-After that a call waits for. A longer one is
	// left to the next dispatch.
	maxShortWait = 5 * time.Second
	// firstBackoff is the wait before a request is repeated for the first time after a
	// broken connection; it doubles.
	firstBackoff = 100 * time.Millisecond
)

// errNoTurn is returned if a request with a new token gets no turn within the timeout.
var errNoTurn = errors.New("no turn in time")

// call sends a request until the vendor responds, within the timeout.
func (p *compiled) call(ctx context.Context, e *endpoint, r verification.CheckRequest, handle string) (verification.CheckResult, error) {
	if p.opt.Secret == nil {
		return verification.CheckResult{}, verification.Permanent(errors.New(p.vendor + " has no secrets"))
	}
	limited, cancel := context.WithTimeout(ctx, p.limits.timeout())
	defer cancel()
	vars := variables(r, handle)
	vars["secret"] = p.secrets
	for repeats := 0; ; repeats++ { // at most limits.Retries
		result, wait, err := p.exchange(limited, e, r, vars)
		if err == nil {
			if unfinished(result) && result.Handle == "" {
				result.Handle = handle
			}
			return result, nil
		}
		if ctx.Err() != nil {
			return result, ctx.Err()
		}
		if wait < 0 || repeats >= p.limits.Retries || !p.pause(limited, max(wait, firstBackoff<<repeats)) {
			return result, err
		}
	}
}

// unfinished reports whether the result comes later.
func unfinished(r verification.CheckResult) bool {
	return r.Outcome == verification.OutcomePending || r.Outcome == verification.OutcomeRedirect
}

// noRetry is the wait of a request that is not repeated inside the call.
const noRetry = -1

// exchange sends a request once. After an error it returns the wait before the next
// request, or noRetry.
func (p *compiled) exchange(
	ctx context.Context, e *endpoint, r verification.CheckRequest, vars map[string]any,
) (result verification.CheckResult, wait time.Duration, err error) {
	a, err := p.send(ctx, e.request, verification.RunRef{Tenant: r.Tenant, Run: r.Run}, vars)
	if err != nil {
		f := p.failure(err)
		if f.broken {
			return result, 0, f
		}
		return result, noRetry, f
	}
	result, err = e.response.result(a, vars, r.Needs)
	undecided, is := errors.AsType[*undecidedError](err)
	switch {
	case err == nil && unfinished(result):
		later, _ := p.retryAfter(a.header)
		result.PollAfter = max(p.every, later)
		return result, 0, nil
	case err == nil:
		return result, 0, nil
	case !is:
		return result, noRetry, verification.Permanent(p.statusError(a.status, err.Error()))
	}
	err = p.classify(a, undecided)
	wait, given := p.retryAfter(a.header)
	if (a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable) && given && wait <= maxShortWait {
		return result, wait, err
	}
	return result, noRetry, err
}

// classify returns the error for a response for which no condition holds.
func (p *compiled) classify(a vendorResponse, why *undecidedError) error {
	switch s := a.status; {
	case s == http.StatusRequestTimeout, s == http.StatusTooEarly, s == http.StatusTooManyRequests, s >= 500:
		err := p.statusError(s, why.fault)
		if wait, ok := p.retryAfter(a.header); ok && wait > 0 {
			return &verification.RetryError{At: p.opt.Now().Add(wait), Cause: err}
		}
		return err
	case s >= 300 && s < 400:
		return verification.Permanent(p.statusError(s, "redirects are not followed"))
	case s >= 400:
		return verification.Permanent(p.statusError(s, why.fault))
	case a.body == nil && why.fault == "":
		return verification.Permanent(p.statusError(s, "its body is null or not JSON, and "+why.Error()))
	}
	return verification.Permanent(p.statusError(a.status, why.Error()))
}

// statusError returns an error that names vendor and status, never the body.
func (p *compiled) statusError(status int, why string) error {
	if why != "" {
		why = ": " + why
	}
	return fmt.Errorf("%s responded with %d%s", p.vendor, status, why)
}

func (p *compiled) send(ctx context.Context, r *request, run verification.RunRef, vars map[string]any) (vendorResponse, error) {
	made, err := p.request(ctx, r, run, vars)
	if err != nil {
		return vendorResponse{}, err
	}
	got, err := p.client.RoundTrip(made)
	if err == nil && got.StatusCode == http.StatusUnauthorized && p.auth.renew(made.Header) {
		_ = got.Body.Close() // it is not read
		p.trace(r, run, vars, got.StatusCode, nil, nil)
		if err := p.waitTurn(ctx); err != nil {
			return vendorResponse{}, fmt.Errorf("%w: %w", errNoTurn, err)
		}
		if made, err = p.request(ctx, r, run, vars); err != nil {
			return vendorResponse{}, err
		}
		got, err = p.client.RoundTrip(made)
	}
	if err != nil {
		p.trace(r, run, vars, 0, nil, err)
		return vendorResponse{}, err
	}
	defer got.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(got.Body, p.limits.ResponseBytes+1))
	if err == nil && int64(len(raw)) > p.limits.ResponseBytes {
		err = &tooLarge{got.StatusCode, p.limits.ResponseBytes}
	}
	p.trace(r, run, vars, got.StatusCode, raw, err)
	if err != nil {
		return vendorResponse{}, err
	}
	return newResponse(got.StatusCode, got.Header, raw, p.limits.ResponseBytes), nil
}

func (p *compiled) request(ctx context.Context, r *request, run verification.RunRef, vars map[string]any) (*http.Request, error) {
	made, err := r.build(ctx, p, run, vars)
	if err != nil {
		return nil, err
	}
	if made.Header.Get("Accept-Encoding") == "" {
		made.Header.Set("Accept-Encoding", "identity")
	}
	if err := p.auth.apply(ctx, made.Header); err != nil {
		closeBody(made)
		return nil, err
	}
	transport.Trace(made)
	return made, nil
}

// tooLarge says that a response is longer than the limit.
type tooLarge struct {
	status int
	limit  int64
}

func (e *tooLarge) Error() string {
	return fmt.Sprintf("responded with %d and more than %d bytes", e.status, e.limit)
}

// failure is a call without a usable response. Its text quotes nothing that was sent or
// received.
type failure struct {
	message string
	broken  bool // the connection broke: call sends the request again
	final   bool // another dispatch would fail in the same way
	cause   error
}

func (f *failure) Error() string { return f.message }

func (f *failure) Unwrap() error { return f.cause }

// Permanent reports whether another dispatch would fail in the same way.
func (f *failure) Permanent() bool { return f.final }

func (p *compiled) failure(err error) *failure {
	var (
		wrong *errRequest
		large *tooLarge
		token *tokenError
	)
	switch {
	case errors.As(err, &wrong):
		return &failure{message: p.vendor + " was not called: " + wrong.Error(), final: true}
	case errors.Is(err, errNoTurn):
		return &failure{message: p.vendor + " responded with 401, and limits.per_second allows no other request in time", cause: err}
	case errors.Is(err, errUnread):
		return &failure{message: p.vendor + " was not called: a document cannot be read", cause: err}
	case errors.As(err, &large):
		return &failure{message: p.vendor + " " + large.Error(), final: true}
	case errors.As(err, &token):
		if response, final := token.response(); response != "" {
			return &failure{message: p.vendor + ": its token endpoint " + response, final: final}
		}
	}
	kind, reason := transport.Explain(err, p.limits.timeout())
	return &failure{
		message: p.vendor + ": " + reason, cause: err,
		broken: kind == transport.Unreachable, final: kind == transport.Blocked,
	}
}

// retryAfter returns the wait of a Retry-After header, which may be 0, and whether there is
// one. A date counts from the date of the response, if it has one, so that the clocks need
// not agree.
func (p *compiled) retryAfter(h http.Header) (time.Duration, bool) {
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = p.opt.Now()
	}
	at, ok := transport.RetryAfter(h.Get("Retry-After"), now)
	return max(0, at.Sub(now)), ok
}

// pause waits before the next request, and for its turn. It returns false if ctx ends
// first.
func (p *compiled) pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return false
	}
	return p.waitTurn(ctx) == nil
}
