// What a read costs: the processor time of host and database for one request.

package bench_test

import (
	"cmp"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/httpapi"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/bench"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/workflow"
)

// costRequests is the number of requests of each kind. The processor time of PostgreSQL is
// measured in ticks of 10 ms.
const costRequests = 1000

// BenchmarkRequests requests runs and lists from the API on PostgreSQL, one at a time and
// without a network, and reports the processor time of a request beside SELECT 1 through
// the same pool.
func BenchmarkRequests(b *testing.B) {
	runs, err := strconv.Atoi(cmp.Or(os.Getenv(envRuns), "100000"))
	if err != nil {
		b.Fatalf("%s: %v", envRuns, err)
	}
	p := newDatabase(b)
	h := newHost(b, p.url, postgres.Options{SingleHost: true})
	if err := h.store.SaveAccount(b.Context(), verification.Account{
		ClientID: "bench", Tenant: tenant, KeyHash: verification.HashAPIKey(apiKey), Surfaces: verification.Surfaces(),
	}); err != nil {
		b.Fatal(err)
	}
	if err := bench.Fill(b.Context(), h.store.Store, bench.FillOptions{Tenant: tenant, Runs: runs, Now: time.Now()}); err != nil {
		b.Fatal(err)
	}
	p.checkpoint(b)
	wait := clientTimeout
	run, err := h.engine.Start(b.Context(), tenant, h.reviewed, engine.StartRequest{ReferenceID: "person", Wait: &wait})
	if err != nil {
		b.Fatal(err)
	}
	api := httpapi.New(h.engine, httpapi.Options{Log: slog.New(slog.DiscardHandler), Clock: clock.System{}})
	get := func(path string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, path, http.NoBody)
		r.Header.Set("client-id", "bench")
		r.Header.Set("x-api-key", apiKey)
		for n := 0; n < len(headers); n += 2 {
			r.Header.Set(headers[n], headers[n+1])
		}
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		return w
	}
	one := "/v1/runs/" + string(run.ID)
	tag := get(one).Header().Get("ETag")
	flow := string(workflow.DeriveWorkflowID(tenant, "filled-3"))
	request := func(status int, path string, headers ...string) func() {
		return func() {
			if w := get(path, headers...); w.Code != status {
				b.Fatalf("GET %s = %d %s, want %d", path, w.Code, w.Body, status)
			}
		}
	}
	for _, c := range []struct {
		name string
		do   func()
	}{
		{"SELECT 1", func() {
			var n int
			if err := h.store.Pool().QueryRow(b.Context(), "SELECT 1").Scan(&n); err != nil {
				b.Fatal(err)
			}
		}},
		{"run", request(http.StatusOK, one)},
		{"run, not modified", request(http.StatusNotModified, one, "If-None-Match", tag)},
		{"workflows", request(http.StatusOK, "/v1/workflows")},
		{"runs", request(http.StatusOK, "/v1/runs?limit=50")},
		{"runs, status", request(http.StatusOK, "/v1/runs?limit=50&status=completed")},
		{"runs, workflow", request(http.StatusOK, "/v1/runs?limit=50&workflow_id="+flow)},
		{"runs, workflow, status", request(http.StatusOK, "/v1/runs?limit=50&status=completed&workflow_id="+flow)},
		{"runs, review", request(http.StatusOK, "/v1/runs?limit=50&decision=review")},
		{"runs, approve", request(http.StatusOK, "/v1/runs?limit=50&decision=approve")},
	} {
		b.Run(strings.ReplaceAll(c.name, ", ", ","), func(b *testing.B) {
			for range costRequests / 10 {
				c.do()
			}
			before := p.used(b)
			for range costRequests {
				c.do()
			}
			u := p.used(b).minus(before)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(u.host.Microseconds())/costRequests, "host-CPU-µs/req")
			b.ReportMetric(float64(u.server.Microseconds())/costRequests, "database-CPU-µs/req")
			b.ReportMetric(float64((u.host+u.server).Microseconds())/costRequests, "CPU-µs/req")
		})
	}
}
