// The servers: a fast one for the tests and a durable one for the benchmarks.

package bench_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
)

func TestMain(m *testing.M) {
	code := pgtest.Main(m, migrate)
	if err := shared.close(); err != nil {
		fmt.Fprintf(os.Stderr, "clean up after the benchmarks: %v\n", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func migrate(ctx context.Context, url string) error {
	_, err := postgres.Migrate(ctx, url)
	return err
}

var shared durable

// durable is the server of the benchmarks. The first benchmark starts it.
type durable struct {
	once   sync.Once
	server *pgtest.Server
	err    error
	made   atomic.Int64 // number of databases, for their names
}

// start starts the server, with a WAL that may grow so large that no automatic checkpoint
// disturbs a measurement.
func (d *durable) start(ctx context.Context) error {
	d.once.Do(func() {
		d.server, d.err = pgtest.Start(ctx, pgtest.Options{Durable: true, Settings: map[string]string{
			"shared_buffers":     "512MB",
			"min_wal_size":       "4GB",
			"max_wal_size":       "16GB",
			"checkpoint_timeout": "1h",
		}})
		if d.err == nil {
			d.err = d.createSegments(ctx)
		}
	})
	return d.err
}

// createSegments creates the WAL segments that a server has after a while. A new server
// first fills each segment with zeros, and every client waits for that.
func (d *durable) createSegments(ctx context.Context) error {
	admin, err := pgx.Connect(ctx, d.server.Admin("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = admin.Close(ctx) }()
	const segments = `DO $$ BEGIN
    FOR segment IN 1..128 LOOP
        PERFORM pg_logical_emit_message(false, 'bench', '');
        PERFORM pg_switch_wal();
    END LOOP;
END $$`
	for _, statement := range []string{segments, "CHECKPOINT"} {
		if _, err := admin.Exec(ctx, statement); err != nil {
			return fmt.Errorf("create WAL segments: %w", err)
		}
	}
	return nil
}

func (d *durable) close() error {
	if d.server == nil {
		return nil
	}
	return d.server.Close()
}

// database is a database with our schema on the durable server.
type database struct {
	url   string
	admin *pgx.Conn // as a superuser
}

// newDatabase creates a database that is dropped at the end of the benchmark.
func newDatabase(b *testing.B) database {
	b.Helper()
	ctx := context.WithoutCancel(b.Context())
	if err := shared.start(ctx); err != nil {
		b.Fatal(err)
	}
	name := fmt.Sprintf("bench_%d", shared.made.Add(1))
	if err := shared.server.CreateDatabase(ctx, name, ""); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := shared.server.DropDatabase(ctx, name); err != nil {
			b.Error(err)
		}
	})
	db := database{url: shared.server.URL(name)}
	if err := migrate(ctx, db.url); err != nil {
		b.Fatal(err)
	}
	var err error
	if db.admin, err = pgx.Connect(ctx, shared.server.Admin(name)); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := db.admin.Close(ctx); err != nil {
			b.Error(err)
		}
	})
	return db
}

// checkpoint makes the server write a checkpoint.
func (db database) checkpoint(b *testing.B) {
	b.Helper()
	if _, err := db.admin.Exec(b.Context(), "CHECKPOINT"); err != nil {
		b.Fatal(err)
	}
}
