// Tests of hosts on one database whose files differ.

package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/pgtest"
)

// oldFile is a bootstrap file before a change.
const oldFile = `tenants:
  - id: 0191f3c0-0000-7000-8000-00000000000b
    name: Bank
    accounts: [{client_id: demo, api_key: demo-key-for-local-use-only}]
    workflows:
      - workflow: simple
        id: 0191f3c0-0000-7000-8000-000000000001
        name: Simple
        start: consent
        nodes:
          consent: {type: consent, text: We check you., on_declined: next, next: pan}
          pan: {type: check, provider: sandbox, next: done}
          done: {type: end}
`

// newFile has more: two providers, one of which is polled, and a list, and a version of the
// workflow that uses them.
const newFile = `lists:
  sanctions: {path: list.csv, format: csv, kind: person, max_age_hours: 48}
providers:
  registry:
    type: rest
    base_url: %[1]s
    request: {path: /registry, method: GET}
    response: {passed: response.status == 200}
  bureau:
    type: rest
    base_url: %[1]s
    request: {path: /bureau, method: GET}
    response: {pending: response.status == 202, handle: "'case'", passed: response.status == 200}
    poll: {path: "/bureau/${handle}", every_seconds: 1}
tenants:
  - id: 0191f3c0-0000-7000-8000-00000000000b
    name: Bank
    accounts: [{client_id: demo, api_key: demo-key-for-local-use-only}]
    workflows:
      - workflow: simple
        id: 0191f3c0-0000-7000-8000-000000000001
        name: Simple
        start: consent
        nodes:
          consent: {type: consent, text: We check you., on_declined: next, next: pan}
          pan: {type: check, provider: sandbox, next: registry}
          registry: {type: check, provider: registry, next: bureau}
          bureau: {type: check, provider: bureau, next: screen}
          screen: {type: check, provider: offline.screening, with: {list: sanctions, kind: person, name: Asha Rao}, next: done}
          done: {type: end}
`

// newBootstrap writes newFile with its list, for a vendor whose poll answers at the
// second request.
func newBootstrap(t *testing.T, calls *atomic.Int64, changes ...string) string {
	t.Helper()
	var polls atomic.Int64
	vendor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/registry":
			calls.Add(1)
		case "/bureau":
			w.WriteHeader(http.StatusAccepted)
		default:
			if polls.Add(1)%2 == 1 {
				w.WriteHeader(http.StatusAccepted)
			}
		}
	}))
	t.Cleanup(vendor.Close)
	folder := t.TempDir()
	for name, text := range map[string]string{"list.csv": "name\nIvan Fictional Testov\n", "new.yaml": strings.NewReplacer(changes...).Replace(fmt.Sprintf(newFile, vendor.URL))} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(folder, "new.yaml")
}

func TestARollingChangeOfFilesFailsNoRun(t *testing.T) {
	const each = 6
	for _, order := range []string{"the old host first", "the new host first", "a host without a file first", "a host without a file last"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			url, calls := pgtest.Database(t), &atomic.Int64{}
			file := newBootstrap(t, calls)
			without := strings.Contains(order, "without a file")
			startOld := func() *served {
				if without {
					return serveHost(t, onPostgres(url, "VERIFYD_BOOTSTRAP", ""))
				}
				return serveHost(t, onPostgres(url, "VERIFYD_BOOTSTRAP", bootstrapFile(t, oldFile)))
			}
			startNew := func() *served { return serveHost(t, onPostgres(url, "VERIFYD_BOOTSTRAP", file)) }
			start := func(on *served) (ids []string) {
				for n := range each {
					ids = append(ids, on.run("POST", on.api+records, fmt.Sprintf(`{"reference_id":"person-%d"}`, n)).ID)
				}
				return ids
			}
			var old, current *served
			var runs []string
			switch order {
			case "the old host first", "a host without a file first":
				old = startOld()
				current = startNew()
				runs = append(start(old), start(current)...)
			default:
				current = startNew()
				runs = append(start(current), start(current)...)
				old = startOld()
			}
			for i, id := range runs { // each host drives half of the runs that were started on each
				on := []*served{old, current}[i%2]
				if status, raw, _ := on.call("POST", on.api+"/v1/signals/"+id+"/consent_submitted", `{"payload":{"consent_status":"success"}}`); status != http.StatusOK {
					t.Fatalf("consent = %d %s", status, raw)
				}
			}
			began := time.Now()
			for _, id := range runs {
				r := current.await(id, func(r runJSON) bool { return r.Status != "in_progress" })
				if r.Status != "completed" {
					t.Errorf("run %s = %s: %s", id, r.Status, r.Checks)
				}
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("the runs took %s, want nearly no delay by the host that lacks the providers", took)
			}
			if n := calls.Load(); n != 2*each {
				t.Errorf("the registry was called %d times for %d runs", n, 2*each)
			}
			log := old.stderr.String()
			for _, line := range []string{`there is no provider \"registry\"`, "run left to other hosts"} {
				if !strings.Contains(log, line) {
					t.Errorf("the log of the old host has no line with %s:\n%s", line, log)
				}
			}
			if n := strings.Count(log, "level=ERROR"); n > 6 {
				t.Errorf("the log of the old host has %d errors, want few:\n%s", n, log)
			}
			if _, metrics, _ := old.call("GET", old.admin+"/metrics", ""); strings.Contains(string(metrics), "verifyd_runs_left_total 0") {
				t.Error("the metrics of the old host do not count the runs that it left")
			}
		})
	}
}

func TestAStartOnAHostThatLacksTheProviderWaits(t *testing.T) {
	url, calls := pgtest.Database(t), &atomic.Int64{}
	serveHost(t, onPostgres(url, "VERIFYD_BOOTSTRAP", newBootstrap(t, calls,
		"start: consent", "start: registry", "provider: registry, next: bureau", "provider: registry, next: consent",
		"provider: sandbox, next: registry", "provider: sandbox, next: bureau")))
	old := serveHost(t, onPostgres(url, "VERIFYD_BOOTSTRAP", ""))
	waited := 0
	for n := range 10 {
		if r := old.run("POST", old.api+records, fmt.Sprintf(`{"reference_id":"person-%d"}`, n)); r.Action != nil {
			waited++
		}
	}
	if waited < 9 {
		t.Errorf("%d of 10 starts on the host without the provider returned the link of the customer, want all", waited)
	}
}
