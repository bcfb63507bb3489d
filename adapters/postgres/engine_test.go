// An engine on the store.

package postgres_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/adapters/provider/sandbox"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func newEngine(t *testing.T, store *postgres.Store) *engine.Engine {
	t.Helper()
	keys, err := token.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Ports{
		Store:       store,
		Providers:   map[string]verification.Provider{"sandbox": sandbox.New(clock.System{}.Sleep)},
		Expressions: expression.New(), Links: token.NewLinks(keys), Clock: clock.System{},
		NewID: func() string { return uuid.Must(uuid.NewV7()).String() },
	}, engine.Options{PublicURL: "https://verify.example", QueueInterval: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// reviewed is a workflow with a check and a review.
func reviewed() workflow.Definition {
	return workflow.Definition{
		Workflow: "reviewed", Name: "Reviewed", Start: "pan",
		Nodes: map[verification.NodeID]workflow.Node{
			"pan":    {Type: workflow.NodeCheck, Label: "PAN", Provider: "sandbox", Next: "review"},
			"review": {Type: workflow.NodeReview, Label: "Review", Next: "done"},
			"done":   {Type: workflow.NodeEnd},
		},
	}
}

// serve serves the engine as a member among the hosts until the test ends.
func (e *embedder) serve(t *testing.T) { t.Helper(); serveMember(t, e.store, e.engine) }

func serveMember(t *testing.T, store *postgres.Store, e *engine.Engine) {
	t.Helper()
	membership, err := store.Join(postgres.MembershipOptions{Wake: e.Wake, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var done sync.WaitGroup
	done.Go(func() { e.Serve(ctx) })
	done.Go(func() {
		if err := membership.Serve(ctx); err != nil {
			t.Error(err)
		}
	})
	<-e.Serving()
	t.Cleanup(func() {
		stop()
		done.Wait()
		closing, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := e.Close(closing); err != nil {
			t.Error(err)
		}
	})
}

// wait reads a run until done returns true for it, or fails the test after a minute.
func (e *embedder) wait(t *testing.T, id verification.RunID, done func(rules.RunDetail) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		d, err := e.engine.Run(ctx, ours, id)
		if err == nil && done(d) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("after a minute the run is %+v, %v", d, err)
		case <-tick.C:
		}
	}
}
