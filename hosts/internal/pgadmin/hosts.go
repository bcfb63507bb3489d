// Hosts, and the bootstrap files that they applied.

package pgadmin

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/internal/postgres/pgschema"
	"github.com/verifyd/verifyd/verification"
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
	const query = `SELECT id, name, address, roles, version, bootstrap, facts, level, started_at, seen_at,
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

// RaiseLevel raises the level of the store, and returns the level before. It returns ErrConflict, and changes nothing, while a host
// is alive whose build reads less. A host that starts at the same time is seen, or does not start: while RaiseLevel has its
// lock, no row of a host is written, and SaveHost reads the level once it has written its row.
func (d Database) RaiseLevel(ctx context.Context, to int) (from int, err error) {
	err = d.bounded(ctx, noTenant, pgx.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "LOCK TABLE verifyd.hosts IN SHARE MODE"); err != nil {
			return err
		}
		behind, err := collect[Host](ctx, tx, `SELECT name, address, version, level FROM verifyd.hosts
WHERE level < $1 AND seen_at > clock_timestamp() - make_interval(secs => $2) ORDER BY name, address`, to, pgschema.HostTimeout.Seconds())
		if err != nil {
			return err
		}
		if len(behind) > 0 {
			var names []string
			for _, h := range behind {
				names = append(names, fmt.Sprintf("%s (%s, version %s) reads level %d", h.Name, h.Address, h.Version, h.Level))
			}
			return verification.Conflict("store", fmt.Sprintf(
				"it cannot have level %d while hosts of an earlier release are alive: %s; stop them first; a host that was killed counts as alive for %s",
				to, strings.Join(names, ", "), pgschema.HostTimeout))
		}
		if err := tx.QueryRow(ctx, pgschema.ReadLevel).Scan(&from); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO verifyd.shared_values AS s (name, value) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE s.value::int < excluded.value::int`, pgschema.LevelName, strconv.Itoa(to))
		return err
	})
	return from, pgerror.Translate("raise the level of the store", err)
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
