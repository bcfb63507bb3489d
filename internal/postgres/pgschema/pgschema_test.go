// Tests of migrations.

package pgschema_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/postgres/pgschema"
	"github.com/verifyd/verifyd/internal/rig/golden"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
)

func TestMain(m *testing.M) {
	os.Exit(pgtest.Main(m, func(ctx context.Context, url string) error {
		_, err := pgschema.Up(ctx, url)
		return err
	}))
}

// open opens a store that is closed at the end of the test.
func open(t *testing.T, url string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), url, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// schemaOf describes the schema without the tables of River.
func schemaOf(t *testing.T, url string) string {
	t.Helper()
	const everything = `
SELECT line FROM (
    SELECT 'column ' || table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' || coalesce(column_default, '') AS line
    FROM information_schema.columns WHERE table_schema = 'verifyd'
    UNION ALL SELECT 'constraint ' || relname || ' ' || pg_get_constraintdef(c.oid) FROM pg_constraint AS c
        JOIN pg_class AS t ON t.oid = conrelid WHERE connamespace = 'verifyd'::regnamespace AND contype IN ('c', 'f', 'x')
    UNION ALL SELECT 'index ' || tablename || ' ' || indexdef FROM pg_indexes WHERE schemaname = 'verifyd'
    UNION ALL SELECT 'trigger ' || pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT 'policy ' || tablename || ' ' || policyname || ' ' || qual FROM pg_policies WHERE schemaname = 'verifyd'
    UNION ALL SELECT 'security ' || relname || ' ' || relrowsecurity || ' ' || relforcerowsecurity FROM pg_class
        WHERE relnamespace = 'verifyd'::regnamespace AND relkind = 'r'
    UNION ALL SELECT 'function ' || proname || ' ' || prosrc FROM pg_proc WHERE pronamespace = 'verifyd'::regnamespace
) AS lines WHERE line NOT LIKE '%river%' ORDER BY line COLLATE "C"`
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	rows, err := conn.Query(t.Context(), everything)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n") + "\n"
}

func TestTheSchemaGoesUpAndDownAndUp(t *testing.T) {
	url := pgtest.Empty(t)
	all, err := pgschema.All(t.Context(), url)
	if err != nil || len(all) == 0 || !all[0].AppliedAt.IsZero() {
		t.Fatalf("All of an empty database = %+v, %v", all, err)
	}
	applied, err := pgschema.Up(t.Context(), url)
	if err != nil || len(applied) != len(all) || applied[0].Name != all[0].Name || applied[0].AppliedAt.IsZero() {
		t.Fatalf("Up = %+v, %v; want %+v", applied, err, all)
	}
	first := schemaOf(t, url)
	golden.Equal(t, "testdata/schema.txt", []byte(first))
	if again, err := pgschema.Up(t.Context(), url); err != nil || len(again) != 0 {
		t.Errorf("Up again = %+v, %v; want nothing to do", again, err)
	}
	open(t, url).Close()
	for i := len(all) - 1; i >= 0; i-- {
		if undone, err := pgschema.Down(t.Context(), url, false); err != nil || undone.Name != all[i].Name {
			t.Fatalf("Down = %+v, %v; want %s", undone, err, all[i].Name)
		}
	}
	if _, err := pgschema.Down(t.Context(), url, false); !errors.Is(err, verification.ErrConflict) {
		t.Errorf("Down of an empty database = %v, want a conflict: there is nothing to revert", err)
	}
	if _, err := pgschema.Up(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	if second := schemaOf(t, url); second != first {
		t.Errorf("the schema after going down and up differs:\n%s", second)
	}
}

// ownFiles are the migrations of this build.
func ownFiles(t *testing.T) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	ours, err := fs.ReadDir(pgschema.Files(), "migrations")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range ours {
		raw, err := fs.ReadFile(pgschema.Files(), "migrations/"+f.Name())
		if err != nil {
			t.Fatal(err)
		}
		files["migrations/"+f.Name()] = &fstest.MapFile{Data: raw}
	}
	return files
}

