// Test of a host that is killed while it records an expiry.

package soak_test

import (
	"context"
	"testing"
	"time"
)

// leaveExpiry leaves the deadline of the only run as a host does that dies just after it took it.
const leaveExpiry = `
UPDATE verifyd.work SET leased = true, lease_id = gen_random_uuid(), due_at = now() + interval '20 seconds' WHERE kind = 'expire'`

func TestARunExpiresAfterTheHostThatTookItDies(t *testing.T) {
	t.Parallel()
	s := newSite(t, steady.get(t), "expire", 1)
	h := s.serve(t, "api,worker")
	conn := s.connect(t)
	start(t, h, workflowID("4"), "person-1", nil)
	if tag, err := conn.Exec(t.Context(), leaveExpiry); err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("leave the expiry: %v, %v", tag, err)
	}
	deadline := time.Now().Add(4 * time.Second)
	ctx, cancel := context.WithDeadline(t.Context(), deadline.Add(stuckAfter))
	defer cancel()
	for s.hooks.taken() == 0 {
		if !pause(ctx) {
			t.Fatalf("%s after its deadline there is no notice that the run is over", stuckAfter)
		}
	}
	t.Logf("the webhook arrived %.1fs after the deadline", time.Since(deadline).Seconds())
}
