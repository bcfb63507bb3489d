// Test of a host that is killed during a check.

package soak_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestACheckOfADeadHostIsDispatchedAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, steady.get(t), "crash", 1)
	s.migrate(t)
	first, second := s.serve(t, "api,worker"), s.serve(t, "api,worker")
	const slow = 3 * time.Second
	r := start(t, first, workflowID("1"), "person-1", map[string]any{"sandbox": map[string]string{"pan": "slow:3s"}})
	<-time.After(time.Second) // during the check
	died := time.Now()
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	completed(ctx, t, second, r.ID)
	all, err := readHistories(t.Context(), s.connect(t))
	if err != nil {
		t.Fatal(err)
	}
	h := all[string(r.ID)]
	report(t, h.problems())
	// The key of a call consists of run, step and dispatch: it was dispatched once.
	if pan, _ := h.fold().Step("pan"); pan.Dispatches != 1 || pan.Recovered {
		t.Errorf("pan was dispatched %d times (recovered: %t), want the same dispatch called again", pan.Dispatches, pan.Recovered)
	}
	if got, want := calls(t, second), "5"; got != want {
		t.Errorf("the second host called %s times, want %s: the check that was under way, and those after it", got, want)
	}
	var taken, answered time.Time
	for _, m := range h.marks {
		switch {
		case m.at.Before(died):
			if m.host != first.Name {
				t.Errorf("%s had the run before the first host died", m.host)
			}
		case m.host != second.Name:
			t.Errorf("%s had the run after the first host died", m.host)
		case taken.IsZero():
			taken = m.at
		case answered.IsZero() && m.upto > 0:
			answered = m.at
		}
	}
	t.Logf("taken over %.1fs after the host died, answered %.1fs after it", taken.Sub(died).Seconds(), answered.Sub(died).Seconds())
	if resumed := taken.Sub(died); resumed > stuckAfter {
		t.Errorf("the run was taken over after %s, want at most %s", resumed, stuckAfter)
	}
	if again := answered.Sub(taken); again < slow {
		t.Errorf("answered %s after it was taken over: the provider was not called again", again)
	}
}

// calls returns the number of calls of a host to a provider that passed.
func calls(t *testing.T, h *host) string {
	t.Helper()
	status, metrics := fetch(t.Context(), http.MethodGet, h.Admin+"/metrics", "")
	if status != http.StatusOK {
		t.Fatalf("/metrics = %d %s", status, metrics)
	}
	for line := range strings.Lines(metrics) {
		if n, ok := strings.CutPrefix(line, `verifyd_provider_call_seconds_count{outcome="passed",provider="sandbox"} `); ok {
			return strings.TrimSpace(n)
		}
	}
	return "no"
}
