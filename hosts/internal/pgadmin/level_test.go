// Tests of the level of a database: hosts of two releases.

package pgadmin_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// later is the level of the next release.
const later = store.Level + 1

func levelHost(n int) postgres.Host {
	return postgres.Host{ID: string(runNumber(n)), Name: "one", Address: "10.0.0.1:8080", Version: "0.1.0", StartedAt: noon()}
}

// execute sends a statement to a database.
func execute(t *testing.T, s *postgres.Store, statement string, args ...any) {
	t.Helper()
	_, err := s.Pool().Exec(t.Context(), statement, args...)
	must(t, err)
}

func TestALevelIsRaisedOnceNoEarlierHostIsAlive(t *testing.T) {
	s := fresh(t)
	ctx, h := t.Context(), levelHost(1)
	must(t, s.SaveHost(ctx, h))
	raise := func(to int) (int, error) { return pgadmin.Of(s).RaiseLevel(ctx, to) }
	if from, err := raise(store.Level); err != nil || from != 1 {
		t.Errorf("RaiseLevel to what every host reads = %d, %v; want 1", from, err)
	}
	if _, err := raise(later); !errors.Is(err, verification.ErrConflict) || !strings.Contains(err.Error(), "one (10.0.0.1:8080, version 0.1.0) reads level 1") {
		t.Errorf("RaiseLevel with a host of the release before = %v, want ErrConflict that names it", err)
	}
	execute(t, s, "UPDATE verifyd.hosts SET level = $1", later)
	if from, err := raise(later); err != nil || from != 1 {
		t.Errorf("RaiseLevel with hosts of the later release = %d, %v; want 1", from, err)
	}
	for to, want := range map[int]int{later: later, 1: later} {
		if from, err := raise(to); err != nil || from != want {
			t.Errorf("RaiseLevel to %d again = %d, %v; want %d", to, from, err, want)
		}
	}
	if err := s.SaveHost(ctx, levelHost(2)); !errors.Is(err, store.ErrLevel) || !strings.Contains(err.Error(), "it was upgraded to level 2, and this build reads level 1") {
		t.Errorf("a heartbeat of the release before = %v, want ErrLevel", err)
	}
	health, err := pgadmin.Of(s).Health(ctx, time.Now)
	must(t, err)
	if s.Level() != later || health.Level != later {
		t.Errorf("the store has level %d, and its health %d, want %d", s.Level(), health.Level, later)
	}
	if _, err := postgres.Open(ctx, s.Pool().Config().ConnString(), postgres.Options{SingleHost: true}); !errors.Is(err, store.ErrLevel) {
		t.Errorf("Open by the release before = %v, want ErrLevel", err)
	}
}

func TestAHostThatDiedDoesNotHoldTheLevel(t *testing.T) {
	s := fresh(t)
	must(t, s.SaveHost(t.Context(), levelHost(1)))
	age(t, s, "61 seconds", levelHost(1).ID)
	if _, err := pgadmin.Of(s).RaiseLevel(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	if err := s.SaveHost(t.Context(), levelHost(1)); !errors.Is(err, store.ErrLevel) {
		t.Errorf("the next heartbeat of the host that was only silent = %v, want ErrLevel", err)
	}
}

// Of a host of the release before that starts, and the raise of the level, at most one succeeds.
func TestAStartAndARaiseExcludeEachOther(t *testing.T) {
	s := fresh(t)
	started, raised, neither := 0, 0, 0
	const rounds, hosts = 150, 3
	for round := range rounds {
		var at sync.WaitGroup
		ready := make(chan struct{})
		results := make([]error, hosts+1)
		for n := range results {
			at.Go(func() {
				<-ready
				ctx := context.WithoutCancel(t.Context())
				if n < hosts {
					results[n] = s.SaveHost(ctx, levelHost(n))
				} else {
					_, results[n] = pgadmin.Of(s).RaiseLevel(ctx, later)
				}
			})
		}
		close(ready)
		at.Wait()
		in := 0
		for n, err := range results[:hosts] {
			switch {
			case err == nil:
				in++
			case !errors.Is(err, store.ErrLevel):
				t.Fatalf("round %d: host %d: %v", round, n, err)
			}
		}
		switch err := results[hosts]; {
		case err == nil && in > 0:
			t.Fatalf("round %d: the level was raised, and %d hosts that cannot read it started", round, in)
		case err == nil:
			raised++
		case !errors.Is(err, verification.ErrConflict):
			t.Fatalf("round %d: the raise: %v", round, err)
		case in > 0:
			started++
		default:
			neither++
		}
		execute(t, s, "DELETE FROM verifyd.hosts")
		execute(t, s, "DELETE FROM verifyd.shared_values WHERE name = 'level'")
	}
	t.Logf("of %d rounds, hosts started in %d, the level was raised in %d, and neither in %d", rounds, started, raised, neither)
	if started == 0 || raised == 0 {
		t.Errorf("one of both always wins: they do not meet")
	}
}

func TestNoEventIsWrittenBelowItsLevel(t *testing.T) {
	s := fresh(t)
	begin(t, s, tenantNumber(1), runNumber(1), rules.Summary{})
	execute(t, s, "INSERT INTO verifyd.shared_values VALUES ('level', '0')") // every event is newer
	must(t, s.SaveHost(t.Context(), levelHost(1)))
	c := store.Commit{Events: []rules.Event{{At: noon(), Fact: rules.Expired{}}}}
	tx, err := s.Pool().Begin(t.Context())
	must(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	for name, call := range map[string]func() error{
		"Append":        func() error { return s.Append(t.Context(), tenantNumber(1), runNumber(1), 1, c) },
		"Within.Append": func() error { return s.Within(tx).Append(t.Context(), tenantNumber(1), runNumber(1), 1, c) },
		"SaveRecords": func() error {
			return s.SaveRecords(t.Context(), []store.Record{store.RunRecord{Run: verification.RunRef{Tenant: tenantNumber(1), Run: runNumber(2)}, Events: c.Events}})
		},
	} {
		err := call()
		if err == nil || !strings.Contains(err.Error(), "the event expired may be written since level 1") {
			t.Errorf("%s = %v, want an error that names the event", name, err)
		}
		if expected := (*verification.Error)(nil); errors.As(err, &expected) {
			t.Errorf("%s = %v, which clients are shown; want an internal error", name, err)
		}
	}
}
