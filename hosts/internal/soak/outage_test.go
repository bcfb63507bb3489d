// Test of an outage of the database: hosts report it and recover.

package soak_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/client"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

func TestHostsRecoverWhenTheDatabaseIsBack(t *testing.T) {
	server := steady.get(t)
	s := newSite(t, server, "outage", 1)
	h := s.serve(t, "api,worker")
	run := startRun(t, h, "before", nil)
	for _, away := range []struct {
		name string
		end  func(*pgtest.Server) error
	}{
		{"killed", (*pgtest.Server).Kill},
		{"restarted", func(s *pgtest.Server) error { return s.Stop(t.Context()) }},
	} {
		enough := crowdOf(t, h, run)
		ending := time.Now()
		if err := away.end(server); err != nil {
			t.Fatal(err)
		}
		gone := time.Now()
		for range 3 { // the first requests use broken connections, later ones get none
			refuses(t, func(ctx context.Context) error { _, err := h.api.ReadRun(ctx, run); return err })
			refuses(t, func(ctx context.Context) error {
				_, err := h.api.ListRuns(ctx, client.RunQuery{Status: rules.StatusCompleted})
				return err
			})
			refuses(t, func(ctx context.Context) error { _, err := h.api.ListWorkflows(ctx, 0, 0); return err })
			refuses(t, func(ctx context.Context) error {
				_, err := h.api.StartRun(ctx, workflowID("1"), client.StartRequest{ReferenceID: "meanwhile"})
				return err
			})
			refuses(t, func(ctx context.Context) error {
				_, err := h.api.GiveVerdict(ctx, run, client.Verdict{Decision: rules.DecisionApprove})
				return err
			})
			refuses(t, func(ctx context.Context) error { _, err := h.api.CancelRun(ctx, run); return err })
		}
		if status, body := fetch(t.Context(), http.MethodGet, h.Admin+"/readyz", ""); status != http.StatusServiceUnavailable {
			t.Errorf("%s: /readyz = %d %s, want 503", away.name, status, body)
		}
		if status, body := fetch(t.Context(), http.MethodGet, h.Admin+"/healthz", ""); status != http.StatusOK {
			t.Errorf("%s: /healthz = %d %s, want 200", away.name, status, body)
		}
		restarting := time.Now()
		if err := server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		back := time.Now()
		answers(t, func(ctx context.Context) error {
			status, body := fetch(ctx, http.MethodGet, h.Admin+"/readyz", "")
			if status != http.StatusOK {
				return fmt.Errorf("/readyz = %d %s", status, body)
			}
			return nil
		})
		answers(t, func(ctx context.Context) error { _, err := h.api.ReadRun(ctx, run); return err })
		enough()
		if all, err := h.api.ListRuns(t.Context(), client.RunQuery{}); err != nil || all.Total == 0 {
			t.Errorf("%s: %d runs, %v", away.name, all.Total, err)
		}
		startRun(t, h, "after it was "+away.name, map[string]string{"court": "slow:50ms"})
		t.Logf("the database was %s within %s, refused requests for %s, and restarted within %s; a run completed %s later", away.name,
			gone.Sub(ending).Round(time.Millisecond), restarting.Sub(gone).Round(time.Millisecond),
			back.Sub(restarting).Round(time.Millisecond), time.Since(back).Round(time.Millisecond))
	}
}

// crowdOf sends requests of all kinds while the database stops: each must get a
// response or 503.
func crowdOf(t *testing.T, h *host, run verification.RunID) (enough func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	list := func(q client.RunQuery) func() error {
		return func() error { _, err := h.api.ListRuns(ctx, q); return err }
	}
	var crowd sync.WaitGroup
	for n, request := range []func() error{
		func() error { _, err := h.api.ReadRun(ctx, run); return err },
		func() error { _, err := h.api.ReadReport(ctx, run); return err },
		func() error { _, err := h.api.ListWorkflows(ctx, 0, 0); return err },
		func() error { _, err := h.api.ReadWorkflow(ctx, workflowID("1")); return err },
		list(client.RunQuery{}), list(client.RunQuery{}), list(client.RunQuery{Status: rules.StatusCompleted}),
		list(client.RunQuery{Decision: rules.DecisionReview}),
	} {
		for range 2 {
			crowd.Go(func() {
				tick := time.NewTicker(10 * time.Millisecond)
				defer tick.Stop()
				for ; ctx.Err() == nil; <-tick.C {
					err := request()
					if err != nil && statusOf(err) != http.StatusServiceUnavailable && ctx.Err() == nil {
						t.Errorf("request %d = %v, want a response or 503", n, err)
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

// refuses sends a request that needs the database and wants 503 with a message.
func refuses(t *testing.T, request func(ctx context.Context) error) {
	t.Helper()
	began := time.Now()
	err := request(t.Context())
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Status != http.StatusServiceUnavailable || e.RetryAfter == 0 || e.Text == "" || e.Text == "Service Unavailable" {
		t.Errorf("the request = %v, want 503 with a message and Retry-After", err)
	}
	if took := time.Since(began); took > 12*time.Second {
		t.Errorf("the request took %s", took)
	}
}

// answers waits until a request succeeds.
func answers(t *testing.T, request func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	err := request(ctx)
	for err != nil {
		if !pause(ctx) {
			t.Fatal(err)
		}
		err = request(ctx)
	}
}

// startRun starts a run of five checks with scripts and waits until it is completed.
func startRun(t *testing.T, h *host, reference string, scripts map[string]string) (run verification.RunID) {
	t.Helper()
	var input map[string]any
	if scripts != nil {
		input = map[string]any{"sandbox": scripts}
	}
	r, err := h.api.StartRun(t.Context(), workflowID("1"), client.StartRequest{
		ReferenceID: reference, Input: input, Wait: new(20 * time.Second),
	})
	if err != nil || r.Status != rules.StatusCompleted {
		t.Fatalf("start = %v, %v, want a run that is completed", r, err)
	}
	return r.ID
}
