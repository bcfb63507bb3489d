// Tests of schemas that others made, and of the keys of tables.

package pgschema_test

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/postgres/pgschema"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
)

// lines returns the rows of a query of one column.
func lines(t *testing.T, url, query string) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	rows, err := conn.Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Without a primary key, PostgreSQL refuses to change a table that is published.
func TestEveryTableHasAPrimaryKey(t *testing.T) {
	url := pgtest.Database(t)
	const query = `
SELECT relname FROM pg_class c WHERE relnamespace = 'verifyd'::regnamespace AND relkind IN ('r', 'p')
    AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)`
	if without := lines(t, url, query); len(without) > 0 {
		t.Errorf("tables without a primary key: %s", strings.Join(without, ", "))
	}
	if all := lines(t, url, "SELECT relname FROM pg_class WHERE relnamespace = 'verifyd'::regnamespace AND relkind = 'r'"); len(all) < 30 {
		t.Errorf("there are %d tables, want those of verifyd and of its queue", len(all))
	}
}

// everything describes all objects of the schema verifyd.
const everything = `
SELECT line FROM (
    SELECT 'relation ' || relname || ' ' || relkind::text AS line FROM pg_class WHERE relnamespace = 'verifyd'::regnamespace
    UNION ALL SELECT 'function ' || proname FROM pg_proc WHERE pronamespace = 'verifyd'::regnamespace
    UNION ALL SELECT 'type ' || typname FROM pg_type WHERE typnamespace = 'verifyd'::regnamespace
) AS lines ORDER BY line COLLATE "C"`

func TestASchemaOfAnotherProgramIsLeftAlone(t *testing.T) {
	for name, made := range map[string]string{
		"a table":                     "CREATE TABLE verifyd.tenants (n int)",
		"a table with another name":   "CREATE TABLE verifyd.orders (n int)",
		"a view":                      "CREATE VIEW verifyd.v AS SELECT 1 AS n",
		"a sequence":                  "CREATE SEQUENCE verifyd.s",
		"a function":                  "CREATE FUNCTION verifyd.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
		"a type":                      "CREATE TYPE verifyd.t AS ENUM ('a')",
		"its own table of migrations": "CREATE TABLE verifyd.migrations (id int PRIMARY KEY, migration text)",
		"migrations of the same tool": `CREATE TABLE verifyd.migrations (id int PRIMARY KEY, version_id bigint, is_applied boolean, tstamp timestamp);
INSERT INTO verifyd.migrations VALUES (1, 0, true), (2, 20240101, true); CREATE TABLE verifyd.orders (n int)`,
	} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.Empty(t)
			execute(t, url, "CREATE SCHEMA verifyd; "+made)
			before := lines(t, url, everything)
			_, err := pgschema.Up(t.Context(), url)
			if !errors.Is(err, verification.ErrConflict) || !strings.Contains(err.Error(), "its schema verifyd is of another program") {
				t.Errorf("Up = %v, want a conflict that says so", err)
			}
			if after := lines(t, url, everything); !slices.Equal(after, before) {
				t.Errorf("the refused start changed the schema:\n%s\nwas\n%s", after, before)
			}
		})
	}
}

func TestASchemaThatIsThereNeedsNoRightToCreateOne(t *testing.T) {
	address := pgtest.Empty(t)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	role, database := pgx.Identifier{u.User.Username()}.Sanitize(), pgx.Identifier{strings.TrimPrefix(u.Path, "/")}.Sanitize()
	admin := pgtest.Admin(t, address)
	execute(t, admin, "ALTER DATABASE "+database+" OWNER TO CURRENT_USER; REVOKE CREATE ON DATABASE "+database+" FROM PUBLIC, "+role)
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), admin)
		if err == nil {
			_, err = conn.Exec(context.Background(), "ALTER DATABASE "+database+" OWNER TO "+role)
			_ = conn.Close(context.Background())
		}
		if err != nil {
			t.Error(err)
		}
	})
	if _, err := pgschema.Up(t.Context(), address); err == nil {
		t.Fatal("Up without the schema and the right to create it = nil")
	}
	execute(t, admin, "CREATE SCHEMA verifyd; GRANT USAGE, CREATE ON SCHEMA verifyd TO "+role)
	for range 2 { // what goes down leaves the schema, which the role could not create again
		if _, err := pgschema.Up(t.Context(), address); err != nil {
			t.Fatalf("Up = %v", err)
		}
		s, err := postgres.Open(t.Context(), address, postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		if _, err := pgschema.Down(t.Context(), address, false); err != nil {
			t.Fatalf("Down = %v", err)
		}
		if left := lines(t, address, everything); len(left) > 0 {
			t.Errorf("Down left %s", left)
		}
	}
}
