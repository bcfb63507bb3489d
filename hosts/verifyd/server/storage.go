// The store of the host, in memory, in a folder or on PostgreSQL, and the signing keys.

package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/verifyd/internal/traces"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
)

type storage struct {
	store.Store
	database *postgres.Store // nil without a database
	folder   *dataFolder     // nil without a data folder
	capacity *capacity       // nil on a database
	traces   *traces.Traces  // nil for none

	forget atomic.Pointer[func()] // drops what the host knows of the store; nil before there is an engine
	moved  chan struct{}          // has a value when the store may have lost changes
}

// poll is the longest time between two polls of the queue on a shared database.
const poll = 2 * time.Second

// openStorage opens and migrates the database, opens the data folder, or returns a store in
// memory.
func openStorage(ctx context.Context, s Settings, log *slog.Logger) (*storage, error) {
	switch {
	case s.Memory:
		m := memory.New()
		return &storage{Store: m, capacity: newCapacity(m, s, memlimit.FromSystem, log)}, nil
	case s.DatabaseURL == "":
		fit, done := fitting(ctx, s.memoryLimit())
		f, err := openFolder(fit, s.folder(), s.DiskReserve, s.EraseWithin, log)
		done()
		if err != nil {
			if small, ok := errors.AsType[*doesNotFit](context.Cause(fit)); ok {
				err = fmt.Errorf("%s: %s: %w", cli.Setting("data-dir"), s.folder(), small)
			}
			return nil, err
		}
		c := newCapacity(f.journal, s, memlimit.FromSystem, log)
		c.limits.Disk = f.space.left
		return &storage{Store: f.journal, folder: f, capacity: c}, nil
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
	opened := &storage{moved: make(chan struct{}, 1)}
	store, err := postgres.Open(ctx, s.DatabaseURL, postgres.Options{
		MaxConns: s.DatabaseConns, SingleHost: s.Clock == "manual", EraseWithin: s.EraseWithin, Moved: opened.lostChanges, Log: log,
	})
	if err != nil {
		return nil, cli.DatabaseError(err)
	}
	opened.Store, opened.database = store, store
	return opened, nil
}

// lostChanges is called when a standby was promoted.
func (s *storage) lostChanges() {
	if forget := s.forget.Load(); forget != nil {
		(*forget)()
	}
	select {
	case s.moved <- struct{}{}:
	default: // it is already known
	}
}

// Append implements store.Store.
func (s *storage) Append(ctx context.Context, t verification.TenantID, run verification.RunID, seq int, c store.Commit) error {
	if s.traces == nil {
		return s.Store.Append(ctx, t, run, seq, c)
	}
	return s.traces.Append(ctx, verification.RunRef{Tenant: t, Run: run}, func(ctx context.Context) error { return s.Store.Append(ctx, t, run, seq, c) })
}

var _ store.Leveled = (*storage)(nil)

// Level implements store.Leveled.
func (s *storage) Level() int {
	if l, ok := s.Store.(store.Leveled); ok {
		return l.Level()
	}
	return store.Level
}

// describe returns the store as the ready line has it.
func (s *storage) describe() string {
	switch {
	case s.database != nil:
		return "store=postgres"
	case s.folder != nil:
		return s.folder.describe()
	}
	return "store=memory"
}

// keeps reports whether the store keeps its data when the host ends.
func (s *storage) keeps() bool { return s.database != nil || s.folder != nil }

// shared reports whether other hosts may use the same store.
func (s *storage) shared(given Settings) bool { return s.database != nil && given.Clock != "manual" }

// removals says when the store keeps nothing any more of what was removed; nil if it never does.
func (s *storage) removals() store.Removals {
	switch {
	case s.folder != nil:
		return s.folder.journal
	case s.database != nil:
		return s.database
	}
	return nil
}

// ping reports an error if the store cannot serve requests or take writes.
func (s *storage) ping(ctx context.Context) error {
	switch {
	case s.database != nil:
		return s.database.Ping(ctx)
	case s.folder != nil:
		if _, err := s.folder.journal.Tenants(ctx); err != nil { // like any read, it waits for the disk
			return err
		}
		return s.folder.writable(time.Now())
	}
	return nil
}

// join joins the hosts that share the database. It returns nil for a host that
// shares none or is no worker.
func (s *storage) join(
	given Settings, e *engine.Engine, now func() time.Time, failed func(), log *slog.Logger,
) (*postgres.Membership, error) {
	if !s.shared(given) || !given.has(roleWorker) {
		return nil, nil //nolint:nilnil // the host shares no database, or is no worker
	}
	return s.database.Join(postgres.MembershipOptions{Wake: e.Wake, Leaves: e.Leaves, Now: now, Failed: failed, Log: log})
}

func (s *storage) close() {
	switch {
	case s.database != nil:
		s.database.Close()
	case s.folder != nil:
		s.folder.close()
	}
}

// signingKeys returns the keys that all hosts share in the database, the keys of the data
// folder, or a new set for a host in memory.
func (s *storage) signingKeys(ctx context.Context) (*token.Keys, error) {
	switch {
	case s.database != nil:
		return token.SharedKeys(ctx, s.database)
	case s.folder != nil:
		return s.folder.signingKeys(ctx)
	}
	return token.NewKeys()
}

// searchKey returns the search key that the store has; nil for none.
func (s *storage) searchKey(ctx context.Context) ([]byte, error) {
	if s.folder == nil {
		return nil, nil
	}
	return s.folder.searchKey(ctx)
}

// failure returns why the store cannot be used any more; nil if it can.
func (s *storage) failure() error {
	if s == nil || s.folder == nil {
		return nil
	}
	return s.folder.failure()
}

// failed is closed when the store cannot be used any more.
func (s *storage) failed() <-chan struct{} {
	if s.folder == nil {
		return nil
	}
	return s.folder.failed
}
