// Package pgschema creates and changes the schema of the database by migrations, which are
// embedded files. One host at a time applies them.
package pgschema

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Name is the name of the schema of all tables.
const Name = "verifyd"

// versionTable is the table of the applied migrations.
const versionTable = Name + ".migrations"

// Migration is one version of the schema.
type Migration struct {
	Version int64
	Name    string
	// AppliedAt is when it was applied; zero if it was not.
	AppliedAt time.Time
	// Differs reports whether another build applied it with another content, so that
	// this build cannot use the database.
	Differs bool
}

// sumTable is the table of the content of the applied migrations: a SHA-256 for each
// version. It is no part of a migration, so that every database has it.
const sumTable = Name + ".migration_files"

// Up applies the missing migrations, each in a transaction, and returns them. Hosts that
// start together wait for each other. ErrConflict is returned, and nothing changes, if an
// applied migration differs from the one of this build.
func Up(ctx context.Context, url string) (applied []Migration, err error) {
	return up(ctx, url, migrations)
}

func up(ctx context.Context, url string, files fs.FS) (applied []Migration, err error) {
	err = migrating(ctx, url, files, func(m *migrator) error {
		if err := m.prepare(ctx); err != nil {
			return err
		}
		before, err := m.goose.GetDBVersion(ctx)
		if err != nil {
			return err
		}
		if _, err := m.goose.Up(ctx); err != nil {
			return err
		}
		if applied, err = m.status(ctx); err != nil {
			return err
		}
		applied = slices.DeleteFunc(applied, func(a Migration) bool { return a.Version <= before })
		return m.jobs(ctx, rivermigrate.DirectionUp)
	})
	return applied, err
}

// file is a migration of a build.
type file struct {
	Migration
	sum string // SHA-256 in hexadecimal
}

func readFiles(from fs.FS) (all []file, err error) {
	names, err := fs.Glob(from, "migrations/*.sql")
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return nil, err
		}
		raw, err := fs.ReadFile(from, name)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(raw)
		all = append(all, file{Migration{Version: version, Name: nameOf(name)}, hex.EncodeToString(sum[:])})
	}
	return all, err
}

// noColumn is the SQLSTATE of a column that a table does not have.
const noColumn = "42703"

func errDiffers(f file) error {
	return verification.Conflict("database", fmt.Sprintf(
		"another build of verifyd made it: its migration %d (%s) has another content; start that build, or use an empty database", f.Version, f.Name))
}

// appliedFiles returns the content of each applied migration, by version: its SHA-256, or
// "" where the build that applied it recorded none. It is empty for an empty database.
func appliedFiles(ctx context.Context, conn *pgx.Conn) (map[int64]string, error) {
	type row struct {
		Version int64
		Sum     string
	}
	all := map[int64]string{}
	for _, query := range []string{
		"SELECT version_id, '' FROM " + versionTable + " WHERE is_applied",
		"SELECT f.version, f.sha256 FROM " + sumTable + " f JOIN " + versionTable + " m ON m.version_id = f.version WHERE m.is_applied",
	} {
		rows, _ := conn.Query(ctx, query) // CollectRows returns its error
		found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
		if pgerror.Code(err) == noColumn {
			return nil, verification.Conflict("database", fmt.Sprintf(
				"its schema %s is of another program, which has other tables of these names; use another database, or rename that schema", Name))
		}
		if err != nil && pgerror.Code(err) != pgerror.NoTable { // there are none before the first migration
			return nil, pgerror.Translate("read the schema version", err)
		}
		for _, r := range found {
			all[r.Version] = r.Sum
		}
	}
	return all, nil
}

func (m *migrator) refuseTransactionPooling(ctx context.Context) error {
	conn, err := m.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return refuseTransactionPooling(ctx, conn.Conn())
}

func (m *migrator) applied(ctx context.Context) (map[int64]string, error) {
	conn, err := m.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	return appliedFiles(ctx, conn.Conn())
}

// LevelName is the name of the row of shared_values with the level of the store; level 1 has none.
const LevelName = "level"

// ReadLevel selects the level of the store.
const ReadLevel = "SELECT coalesce(max(value::int), 1) FROM " + Name + ".shared_values WHERE name = '" + LevelName + "'"

// HostTimeout is the time without a heartbeat after which a host counts as dead.
const HostTimeout = time.Minute

// Down reverts the newest applied migration, with the data of its tables.
// Reverting the first one removes the schema. While hosts are alive, ErrConflict is
// returned unless force is set: their requests then fail with ErrUnavailable.
func Down(ctx context.Context, url string, force bool) (reverted Migration, err error) {
	err = migrating(ctx, url, migrations, func(m *migrator) error {
		there, err := m.hasVersions(ctx)
		var version int64
		if err == nil && there {
			version, err = m.goose.GetDBVersion(ctx)
		}
		if err != nil {
			return err
		}
		if version == 0 {
			return verification.Conflict("migrations", "there is no migration to revert")
		}
		if !force {
			if err := m.refuseLiveHosts(ctx); err != nil {
				return err
			}
		}
		if version == 1 {
			if err := m.jobs(ctx, rivermigrate.DirectionDown); err != nil {
				return err
			}
		}
		r, err := m.goose.Down(ctx)
		if err != nil {
			return err
		}
		reverted = Migration{Version: r.Source.Version, Name: nameOf(r.Source.Path)}
		if version == 1 {
			err = m.dropSchema(ctx)
		}
		return err
	})
	return reverted, err
}

