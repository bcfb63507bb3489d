package linear_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/adapters/provider/sandbox"
	"github.com/verifyd/verifyd/internal/rig/linear"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
)

const tenant = enginetest.Tenant

// hosts are engines that share one clock and one set of data.
type hosts struct {
	engines []*engine.Engine
	stores  []store.Store // of the engines
	clock   *linear.Clock
}

// inMemory returns one host on a store in memory.
func inMemory(t *testing.T) hosts {
	c := linear.NewClock()
	return share(t, c, memory.New())
}

// onPostgres returns two hosts of one database, wired as in hosts/verifyd.
func onPostgres(t *testing.T) hosts {
	c, url := linear.NewClock(), pgtest.Database(t)
	open := func() *postgres.Store {
		s, err := postgres.Open(t.Context(), url, postgres.Options{})
		must(t, err)
		t.Cleanup(s.Close)
		return s
	}
	one, other := open(), open()
	h := share(t, c, one, other)
	join(t, one, h.engines[0], c)
	join(t, other, h.engines[1], c)
	return h
}

// share starts a host on each store; the stores share their data.
func share(t *testing.T, c *linear.Clock, stores ...store.Store) hosts {
	t.Helper()
	must(t, store.Tables{RowStore: stores[0]}.SaveTenant(t.Context(), verification.Tenant{ID: tenant, Name: "Test"}))
	h := hosts{clock: c, stores: stores}
	for _, s := range stores {
		var poll time.Duration
		if len(stores) > 1 {
			poll = 2 * time.Second
		}
		h.engines = append(h.engines, newEngine(t, s, c, engine.Options{QueueInterval: poll}))
	}
	return h
}

func newEngine(t *testing.T, s store.Store, c verification.Clock, o engine.Options) *engine.Engine {
	t.Helper()
	o.PublicURL, o.Log = "http://journey.example", slog.New(slog.NewTextHandler(t.Output(), nil))
	e, err := engine.New(engine.Ports{
		Store:       s,
		Providers:   map[string]verification.Provider{"sandbox": sandbox.New(clock.System{}.Sleep)},
		Expressions: expression.New(), Links: enginetest.Links(), Clock: c,
		NewID: func() string { return uuid.Must(uuid.NewV7()).String() },
	}, o)
	must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		must(t, e.Close(ctx))
	})
	background(t, e.Serve)
	<-e.Serving()
	return e
}

func join(t *testing.T, s *postgres.Store, e *engine.Engine, c verification.Clock) {
	t.Helper()
	membership, err := s.Join(postgres.MembershipOptions{Wake: e.Wake, Now: c.Now})
	must(t, err)
	background(t, func(ctx context.Context) {
		if err := membership.Serve(ctx); err != nil {
			t.Errorf("serve the membership: %v", err)
		}
	})
}

// background runs f until the test ends.
func background(t *testing.T, f func(context.Context)) {
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var done sync.WaitGroup
	done.Go(func() { f(ctx) })
	t.Cleanup(func() {
		stop()
		done.Wait()
	})
}

// prepare creates the workflow of a trial and returns its hosts.
func (h hosts) prepare(t *testing.T, p linear.Plan) []linear.Host {
	t.Helper()
	applied, err := h.engines[0].Apply(t.Context(), tenant, p.Definition("w"+uuid.NewString()))
	must(t, err)
	var running []linear.Host
	run := &linear.Run{}
	for _, e := range h.engines {
		running = append(running, linear.EngineHost{
			Engine: e, Tenant: tenant, Workflow: applied.Workflow.ID, Input: p.Input(), Run: run,
		})
	}
	return running
}

// start prepares a trial and starts its run.
func (h hosts) start(t *testing.T, p linear.Plan) []linear.Host {
	t.Helper()
	running := h.prepare(t, p)
	do(t, running[0], linear.Input{Op: linear.OpStart})
	return running
}

// draw draws a trial for the hosts.
func (h hosts) draw(seed, number uint64) linear.Trial {
	return linear.Draw(rand.New(rand.NewPCG(seed, number)), len(h.engines))
}

// seed returns the seed in the environment, or a new one, and logs it.
func seed(t *testing.T) uint64 {
	t.Helper()
	s := number(t, envSeed, rand.Uint64())
	t.Logf("repeat these trials with %s=%d", envSeed, s)
	return s
}

// stage returns a stage with these hosts, which may lie.
func (h hosts) stage(honest linear.Host, running ...linear.Host) *linear.Stage {
	return &linear.Stage{Hosts: running, Clock: h.clock, Honest: honest, Wake: func() {
		for _, e := range h.engines {
			e.Wake()
		}
	}}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