func TestADatabaseOfAnotherBuildIsRefused(t *testing.T) {
	edited := ownFiles(t)
	for name, f := range edited {
		edited[name] = &fstest.MapFile{Data: append([]byte("-- An earlier text.\n"), f.Data...)}
	}
	changed, unrecorded := pgtest.Empty(t), pgtest.Database(t)
	if err := pgschema.UpFrom(t.Context(), changed, edited); err != nil {
		t.Fatal(err)
	}
	execute(t, unrecorded, "DROP TABLE verifyd.migration_files")
	for name, url := range map[string]string{"an edited migration": changed, "a build that recorded none": unrecorded} {
		before := schemaOf(t, url)
		_, migrating := pgschema.Up(t.Context(), url)
		_, opening := postgres.Open(t.Context(), url, postgres.Options{})
		for _, err := range []error{migrating, opening} {
			if !errors.Is(err, verification.ErrConflict) || !strings.Contains(err.Error(), "another build of verifyd made it: its migration 1 (runs)") {
				t.Errorf("%s: %v, want a conflict that says so", name, err)
			}
		}
		if all, err := pgschema.All(t.Context(), url); err != nil || !all[0].Differs {
			t.Errorf("%s: All = %+v, %v; want that the first differs", name, all, err)
		}
		if after := schemaOf(t, url); after != before {
			t.Errorf("%s: the refusal changed the schema:\n%s", name, after)
		}
	}
}

// execute executes a statement as the role of the tests.
func execute(t *testing.T, url, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func TestAMigrationThatWasBegunCanBeReplaced(t *testing.T) {
	url := pgtest.Empty(t)
	broken := ownFiles(t)
	for name := range broken {
		broken[name] = &fstest.MapFile{Data: []byte("-- +goose Up\nALTER TABLE verifyd.nothing ADD n int;\n")}
	}
	if err := pgschema.UpFrom(t.Context(), url, broken); err == nil {
		t.Fatal("a migration that cannot be applied = nil")
	}
	if _, err := pgschema.Up(t.Context(), url); err != nil {
		t.Errorf("Up after another build failed to = %v", err)
	}
}

func TestDownIsRefusedBesideLiveHosts(t *testing.T) {
	url := pgtest.Database(t)
	s := open(t, url)
	defer s.Close()
	if err := s.SaveHost(t.Context(), postgres.Host{ID: "00000000-0000-7000-8000-000000000001", Name: "one"}); err != nil {
		t.Fatal(err)
	}
	before := schemaOf(t, url)
	if _, err := pgschema.Down(t.Context(), url, false); !errors.Is(err, verification.ErrConflict) || !strings.Contains(err.Error(), "1 hosts are alive") {
		t.Errorf("Down beside a host = %v, want a conflict", err)
	}
	if after := schemaOf(t, url); after != before {
		t.Errorf("the refusal changed the schema:\n%s", after)
	}
	if _, err := pgschema.Down(t.Context(), url, true); err != nil {
		t.Errorf("Down with force = %v", err)
	}
	// The host that is still there is unavailable, and not broken.
	if _, err := s.Account(t.Context(), "acme"); !errors.Is(err, verification.ErrUnavailable) || !strings.Contains(err.Error(), "the tables of verifyd are gone") {
		t.Errorf("Account without tables = %v, want that they are gone", err)
	}
}

func TestAMigrationThatFailsLeavesNothing(t *testing.T) {
	url := pgtest.Database(t)
	before := schemaOf(t, url)
	files := ownFiles(t)
	files["migrations/99998_bad.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nCREATE TABLE verifyd.half (n int);\nALTER TABLE verifyd.nothing ADD n int;\n")}
	if err := pgschema.UpFrom(t.Context(), url, files); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("a migration that cannot be = %v", err)
	}
	if after := schemaOf(t, url); after != before {
		t.Errorf("the migration that failed left:\n%s", after)
	}
	files["migrations/99998_bad.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nCREATE TABLE verifyd.later (n int);\n")}
	if err := pgschema.UpFrom(t.Context(), url, files); err != nil {
		t.Fatal(err)
	}
	open(t, url).Close() // a newer schema is accepted
}

func TestHostsThatMigrateTogetherMigrateOnce(t *testing.T) {
	url := pgtest.Empty(t)
	var done sync.WaitGroup
	var mu sync.Mutex
	applied := 0
	for range 4 {
		done.Go(func() {
			steps, err := pgschema.Up(t.Context(), url)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if len(steps) > 0 {
				applied++
			}
		})
	}
	done.Wait()
	if applied != 1 {
		t.Errorf("%d hosts applied migrations, want one", applied)
	}
}