// liveHosts counts the hosts that live. $1 is HostTimeout in seconds.
const liveHosts = "SELECT count(*) FROM " + Name + ".hosts WHERE seen_at > clock_timestamp() - make_interval(secs => $1)"

// refuseLiveHosts returns ErrConflict while hosts are alive.
func (m *migrator) refuseLiveHosts(ctx context.Context) error {
	var alive int
	err := m.conn.QueryRowContext(ctx, liveHosts, HostTimeout.Seconds()).Scan(&alive)
	if err == nil && alive > 0 {
		err = verification.Conflict("migrations", fmt.Sprintf("%d hosts are alive: stop them first, or give --force; a host that was killed counts as alive for %s", alive, HostTimeout))
	}
	return err
}

// All returns the migrations of this build, oldest first.
func All(ctx context.Context, url string) (all []Migration, err error) {
	err = migrating(ctx, url, migrations, func(m *migrator) error {
		there, err := m.hasVersions(ctx)
		if err != nil {
			return err
		}
		if !there {
			for _, s := range m.goose.ListSources() {
				all = append(all, Migration{Version: s.Version, Name: nameOf(s.Path)})
			}
			return nil
		}
		all, err = m.status(ctx)
		return err
	})
	return all, err
}

// hasVersions reports whether the table of the applied migrations exists.
func (m *migrator) hasVersions(ctx context.Context) (there bool, err error) {
	err = m.conn.QueryRowContext(ctx, "SELECT to_regclass($1) IS NOT NULL", versionTable).Scan(&there)
	return there, err
}

// status returns all migrations and when they were applied.
func (m *migrator) status(ctx context.Context) (all []Migration, err error) {
	found, err := m.goose.Status(ctx)
	if err != nil {
		return nil, err
	}
	sums, err := m.applied(ctx)
	for _, s := range found {
		sum, ok := sums[s.Source.Version]
		all = append(all, Migration{
			Version: s.Source.Version, Name: nameOf(s.Source.Path), AppliedAt: s.AppliedAt.UTC(),
			Differs: ok && !slices.ContainsFunc(m.files, func(f file) bool { return f.Version == s.Source.Version && f.sum == sum }),
		})
	}
	return all, err
}

// migrator changes the schema while it holds a lock on the database.
type migrator struct {
	conn  *sql.Conn
	goose *goose.Provider
	pool  *pgxpool.Pool
	files []file // of this build
}

// migrating calls f while no other host migrates the database.
func migrating(ctx context.Context, url string, files fs.FS, f func(*migrator) error) error {
	config, err := ParseConfig(url, "all")
	if err != nil {
		return err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return pgerror.Translate("open the database", err)
	}
	defer pool.Close()
	db := stdlib.OpenDBFromPool(pool)
	defer func() { _ = db.Close() }() // its connections belong to the pool
	steps, err := fs.Sub(files, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, steps,
		goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
	if err != nil {
		return fmt.Errorf("lock the migrations: %w", err)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return pgerror.Translate("reach the database", err)
	}
	defer func() { _ = conn.Close() }() // it goes back to the pool
	own, err := readFiles(files)
	if err != nil {
		return err
	}
	m := &migrator{conn: conn, goose: provider, pool: pool, files: own}
	if err := m.refuseTransactionPooling(ctx); err != nil {
		return pgerror.Translate("reach the database", err)
	}
	if err := locker.SessionLock(ctx, conn); err != nil {
		return pgerror.Translate("lock the migrations", err)
	}
	err = errors.Join(f(m), locker.SessionUnlock(context.WithoutCancel(ctx), conn))
	if pgerror.Answered(err) { // a table that a migration lacks is no outage
		return fmt.Errorf("migrate the database: %w", err)
	}
	return pgerror.Translate("migrate the database", err)
}

// jobs migrates the tables of River.
func (m *migrator) jobs(ctx context.Context, d rivermigrate.Direction) error {
	river, err := rivermigrate.New(riverpgxv5.New(m.pool), &rivermigrate.Config{Schema: Name})
	if err != nil {
		return err
	}
	o := &rivermigrate.MigrateOpts{}
	if d == rivermigrate.DirectionDown {
		o.TargetVersion = -1
	}
	_, err = river.Migrate(ctx, d, o)
	return err
}

// Check returns ErrConflict when the schema is older than this build needs, or was
// made by a build with other migrations. A newer one is accepted: hosts of two builds run
// side by side during an upgrade.
func Check(ctx context.Context, config *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return pgerror.Translate("reach the database", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if err := refuseTransactionPooling(ctx, conn); err != nil {
		return pgerror.Translate("reach the database", err)
	}
	applied, err := appliedFiles(ctx, conn)
	if err != nil {
		return err
	}
	own, err := readFiles(migrations)
	if err != nil {
		return err
	}
	for _, f := range own {
		switch sum, ok := applied[f.Version]; {
		case !ok:
			return verification.Conflict("database", fmt.Sprintf("its schema lacks migration %d (%s): run verifyctl migrate up", f.Version, f.Name))
		case sum != f.sum:
			return errDiffers(f)
		}
	}
	return nil
}

func nameOf(file string) string {
	_, name, _ := strings.Cut(strings.TrimSuffix(path.Base(file), ".sql"), "_")
	return name
}
