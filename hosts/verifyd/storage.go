// Where the host keeps everything: its own memory, or PostgreSQL.

package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/adapters/token"
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

// storage is the store of this host.
type storage struct {
	ports
	database *postgres.Store // nil where everything is kept in memory
}

// poll is how long a host on a shared database goes at most before it asks the
// queue.
const poll = 2 * time.Second

// openStorage opens the database and brings its schema up, or makes a store in
// memory.
func openStorage(ctx context.Context, s settings, log *slog.Logger) (*storage, error) {
	if s.DatabaseURL == "" {
		return &storage{ports: memory.New()}, nil
	}
	named := func(err error) error { return fmt.Errorf("%s: %w", setting("database-url"), postgres.Explain(err)) }
	if s.Migrate == "auto" {
		applied, err := postgres.Migrate(ctx, s.DatabaseURL)
		if err != nil {
			return nil, named(err)
		}
		for _, m := range applied {
			log.Info("migrated", "version", m.Version, "name", m.Name)
		}
	}
	store, err := postgres.Open(ctx, s.DatabaseURL, postgres.Options{
		MaxConns: s.DatabaseConns, SingleHost: s.Clock == "manual", Log: log,
	})
	if err != nil {
		return nil, named(err)
	}
	return &storage{ports: store, database: store}, nil
}

// name is how the ready line calls it.
func (s *storage) name() string {
	if s.database != nil {
		return "postgres"
	}
	return "memory"
}

// shared tells whether other hosts may work on the same store.
func (s *storage) shared(given settings) bool { return s.database != nil && given.Clock != "manual" }

// ping asks for a sign of life.
func (s *storage) ping(ctx context.Context) error {
	if s.database == nil {
		return nil
	}
	return s.database.Ping(ctx)
}

// join makes the host one of those that share the database; nil where it is
// alone, or leaves the work to others.
func (s *storage) join(given settings, e *engine.Engine, now func() time.Time, log *slog.Logger) (*postgres.Fleet, error) {
	if !s.shared(given) || !given.has(roleWorker) {
		return nil, nil //nolint:nilnil // nil is the word for no fleet
	}
	return s.database.Join(postgres.FleetOptions{Wake: e.Wake, Sweep: e.Sweep, Now: now, Log: log})
}

// close leaves the database.
func (s *storage) close() {
	if s.database != nil {
		s.database.Close()
	}
}

// readKeys reads the file of signing keys, if there is one.
func (o *opened) readKeys(s settings, p *problems) *token.Keys {
	if s.SigningKeyFile == "" {
		if s.DatabaseURL == "" {
			o.warnings = append(o.warnings,
				"journey links are signed with a key made now: they stop working at a restart; set VERIFYD_SIGNING_KEY_FILE")
		}
		return nil
	}
	raw, err := os.ReadFile(s.SigningKeyFile)
	if err != nil {
		p.wrap("signing-key-file", err)
		return nil
	}
	keys, err := token.ReadKeys(raw)
	if err != nil {
		p.add("signing-key-file", "%s: %w", s.SigningKeyFile, err)
	}
	return keys
}

// signingKeys returns those that all hosts share in the database, or makes some
// for a host in memory.
func (s *storage) signingKeys(ctx context.Context) (*token.Keys, error) {
	if s.database == nil {
		return token.NewKeys()
	}
	raw, err := s.database.SigningKeys(ctx, freshKeys)
	if err != nil {
		return nil, err
	}
	return token.ReadKeys(raw)
}

// freshKeys is a new key set, as it is kept.
func freshKeys() ([]byte, error) {
	keys, err := token.NewKeys()
	if err != nil {
		return nil, err
	}
	return keys.PrivateJWKS()
}
