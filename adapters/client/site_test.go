// The site of the tests: an API with an engine on memory, behind a network that a test breaks.

package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/client"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/httpapi"
	"github.com/verifyd/verifyd/adapters/media"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/workflow"
)

const apiKey = "a key of at least twenty characters"

var errNetwork = errors.New("the network is down")

// site is the API of a test kit. As a http.RoundTripper it is the network in front of it.
type site struct {
	*enginetest.Kit
	api http.Handler
	// fault returns the response or the error of the n-th request, from 1, and nil for the API's
	// response. handle is the API.
	fault func(n int, handle func() *http.Response) (*http.Response, error)

	mu   sync.Mutex
	sent []*http.Request
	when []time.Time
}

func newSite(t testing.TB, changes ...enginetest.Change) *site {
	t.Helper()
	change := func(p *engine.Ports, _ *engine.Options) {
		p.Printer, p.Documents, p.Sanitize = printer{}, blob.Memory(1<<20, 1<<20), media.Sanitize
	}
	s := &site{Kit: enginetest.New(t, append([]enginetest.Change{change}, changes...)...)}
	must(t, s.Store.SaveAccount(t.Context(), verification.Account{
		ClientID: "acme", Tenant: enginetest.Tenant, KeyHash: verification.HashAPIKey(apiKey), Surfaces: verification.AllSurfaces(),
	}))
	keys, err := token.NewKeys()
	must(t, err)
	s.api = httpapi.New(s.Engine, httpapi.Options{Signer: token.NewReports(keys), Bearers: func(_ context.Context, token string) (verification.Reviewer, error) {
		if token != "token" {
			return verification.Reviewer{}, verification.ErrUnauthenticated
		}
		return verification.Reviewer{Tenant: enginetest.Tenant, Identity: "ravi", Name: "ravi"}, nil
	}})
	return s
}

// client returns a client of the site.
func (s *site) client(t testing.TB, changes ...func(*client.Options)) *client.Client {
	t.Helper()
	o := client.Options{BaseURL: "http://api.example", ClientID: "acme", APIKey: apiKey, HTTP: &http.Client{Transport: s}}
	for _, change := range changes {
		change(&o)
	}
	c, err := client.New(o)
	must(t, err)
	return c
}

// RoundTrip calls the API in this goroutine.
func (s *site) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	s.sent, s.when = append(s.sent, r), append(s.when, time.Now())
	n := len(s.sent)
	s.mu.Unlock()
	handle := func() *http.Response {
		incoming := httptest.NewRequestWithContext(r.Context(), r.Method, r.URL.String(), bytes.NewReader(body))
		incoming.Header = r.Header.Clone()
		rec := httptest.NewRecorder()
		s.api.ServeHTTP(rec, incoming)
		return rec.Result()
	}
	if s.fault != nil {
		if response, err := s.fault(n, handle); response != nil || err != nil {
			return response, err
		}
	}
	return handle(), nil
}

// requests returns the number of requests since the last call, and forgets them.
func (s *site) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.sent)
	s.sent, s.when = nil, nil
	return n
}

// responds returns a response that is not of the API. Headers are name, value.
func responds(status int, body string, headers ...string) *http.Response {
	rec := httptest.NewRecorder()
	for i := 0; i+1 < len(headers); i += 2 {
		rec.Header().Set(headers[i], headers[i+1])
	}
	rec.WriteHeader(status)
	rec.Body.WriteString(body)
	return rec.Result()
}

// printer prints a report as one line.
type printer struct{}

func (printer) PrintReport(_ context.Context, _ verification.TenantID, r report.Print) ([]byte, error) {
	return []byte("%PDF of " + string(r.Run.ID)), nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// simple has one check, and ends.
func simple() workflow.Definition {
	return workflow.Definition{
		Workflow: "simple", Name: "Simple", Start: "pan",
		Nodes: map[verification.NodeID]workflow.Node{
			"pan":  {Type: workflow.NodeCheck, Key: "pan_verification", Label: "PAN verification", Provider: "script", Next: "done"},
			"done": {Type: workflow.NodeEnd},
		},
	}
}

// reviewed has a form with a file and a review.
func reviewed() workflow.Definition {
	return workflow.Definition{
		Workflow: "reviewed", Name: "Reviewed", Start: "details",
		InputSchema: verification.Data(`{"type":"object","properties":{"name":{"type":"string"}}}`),
		Nodes: map[verification.NodeID]workflow.Node{
			"details": {
				Type: workflow.NodeCustomerInput, Label: "Your details", Next: "review",
				Fields: workflow.InputFields{{Name: "bill", Type: workflow.FieldFile, Required: true}},
			},
			"review": {Type: workflow.NodeReview, Label: "Manual review", Reason: "A person has to look.", Next: "done"},
			"done":   {Type: workflow.NodeEnd},
		},
	}
}

// review waits for a reviewer at once.
func review() workflow.Definition {
	return workflow.Definition{
		Workflow: "review", Name: "Review", Start: "review",
		Nodes: map[verification.NodeID]workflow.Node{
			"review": {Type: workflow.NodeReview, Label: "Manual review", Reason: "A person has to look.", Next: "done"},
			"done":   {Type: workflow.NodeEnd},
		},
	}
}
