// Tests of hosts that share a database.

package postgres_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// member is a host that counts its wake-ups.
type member struct {
	store *postgres.Store
	wakes atomic.Int64
	busy  atomic.Bool
}

func join(t *testing.T, url string) *member {
	t.Helper()
	m := &member{store: openAt(t, url, postgres.Options{})}
	membership, err := m.store.Join(postgres.MembershipOptions{
		Wake: func() bool { m.wakes.Add(1); return !m.busy.Load() },
		Now:  time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- membership.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return m
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, happened func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !happened() {
		select {
		case <-deadline:
			t.Fatalf("%s did not happen", what)
		case <-tick.C:
		}
	}
}

func started(n int, at time.Time, kept bool) store.Commit {
	history := life(n, 5, 0)
	history[0].At = at.UTC().Truncate(time.Microsecond)
	c := store.Commit{
		Events: history, Summary: rules.Fold(runNumber(n), history).Summary(), Work: store.AdvanceAt(at),
	}
	if kept {
		c.Hold = store.Kept
	}
	return c
}

func TestAHostIsWokenForQueuedWork(t *testing.T) {
	url := pgtest.Database(t)
	a, b := join(t, url), join(t, url)
	front := openAt(t, url, postgres.Options{}) // a host that drives nothing
	wakes := func() int64 { return a.wakes.Load() + b.wakes.Load() }
	eventually(t, "the first maintenance by a host", func() bool { return maintained(t, url) > 0 })
	began := time.Now()
	for n := range 5 {
		if err := front.Append(t.Context(), ours, runNumber(n), 0, started(n, time.Now(), false)); err != nil {
			t.Fatal(err)
		}
		want := int64(n + 1)
		eventually(t, "a wake", func() bool { return wakes() >= want })
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("five wakes took %s: the host is woken late", took) // a few milliseconds each, and five seconds if it were not woken at once
	}
	before := wakes()
	if err := front.Append(t.Context(), ours, runNumber(100), 0, started(100, time.Now(), true)); err != nil {
		t.Fatal(err)
	}
	if err := front.Append(t.Context(), ours, runNumber(0), 3, started(0, time.Now(), false)); !errors.Is(err, verification.ErrConflict) {
		t.Fatalf("an append to a history that is shorter = %v", err)
	}
	if err := front.Append(t.Context(), ours, runNumber(101), 0, started(101, time.Now(), false)); err != nil {
		t.Fatal(err)
	}
	before++
	eventually(t, "the wake for a later append", func() bool { return wakes() >= before })
	if got := wakes(); got != before {
		t.Errorf("%d wakes for work that is kept and an append that was refused, want none", got-before)
	}
}

func TestAHostWithoutCapacityLeavesTheWorkToAnother(t *testing.T) {
	url := pgtest.Database(t)
	a := join(t, url)
	a.busy.Store(true)
	front := openAt(t, url, postgres.Options{})
	if err := front.Append(t.Context(), ours, runNumber(1), 0, started(1, time.Now(), false)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a wake of the busy host", func() bool { return a.wakes.Load() > 0 })
	b := join(t, url)
	eventually(t, "a wake of the other host", func() bool { return b.wakes.Load() > 0 })
}

// maintained returns how often a host of a database has maintained the store.
func maintained(t *testing.T, url string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	must(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM verifyd.river_job WHERE kind = 'verifyd_maintain' AND state = 'completed'").Scan(&n))
	must(t, conn.Close(t.Context()))
	return n
}

func TestOneHostAtATimeMaintainsTheStore(t *testing.T) {
	url := pgtest.Database(t)
	join(t, url)
	join(t, url)
	began := time.Now()
	eventually(t, "three rounds of maintenance", func() bool { return maintained(t, url) >= 3 })
	if took := time.Since(began); took < 8*time.Second {
		t.Errorf("three rounds of maintenance by two hosts in %s, want one round in 5 s", took)
	}
}

func TestTheFleetEndsARunWhoseDeadlinePassed(t *testing.T) {
	e := newEmbedder(t)
	e.serve(t)
	if err := e.store.SaveTenant(t.Context(), verification.Tenant{ID: ours, Name: "Ours"}); err != nil {
		t.Fatal(err)
	}
	history := []rules.Event{{At: time.Now().UTC().Add(-time.Hour).Truncate(time.Microsecond), Fact: rules.Started{
		Workflow: e.flow, WorkflowName: "Reviewed", Version: 1, VersionHash: version(t, e), ReferenceID: "late", RunTTLSeconds: 60,
	}}, {At: time.Now().UTC().Add(-time.Hour).Truncate(time.Microsecond), Fact: rules.ReviewAsked{Node: "review", Label: "Review"}}}
	a := store.NewCommit(rules.Run{}, rules.Fold(runNumber(1), history), history, time.UTC)
	if err := e.store.Append(t.Context(), ours, runNumber(1), 0, a); err != nil {
		t.Fatal(err)
	}
	e.engine.Wake() // as the host does once in each QueueInterval
	eventually(t, "the expiry in the history", func() bool {
		events, err := e.store.Load(t.Context(), ours, runNumber(1), 2)
		if err != nil {
			t.Fatal(err)
		}
		return len(events) == 1 && events[0].Kind() == "expired"
	})
}

func version(t *testing.T, e *embedder) string {
	t.Helper()
	w, err := e.store.Workflow(t.Context(), ours, e.flow)
	if err != nil {
		t.Fatal(err)
	}
	return w.Current()
}

func TestJoinRequiresItsCallbacks(t *testing.T) {
	if _, err := fresh(t).Join(postgres.MembershipOptions{}); err == nil {
		t.Error("Join without anything to do succeeded")
	}
}

func TestAMemberThatIsClosedFirstStopsWithoutErrors(t *testing.T) {
	var log syncedLog
	url := pgtest.Database(t)
	store, err := postgres.Open(t.Context(), url, postgres.Options{})
	must(t, err)
	membership, err := store.Join(postgres.MembershipOptions{
		Wake: func() bool { return true }, Now: time.Now,
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- membership.Serve(t.Context()) }()
	eventually(t, "maintenance, so that the host leads", func() bool { return maintained(t, url) > 0 })
	must(t, membership.Close(t.Context()))
	store.Close()
	select {
	case err := <-served:
		must(t, err)
	default:
		t.Error("Close returned before Serve")
	}
	if text := log.String(); text != "" {
		t.Errorf("the stop logs %s, want nothing", text)
	}
	must(t, membership.Close(t.Context()))
}

func TestAMemberThatWasNeverServedIsClosedAtOnce(t *testing.T) {
	store := openAt(t, pgtest.Database(t), postgres.Options{})
	membership, err := store.Join(postgres.MembershipOptions{
		Wake: func() bool { return true }, Now: time.Now,
	})
	must(t, err)
	must(t, membership.Close(t.Context()))
	must(t, membership.Serve(t.Context()))
}

// syncedLog is a log that many goroutines write.
type syncedLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *syncedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *syncedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
