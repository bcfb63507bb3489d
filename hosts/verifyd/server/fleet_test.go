// Tests of hosts on one database whose files differ.

package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/hosts/verifyd/server"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
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
	for n := range 10 { // on a busy machine the default wait of 2 s may be too short
		if r := old.run("POST", old.api+records, fmt.Sprintf(`{"reference_id":"person-%d"}`, n), "prefer", "wait=20"); r.Action != nil {
			waited++
		}
	}
	if waited < 10 {
		t.Errorf("%d of 10 starts on the host without the provider returned the link of the customer, want all", waited)
	}
}

// factsOf waits until n hosts are listed with facts.
func factsOf(t *testing.T, url string, n int) (all []cli.ComparedHost) {
	t.Helper()
	operator, err := postgres.Open(t.Context(), url, postgres.Options{SingleHost: true, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer operator.Close()
	tick, timeout := time.NewTicker(10*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for {
		hosts, err := pgadmin.Of(operator).Hosts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all = nil
		for _, h := range hosts {
			facts, err := cli.ParseHostFacts(h.Facts)
			if err != nil {
				t.Fatal(err)
			}
			if h.Facts != "" {
				all = append(all, cli.ComparedHost{Label: h.Name + " " + h.Address, Worker: true, HostFacts: facts})
			}
		}
		if len(all) == n {
			return all
		}
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("after a minute the hosts are %+v", hosts)
		}
	}
}

func TestHeartbeatsSayHowHostsDiffer(t *testing.T) {
	url, calls, folder := pgtest.Database(t), &atomic.Int64{}, t.TempDir()
	one := serveHost(t, onPostgres(url, "VERIFYD_BOOTSTRAP", newBootstrap(t, calls), "VERIFYD_HOST_NAME", "one",
		"VERIFYD_PUBLIC_URL", "https://id.example", "VERIFYD_BLOB_DIR", folder))
	two := serveHost(t, onPostgres(url, "VERIFYD_BOOTSTRAP", "", "VERIFYD_HOST_NAME", "two",
		"VERIFYD_PUBLIC_URL", "https://id.example", "VERIFYD_BLOB_DIR", folder))
	hosts := factsOf(t, url, 2)
	labels := []string{"one " + strings.TrimPrefix(one.api, "http://"), "two " + strings.TrimPrefix(two.api, "http://")}
	for i, h := range hosts {
		if h.Label != labels[i] {
			t.Errorf("host %d = %s, want %s", i, h.Label, labels[i])
		}
		if len(h.Keys) != 1 || h.ClockAhead.Abs() > time.Minute || h.Build == "" || !strings.HasPrefix(h.Documents, "folder-") {
			t.Errorf("the facts of %s are %+v", h.Label, h.HostFacts)
		}
	}
	var got []string
	for _, d := range cli.Differences(hosts) {
		got = append(got, d.Message)
	}
	want := []string{
		"the provider bureau is missing on " + labels[1] + "; " + labels[0] + " has it",
		"the provider registry is missing on " + labels[1] + "; " + labels[0] + " has it",
		"the list sanctions is missing on " + labels[1] + "; " + labels[0] + " has it",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the differences (-want +got):\n%s", diff)
	}
	if strings.Contains(hosts[0].String(), "PRIVATE") || strings.Contains(hosts[0].String(), "token-of-the-vendor") {
		t.Errorf("the facts have a secret: %s", hosts[0])
	}
}

// lastValue is a gauge that remembers its value in whole units.
type lastValue struct {
	prometheus.Gauge
	value atomic.Int64
}

func (g *lastValue) Set(v float64) { g.value.Store(int64(v)) }

func TestAHostWhoseClockDiffersSaysSo(t *testing.T) {
	url := pgtest.Database(t)
	db, err := postgres.Open(t.Context(), url, postgres.Options{SingleHost: true, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var log syncBuffer
	skew := &lastValue{}
	ctx, stop := context.WithCancel(t.Context())
	var beating sync.WaitGroup
	defer beating.Wait()
	defer stop()
	beating.Go(func() {
		server.Heartbeat(ctx, db, "00000000-0000-7000-8000-000000000001",
			func() time.Time { return time.Now().Add(2 * time.Hour) }, slog.New(slog.NewTextHandler(&log, nil)), skew)
	})
	hosts := factsOf(t, url, 1)
	if off := hosts[0].ClockAhead - 2*time.Hour; off.Abs() > time.Minute {
		t.Errorf("the heartbeat says that the clock is %s ahead, want 2 h", hosts[0].ClockAhead)
	}
	if got := log.String(); !strings.Contains(got, "level=WARN") || !strings.Contains(got, "ahead=") {
		t.Errorf("the log has %q, want a warning", got)
	}
	if got := skew.value.Load(); got < 7100 || got > 7300 {
		t.Errorf("the metric is %v, want about 7200", got)
	}
}
