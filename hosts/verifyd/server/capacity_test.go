package server_test

import (
	"net/http"
	"strings"
	"testing"
)

// A host whose runs need all the memory that they may takes no new run, says so, and goes on
// with those that exist.
func TestAFullHostTakesNoNewRuns(t *testing.T) {
	t.Parallel()
	s := serveHost(t, onFolder(newFolder(t), "VERIFYD_STORE_MEMORY", "0.00002")) // some hundred kilobytes
	const start = `{"reference_id":"person-1"}`
	first := s.run("POST", s.api+onboarding, start, "Idempotency-Key", "one")
	status, body, header := 0, []byte(nil), http.Header(nil)
	for range 2000 {
		if status, body, header = s.call("POST", s.api+onboarding, start); status != http.StatusAccepted {
			break
		}
	}
	if status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" ||
		!strings.Contains(string(body), "The service has no memory left for new runs; runs that have started go on.") {
		t.Errorf("a start of a full host = %d %s with %v", status, body, header)
	}
	if again := s.run("POST", s.api+onboarding, start, "Idempotency-Key", "one"); again.ID != first.ID {
		t.Errorf("the start that is sent again is run %s, want %s", again.ID, first.ID)
	}
	s.answer(first.ID, "consent_submitted", `{"payload":{"consent_status":"success"}}`)
	s.answer(first.ID, "details_submitted", clean)
	s.await(first.ID, func(r runJSON) bool { return r.Status == "completed" })
	if _, metrics, _ := s.call("GET", s.admin+"/metrics", ""); !strings.Contains(string(metrics), "verifyd_store_bytes ") ||
		!strings.Contains(string(metrics), "verifyd_store_limit_bytes ") {
		t.Errorf("metrics without the size of the store:\n%s", metrics)
	}
}
