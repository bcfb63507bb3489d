// Tests of hosts that operators see.

package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/pgadmin"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
)

func TestHostsAreListedWhileTheySendHeartbeats(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{SingleHost: true})
	ctx := t.Context()
	started := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	one := postgres.Host{ID: "00000000-0000-7000-8000-000000000001", Name: "one", Address: "10.0.0.1:8080", Facts: `{"build": "v1"}`, Roles: []string{"api", "worker"}, Version: "v1", Bootstrap: "hash", StartedAt: started}
	two := postgres.Host{ID: "00000000-0000-7000-8000-000000000002", Name: "two", Roles: []string{"api"}, Version: "v2", StartedAt: started}
	gone := postgres.Host{ID: "00000000-0000-7000-8000-000000000003", Name: "gone", StartedAt: started}
	old := postgres.Host{ID: "00000000-0000-7000-8000-000000000004", Name: "old", StartedAt: started}
	for _, h := range []postgres.Host{two, one, gone, old, two} {
		must(t, s.SaveHost(ctx, h))
	}
	must(t, s.RemoveHost(ctx, gone.ID))
	age(t, url, "61 seconds", two.ID)
	age(t, url, "25 hours", old.ID)
	must(t, s.Maintain(ctx, time.Now()))
	got, err := pgadmin.Of(s).Hosts(ctx)
	must(t, err)
	if diff := cmp.Diff([]pgadmin.Host{{Host: one, Alive: true}, {Host: two}}, got, cmpopts.IgnoreFields(pgadmin.Host{}, "SeenAt", "SeenAgo")); diff != "" {
		t.Errorf("hosts differ (-want +got):\n%s", diff)
	}
	if got[0].SeenAgo < 0 || got[0].SeenAgo > 60 || got[1].SeenAgo < 61 {
		t.Errorf("the hosts were seen %v s and %v s ago, want now and more than a minute", got[0].SeenAgo, got[1].SeenAgo)
	}
	two.Facts = `{"build": "v2"}`
	if since := time.Since(got[0].SeenAt); since < -time.Minute || since > time.Minute {
		t.Errorf("one was seen %s ago, want now", since)
	}
	must(t, s.SaveHost(ctx, two))
	if got, err = pgadmin.Of(s).Hosts(ctx); err != nil || !got[1].Alive || got[1].Facts != two.Facts {
		t.Errorf("after a heartbeat the hosts are %+v, %v; want two alive", got, err)
	}
}

// age moves the last heartbeat of a host into the past.
func age(t *testing.T, url, by, id string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	_, err = conn.Exec(t.Context(), "UPDATE verifyd.hosts SET seen_at = seen_at - $1::interval WHERE id = $2", by, id)
	must(t, err)
}
