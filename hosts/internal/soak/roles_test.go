// Test of a host with only the API and a host that is only a worker.

package soak_test

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestAStartOnOneHostIsCarriedOutByAnother(t *testing.T) {
	s := newSite(t, steady.get(t), "roles", 1)
	api, _ := s.serve(t, "api"), s.serve(t, "worker")
	var took []time.Duration
	for end := time.Now().Add(10 * time.Second); len(took) < 40 && time.Now().Before(end); {
		began := time.Now()
		startRun(t, api, fmt.Sprintf("person-%d", len(took)), nil)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	runs := len(took)
	p50, p99 := took[runs/2], took[runs*99/100]
	t.Logf("%d starts on one host that waited for five checks on the other: p50 %s, p99 %s, longest %s", runs,
		p50.Round(time.Millisecond), p99.Round(time.Millisecond), took[runs-1].Round(time.Millisecond))
	// Far less than without a wake-up: hosts look for work every 2 s.
	if p50 > time.Second {
		t.Errorf("p50 = %s: the other host was not told", p50)
	}
}
