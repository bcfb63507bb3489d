// One call: its attempts, the waits between them, and the bounds of its response.

package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	maxResponse = 64 << 20 // bytes of a response body that are read
	firstWait   = 200 * time.Millisecond
	longestWait = 5 * time.Second // of the backoff; Options.MaxWait bounds Retry-After
)

// credentials are what a request proves its sender with.
type credentials int

const (
	account  credentials = iota // client id and API key
	reviewer                    // the access token, if there is one, else the account
	nobody
)

// call is one operation. Its attempts are equal.
type call struct {
	operation    string // operationId of the OpenAPI document; errors name it, as paths can contain secrets
	method, path string
	query        url.Values
	header       http.Header
	body         []byte
	credentials  credentials
	unrepeatable bool // a repetition may have another effect or answer
}

func get(operation string, path ...string) call {
	return call{operation: operation, method: http.MethodGet, path: join(path)}
}

// post returns a call whose body is a value as JSON.
func post(operation string, value any, path ...string) (call, error) {
	body, err := json.Marshal(value)
	if err != nil {
		return call{}, fmt.Errorf("client: %s: encode the request: %w", operation, err)
	}
	header := http.Header{"Content-Type": {"application/json"}}
	return call{operation: operation, method: http.MethodPost, path: join(path), header: header, body: body}, nil
}

// join returns an absolute path; its elements may contain any characters.
func join(elements []string) string {
	var path strings.Builder
	for _, e := range elements {
		path.WriteString("/" + url.PathEscape(e))
	}
	return path.String()
}

// answer is a response that was read.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// read sends a call and decodes the response.
func read[T any](ctx context.Context, c *Client, call call) (into T, err error) {
	got, err := c.do(ctx, call)
	if err != nil {
		return into, err
	}
	return decode[T](call, got)
}

func decode[T any](call call, got answer) (into T, err error) {
	if err := json.Unmarshal(got.body, &into); err != nil {
		return into, fmt.Errorf("client: %s: decode the response: %w", call.operation, err)
	}
	return into, nil
}

// do makes attempts until one succeeds, none is left, or ctx ends. The error is an *Error, or says
// why there was no response.
func (c *Client) do(ctx context.Context, call call) (answer, error) {
	for n := 1; ; n++ {
		got, err := c.attempt(ctx, call)
		if err == nil || n >= c.opt.Attempts || ctx.Err() != nil || !repeatable(call, err) {
			return got, err
		}
		wait := backoff(n)
		if asked, ok := errors.AsType[*Error](err); ok {
			if asked.RetryAfter > c.opt.MaxWait {
				return got, err
			}
			wait += asked.RetryAfter
		}
		if sleep(ctx, min(wait, c.opt.MaxWait)) != nil {
			return got, err
		}
	}
}

// attempt sends the request once and reads the response.
func (c *Client) attempt(ctx context.Context, call call) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opt.Timeout)
	defer cancel()
	address := c.opt.BaseURL + call.path
	if len(call.query) > 0 {
		address += "?" + call.query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, call.method, address, bytes.NewReader(call.body))
	if err != nil {
		return answer{}, failed(call, err)
	}
	if call.header != nil {
		r.Header = call.header.Clone()
	}
	c.authenticate(r, call.credentials)
	response, err := c.http.Do(r)
	if err != nil {
		return answer{}, failed(call, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	switch {
	case err != nil:
		return answer{}, failed(call, err)
	case len(body) > maxResponse:
		return answer{}, &lengthError{call.operation}
	}
	got := answer{response.StatusCode, response.Header, body}
	if ok := got.status/100 == 2 || got.status == http.StatusNotModified && r.Header.Get("If-None-Match") != ""; !ok {
		return answer{}, newError(call.operation, got)
	}
	return got, nil
}

func (c *Client) authenticate(r *http.Request, by credentials) {
	switch {
	case by == nobody:
	case by == reviewer && c.opt.AccessToken != "":
		r.Header.Set("Authorization", "Bearer "+c.opt.AccessToken)
	default:
		r.Header.Set("client-id", c.opt.ClientID)
		r.Header.Set("x-api-key", c.opt.APIKey)
	}
}

// failed returns the error of an attempt without a response. It leaves out the URL, which can contain
// a reference id or a token.
func failed(call call, err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return fmt.Errorf("client: %s: %w", call.operation, err)
}

// unsent reports whether an attempt failed before it sent anything.
func unsent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// lengthError is the error of a response that is too long. Another attempt does not help.
type lengthError struct{ operation string }

func (e *lengthError) Error() string {
	return "client: " + e.operation + ": the response is longer than " + strconv.Itoa(maxResponse>>20) + " MiB"
}

// repeatable reports whether the call can be made again after this error. A 429 is sent before the
// request has an effect.
func repeatable(call call, err error) bool {
	refused, answered := errors.AsType[*Error](err)
	_, long := errors.AsType[*lengthError](err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case long, untrusted:
		return false
	case !answered:
		return !call.unrepeatable || unsent(err)
	}
	switch refused.Status {
	case http.StatusTooManyRequests:
		return true
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return !call.unrepeatable
	case http.StatusConflict:
		return refused.Code == codeInFlight
	}
	return false
}

// backoff returns the wait after the n-th attempt: it doubles up to longestWait, and half of it is
// random, so that clients which failed together do not return together.
func backoff(n int) time.Duration {
	wait := longestWait
	if doubled := firstWait << (n - 1); n < 10 && doubled < wait {
		wait = doubled
	}
	return wait/2 + rand.N(wait/2) //nolint:gosec // nobody gains from a guess of this wait
}

// sleep returns the error of ctx if that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
