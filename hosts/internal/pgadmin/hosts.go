// Hosts, and the bootstrap files that they applied.

package pgadmin

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/internal/postgres/pgschema"
	"github.com/verifyd/verifyd/verification/store"
)

// Host is a process on the database, and when it was last seen.
type Host struct {
	postgres.Host

	SeenAt  time.Time // the time of the last heartbeat, by the clock of the database
	SeenAgo float64   // how many seconds ago that is
	Alive   bool      // whether it is less than a minute ago
}

// Hosts returns the running hosts, and for a day those that died, in the order of
// their names and starts.
func (d Database) Hosts(ctx context.Context) (all []Host, err error) {
	const query = `SELECT id, name, address, roles, version, bootstrap, facts, started_at, seen_at,
    extract(epoch FROM clock_timestamp() - seen_at)::float8 AS seen_ago,
    seen_at > clock_timestamp() - make_interval(secs => $1) AS alive
FROM verifyd.hosts ORDER BY name, started_at, id`
	err = d.bounded(ctx, noTenant, pgx.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		all, err = collect[Host](ctx, tx, query, pgschema.HostTimeout.Seconds())
		return err
	})
	for i := range all {
		all[i].StartedAt, all[i].SeenAt = all[i].StartedAt.UTC(), all[i].SeenAt.UTC()
	}
	return all, pgerror.Translate("list hosts", err)
}

// AppliedFile is a bootstrap file that was applied to the database.
type AppliedFile struct {
	Hash string // of what the file says
	// AppliedAt is the time at which the file became the newest, by the clock of the
	// database. SaveAppliedFile ignores it.
	AppliedAt time.Time
	Names     string // JSON: the names of what the file lists
}

// maxAppliedFiles is the maximum number of files that are listed.
const maxAppliedFiles = 100

// AppliedFiles returns the last 100 bootstrap files that were applied, the newest first.
func (d Database) AppliedFiles(ctx context.Context) (all []AppliedFile, err error) {
	err = d.bounded(ctx, noTenant, pgx.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		all, err = collect[AppliedFile](ctx, tx,
			"SELECT hash, applied_at, names FROM verifyd.applied_files ORDER BY applied_at DESC, hash LIMIT $1", maxAppliedFiles)
		return err
	})
	for i := range all {
		all[i].AppliedAt = all[i].AppliedAt.UTC()
	}
	return all, pgerror.Translate("list the applied files", err)
}

// SaveAppliedFile makes a bootstrap file the newest one that was applied.
func (d Database) SaveAppliedFile(ctx context.Context, f AppliedFile) error {
	return d.store.SaveSetup(ctx, store.Setup{File: store.AppliedFile{Hash: f.Hash, Names: f.Names}})
}
