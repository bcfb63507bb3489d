// Migrations: embedded files, applied by one host at a time.

package postgres

import (
	"context"
	"database/sql"
	"embed"
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

	"github.com/verifyd/verifyd/verification"
)

//go:embed migrations/*.sql
var migrations embed.FS

// schema is the schema of all tables.
const schema = "verifyd"

// versionTable is the table of the applied migrations.
const versionTable = schema + ".migrations"

// Migration is one version of the schema.
type Migration struct {
	Version int64
	Name    string
	// AppliedAt is when it was applied; zero if it was not.
	AppliedAt time.Time
}

// Migrate applies the missing migrations, each in a transaction, and returns them.
// Hosts that start together wait for each other. The role of the URL must own
// the database, or be allowed to create the schema "verifyd" in it.
func Migrate(ctx context.Context, url string) (applied []Migration, err error) {
	return migrate(ctx, url, migrations)
}

func migrate(ctx context.Context, url string, files fs.FS) (applied []Migration, err error) {
	err = migrating(ctx, url, files, func(m *migrator) error {
		if _, err := m.conn.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS "+schema); err != nil {
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

// MigrateDown reverts the newest applied migration, with the data of its tables.
// Reverting the first one removes the schema.
func MigrateDown(ctx context.Context, url string) (reverted Migration, err error) {
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
			_, err = m.conn.ExecContext(ctx, "DROP SCHEMA "+schema+" CASCADE")
		}
		return err
	})
	return reverted, err
}

// Migrations returns the migrations of this build, oldest first.
func Migrations(ctx context.Context, url string) (all []Migration, err error) {
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
	for _, s := range found {
		all = append(all, Migration{Version: s.Source.Version, Name: nameOf(s.Source.Path), AppliedAt: utc(s.AppliedAt)})
	}
	return all, err
}

// migrator changes the schema while it holds a lock on the database.
type migrator struct {
	conn  *sql.Conn
	goose *goose.Provider
	pool  *pgxpool.Pool
}

// migrating calls f while no other host migrates the database.
func migrating(ctx context.Context, url string, files fs.FS, f func(*migrator) error) error {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return badAddress(err)
	}
	config.ConnConfig.RuntimeParams["verifyd.tenant"] = everyTenant
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return translate("open the database", err)
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
		return translate("reach the database", err)
	}
	defer func() { _ = conn.Close() }() // it goes back to the pool
	if err := locker.SessionLock(ctx, conn); err != nil {
		return translate("lock the migrations", err)
	}
	err = f(&migrator{conn: conn, goose: provider, pool: pool})
	return translate("migrate the database", errors.Join(err, locker.SessionUnlock(context.WithoutCancel(ctx), conn)))
}

// jobs migrates the tables of River.
func (m *migrator) jobs(ctx context.Context, d rivermigrate.Direction) error {
	river, err := rivermigrate.New(riverpgxv5.New(m.pool), &rivermigrate.Config{Schema: schema})
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

// checkSchema returns ErrConflict when the schema is older than this build needs. A
// newer one is accepted: hosts of two builds run side by side during an upgrade.
func checkSchema(ctx context.Context, config *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return translate("reach the database", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	rows, _ := conn.Query(ctx, "SELECT version_id FROM "+versionTable+" WHERE is_applied") // CollectRows returns its error
	applied, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil && code(err) != codeNoTable { // there is no table before the first migration
		return translate("read the schema version", err)
	}
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	for _, file := range files {
		version, err := goose.NumericComponent(file)
		if err != nil {
			return err
		}
		if !slices.Contains(applied, version) {
			return verification.Conflict("database", fmt.Sprintf("its schema lacks migration %d (%s): run verifyctl migrate up", version, nameOf(file)))
		}
	}
	return nil
}

func nameOf(file string) string {
	_, name, _ := strings.Cut(strings.TrimSuffix(path.Base(file), ".sql"), "_")
	return name
}
