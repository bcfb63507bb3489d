// The store of the host, in memory or on PostgreSQL, and the signing keys.

package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/internal/cli"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
)

type storage struct {
	store.Store
	database *postgres.Store // nil for a host in memory
}

// poll is the longest time between two polls of the queue on a shared database.
const poll = 2 * time.Second

// openStorage opens and migrates the database, or returns a store in memory.
func openStorage(ctx context.Context, s settings, log *slog.Logger) (*storage, error) {
	if s.DatabaseURL == "" {
		return &storage{Store: memory.New()}, nil
	}
	if s.Migrate == "auto" {
		applied, err := postgres.Migrate(ctx, s.DatabaseURL)
		if err != nil {
			return nil, cli.DatabaseError(err)
		}
		for _, m := range applied {
			log.Info("migrated", "version", m.Version, "name", m.Name)
		}
	}
	store, err := postgres.Open(ctx, s.DatabaseURL, postgres.Options{
		MaxConns: s.DatabaseConns, SingleHost: s.Clock == "manual", Log: log,
	})
	if err != nil {
		return nil, cli.DatabaseError(err)
	}
	return &storage{Store: store, database: store}, nil
}

// name returns the name of the store in the ready line.
func (s *storage) name() string {
	if s.database != nil {
		return "postgres"
	}
	return "memory"
}

// shared reports whether other hosts may use the same store.
func (s *storage) shared(given settings) bool { return s.database != nil && given.Clock != "manual" }

// ping reports an error if the store cannot serve requests.
func (s *storage) ping(ctx context.Context) error {
	if s.database == nil {
		return nil
	}
	return s.database.Ping(ctx)
}

// join joins the hosts that share the database. It returns nil for a host that
// shares none or is no worker.
func (s *storage) join(given settings, e *engine.Engine, now func() time.Time, log *slog.Logger) (*postgres.Membership, error) {
	if !s.shared(given) || !given.has(roleWorker) {
		return nil, nil //nolint:nilnil // the host shares no database, or is no worker
	}
	return s.database.Join(postgres.MembershipOptions{Wake: e.Wake, Leaves: e.Leaves, Now: now, Log: log})
}

func (s *storage) close() {
	if s.database != nil {
		s.database.Close()
	}
}

// signingKeys returns the keys that all hosts share in the database, or a new set
// for a host in memory.
func (s *storage) signingKeys(ctx context.Context) (*token.Keys, error) {
	if s.database == nil {
		return token.NewKeys()
	}
	return token.SharedKeys(ctx, s.database)
}
