// The HTTP API on memory relative to a bare handler.

package bench_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/httpapi"
	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
)

const (
	httpClients = 8
	httpSlices  = 20 // of the API, and the same number of the bare handler
	httpLasting = 200 * time.Millisecond
	inReview    = 200 // runs that wait for a reviewer
	apiKey      = "a key of at least twenty characters"
)

// BenchmarkHTTP sends requests over loopback to the API and, in turn, to a handler
// that reads the body and writes the bytes of the same response. The clients share
// the process: their CPU counts for both.
func BenchmarkHTTP(b *testing.B) {
	e, server := newAPI(b)
	checks := apply(b, e, chain("checks", "a", "b", "c", "d", "e"))
	reviewed := apply(b, e, chain("reviewed", "a", "b", "review", "c"))
	wait := clientTimeout
	var run rules.RunView
	for range inReview {
		var err error
		if run, err = e.Start(b.Context(), tenant, reviewed, engine.StartRequest{ReferenceID: "person", Wait: &wait}); err != nil {
			b.Fatal(err)
		}
	}
	poll := request(http.MethodGet, "/v1/runs/"+string(run.ID), "")
	tag := exchange(b, server, poll).header.Get("ETag")
	for _, c := range []struct {
		name, request string
		status        int
	}{
		{"start", request(http.MethodPost, "/v1/workflows/"+string(checks)+"/runs", `{"reference_id":"person"}`, "Prefer: wait=25"), http.StatusAccepted},
		{"poll", request(http.MethodGet, "/v1/runs/"+string(run.ID), "", "If-None-Match: "+tag), http.StatusNotModified},
		{"read", poll, http.StatusOK},
		{"queue", request(http.MethodGet, "/v1/runs?decision=review&status=in_progress", ""), http.StatusOK},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := exchange(b, server, c.request)
			if r.status != c.status {
				b.Fatalf("%s\n= %d %s, want %d", c.request, r.status, r.body, c.status)
			}
			besideBareHandler(b, server, c.request, r)
		})
	}
}

// newAPI starts an engine on memory and a server of its API, which stop at the end
// of the benchmark.
func newAPI(b *testing.B) (*engine.Engine, *httptest.Server) {
	b.Helper()
	store := memory.New()
	e := newEngine(b, store)
	for _, err := range []error{
		store.SaveTenant(b.Context(), verification.Tenant{ID: tenant, Name: "Bench"}),
		store.SaveAccount(b.Context(), verification.Account{
			ClientID: "bench", Tenant: tenant, KeyHash: verification.HashAPIKey(apiKey), Surfaces: verification.Surfaces(),
		}),
	} {
		if err != nil {
			b.Fatal(err)
		}
	}
	serve(b, e)
	server := httptest.NewServer(httpapi.New(e, httpapi.Options{Log: slog.New(slog.DiscardHandler), Clock: clock.System{}}))
	b.Cleanup(server.Close)
	return e, server
}

// request returns the bytes of a request with a JSON body and the given header lines.
func request(method, path, body string, headers ...string) string {
	lines := append([]string{
		method + " " + path + " HTTP/1.1", "Host: api.example", "client-id: bench", "x-api-key: " + apiKey,
		"Content-Type: application/json", "Content-Length: " + strconv.Itoa(len(body)),
	}, headers...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n" + body
}

// reply is a response that was read.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// exchange sends one request on a connection of its own.
func exchange(b *testing.B, server *httptest.Server, request string) reply {
	b.Helper()
	r, err := dial(b, server).exchange(request)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

type connection struct {
	net.Conn
	in *bufio.Reader
}

func dial(b *testing.B, server *httptest.Server) connection {
	b.Helper()
	c, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	return connection{c, bufio.NewReader(c)}
}

func (c connection) exchange(request string) (reply, error) {
	if err := c.SetDeadline(time.Now().Add(clientTimeout)); err != nil {
		return reply{}, err
	}
	if _, err := io.WriteString(c, request); err != nil {
		return reply{}, err
	}
	r, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(r.Body)
	return reply{r.StatusCode, r.Header, body}, err
}

// newClients returns the act of clients that send a request, each on its connection.
func newClients(b *testing.B, server *httptest.Server, request string, status int) act {
	b.Helper()
	all := make([]connection, httpClients)
	for i := range all {
		all[i] = dial(b, server)
	}
	return func(_ context.Context, client int) (time.Duration, error) {
		began := time.Now()
		r, err := all[client].exchange(request)
		if err == nil && r.status != status {
			err = fmt.Errorf("the status is %d, want %d", r.status, status)
		}
		return time.Since(began), err
	}
}

func besideBareHandler(b *testing.B, server *httptest.Server, request string, want reply) {
	b.Helper()
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for _, name := range []string{"Content-Type", "Content-Length", "ETag"} {
			if v := want.header.Get(name); v != "" {
				w.Header().Set(name, v)
			}
		}
		w.WriteHeader(want.status)
		_, _ = w.Write(want.body)
	}))
	b.Cleanup(bare.Close)
	part := func(do act, lasting time.Duration) (t part) {
		before := hostCPU(b)
		t.tally = busy(b, httpClients, lasting, do)
		t.used.host = hostCPU(b) - before
		return t
	}
	ours, theirs := newClients(b, server, request, want.status), newClients(b, bare, request, want.status)
	part(ours, httpLasting)
	part(theirs, httpLasting)
	var api, floor tally
	var cpuAPI, cpuFloor time.Duration
	var ratios []float64
	for b.Loop() {
		for range httpSlices {
			o, t := part(ours, httpLasting), part(theirs, httpLasting)
			ratios = append(ratios, o.rate()/t.rate())
			api.add(o.tally)
			floor.add(t.tally)
			cpuAPI += o.used.host
			cpuFloor += t.used.host
		}
	}
	perRequest := func(cpu time.Duration, t tally) float64 { return float64(cpu.Microseconds()) / float64(len(t.took)) }
	b.ReportMetric(0, "ns/op") // one op is a whole round
	b.ReportMetric(median(ratios), "ratio")
	b.ReportMetric(api.rate(), "req/s")
	b.ReportMetric(floor.rate(), "bare-req/s")
	b.ReportMetric(perRequest(cpuAPI, api), "CPU-µs/req")
	b.ReportMetric(perRequest(cpuFloor, floor), "bare-CPU-µs/req")
	b.ReportMetric(api.percentile(99), "p99-ms")
	b.ReportMetric(floor.percentile(99), "bare-p99-ms")
}
