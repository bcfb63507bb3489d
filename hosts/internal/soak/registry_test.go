// A workflow of a test that calls a vendor of the test.

package soak_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

// registrySection ends the bootstrap file with a workflow and the vendor that it calls.
const registrySection = `
      - workflow: called
        id: 0191f3c0-0000-7000-8000-00000000000f
        name: Called
%s
providers:
  registry:
    type: rest
    base_url: %s
    limits: {timeout_seconds: 60}
    request: {path: /checks, headers: {Idempotency-Key: "${request.idempotency_key}"}, json: {hold: "${with.hold}"}}
    response:
      passed: response.body.result == 'VALID'
      data: {order: {value: response.body.order, type: integer}}
`

// newRegistrySite returns a migrated site with the workflow f, which calls the vendor. Each of its checks has `with: {hold: ...}`.
func newRegistrySite(t *testing.T, name, workflow string, vendor http.Handler) *site {
	t.Helper()
	server := httptest.NewServer(vendor)
	t.Cleanup(server.Close)
	s := newSite(t, steady.get(t), name, 1)
	raw, err := os.ReadFile(s.bootstrap)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.bootstrap, append(raw, fmt.Sprintf(registrySection, workflow, server.URL)...), 0o600); err != nil {
		t.Fatal(err)
	}
	s.migrate(t)
	return s
}
