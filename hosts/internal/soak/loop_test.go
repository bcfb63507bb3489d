// Test of hosts in a crash loop: the runs that they had only wait, and none of them is ended.

package soak_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/client"
	"github.com/verifyd/verifyd/verification/rules"
)

func TestACrashLoopEndsNoRun(t *testing.T) {
	t.Parallel()
	for _, on := range []string{"folder", "database"} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			seed, kills := seedOf(t), killsOf(t, shortKills)
			t.Logf("repeat with VERIFYD_SOAK_SEED=%d", seed)
			var s *site
			if on == "folder" {
				s = newFolderSite(t, seed)
			} else {
				s = newSite(t, steady.get(t), "loop", seed)
				s.migrate(t)
			}
			f := newCluster(t, s, -1, "api,worker")
			waiting, large := 40, 100
			if kills <= shortKills {
				waiting, large = 8, 8
			}
			for n := range waiting + large {
				input := map[string]any{"sandbox": map[string]string{"pan": "slow:8s"}}
				if n >= waiting {
					input = map[string]any{"large": strings.Repeat("x", 300_000)}
				}
				start(t, f.any(), workflowID("1"), fmt.Sprint("person-", n), input)
			}
			rng, began := rand.New(rand.NewPCG(seed, 2)), time.Now()
			for range kills {
				<-time.After(500*time.Millisecond + time.Duration(rng.Int64N(int64(4*time.Second))))
				if err := f.take(0).Kill(); err != nil {
					t.Fatal(err)
				}
				if err := f.fill(0); err != nil {
					t.Fatal(err)
				}
			}
			looped := time.Since(began)
			var most time.Duration // that runs wait for afterwards
			if kills > shortKills {
				most = 10 * time.Minute
			}
			states := waitForAll(t, f.any(), most)
			t.Logf("%d kills within %.0fs; %v %.0fs later", kills, looped.Seconds(), states, (time.Since(began) - looped).Seconds())
			if ended := states[rules.StatusFailed] + states[rules.StatusExpired]; ended > 0 {
				t.Errorf("%d of %d runs were ended, want none", ended, waiting+large)
			}
			if most > 0 && states[rules.StatusCompleted] != waiting+large {
				t.Errorf("%v, want all %d runs completed", states, waiting+large)
			}
		})
	}
}

// waitForAll waits until all runs are completed, for at most a time, and counts them by status.
func waitForAll(t *testing.T, h *host, most time.Duration) map[rules.Status]int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), most+time.Minute)
	defer cancel()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for end := time.Now().Add(most); ; <-tick.C {
		states, all := map[rules.Status]int{}, 0
		for r, err := range h.api.Runs(ctx, client.RunQuery{Limit: 200}) {
			if err != nil {
				t.Fatal(err)
			}
			states[r.Status]++
			all++
		}
		if states[rules.StatusCompleted] == all || time.Now().After(end) {
			return states
		}
	}
}
