// Filling a database with runs.

package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// FillOptions configure Fill. Tenant and Runs are required.
type FillOptions struct {
	Tenant verification.TenantID // created if necessary
	Runs   int
	// Workflows is the number of workflows of the runs; the first ones have most
	// runs. 0 means 10.
	Workflows int
	// Spread is the time before Now over which the starts are evenly spread, up to a
	// year; 0 means 90 days.
	Spread time.Duration
	// Histories is the number of ended runs for each one with a history. The others
	// are only in lists and cannot be read. 0 means 100. All live runs have a
	// history, so that hosts can continue them.
	Histories int
	// Now is the time until which the runs have progressed; zero means the current
	// time.
	Now time.Time
	// Seed is the seed of the runs: the same seed and Now make the same runs.
	Seed uint64
	// Progress is called with the number of runs written so far, unless it is nil.
	Progress func(runs int)

	tenant uuid.UUID
	remake bool // rebuild the indexes at the end
}

// lag is the delay of maintenance: newer changes of status are not yet indexed.
const lag = 10 * time.Second

// batch is the number of runs in one statement.
const batch = 20_000

// indexesFrom is the number of runs from which it is faster to rebuild the indexes at
// the end than to update them.
const indexesFrom = 200_000

// Fill writes runs with typical histories: nine in ten have ended, some with a
// verdict. Of the rest some are abandoned, some wait for their customer or a
// reviewer, and the status of some is about to change. One in a hundred is in the review
// queue, and some of these are claimed. The rows of the runs, of the queue and of the
// measures are as appends and maintenance leave them at Now.
//
// It is one transaction, during which the runs are locked. The database must have
// the current schema.
func Fill(ctx context.Context, s *postgres.Store, o FillOptions) error {
	if o.Workflows == 0 {
		o.Workflows = 10
	}
	if o.Spread == 0 {
		o.Spread = 90 * 24 * time.Hour
	}
	if o.Histories == 0 {
		o.Histories = 100
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	if o.Tenant == "" || o.Runs < 1 || o.Workflows < 1 || o.Spread < 0 || o.Histories < 0 {
		return errors.New("fill: a tenant and a number of runs are required, and nothing may be negative")
	}
	var err error
	if o.tenant, err = uuid.Parse(string(o.Tenant)); err != nil {
		return fmt.Errorf("fill: tenant %s: %w", o.Tenant, err)
	}
	o.Now = o.Now.UTC().Truncate(time.Microsecond)
	o.remake = o.remake || o.Runs >= indexesFrom
	workflows, err := saveWorkflows(ctx, s, o)
	if err != nil {
		return err
	}
	var pid uint32
	err = pgx.BeginFunc(ctx, s.Pool(), func(tx pgx.Tx) error {
		pid = tx.Conn().PgConn().PID()
		return fill(ctx, tx, o, workflows)
	})
	if err != nil {
		return fmt.Errorf("fill tenant %s: %w", o.Tenant, err)
	}
	if err = closeConnections(ctx, s, pid); err == nil {
		err = s.Maintain(ctx, o.Now.Add(-lag)) // adds up the counters of closed connections
	}
	if err == nil {
		const tables = "verifyd.runs, verifyd.run_events, verifyd.run_counts, verifyd.run_months, verifyd.claims, verifyd.measures"
		_, err = s.Pool().Exec(ctx, "VACUUM (ANALYZE) "+tables)
	}
	if err != nil {
		return fmt.Errorf("clean up after filling: %w", err)
	}
	return nil
}

// closeConnections closes the connections of the store, and waits until the server has
// ended the one with a process id. The counters of other hosts stay where they are.
func closeConnections(ctx context.Context, s *postgres.Store, pid uint32) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	s.Pool().Reset()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		var open bool
		err := s.Pool().QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1::int)", int32(pid)).Scan(&open)
		if err != nil || !open {
			return err
		}
		<-again.C
	}
}

