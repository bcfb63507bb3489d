// Tests of a host whose disk has less than its reserve.

package server_test

import (
	"net/http"
	"strings"
	"testing"
)

// A host on a nearly full disk takes no new run, says so, and goes on with the runs that exist.
func TestANearlyFullDiskTakesNoNewRuns(t *testing.T) {
	t.Parallel()
	folder := newFolder(t)
	before := serveHost(t, onFolder(folder, "VERIFYD_DISK_RESERVE", "134217728"))
	const start = `{"reference_id":"person-1"}`
	first := before.run("POST", before.api+onboarding, start, "Idempotency-Key", "one")
	second := before.run("POST", before.api+onboarding, start)
	if err := before.end(); err != nil {
		t.Fatal(err)
	}
	s := serveHost(t, onFolder(folder, "VERIFYD_DISK_RESERVE", "4611686018427387904")) // more than any disk has
	status, body, header := s.call("POST", s.api+onboarding, start)
	if status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" ||
		!strings.Contains(string(body), "The disk of the service is nearly full; runs that have started go on.") {
		t.Errorf("a start on a nearly full disk = %d %s with %v", status, body, header)
	}
	if again := s.run("POST", s.api+onboarding, start, "Idempotency-Key", "one"); again.ID != first.ID {
		t.Errorf("the start that is sent again is run %s, want %s", again.ID, first.ID)
	}
	s.answer(first.ID, "consent_submitted", `{"payload":{"consent_status":"success"}}`)
	s.answer(first.ID, "details_submitted", clean)
	s.await(first.ID, func(r runJSON) bool { return r.Status == "completed" })
	if status, body, _ := s.call("POST", s.api+"/v1/runs/"+second.ID+"/cancel", ""); status != http.StatusOK {
		t.Errorf("a cancel on a nearly full disk = %d %s", status, body)
	}
	_, metrics, _ := s.call("GET", s.admin+"/metrics", "")
	for _, want := range []string{
		`verifyd_disk_free_bytes{folder="` + string(folder) + `"} `, `verifyd_disk_reserve_bytes{folder="` + string(folder) + `"} 4.6`,
		`verifyd_disk_refused{folder="` + string(folder) + `"} 1`,
	} {
		if !strings.Contains(string(metrics), want) {
			t.Errorf("metrics without %s", want)
		}
	}
}
