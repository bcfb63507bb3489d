// The database or data folder, and the engine on it.

package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/operator"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/internal/postgres/pgschema"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// operations are the methods of a database that only operators need.
type operations interface {
	Health(ctx context.Context, now func() time.Time) (pgadmin.Health, error)
	CheckCounts(ctx context.Context) ([]string, error)
	bootstrap.Ledger
	RunTenants(ctx context.Context, id verification.RunID) ([]verification.TenantID, error)
}

type database struct {
	store.Store
	token.KeyStore
	operations
	searchKey []byte // by which people are found; nil for none
	close     func() error
}

func (d *database) tables() store.Tables { return store.Tables{RowStore: d} }

// server opens and migrates databases.
type server struct {
	open        func(ctx context.Context, url string) (*database, error)
	migrate     func(ctx context.Context, url string) ([]pgschema.Migration, error)
	migrateDown func(ctx context.Context, url string, force bool) (pgschema.Migration, error)
	migrations  func(ctx context.Context, url string) ([]pgschema.Migration, error)
}

// postgresServer opens PostgreSQL with few connections: a command makes one call at
// a time.
func postgresServer() server {
	return server{
		open: func(ctx context.Context, url string) (*database, error) {
			s, err := postgres.Open(ctx, url, postgres.Options{MaxConns: 4, Writers: 1})
			if err != nil {
				return nil, err
			}
			return &database{Store: s, KeyStore: s, operations: pgadmin.Of(s), close: func() error {
				s.Close()
				return nil
			}}, nil
		},
		migrate: pgschema.Up, migrateDown: pgschema.Down, migrations: pgschema.All,
	}
}

// openFolder opens a data folder, through the host that has it if there is one.
func (s *session) openFolder(ctx context.Context, folder datadir.Folder) (*database, error) {
	d, err := operator.Open(ctx, folder, s.folderOptions())
	if err != nil {
		return nil, err
	}
	return &database{Store: d, KeyStore: d, operations: folderOperations{d}, close: d.Close}, nil
}

func (s *session) folderOptions() operator.Options {
	return operator.Options{Now: s.clock.Now(), Log: s.warnings(), Wait: s.hostWait}
}

// folderOperations are the operations of a data folder.
type folderOperations struct{ operator.Data }

func (f folderOperations) Health(ctx context.Context, now func() time.Time) (pgadmin.Health, error) {
	return f.Data.Health(ctx, now())
}

// CheckCounts implements operations.
func (folderOperations) CheckCounts(context.Context) ([]string, error) {
	return nil, errors.New("a data folder has no counters: its lists count the runs themselves")
}

// warnings is a log on stderr.
func (s *session) warnings() *slog.Logger {
	return slog.New(slog.NewTextHandler(s.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func notFound(subject, message string) error {
	return &verification.Error{Kind: verification.ErrNotFound, Subject: subject, Message: message}
}

// engine returns the use cases. The engine does not drive runs: the hosts take its
// work from the queue. Definitions may name these providers.
func (s *session) engine(d *database, providers bootstrap.Providers) (*engine.Engine, error) {
	return s.engineWith(d, providers, s.clock, 0)
}

// engineOfHosts is engine with the clock of a host whose clock is manual, and the grace of retention of the hosts.
func (s *session) engineOfHosts(ctx context.Context, d *database, providers bootstrap.Providers) (*engine.Engine, error) {
	hosts, err := d.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	var grace time.Duration
	c := s.clock
	for _, h := range hosts {
		facts, err := cli.ParseHostFacts(h.Facts)
		if !h.Alive || h.Facts == "" || err != nil {
			continue
		}
		own := cmp.Or(facts.RetentionGrace, -1)
		if grace == 0 || own < grace { // the shortest one decides
			grace = own
		}
		if !facts.ManualClock.IsZero() {
			c = clock.NewManual(facts.ManualClock)
		}
	}
	return s.engineWith(d, providers, c, grace)
}

func (s *session) engineWith(d *database, providers bootstrap.Providers, c verification.Clock, grace time.Duration) (*engine.Engine, error) {
	return engine.New(engine.Ports{
		Store: d, Providers: providers.All, TenantProviders: providers.Tenant,
		Expressions: expression.New(), Links: unsupported{}, Notifier: unsupported{},
		Clock: c, NewID: func() string { return uuid.Must(uuid.NewV7()).String() },
	}, engine.Options{
		Passive: true, Log: s.warnings(), SearchKey: d.searchKey, RetentionGrace: grace,
	})
}

// unsupported implements the ports that only hosts use.
type unsupported struct{}

var errUnsupported = errors.New("verifyctl does not support this: only hosts do it")

// Check implements verification.Provider.
func (unsupported) Check(context.Context, verification.CheckRequest) (verification.CheckResult, error) {
	return verification.CheckResult{}, errUnsupported
}

// Notify implements rules.Notifier.
func (unsupported) Notify(context.Context, rules.Notice) error { return errUnsupported }

// SignLink implements verification.LinkSigner.
func (unsupported) SignLink(verification.Link) (string, error) { return "", errUnsupported }

// OpenLink implements verification.LinkSigner.
func (unsupported) OpenLink(string) (verification.Link, error) {
	return verification.Link{}, errUnsupported
}