func fill(ctx context.Context, tx pgx.Tx, o FillOptions, workflows []filledWorkflow) error {
	const prepare = `
SELECT set_config('verifyd.tenant', $1, true), set_config('maintenance_work_mem', '512MB', true),
    set_config('work_mem', '64MB', true)`
	if _, err := tx.Exec(ctx, prepare, string(o.Tenant)); err != nil {
		return err
	}
	if err := makeIncoming(ctx, tx); err != nil {
		return err
	}
	remake := func(context.Context) error { return nil }
	if o.remake {
		var err error
		if remake, err = dropIndexes(ctx, tx); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	written, sums := 0, sums{}
	for rows := range made(ctx, o, workflows, sums) {
		if rows.err != nil {
			return rows.err
		}
		if err := rows.write(ctx, tx); err != nil {
			return err
		}
		written += len(rows.runs)
		if o.Progress != nil {
			o.Progress(written)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := sums.write(ctx, tx, o.tenant); err != nil {
		return err
	}
	return remake(ctx)
}

// made generates the runs, oldest first, one batch ahead of the writer. When the channel
// is closed, all measures have been added to total.
func made(ctx context.Context, o FillOptions, workflows []filledWorkflow, total sums) <-chan rows {
	batches := make(chan rows, 1)
	go func() {
		defer close(batches)
		g := newGenerator(o, workflows)
		g.sums = total
		for n := 0; n < o.Runs; {
			var b rows
			for ; n < o.Runs && len(b.runs) < batch && b.err == nil; n++ {
				b.err = g.add(&b, n)
			}
			select {
			case batches <- b:
			case <-ctx.Done():
				return
			}
		}
	}()
	return batches
}

// generator generates runs.
type generator struct {
	o         FillOptions
	workflows []filledWorkflow
	profiles  []*profile // ten thousand, each as often as its share
	random    *rand.Rand
	sums      sums
}

func newGenerator(o FillOptions, workflows []filledWorkflow) *generator {
	g := &generator{o: o, workflows: workflows}
	g.random = rand.New(rand.NewPCG(o.Seed, uint64(o.Runs))) //nolint:gosec // must be repeatable
	for _, l := range profiles() {
		for range l.share {
			g.profiles = append(g.profiles, &l)
		}
	}
	return g
}

// add generates run number n, and its history if it has one.
func (g *generator) add(to *rows, n int) error {
	age := time.Duration((float64(g.o.Runs-n) - 0.5) / float64(g.o.Runs) * float64(g.o.Spread))
	started := g.o.Now.Add(-age).Truncate(time.Microsecond)
	among := g.random.Float64()
	w := g.workflows[int(among*among*float64(len(g.workflows)))]
	l := g.profiles[g.random.IntN(len(g.profiles))]
	pace := math.Exp2(max(-3, min(3, g.random.NormFloat64())))
	history := l.history(w, n, started, g.o.Now, pace, g.random)
	id := newID(started, g.random)
	run := rules.Fold(verification.RunID(id.String()), history)
	r := newRow(g.o.tenant, id, run, g.o.Now.Add(-lag))
	to.runs = append(to.runs, r)
	if r.summary.Ended == "" || n%g.o.Histories == 0 {
		events, err := rules.EncodeEvents(history)
		if err != nil {
			return err
		}
		to.histories = append(to.histories, historyRow{g.o.tenant, id, len(history), string(events)})
	}
	if review := r.summary.Review; review != nil {
		if among := g.random.IntN(2000); among < len(reviewers()) {
			review.Claim = rules.Claim{By: reviewers()[among], Name: reviewers()[among], At: g.o.Now, Until: g.o.Now.Add(rules.ClaimTTL)}
		}
	}
	g.sums.add(w.ID, store.Measures(rules.Run{}, history, time.UTC))
	return nil
}

// reviewers have one claim in two thousand reviews each.
func reviewers() []string { return []string{"asha", "ben", "chitra", "dev"} }
