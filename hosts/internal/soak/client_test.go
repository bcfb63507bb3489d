// Requests to hosts.

package soak_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/adapters/client"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// newClient returns a client that sends each request once: the tests repeat requests themselves, and to
// any host.
func newClient(url string) (*client.Client, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: 5 * time.Second}
	return client.New(client.Options{
		BaseURL: url, ClientID: clientID, APIKey: apiKey, HTTP: &http.Client{Transport: transport}, Timeout: 20 * time.Second, Attempts: 1,
	})
}

// statusOf returns the status of a failed request; 0 means that the host did not respond.
func statusOf(err error) int {
	if e, ok := errors.AsType[*client.Error](err); ok {
		return e.Status
	}
	return 0
}

// passing reports whether a request failed because the host or its database is away.
func passing(err error) bool {
	status := statusOf(err)
	return status == 0 || status == http.StatusServiceUnavailable
}

// fetch sends a request that is not part of the API, and returns the status and the body of the response; status 0
// means that the host did not respond.
func fetch(ctx context.Context, method, url, body string) (status int, content string) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(raw)
}

// workflowID returns the id of a workflow of the bootstrap file by its last digit.
func workflowID(digit string) verification.WorkflowID {
	return verification.WorkflowID("0191f3c0-0000-7000-8000-00000000000" + digit)
}

// start starts a run without waiting for it.
func start(t *testing.T, h *host, workflow verification.WorkflowID, reference string, input map[string]any) apitypes.Run {
	t.Helper()
	r, err := h.api.StartRun(t.Context(), workflow, client.StartRequest{ReferenceID: reference, Input: input, Wait: new(time.Duration)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// completed waits until a run is completed, which another host may have to do.
func completed(ctx context.Context, t *testing.T, h *host, run verification.RunID) apitypes.RunDetail {
	t.Helper()
	r, err := h.api.WaitForRun(ctx, run, client.Ended)
	if err != nil || r.Status != rules.StatusCompleted {
		t.Fatalf("run %s is %s, %v; want it completed", run, r.Status, err)
	}
	return r
}

// decided returns the decision of a run; empty for none.
func decided(r apitypes.RunDetail) rules.Decision {
	if r.Decision == nil {
		return rules.DecisionNone
	}
	return *r.Decision
}
