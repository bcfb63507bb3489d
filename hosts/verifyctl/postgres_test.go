// Tests that need a real database.

package main

import (
	"context"
	"errors"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/postgres"
	verifyd "github.com/verifyd/verifyd/hosts/verifyd/server"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
)

func TestMain(m *testing.M) {
	switch os.Getenv(asProgram) {
	case "":
	case "verifyd":
		verifyd.Main()
		return
	default:
		main()
		return
	}
	if os.Getenv(asHost) != "" {
		verifyd.Main()
		return
	}
	os.Exit(pgtest.Main(m, func(ctx context.Context, url string) error {
		_, err := postgres.Migrate(ctx, url)
		return err
	}))
}

// fresh returns a world on an empty database.
func fresh(t *testing.T) *world {
	t.Helper()
	w := onMemory(t)
	w.server, w.clock = postgresServer(), clock.System{}
	w.env["VERIFYD_DATABASE_URL"] = pgtest.Empty(t)
	return w
}

func TestMigrationsAreAppliedListedAndReverted(t *testing.T) {
	w := fresh(t)
	count := func(line string) int {
		t.Helper()
		var steps []any
		w.decode(w.ctl(line), &steps)
		return len(steps)
	}
	all := count("migrate status --json")
	if got := w.transcript(); all == 0 || !strings.HasSuffix(string(got), "exit 1\n") {
		t.Errorf("status of an empty database says %s, want all steps missing and exit 1", got)
	}
	if applied := count("migrate up --json"); applied != all {
		t.Errorf("up applied %d steps, want %d", applied, all)
	}
	if again := count("migrate up --json"); again != 0 {
		t.Errorf("up applied %d steps of a current schema", again)
	}
	w.transcript()
	for _, want := range []struct{ line, says, exit string }{
		{"migrate status", "1        runs", "exit 0\n"},
		{"migrate up", "VERSION  NAME  APPLIED_AT\nexit", "exit 0\n"},
		{"migrate down", "stderr: verifyctl: --yes: required to revert ", "exit 2\n"},
		{"run list --tenant TENANT", "stderr: verifyctl: tenant: no tenant has this id", "exit 2\n"},
		{"migrate down --yes", "reverted: ", "exit 0\n"},
		{"run list --tenant TENANT", "stderr: verifyctl: --database-url (VERIFYD_DATABASE_URL): database: its schema lacks migration ", "exit 2\n"},
	} {
		w.ctl(want.line)
		if got := string(w.transcript()); !strings.Contains(got, want.says) || !strings.HasSuffix(got, want.exit) {
			t.Errorf("%s says %s, want %q and %q", want.line, got, want.says, want.exit)
		}
	}
	for range all {
		w.ctl("migrate down --yes --json")
	}
	if got := string(w.transcript()); !strings.Contains(got, "no migration is applied") {
		t.Errorf("after all migrations were reverted: %s", got)
	}
}

func TestADatabaseOfAnotherBuildIsExplained(t *testing.T) {
	w := onPostgres(t)
	execute := func(statement string) {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), w.env["VERIFYD_DATABASE_URL"])
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(t.Context()) }()
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	// A column that is not there is no problem of the connection.
	execute("ALTER TABLE verifyd.rescreen_passes RENAME ended_at TO moved_at")
	w.ctl("doctor")
	if got := string(w.transcript()); !strings.Contains(got, "fail    database") || !strings.Contains(got, "SQLSTATE 42703") ||
		!strings.Contains(got, "the connection works") || strings.Contains(got, "check address") {
		t.Errorf("the doctor of a database without a column says %s", got)
	}
	execute("UPDATE verifyd.migration_files SET sha256 = 'of another build'")
	for _, line := range []string{"doctor", "migrate status", "migrate up", "run list"} {
		w.ctl(line)
		if got := string(w.transcript()); !strings.Contains(got, "another build of verifyd made") || strings.Contains(got, "check address") || strings.HasSuffix(got, "exit 0\n") {
			t.Errorf("%s on a database of another build says %s", line, got)
		}
	}
}

