// Requests to hosts.

package soak_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// client sends requests with the credentials of the tenant.
type client struct{ http *http.Client }

func newClient(t *testing.T) client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: 5 * time.Second}
	t.Cleanup(transport.CloseIdleConnections)
	return client{&http.Client{Transport: transport, Timeout: 20 * time.Second}}
}

// response is what a host responded; status 0 means that it did not respond.
type response struct {
	status int
	header http.Header
	body   []byte
	err    error // of a request without a response
}

func (a response) String() string {
	if a.err != nil {
		return a.err.Error()
	}
	return fmt.Sprintf("%d %s", a.status, a.body)
}

// request sends a request; headers are name, value.
func (c client) request(ctx context.Context, method, url, body string, headers ...string) response {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return response{err: err}
	}
	r.Header.Set("client-id", clientID)
	r.Header.Set("x-api-key", apiKey)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	got, err := c.http.Do(r)
	if err != nil {
		return response{err: err}
	}
	defer got.Body.Close()
	raw, err := io.ReadAll(got.Body)
	if err != nil {
		return response{err: err}
	}
	return response{status: got.StatusCode, header: got.Header, body: raw}
}

// read sends a request until the response is 200, and decodes it.
func (c client) read(ctx context.Context, url string, into any) error {
	a := c.request(ctx, http.MethodGet, url, "")
	if a.status != http.StatusOK {
		return fmt.Errorf("GET %s = %s", url, a)
	}
	return json.Unmarshal(a.body, into)
}

// runJSON is a run of the API.
type runJSON struct {
	ID          string
	ReferenceID string `json:"reference_id"`
	Status      verification.Status
	CompletedAt *time.Time `json:"completed_at"`
	Action      *struct {
		SignalName string `json:"signal_name"`
	} `json:"action_required"`
	Error    *verification.RunError
	Decision *verification.Decision
	Checks   []struct {
		Key    string
		Status verification.StepStatus
	}
}

// decided returns the decision of the run; empty for none.
func (r runJSON) decided() verification.Decision {
	if r.Decision == nil {
		return verification.DecisionNone
	}
	return *r.Decision
}
