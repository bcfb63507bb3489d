// Test of an outage of the database: hosts report it and recover.

package soak_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/pgtest"
)

func TestWithoutTheDatabaseHostsAnswer503AndRecoverByThemselves(t *testing.T) {
	server := steady.get(t)
	s := newSite(t, server, "outage", 1)
	h, c := s.serve(t, "api,worker"), newClient(t)
	run := startRun(t, c, h, "before", `{}`)
	for _, away := range []struct {
		name string
		end  func(*pgtest.Server) error
	}{
		{"killed", (*pgtest.Server).Kill},
		{"restarted", func(s *pgtest.Server) error { return s.Stop(t.Context()) }},
	} {
		enough := crowdOf(t, c, h, run)
		ending := time.Now()
		if err := away.end(server); err != nil {
			t.Fatal(err)
		}
		gone := time.Now()
		for range 3 { // the first requests use broken connections, later ones get none
			refuses(t, c, h, http.MethodGet, "/v1/runs/"+run, "")
			refuses(t, c, h, http.MethodGet, "/v1/runs?status=completed", "")
			refuses(t, c, h, http.MethodGet, "/v1/workflows", "")
			refuses(t, c, h, http.MethodPost, "/v1/workflows/0191f3c0-0000-7000-8000-000000000001/runs", `{"reference_id":"meanwhile"}`)
			refuses(t, c, h, http.MethodPost, "/v1/signals/"+run+"/human_review_decision", `{"payload":{"decision":"approve"}}`)
			refuses(t, c, h, http.MethodPost, "/v1/runs/"+run+"/cancel", "")
		}
		if a := c.request(t.Context(), http.MethodGet, h.Admin+"/readyz", ""); a.status != http.StatusServiceUnavailable {
			t.Errorf("%s: /readyz = %s, want 503", away.name, a)
		}
		if a := c.request(t.Context(), http.MethodGet, h.Admin+"/healthz", ""); a.status != http.StatusOK {
			t.Errorf("%s: /healthz = %s, want 200", away.name, a)
		}
		restarting := time.Now()
		if err := server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		back := time.Now()
		answers(t, c, h.Admin+"/readyz")
		answers(t, c, h.API+"/v1/runs/"+run)
		enough()
		var all struct{ Total int }
		if err := c.read(t.Context(), h.API+"/v1/runs", &all); err != nil || all.Total == 0 {
			t.Errorf("%s: %d runs, %v", away.name, all.Total, err)
		}
		startRun(t, c, h, "after it was "+away.name, `{"court":"slow:50ms"}`)
		t.Logf("the database was %s within %s, refused requests for %s, and restarted within %s; a run completed %s later", away.name,
			gone.Sub(ending).Round(time.Millisecond), restarting.Sub(gone).Round(time.Millisecond),
			back.Sub(restarting).Round(time.Millisecond), time.Since(back).Round(time.Millisecond))
	}
}

// crowdOf sends requests of all kinds while the database stops: each must get a
// response or 503.
func crowdOf(t *testing.T, c client, h *host, run string) (enough func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var crowd sync.WaitGroup
	for _, path := range []string{
		"/v1/runs/" + run, "/v1/runs/" + run + "?view=report", "/v1/runs", "/v1/runs?status=completed",
		"/v1/runs?decision=review", "/v1/workflows", "/v1/workflows/0191f3c0-0000-7000-8000-000000000001", "/v1/runs",
	} {
		for range 2 {
			crowd.Go(func() {
				tick := time.NewTicker(10 * time.Millisecond)
				defer tick.Stop()
				for ; ctx.Err() == nil; <-tick.C {
					a := c.request(ctx, http.MethodGet, h.API+path, "")
					if a.status != http.StatusOK && a.status != http.StatusServiceUnavailable && ctx.Err() == nil {
						t.Errorf("GET %s = %s, want 200 or 503", path, a)
					}
				}
			})
		}
	}
	<-time.After(200 * time.Millisecond) // all of them have started
	return func() {
		cancel()
		crowd.Wait()
	}
}

// refuses sends a request that needs the database and wants 503.
func refuses(t *testing.T, c client, h *host, method, path, body string) {
	t.Helper()
	began := time.Now()
	a := c.request(t.Context(), method, h.API+path, body)
	var said struct {
		Error, Message string
		Code           int
	}
	err := json.Unmarshal(a.body, &said)
	if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" ||
		err != nil || said.Error != "Service Unavailable" || said.Code != http.StatusServiceUnavailable || said.Message == "" {
		t.Errorf("%s %s = %s with %v, want 503 with Retry-After", method, path, a, a.header)
	}
	if took := time.Since(began); took > 12*time.Second {
		t.Errorf("%s %s took %s", method, path, took)
	}
}

// answers waits until a URL returns 200.
func answers(t *testing.T, c client, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	a := c.request(ctx, http.MethodGet, url, "")
	for a.status != http.StatusOK {
		if !pause(ctx) {
			t.Fatalf("GET %s = %s, want 200", url, a)
		}
		a = c.request(ctx, http.MethodGet, url, "")
	}
}

// startRun starts a run of five checks with scripts and waits until it is completed.
func startRun(t *testing.T, c client, h *host, reference, scripts string) (run string) {
	t.Helper()
	a := c.request(t.Context(), http.MethodPost, h.API+"/v1/workflows/0191f3c0-0000-7000-8000-000000000001/runs",
		fmt.Sprintf(`{"reference_id":%q,"input":{"sandbox":%s}}`, reference, scripts), "Prefer", "wait=20")
	var r runJSON
	if err := json.Unmarshal(a.body, &r); a.status != http.StatusAccepted || err != nil || r.Status != "completed" {
		t.Fatalf("start = %s, want a run that is completed", a)
	}
	return r.ID
}
