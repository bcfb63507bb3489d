package pgadmin_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

func TestTheFileThatWasAppliedLastIsTheNewest(t *testing.T) {
	s := fresh(t)
	one, two := pgadmin.AppliedFile{Hash: "one", Names: `{"lists": []}`}, pgadmin.AppliedFile{Hash: "two", Names: "{}"}
	for _, step := range []struct{ save, newest, before pgadmin.AppliedFile }{{save: one, newest: one}, {two, two, one}, {one, one, two}} {
		must(t, pgadmin.Of(s).SaveAppliedFile(t.Context(), step.save))
		got, err := pgadmin.Of(s).AppliedFiles(t.Context())
		must(t, err)
		want := []pgadmin.AppliedFile{step.newest}
		if step.before.Hash != "" {
			want = append(want, step.before)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(pgadmin.AppliedFile{}, "AppliedAt")); diff != "" {
			t.Errorf("after %s the files differ (-want +got):\n%s", step.save.Hash, diff)
		}
		if since := time.Since(got[0].AppliedAt); since < -time.Minute || since > time.Minute {
			t.Errorf("%s was applied %s ago, want now", got[0].Hash, since)
		}
	}
}

func TestAFileThatCannotBeStoredIsInvalid(t *testing.T) {
	s := fresh(t)
	for _, text := range []string{"a\x00b", "a\xffb"} {
		if err := pgadmin.Of(s).SaveAppliedFile(t.Context(), pgadmin.AppliedFile{Hash: text}); !errors.Is(err, verification.ErrInvalid) {
			t.Errorf("SaveAppliedFile(%q) = %v, want ErrInvalid", text, err)
		}
	}
}

func TestHostsAreListedWhileTheySendHeartbeats(t *testing.T) {
	s := fresh(t)
	ctx := t.Context()
	started := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	one := postgres.Host{ID: "00000000-0000-7000-8000-000000000001", Level: store.Level, Name: "one", Address: "10.0.0.1:8080", Facts: `{"build": "v1"}`, Roles: []string{"api", "worker"}, Version: "v1", Bootstrap: "hash", StartedAt: started}
	two := postgres.Host{ID: "00000000-0000-7000-8000-000000000002", Level: store.Level, Name: "two", Roles: []string{"api"}, Version: "v2", StartedAt: started}
	gone := postgres.Host{ID: "00000000-0000-7000-8000-000000000003", Name: "gone", StartedAt: started}
	old := postgres.Host{ID: "00000000-0000-7000-8000-000000000004", Name: "old", StartedAt: started}
	for _, h := range []postgres.Host{two, one, gone, old, two} {
		must(t, s.SaveHost(ctx, h))
	}
	must(t, s.RemoveHost(ctx, gone.ID))
	age(t, s, "61 seconds", two.ID)
	age(t, s, "25 hours", old.ID)
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
func age(t *testing.T, s *postgres.Store, by, id string) {
	t.Helper()
	_, err := s.Pool().Exec(t.Context(), "UPDATE verifyd.hosts SET seen_at = seen_at - $1::interval WHERE id = $2", by, id)
	must(t, err)
}
