// Tests of the shared server and its databases.

package pgtest_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/internal/rig/pgtest"
)

func TestMain(m *testing.M) {
	os.Exit(pgtest.Main(m, prepare))
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
