// The crash test: hosts under load during failures.

package soak_test

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// Parameters of the short version and of the one with VERIFYD_SOAK.
const (
	shortEvery = 80 * time.Millisecond // from start to start
	longEvery  = 50 * time.Millisecond
	settled    = 3 * time.Minute // until everything must be done
)

// seedOf returns the seed of the failures: VERIFYD_SOAK_SEED or a new one.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	given := os.Getenv("VERIFYD_SOAK_SEED")
	if given == "" {
		return uint64(rand.Uint32())
	}
	seed, err := strconv.ParseUint(given, 10, 64)
	if err != nil {
		t.Fatalf("VERIFYD_SOAK_SEED: %v", err)
	}
	return seed
}

// lengthOf returns the duration of the failures: VERIFYD_SOAK, or 0 for one round.
func lengthOf(t *testing.T) (length time.Duration, long bool) {
	t.Helper()
	given := os.Getenv("VERIFYD_SOAK")
	if given == "" {
		return 0, false
	}
	length, err := time.ParseDuration(given)
	if err != nil {
		t.Fatalf("VERIFYD_SOAK: %v", err)
	}
	return length, true
}

func TestNothingAcceptedIsLostDuringFailures(t *testing.T) {
	t.Parallel()
	seed := seedOf(t)
	length, long := lengthOf(t)
	t.Logf("repeat with VERIFYD_SOAK_SEED=%d", seed)
	s := newSite(t, serverOf(t), "soak", seed)
	s.writeBootstrap(t, lateWorkflows)
	s.migrate(t)
	f := newCluster(t, s, 3, "api,worker", "api,worker", "worker", "api,worker")
	l := newLoad(t, f, seed)
	every := shortEvery
	if long {
		every = longEvery
	}

	// The load starts before the failures and ends after it.
	loading, stopLoad := context.WithCancel(t.Context())
	customers, dismiss := context.WithCancel(t.Context())
	defer dismiss()
	orders := make(chan int)
	go func() { orders <- l.run(loading, customers, every) }()
	watching, stopWatch := context.WithCancel(t.Context())
	saw := make(chan *observer)
	go func() { saw <- watch(watching, s) }()
	c := newInjector(t, f, seed, long)
	c.run(t.Context(), length)
	stopLoad()
	l.leave()
	n := <-orders
	healed := time.Now()
	idle := calm(customers, t, s, l)
	stopWatch()
	w := <-saw
	dismiss()
	l.all.Wait()

	conn := s.connect(t)
	all, err := readHistories(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	a := &inspection{histories: all, accepted: l.accepted, seed: seed, failures: c.failures, now: time.Now(), live: l.live}
	a.notices, a.problems = s.hooks.all()
	if a.ledger, err = readLedger(t.Context(), conn); err != nil {
		t.Error(err)
	}
	a.problems = append(a.problems, w.conclude(all)...)
	a.problems = append(a.problems, l.problems...)
	a.runs()
	a.webhooks()
	if err := a.counts(t.Context(), s.database); err != nil {
		t.Error(err)
	}
	if err := a.totals(t.Context(), f.any()); err != nil {
		t.Error(err)
	}
	if err := a.reads(t.Context(), f.any, 300); err != nil {
		t.Error(err)
	}
	t.Logf("%d orders, %d runs whose start got no response; failed requests: %s; the slowest start was accepted after %s",
		n, a.unanswered, refusals(l.refused), l.slowest.Round(time.Millisecond))
	t.Logf("idle %s after the failures, everything done (%t); the observer read %d times; the longest gap, including later failures, was %.1fs",
		time.Since(healed).Round(time.Millisecond), idle, w.looks, a.raw.Seconds())
	t.Logf("kills %d, stops %d, database restarts %d, cuts %d, slow lines %d, runs %d, lost %d, longest gap %.1fs, webhooks %d under %d ids (%d deliveries), counters %s",
		c.caused(killHost), c.caused(stopHost), c.caused(killDatabase, restartDatabase), c.caused(cutConnection, dropTraffic, dropResponses), c.caused(slowConnection),
		len(a.histories), a.lost, a.longest.Seconds(), len(ended(all)), len(a.notices), a.deliveries, a.counters)
	t.Logf("%s", a.differing)
	report(t, a.problems)
	if long && (a.loops == 0 || a.differing.live == 0) {
		t.Errorf("%s: want some loops, and some runs that were live when their webhook was set", a.differing)
	}
	if len(a.histories) < n/4 {
		t.Errorf("%d orders made %d runs, want most of them", n, len(a.histories))
	}
}

// report fails the test with the first problems.
func report(t *testing.T, problems []string) {
	t.Helper()
	const max = 30
	for _, f := range problems[:min(max, len(problems))] {
		t.Error(f)
	}
	if more := len(problems) - max; more > 0 {
		t.Errorf("... and %d more", more)
	}
}

// ended returns the runs that have ended.
func ended(all map[string]*history) (runs []string) {
	for run, h := range all {
		if h.fold().Ended != "" {
			runs = append(runs, run)
		}
	}
	return runs
}

// watch runs the observer until ctx is done. It connects to the database directly and
// reads nothing during an outage.
func watch(ctx context.Context, s *site) *observer {
	w := newObserver()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	var c *pgx.Conn
	for {
		select {
		case <-ctx.Done():
			if c != nil {
				_ = c.Close(context.WithoutCancel(ctx))
			}
			return w
		case <-tick.C:
		}
		if c == nil || c.IsClosed() {
			var err error
			if c, err = s.dial(ctx); err != nil {
				c = nil
				continue
			}
		}
		if w.look(ctx, c) != nil {
			_ = c.Close(context.WithoutCancel(ctx))
		}
	}
}

// calm waits until every run has ended, no work is left and every webhook was
// accepted, and reports whether that happened in time. A run whose start got no
// response is followed like the others when it is found.
func calm(ctx context.Context, t *testing.T, s *site, l *load) bool {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	adopted := map[string]bool{}
	for end := time.Now().Add(settled); time.Now().Before(end); <-tick.C {
		c, err := s.dial(ctx)
		if err != nil {
			t.Error(err)
			return false
		}
		live, work, err := backlog(ctx, c)
		_ = c.Close(ctx)
		if err != nil {
			t.Error(err)
			return false
		}
		for run, reference := range live.references {
			if l.knows(run) || adopted[run] {
				continue
			}
			adopted[run] = true
			if o, err := orderOf(l.seed, reference); err == nil {
				l.all.Go(func() { l.follow(ctx, verification.RunID(run), o) })
			}
		}
		if len(live.references) == 0 && work == 0 && s.hooks.taken() >= live.all {
			return true
		}
	}
	return false
}

// living holds the runs that have not ended.
type living struct {
	references map[string]string // by id
	all        int               // including ended runs, without those whose webhook is set late
}

// backlog returns the live runs and the number of pieces of work. The work of a redaction takes eleven minutes, and does not count.
func backlog(ctx context.Context, c *pgx.Conn) (l living, work int, err error) {
	rows, err := c.Query(ctx, "SELECT id::text AS id, reference_id AS reference FROM verifyd.runs WHERE ended = ''")
	if err != nil {
		return l, 0, err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[struct{ ID, Reference string }])
	if err != nil {
		return l, 0, err
	}
	l.references = map[string]string{}
	for _, run := range found {
		l.references[run.ID] = run.Reference
	}
	const sum = "SELECT (SELECT count(*) FROM verifyd.runs WHERE NOT starts_with(workflow_id::text, $1)), (SELECT count(*) FROM verifyd.work WHERE kind <> $2)"
	return l, work, c.QueryRow(ctx, sum, latePrefix, string(store.WorkErase)).Scan(&l.all, &work)
}
