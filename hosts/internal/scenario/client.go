// The client of a conversation: sends requests and remembers names.

package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/openapitest"
)

// Host is a running service that has applied the bootstrap file of this package. It
// has a manual clock, its starts wait for less than a second of real time, and it
// may send webhooks to loopback addresses.
type Host interface {
	// URL returns its base URL, without a trailing slash.
	URL() string
	// Advance advances its clock and returns when everything that became due is done.
	// With 0 it only waits for current work.
	Advance(ctx context.Context, d time.Duration) error
	// Bearer returns a dashboard access token of a reviewer of Acme.
	Bearer(reviewer string) (string, error)
	// DecideHit decides the hit of an entry as the console does.
	DecideHit(ctx context.Context, run, entry, match, reviewer string) error
}

// Client talks to one host.
type Client struct {
	host     Host
	http     *http.Client
	contract *openapitest.Contract
	names    names
	hooks    *receiver
	seen     func(operation string, status int)
}

// newClient returns a client that is closed with the test.
func newClient(t testing.TB, h Host, c *openapitest.Contract, seen func(operation string, status int)) *Client {
	t.Helper()
	n := Names()
	for name, reviewer := range map[string]string{"bearer": "Ravi", "other_bearer": "Asha"} {
		bearer, err := h.Bearer(reviewer)
		if err != nil {
			t.Fatalf("issue a bearer token: %v", err)
		}
		n[name] = bearer
	}
	hooks := newReceiver(t)
	n["hooks"], n["nowhere"] = hooks.url, "00000000-0000-7000-8000-00000000dead"
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &Client{
		host: h, contract: c, names: n, hooks: hooks, seen: seen,
		http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

// do runs one item and returns an error if it fails.
func (c *Client) do(ctx context.Context, i item) error {
	switch i := i.(type) {
	case advance:
		return c.host.Advance(ctx, i.by)
	case decide:
		run, err := c.names.fill(i.run)
		if err == nil {
			err = c.host.Advance(ctx, 0)
		}
		if err != nil {
			return err
		}
		return c.host.DecideHit(ctx, run, i.entry, i.match, i.reviewer)
	case webhook:
		if err := c.host.Advance(ctx, 0); err != nil {
			return err
		}
		if i.path == "" {
			return c.hooks.none()
		}
		return c.hooks.next(c.names, i.path, i.wantBody)
	case exchange:
		return c.exchange(ctx, i)
	}
	return fmt.Errorf("unknown item %T", i)
}

func (c *Client) exchange(ctx context.Context, e exchange) error {
	path, err := c.names.fill(e.path)
	if err != nil {
		return err
	}
	body, err := c.names.fill(e.body)
	if err != nil {
		return err
	}
	header := http.Header{"Client-Id": {"acme"}, "X-Api-Key": {APIKey}}
	if body != "" {
		header.Set("Content-Type", "application/json")
	}
	for _, h := range e.header {
		value, err := c.names.fill(h[1])
		if err != nil {
			return err
		}
		header.Set(h[0], value)
		if value == "" {
			header.Del(h[0])
		}
	}
	if err := c.settle(ctx); err != nil {
		return err
	}
	got, err := c.send(ctx, e.method, path, header, body)
	if err != nil {
		return err
	}
	return c.compare(e, got)
}

// settle waits for current work.
func (c *Client) settle(ctx context.Context) error {
	if err := c.host.Advance(ctx, 0); err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	return nil
}

// send sends a request, and checks the response against the OpenAPI document.
func (c *Client) send(ctx context.Context, method, path string, header http.Header, body string) (openapitest.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.host.URL()+path, strings.NewReader(body))
	if err != nil {
		return openapitest.Response{}, err
	}
	r.Header = header
	response, err := c.http.Do(r)
	if err != nil {
		return openapitest.Response{}, err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return openapitest.Response{}, err
	}
	got := openapitest.Response{Status: response.StatusCode, Header: response.Header, Body: raw}
	c.seen(c.contract.Operation(method, path), got.Status)
	return got, c.contract.Check(method, r.URL.EscapedPath(), got)
}

func (c *Client) compare(e exchange, got openapitest.Response) error {
	var problems []error
	if got.Status != e.status {
		problems = append(problems, fmt.Errorf("want status %d, got %d", e.status, got.Status))
	}
	for _, h := range e.wantHeader {
		want, err := c.names.fill(h[1])
		if err == nil {
			err = c.wantHeader(want, got.Header.Values(h[0]))
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", h[0], err))
		}
	}
	if e.wantBody != "" {
		if err := c.names.matchBody(e.wantBody, got.Body); err != nil {
			problems = append(problems, err)
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("%w\nthe response was %d %s", errors.Join(problems...), got.Status, got.Body)
}

// wantHeader compares the values of one header; a header without a value must be
// absent.
func (c *Client) wantHeader(want string, got []string) error {
	if want == "" {
		if len(got) > 0 {
			return fmt.Errorf("want none, got %q", got)
		}
		return nil
	}
	if len(got) > 1 && slices.Contains(got, want) {
		return nil
	}
	if len(got) != 1 {
		return fmt.Errorf("want %q, got %q", want, got)
	}
	return c.names.matchString(want, got[0])
}
