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
	"github.com/verifyd/verifyd/internal/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
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
	got, err := s.Hosts(ctx)
	must(t, err)
	one.Alive = true
	if diff := cmp.Diff([]postgres.Host{one, two}, got, cmpopts.IgnoreFields(postgres.Host{}, "SeenAt", "SeenAgo")); diff != "" {
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
	if got, err = s.Hosts(ctx); err != nil || !got[1].Alive || got[1].Facts != two.Facts {
		t.Errorf("after a heartbeat the hosts are %+v, %v; want two alive", got, err)
	}
}

func TestTheFileThatWasAppliedLastIsTheNewest(t *testing.T) {
	s := openAt(t, pgtest.Database(t), postgres.Options{SingleHost: true})
	one, two := postgres.AppliedFile{Hash: "one", Names: `{"lists": []}`}, postgres.AppliedFile{Hash: "two", Names: "{}"}
	for _, step := range []struct{ save, newest, before postgres.AppliedFile }{{save: one, newest: one}, {two, two, one}, {one, one, two}} {
		must(t, s.SaveAppliedFile(t.Context(), step.save))
		got, err := s.AppliedFiles(t.Context())
		must(t, err)
		want := []postgres.AppliedFile{step.newest}
		if step.before.Hash != "" {
			want = append(want, step.before)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(postgres.AppliedFile{}, "AppliedAt")); diff != "" {
			t.Errorf("after %s the files differ (-want +got):\n%s", step.save.Hash, diff)
		}
		if since := time.Since(got[0].AppliedAt); since < -time.Minute || since > time.Minute {
			t.Errorf("%s was applied %s ago, want now", got[0].Hash, since)
		}
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

func TestTheTenantOfARunIsFound(t *testing.T) {
	s := openAt(t, pgtest.Database(t), postgres.Options{SingleHost: true})
	ctx := t.Context()
	for n := range 3 {
		must(t, s.SaveTenant(ctx, verification.Tenant{ID: tenantNumber(n + 1), Name: "t"}))
	}
	const run verification.RunID = "00000000-0000-7000-8000-00000000a001"
	began := verification.Event{At: time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC), Fact: verification.Started{Workflow: flow}}
	must(t, s.Append(ctx, tenantNumber(2), run, 0, store.Commit{
		Events: []verification.Event{began}, Summary: verification.Fold(run, []verification.Event{began}).Summary(),
	}))
	got, err := s.RunTenants(ctx, run)
	must(t, err)
	if diff := cmp.Diff([]verification.TenantID{tenantNumber(2)}, got); diff != "" {
		t.Errorf("tenants differ (-want +got):\n%s", diff)
	}
	if none, err := s.RunTenants(ctx, "00000000-0000-7000-8000-00000000a002"); err != nil || len(none) != 0 {
		t.Errorf("of a run that is nowhere: %v, %v; want none", none, err)
	}
}
