// An executed example of a run that starts in a transaction of the caller.

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/definition"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/adapters/provider/sandbox"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
)

const passport = `
workflow: passport
name: Passport
start: check
nodes:
  check: {type: check, key: passport, label: Passport, provider: sandbox, next: done}
  done: {type: end}
`

// A process joins the others on its database, drives their runs with the same keys, and
// stops in this order.
func ExampleStore_Join() {
	ctx := context.Background()
	url, stop := exampleDatabase(ctx)
	defer stop()
	store := got(postgres.Open(ctx, url, postgres.Options{}))
	keys := got(token.SharedKeys(ctx, store))
	e := got(engine.New(engine.Ports{
		Store:       store,
		Providers:   map[string]verification.Provider{"sandbox": sandbox.New(clock.System{}.Sleep)},
		Expressions: expression.New(), Links: token.NewLinks(keys),
		Clock: clock.System{}, NewID: func() string { return uuid.Must(uuid.NewV7()).String() },
	}, engine.Options{PublicURL: "https://verify.example", QueueInterval: 2 * time.Second}))
	membership := got(store.Join(postgres.MembershipOptions{Wake: e.Wake, Leaves: e.Leaves, Now: time.Now}))
	serving, end := context.WithCancel(ctx)
	go e.Serve(serving)
	go func() { _ = membership.Serve(serving) }()
	<-e.Serving()

	again := got(token.SharedKeys(ctx, store)) // as another process gets them
	fmt.Println("the same keys:", again.IDs()[0] == keys.IDs()[0])

	stopping, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	fmt.Println("the engine is closed:", e.Close(stopping))
	fmt.Println("the membership is closed:", membership.Close(stopping))
	end()
	store.Close()

	// Output:
	// the same keys: true
	// the engine is closed: <nil>
	// the membership is closed: <nil>
}

// A customer is saved together with the run that verifies them, or not at all.
func ExampleStore_Within() {
	ctx := context.Background()
	url, stop := exampleDatabase(ctx)
	defer stop()
	store := got(postgres.Open(ctx, url, postgres.Options{}))
	defer store.Close()
	e := got(engine.New(engine.Ports{
		Store:       store,
		Providers:   map[string]verification.Provider{"sandbox": sandbox.New(clock.System{}.Sleep)},
		Expressions: expression.New(), Links: token.NewLinks(got(token.NewKeys())),
		Clock: clock.System{}, NewID: func() string { return uuid.Must(uuid.NewV7()).String() },
	}, engine.Options{PublicURL: "https://verify.example"}))
	applied := got(e.Apply(ctx, ours, got(definition.ReadWorkflow("passport.yaml", []byte(passport))).Definition))

	pool := got(pgxpool.New(ctx, url)) // your own, on the same database
	defer pool.Close()
	got(pool.Exec(ctx, "CREATE TABLE customers (name text)"))
	register := func(name string, oops error) (run rules.RunView, err error) {
		err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "INSERT INTO customers VALUES ($1)", name); err != nil {
				return err
			}
			run, err = e.Within(store.Within(tx)).Start(ctx, ours, applied.Workflow.ID, engine.StartRequest{ReferenceID: name})
			return errors.Join(err, oops)
		})
		return run, err
	}

	lost, err := register("asha", errors.New("the card was declined"))
	fmt.Println("asha:", err)
	_, err = e.Run(ctx, ours, lost.ID)
	fmt.Println("her run:", err)
	kept := got(register("ravi", nil))
	fmt.Println("ravi's run:", got(e.Run(ctx, ours, kept.ID)).Status)

	// Output:
	// asha: the card was declined
	// her run: run: not found
	// ravi's run: in_progress
}

// exampleDatabase is a database with the schema, on a server of its own.
func exampleDatabase(ctx context.Context) (url string, stop func()) {
	server := got(pgtest.Start(ctx, pgtest.Options{}))
	if err := server.CreateDatabase(ctx, "example", ""); err != nil {
		panic(err)
	}
	url = server.URL("example")
	got(postgres.Migrate(ctx, url))
	return url, func() { _ = server.Close() }
}

func got[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