func TestTheDoctorFindsWhatIsWrongWithARealDatabase(t *testing.T) {
	w := onPostgres(t)
	w.env["ACME_API_KEY"] = "a-key-for-local-use-only"
	w.ctl("apply testdata/bootstrap.yaml")
	w.clock = clock.System{}
	hosts, err := postgres.Open(t.Context(), w.env["VERIFYD_DATABASE_URL"], postgres.Options{SingleHost: true, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer hosts.Close()
	host := postgres.Host{ID: "00000000-0000-7000-8000-000000000001", Name: "one", Roles: []string{"api", "worker"}, StartedAt: time.Now()}
	if err := hosts.SaveHost(t.Context(), host); err != nil {
		t.Fatal(err)
	}
	right := map[string]string{
		"hosts": "ok", "level": "ok", "connection": "ok", "migrations": "ok", "role": "ok", "clock": "ok", "connections": "ok", "numbers": "ok",
		"work": "ok", "leases": "ok", "expiry": "ok", "deliveries": "ok", "rescreening": "ok", "ends": "ok", "redactions": "ok", "retention": "ok", "bootstrap": "ok", "counts": "ok",
		"backup": "warn",
	}
	w.holdStatuses("doctor --counts --json", right)

	// The clock of the host stopped months ago: its waiting work is overdue now.
	w.start(onboarding, "person-1")
	w.kit.Notices.FailWith(&verification.RetryError{Cause: errors.New("gone")}, errors.New("not now"))
	w.start(records, "firm-1")
	w.start(records, "firm-2")
	w.kit.Settle()
	app := w.env["VERIFYD_DATABASE_URL"]
	admin := pgtest.Admin(t, app)
	conn, err := pgx.Connect(t.Context(), admin)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), "UPDATE verifyd.run_counts SET runs = runs + 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `INSERT INTO verifyd.rescreen_passes (list, version, holder, held_until, started_at, queued)
		VALUES ('sanctions', 'v2', 'a dead host', now() - interval '1 hour', now() - interval '1 hour', true)`); err != nil {
		t.Fatal(err)
	}
	// Nobody adds the measures up, and the doctor cannot: a trigger stands for a table that refuses changes.
	if _, err := conn.Exec(t.Context(), `
INSERT INTO verifyd.measure_log (tenant_id, measures, logged_at) SELECT tenant_id, '[]', now() - interval '10 minutes' FROM verifyd.tenants LIMIT 1;
CREATE FUNCTION verifyd.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '55000'; END $$;
CREATE TRIGGER refuse BEFORE DELETE ON verifyd.measure_log FOR EACH STATEMENT EXECUTE FUNCTION verifyd.refuse()`); err != nil {
		t.Fatal(err)
	}
	if err := hosts.RemoveHost(t.Context(), host.ID); err != nil {
		t.Fatal(err)
	}
	wrong := map[string]string{
		"hosts": "fail", "level": "ok", "connection": "ok", "migrations": "ok", "role": "warn", "clock": "ok", "connections": "ok", "numbers": "fail",
		"work": "fail", "leases": "ok", "expiry": "fail", "deliveries": "warn", "rescreening": "warn", "ends": "fail", "redactions": "ok", "retention": "ok", "bootstrap": "warn", "counts": "fail",
		"backup": "warn",
	}
	w.env["VERIFYD_DATABASE_URL"] = admin
	w.holdStatuses("doctor --counts --json", wrong)
	delete(wrong, "counts")
	wrong["role"] = "ok"
	w.env["VERIFYD_DATABASE_URL"] = app
	w.holdStatuses("doctor --json", wrong)

	w.env["VERIFYD_DATABASE_URL"] = pgtest.Empty(t)
	w.holdStatuses("doctor --json", map[string]string{"connection": "ok", "migrations": "fail"})
	for _, spoil := range []func(*url.URL){
		func(u *url.URL) { u.User = url.UserPassword(u.User.Username(), "wrong@:/?#%") },
		func(u *url.URL) { u.Host = "127.0.0.1:1" },
		func(u *url.URL) { u.Path += "_not_there" },
	} {
		u, err := url.Parse(app)
		if err != nil {
			t.Fatal(err)
		}
		spoil(u)
		w.env["VERIFYD_DATABASE_URL"] = u.String()
		w.holdStatuses("doctor --json", map[string]string{"connection": "fail"})
		w.transcript()
		w.ctl("run list --tenant TENANT")
		got := string(w.transcript())
		if strings.Count(got, "\n") != 3 || !strings.Contains(got, "--database-url (VERIFYD_DATABASE_URL)") || strings.Contains(got, "@:/?#") {
			t.Errorf("run list says %s; want one line that names the setting, without the password", got)
		}
	}
}

func TestAnInvalidAddressIsRefusedWithoutItsPassword(t *testing.T) {
	w := fresh(t)
	for _, address := range []string{"postgres://u:hush-hush@[bad/db", "hush-hush", "mysql://u:hush-hush@127.0.0.1/db", "postgres://u:hush-hush@127.0.0.1:x/db"} {
		w.env["VERIFYD_DATABASE_URL"] = address
		for _, line := range []string{"doctor", "migrate up", "migrate status", "tenant list"} {
			w.ctl(line)
			if got := string(w.transcript()); strings.Contains(got, "hush") || strings.HasSuffix(got, "exit 0\n") {
				t.Errorf("%s on %s says %s", line, address, got)
			}
		}
	}
}
