// Tests of traces whose receiver fails, and of the traces of two hosts.

package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/verifyd/verifyd/internal/rig/pgtest"
)

// TestAReceiverThatFailsCostsOnlySpans makes requests of hosts whose receiver of traces refuses connections, or takes them and answers
// only later or never.
func TestAReceiverThatFailsCostsOnlySpans(t *testing.T) {
	const queue, batch, requests = 100, 50, 400
	hang := map[string]string{ // an export may take an hour
		"OTEL_BSP_MAX_QUEUE_SIZE": "100", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "50", "OTEL_BSP_SCHEDULE_DELAY": "10",
		"OTEL_BSP_EXPORT_TIMEOUT": "3600000", "OTEL_EXPORTER_OTLP_TIMEOUT": "3600000",
	}
	serve := func(t *testing.T, endpoint string, vars map[string]string) (s *served, stop func()) {
		t.Helper()
		all := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}
		for name, value := range vars {
			all[name] = value
		}
		s, host := serveProcess(t, all)
		return s, func() {
			if err := host.Stop(); err != nil {
				t.Errorf("the host did not stop: %v: %s", err, s.stderr)
			}
		}
	}
	ask := func(s *served, n int) {
		s.t.Helper()
		for range n {
			if status, raw, _ := s.call("GET", s.api+"/v1/workflows", ""); status != http.StatusOK {
				s.t.Fatalf("a request = %d %s", status, raw)
			}
		}
		if r := s.run("POST", s.api+records, `{"reference_id":"person-1"}`, "Prefer", "wait=10"); r.Status != "completed" {
			s.t.Errorf("the run is %+v, want completed", r)
		}
	}

	t.Run("down", func(t *testing.T) {
		t.Parallel()
		closed := httptest.NewServer(http.NotFoundHandler())
		closed.Close()
		s, stop := serve(t, closed.URL, map[string]string{"OTEL_BSP_SCHEDULE_DELAY": "10", "OTEL_BSP_EXPORT_TIMEOUT": "50"})
		const line = "traces not exported"
		tick, timeout := time.NewTicker(10*time.Millisecond), time.After(time.Minute)
		defer tick.Stop()
		for ask(s, 1); !strings.Contains(s.stderr.String(), line); {
			select {
			case <-tick.C:
			case <-timeout:
				t.Fatalf("the log lacks %q: %s", line, s.stderr)
			}
		}
		ask(s, requests)
		stop()
		if n := strings.Count(s.stderr.String(), line); n != 1 {
			t.Errorf("%d lines say %q, want one in a minute", n, line)
		}
	})
	for _, name := range []string{"answers late", "never answers"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spans, asked, release := &traceReceiver{}, make(chan struct{}, 1), make(chan struct{})
			collects := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				spans.ServeHTTP(w, r)
				select {
				case asked <- struct{}{}:
				default:
				}
				<-release
			}))
			t.Cleanup(collects.Close)
			releases := sync.OnceFunc(func() { close(release) })
			t.Cleanup(releases)
			s, stop := serve(t, collects.URL, hang)
			ask(s, 1)
			<-asked
			ask(s, requests)
			if name == "answers late" {
				releases()
			}
			stop()
			got := len(spans.named(""))
			switch most := queue + 3*batch; {
			case name == "never answers" && got > batch:
				t.Errorf("%d spans came in the one export, want at most %d", got, batch)
			case name == "answers late" && (got <= queue || got > most):
				t.Errorf("of more than %d spans, the host kept %d, want more than %d and at most %d", requests, got, queue, most)
			}
		})
	}
}

func TestTwoHostsTraceOneRunByItsID(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	var receivers [2]*traceReceiver
	var stops [2]func() error
	var api *served
	for i, role := range []string{"worker", "api"} {
		receivers[i] = &traceReceiver{}
		collects := httptest.NewServer(receivers[i])
		t.Cleanup(collects.Close)
		s, host := serveProcess(t, onPostgres(url, "VERIFYD_ROLES", role, "OTEL_EXPORTER_OTLP_ENDPOINT", collects.URL))
		api, stops[i] = s, host.Stop
	}
	r := api.run("POST", api.api+records, `{"reference_id":"person-3"}`, "Prefer", "wait=10")
	if r.Status != "completed" {
		t.Fatalf("the run is %+v, want completed", r)
	}
	for _, stop := range stops {
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	}
	of := func(i int, name string) (found []*otlp.Span) {
		for _, s := range receivers[i].named(name) {
			if attributeOf(s, "verifyd.run.id") == r.ID {
				found = append(found, s)
			}
		}
		return found
	}
	for name, want := range map[string][2]bool{ // of the worker and of the host with the API
		"POST /v1/workflows/{id}/runs": {false, true}, "append": {true, true}, "activation": {true, false}, "call sandbox": {true, false},
	} {
		for i, some := range want {
			if got := len(of(i, name)); (got > 0) != some {
				t.Errorf("host %d has %d spans %q of the run, want some: %t", i, got, name, some)
			}
		}
	}
}
