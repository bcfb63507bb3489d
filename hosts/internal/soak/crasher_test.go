// Test of a run that ends the process of its host: it is ended, and the runs beside it are not. The host is a
// process of this test with short leases.

package soak_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/internal/rig/process"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

const (
	engineAt    = "VERIFYD_SOAK_ENGINE" // the folder or the database of a host that is this program
	engineLease = time.Second
	engineRuns  = 24 // that wait for their vendor
	vendorTakes = 2 * time.Second
	exitCrashed = 3
)

// engineStore is a store that can be closed.
type engineStore interface {
	store.Store
	Close() error
}

func openEngineStore(ctx context.Context, at string) (engineStore, error) {
	if _, err := os.Stat(at); err == nil {
		return journal.Open(ctx, at, journal.Options{OpenedAt: time.Now()})
	}
	s, err := postgres.Open(ctx, at, postgres.Options{SingleHost: true})
	return closer{s}, err
}

type closer struct{ *postgres.Store }

func (c closer) Close() error {
	c.Store.Close()
	return nil
}

// crashingVendor answers after some time, or ends the process.
type crashingVendor struct{}

func (crashingVendor) Check(_ context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	if r.Key == "crash" {
		os.Exit(exitCrashed)
	}
	time.Sleep(vendorTakes) //nolint:forbidigo // real processes are on the wall clock
	return verification.CheckResult{Outcome: verification.OutcomePassed}, nil
}

// serveEngine serves until all runs have ended. The first process makes the runs; with VERIFYD_SOAK_CRASHES one
// more, which ends its host.
func serveEngine(at string) (err error) {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
	defer stop()
	s, err := openEngineStore(ctx, at)
	if err != nil {
		return err
	}
	e, err := engine.New(engine.Ports{
		Store: s, Providers: map[string]verification.Provider{"vendor": crashingVendor{}}, Expressions: expression.New(), Links: enginetest.Links(),
		Clock: clock.System{}, NewID: uuid.NewString,
	}, engine.Options{Lease: engineLease, StartWait: -1, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	all, err := engineRunsOf(ctx, s)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		if err := startEngineRuns(ctx, s, e); err != nil {
			return err
		}
	}
	go e.Serve(ctx)
	for {
		all, err := engineRunsOf(ctx, s)
		if err != nil || !slices.ContainsFunc(all, func(r rules.Summary) bool { return r.Ended == "" }) {
			return errors.Join(err, e.Close(ctx), s.Close())
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func startEngineRuns(ctx context.Context, s engineStore, e *engine.Engine) error {
	if err := (store.Tables{RowStore: s}).SaveTenant(ctx, verification.Tenant{ID: tenant, Name: "Test"}); err != nil {
		return err
	}
	begin := func(check verification.NodeID, runs int) error {
		applied, err := e.Apply(ctx, tenant, workflow.Definition{
			Workflow: string(check), Name: "Vendor", Start: check, Nodes: map[verification.NodeID]workflow.Node{
				check: {Type: workflow.NodeCheck, Provider: "vendor", Next: "done"}, "done": {Type: workflow.NodeEnd},
			},
		})
		for range runs {
			if err == nil {
				_, err = e.Start(ctx, tenant, applied.Workflow.ID, engine.StartRequest{ReferenceID: string(check)})
			}
		}
		return err
	}
	if err := begin("check", engineRuns); err != nil || os.Getenv("VERIFYD_SOAK_CRASHES") == "" {
		return err
	}
	return begin("crash", 1)
}

func engineRunsOf(ctx context.Context, s store.Store) ([]rules.Summary, error) {
	var all []rules.Summary
	for {
		page, err := s.List(ctx, tenant, store.RunQuery{PageQuery: store.PageQuery{Limit: 200, Offset: len(all)}, Now: time.Now()})
		if all = append(all, page.Data...); err != nil || len(page.Data) == 0 || len(all) >= page.Total {
			return all, err
		}
	}
}

// engineHost starts this program as a host.
func engineHost(t *testing.T, at string, env ...string) *process.Process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), engineAt+"="+at), env...)
	cmd.Stderr = t.Output()
	p, err := process.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// engineEnds waits until a host ends.
func engineEnds(t *testing.T, p *process.Process) error {
	t.Helper()
	select {
	case <-p.Ended():
		return p.Err()
	case <-time.After(6 * time.Minute):
		_ = p.Cmd.Process.Kill()
		t.Fatal("a host did not end its runs within 6 minutes")
		return nil
	}
}

// onBothStores runs a test on a data folder and on PostgreSQL.
func onBothStores(t *testing.T, f func(t *testing.T, at string)) {
	t.Helper()
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		f(t, t.TempDir())
	})
	t.Run("database", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, steady.get(t), "crasher", 1)
		s.migrate(t)
		f(t, s.database)
	})
}

func TestARunThatEndsItsHostsIsEnded(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, at string) {
		crashes := 0
		for crashes < 20 {
			err := engineEnds(t, engineHost(t, at, "VERIFYD_SOAK_CRASHES=yes"))
			if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != exitCrashed {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			crashes++
		}
		t.Logf("%d crashes", crashes)
		if crashes > 6 {
			t.Errorf("%d crashes before the run was ended, want four, or a few more", crashes)
		}
		for _, r := range engineResults(t, at) {
			want := rules.StatusCompleted
			if r.ReferenceID == "crash" {
				want = rules.StatusFailed
			}
			if r.Ended != want {
				t.Errorf("the run %s is %q, want %s", r.ReferenceID, r.Ended, want)
			}
		}
	})
}

func TestKillsEndNoRunThatWaits(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, at string) {
		seed, kills := seedOf(t), 2*killsOf(t, fewKills)
		t.Logf("repeat with VERIFYD_SOAK_SEED=%d", seed)
		rng := rand.New(rand.NewPCG(seed, 3))
		for range kills {
			p := engineHost(t, at)
			select {
			case <-p.Ended():
				if p.Err() != nil {
					t.Fatal(p.Err())
				}
			case <-time.After(500*time.Millisecond + time.Duration(rng.Int64N(int64(vendorTakes-engineLease/2)))):
			}
			_ = p.Cmd.Process.Kill()
			<-p.Ended()
		}
		if err := engineEnds(t, engineHost(t, at)); err != nil {
			t.Fatal(err)
		}
		for _, r := range engineResults(t, at) {
			if r.Ended != rules.StatusCompleted {
				t.Errorf("the run %s is %q, want it completed", r.ReferenceID, r.Ended)
			}
		}
	})
}

// engineResults returns the runs once their host is gone.
func engineResults(t *testing.T, at string) []rules.Summary {
	t.Helper()
	s, err := openEngineStore(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	all, err := engineRunsOf(t.Context(), s)
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 { // the first host may have died before it had made all
		t.Error("there are no runs")
	}
	return all
}
