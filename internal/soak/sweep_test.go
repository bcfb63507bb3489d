// Test of a host that is killed while it sweeps deadlines.

package soak_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// leaveSweep gives the newest job of a sweep the state in which a host leaves it that dies.
const leaveSweep = `
UPDATE verifyd.river_job SET state = 'running', finalized_at = NULL, attempted_at = now(), attempted_by = '{gone}'
WHERE id = (SELECT max(id) FROM verifyd.river_job WHERE kind = 'verifyd_sweep' AND state = 'completed')`

func TestRunsExpireOnTimeAfterAHostDiesDuringASweep(t *testing.T) {
	t.Parallel()
	s := newSite(t, steady.get(t), "sweep", 1)
	h := s.serve(t, "api,worker")
	conn := s.connect(t)
	for ctx, left := t.Context(), false; !left; { // while another sweep is queued, this one cannot be rescued
		tag, err := conn.Exec(ctx, leaveSweep)
		var refused *pgconn.PgError
		if err != nil && (!errors.As(err, &refused) || refused.Code != "23505") {
			t.Fatal(err)
		}
		left = err == nil && tag.RowsAffected() == 1
		if !left && !pause(ctx) {
			return
		}
	}
	start(t, h, workflowID("4"), "person-1", nil)
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
