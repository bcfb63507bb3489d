// Tests of the shared server and its databases.

package pgtest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/internal/rig/pgtest"
)

func TestMain(m *testing.M) {
	if os.Getenv(envAbandon) != "" {
		abandon()
	}
	os.Exit(pgtest.Main(m, prepare))
}

const envAbandon = "VERIFYD_TEST_ABANDON"

// abandon starts a server, prints its location, and waits to be killed.
func abandon() {
	s, err := pgtest.Start(context.Background(), pgtest.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, pgtest.Folder(s))
	_, _ = os.Stdin.Read(make([]byte, 1))
	runtime.KeepAlive(s)
}

func prepare(ctx context.Context, url string) error {
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, "CREATE TABLE runs (id int PRIMARY KEY); INSERT INTO runs VALUES (1)")
	return errors.Join(err, c.Close(ctx))
}

func TestDatabasesAreSeparateCopiesOfThePreparedOne(t *testing.T) {
	a, b := connect(t, pgtest.Database(t)), connect(t, pgtest.Database(t))
	execute(t, a, "INSERT INTO runs VALUES (2)")
	for _, row := range []struct {
		of   *pgx.Conn
		want []int
	}{{a, []int{1, 2}}, {b, []int{1}}} {
		if diff := cmp.Diff(row.want, ids(t, row.of)); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
	}
}

func TestAnEmptyDatabaseHoldsNothing(t *testing.T) {
	c := connect(t, pgtest.Empty(t))
	if n := one[int](t, c, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"); n != 0 {
		t.Errorf("%d tables, want none", n)
	}
	execute(t, c, "CREATE TABLE runs (id int)")
}

func TestRowLevelSecurityBindsTheRoleOfTests(t *testing.T) {
	url := pgtest.Database(t)
	c := connect(t, url)
	if one[bool](t, c, "SELECT rolsuper OR rolbypassrls OR rolcreatedb OR rolcreaterole FROM pg_roles WHERE rolname = current_user") {
		t.Error("the role of tests may do more than own its databases")
	}
	if !one[bool](t, c, "SELECT pg_get_userbyid(datdba) = current_user FROM pg_database WHERE datname = current_database()") {
		t.Error("the role of tests does not own its database")
	}
	execute(t, c, "ALTER TABLE runs ENABLE ROW LEVEL SECURITY; ALTER TABLE runs FORCE ROW LEVEL SECURITY")
	if got := ids(t, c); len(got) != 0 {
		t.Errorf("rows without a policy = %v, want none", got)
	}
	if os.Getenv(pgtest.EnvURL) == "" {
		if got := ids(t, connect(t, pgtest.Admin(t, url))); len(got) != 1 {
			t.Errorf("rows for the administrator = %v, want one", got)
		}
	}
}

func TestADatabaseIsRemovedDespiteConnections(t *testing.T) {
	var url string
	var c *pgx.Conn
	t.Run("test", func(sub *testing.T) {
		url = pgtest.Database(sub)
		c = connect(t, url)
	})
	if err := c.Ping(t.Context()); err == nil {
		t.Error("the connection is still there")
	}
	if again, err := pgx.Connect(t.Context(), url); err == nil {
		_ = again.Close(t.Context())
		t.Error("the database is still there")
	}
}

func TestWithoutPostgresTheRunFailsAndSaysWhyOnce(t *testing.T) {
	empty := t.TempDir()
	out, err := child("^TestDatabasesAre|^TestAnEmpty|^TestRowLevel", pgtest.EnvURL+"=", pgtest.EnvBin+"="+empty)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("the run ended with %v, want exit code 1", err)
	}
	if n := strings.Count(out, pgtest.EnvBin+" is "+empty); n != 1 {
		t.Errorf("the reason is given %d times, want once: %s", n, out)
	}
	if n := strings.Count(out, "--- FAIL"); n != 3 {
		t.Errorf("%d tests failed, want 3: %s", n, out)
	}
}

func TestARunningServerIsUsedAndLeftUnchanged(t *testing.T) {
	s := server(t, pgtest.Options{})
	admin := connect(t, s.Admin("postgres"))
	execute(t, admin, "CREATE ROLE ci LOGIN CREATEDB CREATEROLE PASSWORD 'ci'")
	count := func() int {
		return one[int](t, admin, "SELECT (SELECT count(*) FROM pg_database) + (SELECT count(*) FROM pg_roles)")
	}
	before := count()
	_, address, _ := strings.Cut(s.Admin("postgres"), "127.0.0.1")
	out, err := child("^TestDatabasesAre|^TestAnEmpty|^TestRowLevel|^TestADatabaseIsRemoved",
		pgtest.EnvURL+"=postgres://ci:ci@127.0.0.1"+address, pgtest.EnvBin+"=/none")
	if err != nil {
		t.Errorf("the run ended with %v: %s", err, out)
	}
	if after := count(); after != before {
		t.Errorf("%d databases and roles, want %d as before", after, before)
	}
}

// child runs tests of this package in another process.
func child(tests string, env ...string) (string, error) {
	c := exec.Command(os.Args[0], "-test.run", tests)
	c.Env = append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	return string(out), err
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.WithoutCancel(t.Context())) })
	return c
}

func execute(t *testing.T, c *pgx.Conn, sql string) {
	t.Helper()
	if _, err := c.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

func one[T any](t *testing.T, c *pgx.Conn, sql string) T {
	t.Helper()
	var v T
	if err := c.QueryRow(t.Context(), sql).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func ids(t *testing.T, c *pgx.Conn) []int {
	t.Helper()
	rows, err := c.Query(t.Context(), "SELECT id FROM runs ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		s, err := pgtest.Start(b.Context(), pgtest.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDatabase(b *testing.B) {
	for _, row := range []struct {
		name string
		make func(testing.TB) string
	}{{"copied", pgtest.Database}, {"empty", pgtest.Empty}} {
		b.Run(row.name, func(b *testing.B) {
			row.make(b) // the first one starts the server
			for b.Loop() {
				row.make(b)
			}
		})
	}
}
