// The database as the commands see it, and the engine on it.

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

// ports are the store ports, over one set of data.
type ports interface { //nolint:interfacebloat // the ports are small; this is all of them
	verification.RunStore
	verification.WorkQueue
	verification.WorkflowStore
	verification.TenantStore
	verification.IdempotencyStore
	verification.DeliveryStore
}

// operated is what only operators ask of a database.
type operated interface { //nolint:interfacebloat // it is one store
	Tenants(ctx context.Context) ([]verification.Tenant, error)
	Accounts(ctx context.Context, t verification.TenantID) ([]verification.Account, error)
	SigningKeys(ctx context.Context, fresh func() ([]byte, error)) ([]byte, error)
	Health(ctx context.Context, now func() time.Time) (postgres.Health, error)
	CheckCounts(ctx context.Context) ([]string, error)
	Hosts(ctx context.Context) ([]postgres.Host, error)
	RunTenants(ctx context.Context, id verification.RunID) ([]verification.TenantID, error)
}

// database is what is kept.
type database struct {
	ports
	operated
	close func()
}

// server is the way to databases.
type server struct {
	open        func(ctx context.Context, url string) (*database, error)
	migrate     func(ctx context.Context, url string) ([]postgres.Migration, error)
	migrateDown func(ctx context.Context, url string) (postgres.Migration, error)
	migrations  func(ctx context.Context, url string) ([]postgres.Migration, error)
}

// postgresServer opens PostgreSQL, with few connections: one command does one
// thing at a time. What it leaves in the queue is told to the hosts.
func postgresServer() server {
	return server{
		open: func(ctx context.Context, url string) (*database, error) {
			s, err := postgres.Open(ctx, url, postgres.Options{MaxConns: 4, Writers: 1})
			if err != nil {
				return nil, err
			}
			return &database{ports: s, operated: s, close: s.Close}, nil
		},
		migrate: postgres.Migrate, migrateDown: postgres.MigrateDown, migrations: postgres.Migrations,
	}
}

// url is the address of the database, which must have been given.
func (f databaseFlag) url() (string, error) {
	if f.DatabaseURL == "" {
		return "", errors.New("--database-url (VERIFYD_DATABASE_URL): must be given, as postgres://user:password@host:5432/name")
	}
	return f.DatabaseURL, nil
}

// named says which setting leads to a database that is not as it should be.
func named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("--database-url (VERIFYD_DATABASE_URL): %w", postgres.Explain(err))
}

// on runs f on the database.
func (s *session) on(ctx context.Context, f databaseFlag, do func(*database) error) error {
	url, err := f.url()
	if err != nil {
		return err
	}
	db, err := s.server.open(ctx, url)
	if err != nil {
		return named(err)
	}
	defer db.close()
	return do(db)
}

func notFound(subject, message string) error {
	return &verification.Error{Kind: verification.ErrNotFound, Subject: subject, Message: message}
}

func conflict(subject, message string) error {
	return &verification.Error{Kind: verification.ErrConflict, Subject: subject, Message: message}
}

// engine has the use cases. It drives no run: what is to be done is left to the
// hosts, through the queue.
func (s *session) engine(d *database, providers ...string) (*engine.Engine, error) {
	known := map[string]verification.Provider{}
	for _, name := range providers {
		known[name] = elsewhere{}
	}
	return engine.New(engine.Ports{
		Runs: d, Queue: d, Workflows: d, Tenants: d, Idempotency: d, Deliveries: d,
		Providers: known, Expressions: expression.New(), Links: elsewhere{}, Notifier: elsewhere{},
		Clock: s.clock, NewID: func() string { return uuid.Must(uuid.NewV7()).String() },
	}, engine.Options{
		Passive: true, Log: slog.New(slog.NewTextHandler(s.stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
}

// elsewhere stands for what the hosts do and verifyctl does not.
type elsewhere struct{}

var errElsewhere = errors.New("verifyctl leaves this to the hosts")

// Check calls no provider.
func (elsewhere) Check(context.Context, verification.CheckRequest) (verification.CheckResult, error) {
	return verification.CheckResult{}, errElsewhere
}

// Notify sends nothing.
func (elsewhere) Notify(context.Context, verification.Notice) error { return errElsewhere }

// SignLink makes no links: whoever has one is the customer.
func (elsewhere) SignLink(verification.Link) (string, error) { return "", errElsewhere }

// OpenLink opens no links.
func (elsewhere) OpenLink(string) (verification.Link, error) {
	return verification.Link{}, errElsewhere
}
