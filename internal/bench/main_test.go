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
	"github.com/verifyd/verifyd/internal/pgtest"
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

// durable is the server of the benchmarks. It starts with the first one.
type durable struct {
	once   sync.Once
	server *pgtest.Server
	err    error
	made   atomic.Int64 // number of databases, for their names
}

// start lets the log of a benchmark grow large, so that no automatic checkpoint
// disturbs the measurement.
func (d *durable) start(ctx context.Context) error {
	d.once.Do(func() {
		d.server, d.err = pgtest.Start(ctx, pgtest.Options{Durable: true, Settings: map[string]string{
			"shared_buffers":     "512MB",
			"min_wal_size":       "4GB",
			"max_wal_size":       "16GB",
			"checkpoint_timeout": "1h",
		}})
		if d.err == nil {
			d.err = d.age(ctx)
		}
	})
	return d.err
}

// age creates the log files of a server that has run for a while. A new server fills
// each file with zeros first, for which every client waits.
func (d *durable) age(ctx context.Context) error {
	admin, err := pgx.Connect(ctx, d.server.Admin("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = admin.Close(ctx) }()
	const files = `DO $$ BEGIN
    FOR file IN 1..128 LOOP
        PERFORM pg_logical_emit_message(false, 'bench', '');
        PERFORM pg_switch_wal();
    END LOOP;
END $$`
	for _, statement := range []string{files, "CHECKPOINT"} {
		if _, err := admin.Exec(ctx, statement); err != nil {
			return fmt.Errorf("age the server: %w", err)
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
	admin *pgx.Conn // as the owner of the server
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
	p := database{url: shared.server.URL(name)}
	if err := migrate(ctx, p.url); err != nil {
		b.Fatal(err)
	}
	var err error
	if p.admin, err = pgx.Connect(ctx, shared.server.Admin(name)); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := p.admin.Close(ctx); err != nil {
			b.Error(err)
		}
	})
	return p
}

// checkpoint makes the server write a checkpoint.
func (p database) checkpoint(b *testing.B) {
	b.Helper()
	if _, err := p.admin.Exec(b.Context(), "CHECKPOINT"); err != nil {
		b.Fatal(err)
	}
}
