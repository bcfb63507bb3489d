// Test of hosts that are killed while several vendors are called for one run.

package soak_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// groupSection ends the bootstrap file with a workflow of a group of three members and a step for each of three elements,
// and the vendor that they call.
const groupSection = `
      - workflow: grouped
        id: 0191f3c0-0000-7000-8000-00000000000f
        name: Grouped
        start: address
        nodes:
          address:
            type: checks
            members:
              bureau: {provider: registry, timeout_seconds: 60, with: {hold: "${input.hold}"}}
              register: {provider: registry, timeout_seconds: 60, with: {hold: "${input.hold}"}}
              utility: {provider: registry, timeout_seconds: 60, with: {hold: "${input.hold}"}}
            next: owners
          owners: {type: check, provider: registry, timeout_seconds: 60, with: {hold: "${input.hold}"}, for_each: "['x', 'y', 'z']", next: done}
          done: {type: end}
providers:
  registry:
    type: rest
    base_url: %s
    limits: {timeout_seconds: 60}
    request: {path: /checks, headers: {Idempotency-Key: "${request.idempotency_key}"}, json: {hold: "${with.hold}"}}
    response:
      passed: response.body.result == 'VALID'
`

// counting is a vendor that counts the requests for each idempotency key.
type counting struct {
	mu   sync.Mutex
	runs map[string]*counted // by run
}

// counted are the requests for one run. The vendor holds the one that the input of the run says, and all that come while it is held.
type counted struct {
	asked    map[string]int
	answered map[string]bool
	requests int
	over     bool          // nothing is held any more
	held     chan struct{} // closed when the request is
}

// of returns the requests for a run.
func (c *counting) of(run string) *counted {
	if c.runs[run] == nil {
		c.runs[run] = &counted{asked: map[string]int{}, answered: map[string]bool{}, held: make(chan struct{})}
	}
	return c.runs[run]
}

func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct{ Hold int }
	_ = json.NewDecoder(r.Body).Decode(&body)
	key := r.Header.Get("Idempotency-Key")
	run, _, _ := strings.Cut(key, "/")
	c.mu.Lock()
	of := c.of(run)
	of.requests++
	of.asked[key]++
	holds := !of.over && of.requests >= body.Hold
	if !of.over && of.requests == body.Hold {
		close(of.held)
	}
	of.answered[key] = of.answered[key] || !holds
	c.mu.Unlock()
	if holds {
		<-r.Context().Done() // until the host is dead
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"result":"VALID"}`)
}

// kill kills a host while it waits for a call of a run, and returns the keys in flight.
func (c *counting) kill(ctx context.Context, t *testing.T, h *host, run string) map[string]bool {
	c.mu.Lock()
	of := c.of(run)
	c.mu.Unlock()
	select {
	case <-of.held:
	case <-ctx.Done():
		t.Errorf("the call to hold did not come")
	}
	time.Sleep(500 * time.Millisecond) //nolint:forbidigo // real processes: the answers that came before are saved
	c.mu.Lock()
	of.over = true
	inFlight := map[string]bool{}
	for key := range of.asked {
		inFlight[key] = !of.answered[key]
	}
	c.mu.Unlock()
	if err := h.Kill(); err != nil {
		t.Error(err)
	}
	return inFlight
}

func TestKillsDuringAGroupCallNobodyTwice(t *testing.T) {
	t.Parallel()
	vendor := &counting{runs: map[string]*counted{}}
	server := httptest.NewServer(vendor)
	t.Cleanup(server.Close)
	s := newSite(t, steady.get(t), "group", 1)
	raw, err := os.ReadFile(s.bootstrap)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.bootstrap, append(raw, fmt.Sprintf(groupSection, server.URL)...), 0o600); err != nil {
		t.Fatal(err)
	}
	s.migrate(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	second := s.serve(t, "api,worker")
	const calls = 6 // of a run that nobody disturbs
	var runs []string
	inFlight := map[string]map[string]bool{}
	for hold := 1; hold <= calls; hold++ {
		h := s.serve(t, "api,worker")
		run := string(start(t, h, workflowID("f"), "person-1", map[string]any{"hold": hold}).ID)
		runs = append(runs, run)
		inFlight[run] = vendor.kill(ctx, t, h, run)
	}
	for i, run := range runs {
		ended := completed(ctx, t, second, verification.RunID(run))
		if decided(ended) != rules.DecisionNone {
			t.Errorf("killed at call %d: the decision is %s, want none", i+1, decided(ended))
		}
		vendor.mu.Lock()
		asked := vendor.of(run).asked
		if len(asked) != calls {
			t.Errorf("killed at call %d: the vendor was asked for %q, want %d keys", i+1, slices.Sorted(maps.Keys(asked)), calls)
		}
		for key, n := range asked {
			if n > 1 && !inFlight[run][key] || !strings.HasSuffix(key, "/1") {
				t.Errorf("killed at call %d: %s was asked for %d times; in flight were %v", i+1, key, n, inFlight[run])
			}
		}
		vendor.mu.Unlock()
	}
}
