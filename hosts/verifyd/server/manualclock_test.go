// Tests of what a host does by itself, on a manual clock.

package server_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/pgtest"
)

// kept is a tenant whose runs complete at once, are redacted after two days, and deleted after five.
const kept = `tenants:
  - id: 0191f3c0-0000-7000-8000-00000000000a
    name: Acme
    time_zone: Pacific/Kiritimati
    retention: {redact_after_days: %d, delete_after_days: 5}
    accounts: [{client_id: demo, api_key: demo-key-for-local-use-only}]
    workflows:
      - workflow: instant
        id: 0191f3c0-0000-7000-8000-000000000001
        name: Instant
        start: done
        nodes:
          done: {type: end}
`

// advance advances the manual clock.
func (s *served) advance(d time.Duration) {
	s.t.Helper()
	if status, raw, _ := s.call("POST", s.admin+"/clock/advance", fmt.Sprintf(`{"seconds":%f}`, d.Seconds())); status != http.StatusOK {
		s.t.Fatalf("advance by %s = %d %s", d, status, raw)
	}
}

func TestRetentionEndsOnTheManualClock(t *testing.T) {
	const canary, starts = "canary-of-leap-day", "/v1/workflows/0191f3c0-0000-7000-8000-000000000001/runs"
	folder := newFolder(t)
	for name, vars := range map[string]map[string]string{
		"memory": {"VERIFYD_MEMORY": "true"}, "folder": onFolder(folder), "postgres": {"VERIFYD_DATABASE_URL": pgtest.Database(t)},
	} {
		t.Run(name, func(t *testing.T) {
			file := bootstrapFile(t, fmt.Sprintf(kept, 2))
			vars["VERIFYD_CLOCK"], vars["VERIFYD_BOOTSTRAP"], vars["VERIFYD_LOG_LEVEL"] = "manual", file, "info"
			s := serveHost(t, vars)
			if name != "postgres" { // where hundreds of passes on the way take long
				s.advance(time.Until(leapDay(time.Now()))) // the clock began at the start of the host
			}
			r := s.run("POST", s.api+starts, `{"reference_id":"`+canary+`"}`)
			read := func() (int, string) {
				status, raw, _ := s.call("GET", s.api+"/v1/runs/"+r.ID, "")
				return status, string(raw)
			}
			s.advance(2*24*time.Hour - time.Second)
			if _, raw := read(); !strings.Contains(raw, canary) {
				t.Errorf("a second before the two days: %s, want its data", raw)
			}
			s.advance(time.Hour + time.Minute)
			if _, raw := read(); strings.Contains(raw, canary) || strings.Contains(raw, `"erased_at":"`) {
				t.Errorf("an hour after the two days: %s, want it redacted, and not everywhere yet", raw)
			}
			s.advance(2 * time.Hour)
			if _, raw := read(); !strings.Contains(raw, `"erased_at":"`) {
				t.Errorf("two hours later: %s, want that the redaction is complete; log: %s", raw, s.stderr)
			}
			if name == "folder" {
				holdsNot(t, string(folder), canary)
			}
			s.advance(3*24*time.Hour - 4*time.Hour)
			if status, raw := read(); status != http.StatusOK {
				t.Errorf("before the five days = %d %s, want the run", status, raw)
			}
			s.advance(3 * time.Hour)
			if status, raw := read(); status != http.StatusNotFound {
				t.Errorf("after five days = %d %s, want it deleted", status, raw)
			}
		})
	}
}

func TestAReloadedPolicyCanBeTakenBackForADay(t *testing.T) {
	for name, vars := range map[string]map[string]string{"memory": {"VERIFYD_MEMORY": "true"}, "folder": onFolder(newFolder(t))} {
		t.Run(name, func(t *testing.T) {
			file := bootstrapFile(t, fmt.Sprintf(kept, 5))
			vars["VERIFYD_CLOCK"], vars["VERIFYD_BOOTSTRAP"], vars["VERIFYD_LOG_LEVEL"] = "manual", file, "info"
			s := serveHost(t, vars)
			r := s.run("POST", s.api+"/v1/workflows/0191f3c0-0000-7000-8000-000000000001/runs", `{"reference_id":"person-1"}`)
			read := func() string {
				_, raw, _ := s.call("GET", s.api+"/v1/runs/"+r.ID, "")
				return string(raw)
			}
			s.advance(3 * 24 * time.Hour)
			if err := os.WriteFile(file, fmt.Appendf(nil, kept, 1), 0o600); err != nil {
				t.Fatal(err)
			}
			s.reload("retention of workflow Instant changes, in full from", "1 redacted from")
			s.advance(23 * time.Hour)
			if raw := read(); !strings.Contains(raw, "person-1") {
				t.Errorf("within a day of the change: %s, want its data", raw)
			}
			s.advance(time.Hour)
			if raw := read(); strings.Contains(raw, "person-1") {
				t.Errorf("a day after the change: %s, want it redacted", raw)
			}
		})
	}
}

// leapDay returns the evening of the next 29 February.
func leapDay(now time.Time) time.Time {
	for year := now.Year(); ; year++ {
		if day := time.Date(year, time.February, 29, 23, 30, 0, 0, time.UTC); day.Month() == time.February && day.After(now) {
			return day
		}
	}
}

// holdsNot fails the test if a file of a folder has a text.
func holdsNot(t *testing.T, folder, text string) {
	t.Helper()
	err := filepath.Walk(folder, func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(text)) {
			t.Errorf("%s has %s", filepath.Base(path), text)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
