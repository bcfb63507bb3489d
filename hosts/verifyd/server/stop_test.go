// Tests of a stop behind a load balancer.

package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/process"
)

func TestAStoppingHostServesUntilItsDelayEnds(t *testing.T) {
	t.Parallel()
	const delay = 2 * time.Second
	s := serveHost(t, map[string]string{"VERIFYD_SHUTDOWN_DELAY": delay.String()})
	if _, _, h := s.call("GET", s.api+"/v1/runs", ""); h.Get("Connection") != "" {
		t.Errorf("before the stop, Connection is %q", h.Get("Connection"))
	}
	s.stop()
	began := time.Now()
	for {
		status, raw, _ := s.call("GET", s.admin+"/readyz", "")
		if status == http.StatusServiceUnavailable && strings.Contains(string(raw), `"stopping"`) {
			break
		}
		if time.Since(began) > delay {
			t.Fatalf("/readyz = %d %s, want 503 before the host stops", status, raw)
		}
	}
	r, err := http.Post(s.api+onboarding, "application/json", strings.NewReader(`{}`))
	if err != nil {
		t.Fatalf("a request after /readyz was 503: %v", err)
	}
	_ = r.Body.Close()
	if !r.Close {
		t.Error("the answer keeps the connection")
	}
	if err := s.end(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took < delay {
		t.Errorf("the host ended after %s, want %s", took, delay)
	}
}

func TestASecondSignalEndsTheDelay(t *testing.T) {
	t.Parallel()
	h, err := process.StartHost(process.HostOptions{Program: os.Args[0], Name: "host", Env: []string{
		asProgram + "=1", "VERIFYD_ADDR=127.0.0.1:0", "VERIFYD_ADMIN_ADDR=127.0.0.1:0", "VERIFYD_MEMORY=true", "VERIFYD_SHUTDOWN_DELAY=5m",
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Kill() })
	late := time.After(20 * time.Second)
	for ended := false; !ended; {
		_ = h.Cmd.Process.Signal(syscall.SIGTERM) // fails when it has ended
		select {
		case <-h.Ended():
			ended = true
		case <-late:
			t.Fatal("a second signal does not end the host")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// balancer sends requests to the hosts that say that they are ready, over connections that it
// keeps, and repeats none, as load balancers do with a POST.
type balancer struct {
	hosts [2]atomic.Pointer[served]
	ready [2]atomic.Bool
	next  atomic.Uint64
	proxy httputil.ReverseProxy
}

func (b *balancer) watch(ctx context.Context) {
	for ctx.Err() == nil {
		for i := range b.hosts {
			r, err := http.Get(b.hosts[i].Load().admin + "/readyz")
			b.ready[i].Store(err == nil && r.StatusCode == http.StatusOK)
			if err == nil {
				_ = r.Body.Close()
			}
		}
		time.Sleep(50 * time.Millisecond) //nolint:forbidigo // a health check is on the wall clock
	}
}

func (b *balancer) rewrite(r *httputil.ProxyRequest) {
	i := b.next.Add(1) % 2
	if !b.ready[i].Load() {
		i = 1 - i
	}
	target, _ := url.Parse(b.hosts[i].Load().api) // of a ready line
	r.SetURL(target)
}

func TestARollingRestartFailsNoRequest(t *testing.T) {
	t.Parallel()
	b := &balancer{}
	b.proxy.Rewrite = b.rewrite
	b.proxy.ErrorHandler = func(w http.ResponseWriter, r *http.Request, err error) {
		if r.Context().Err() == nil {
			t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
		}
		w.WriteHeader(http.StatusBadGateway)
	}
	start := func() *served { return serveHost(t, map[string]string{"VERIFYD_SHUTDOWN_DELAY": "2s"}) }
	for i := range b.hosts {
		b.hosts[i].Store(start())
		b.ready[i].Store(true)
	}
	front := httptest.NewServer(&b.proxy)
	defer front.Close()
	ctx, end := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	clients.Go(func() { b.watch(ctx) })
	var answered atomic.Int64
	for range 8 {
		clients.Go(func() {
			for ctx.Err() == nil {
				status, raw, err := tryStart(front.URL+records, strings.NewReader(`{"reference_id":"person-1"}`))
				if err != nil || status != http.StatusAccepted && status != http.StatusCreated {
					t.Errorf("a start = %d %s, %v", status, raw, err)
				}
				answered.Add(1)
			}
		})
	}
	for i := range 2 {
		old := b.hosts[i%2].Load()
		if err := old.end(); err != nil {
			t.Error(err)
		}
		b.hosts[i%2].Store(start())
		for began := answered.Load(); answered.Load() < began+50; { // with both hosts
			time.Sleep(10 * time.Millisecond) //nolint:forbidigo // requests are on the wall clock
		}
	}
	end()
	clients.Wait()
	if answered.Load() < 100 {
		t.Errorf("%d starts were answered, want more", answered.Load())
	}
}
