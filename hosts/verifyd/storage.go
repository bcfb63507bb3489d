// The store of the host, in memory or on PostgreSQL, and the signing keys.

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

// ports are all store ports.
type ports interface { //nolint:interfacebloat // it combines all of the small ports
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
	database *postgres.Store // nil for a host in memory
}

// poll is the longest time between two polls of the queue on a shared database.
const poll = 2 * time.Second

// openStorage opens and migrates the database, or returns a store in memory.
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
func (s *storage) join(given settings, e *engine.Engine, now func() time.Time, log *slog.Logger) (*postgres.Fleet, error) {
	if !s.shared(given) || !given.has(roleWorker) {
		return nil, nil //nolint:nilnil // nil means no fleet
	}
	return s.database.Join(postgres.FleetOptions{Wake: e.Wake, Sweep: e.Sweep, Now: now, Log: log})
}

// close closes the database.
func (s *storage) close() {
	if s.database != nil {
		s.database.Close()
	}
}

// readKeys reads the signing key file, if it is set.
func (o *opened) readKeys(s settings, p *problems) *token.Keys {
	if s.SigningKeyFile == "" {
		if s.DatabaseURL == "" {
			o.warnings = append(o.warnings,
				"journey links are signed with a new key and stop working at a restart; set VERIFYD_SIGNING_KEY_FILE to keep them")
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

// signingKeys returns the keys that all hosts share in the database, or a new set
// for a host in memory.
func (s *storage) signingKeys(ctx context.Context) (*token.Keys, error) {
	if s.database == nil {
		return token.NewKeys()
	}
	raw, err := s.database.SigningKeys(ctx, newKeySet)
	if err != nil {
		return nil, err
	}
	return token.ReadKeys(raw)
}

// newKeySet returns a new key set in its stored form.
func newKeySet() ([]byte, error) {
	keys, err := token.NewKeys()
	if err != nil {
		return nil, err
	}
	return keys.PrivateJWKS()
}
