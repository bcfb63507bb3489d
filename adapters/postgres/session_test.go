// Tests on a database whose settings are made for another application.

package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
)

// hostile changes the settings of a database for new connections, and returns its URL.
func hostile(t *testing.T, url string) string {
	t.Helper()
	alter(t, url, map[string]string{
		"standard_conforming_strings": "off", "backslash_quote": "on", "escape_string_warning": "off", "client_encoding": "LATIN1",
		"DateStyle": "SQL, DMY", "IntervalStyle": "sql_standard", "TimeZone": "Asia/Kathmandu", "bytea_output": "escape", "extra_float_digits": "-15",
		"array_nulls": "off", "transform_null_equals": "on", "row_security": "off", "search_path": "nowhere", "quote_all_identifiers": "on",
		"default_transaction_isolation": "serializable", "default_transaction_deferrable": "on",
		"statement_timeout": "50ms", "lock_timeout": "1ms", "idle_in_transaction_session_timeout": "1ms", "idle_session_timeout": "1s",
		"synchronous_commit": "off", "xmloption": "document", "exit_on_error": "on", "check_function_bodies": "off",
		"default_text_search_config": "pg_catalog.german",
	})
	return url
}

// alter changes some settings of a database.
func alter(t *testing.T, url string, settings map[string]string) {
	t.Helper()
	admin := connect(t, pgtest.Admin(t, url))
	database := pgx.Identifier{admin.Config().Database}.Sanitize()
	for name, value := range settings {
		_, err := admin.Exec(t.Context(), fmt.Sprintf("ALTER DATABASE %s SET %s = '%s'", database, name, value))
		must(t, err)
	}
}

func TestTheSettingsOfADatabaseMakeNoDifference(t *testing.T) {
	url := hostile(t, pgtest.Empty(t))
	_, err := postgres.Migrate(t.Context(), url)
	if err != nil {
		t.Fatal(pgerror.Explain(err))
	}
	s := openAt(t, url, postgres.Options{})
	must(t, s.Append(t.Context(), ours, runNumber(1), 0, started(1, noon(), false)))
	q := store.RunQuery{PageQuery: store.PageQuery{Limit: 10}, Now: noon(), ReferenceID: `\') OR true --`}
	page, err := s.List(t.Context(), ours, q)
	if err != nil || page.Total != 0 || len(page.Data) != 0 {
		t.Errorf("a reference id with a backslash selects %d runs, %v, want none", len(page.Data), err)
	}
	var unset string
	must(t, s.Pool().QueryRow(t.Context(), "SELECT current_setting('verifyd.tenant')").Scan(&unset))
	if unset != "" {
		t.Errorf("a new connection sees the rows of %q, want none", unset)
	}
}

func TestASettingThatStaysIsNamed(t *testing.T) {
	url := pgtest.Database(t)
	alter(t, url, map[string]string{"session_replication_role": "replica"}) // no trigger fires
	_, err := postgres.Open(t.Context(), url, postgres.Options{})
	if !errors.Is(err, verification.ErrConflict) || !strings.Contains(err.Error(), "session_replication_role") {
		t.Errorf("Open = %v, want a conflict that names the setting", err)
	}
}

func TestATransactionWithOtherSettingsIsRefused(t *testing.T) {
	e := newEmbedder(t)
	for setting, value := range map[string]string{
		"standard_conforming_strings": "off", "client_encoding": "LATIN1", "DateStyle": "SQL, DMY", "bytea_output": "escape", "transform_null_equals": "on",
	} {
		for _, kind := range []string{"pgx", "database/sql"} {
			err := e.within(t, kind, func(exec func(sql string, args ...any) error, in *engine.TxEngine) error {
				must(t, exec(fmt.Sprintf("SET LOCAL %s = '%s'", setting, value)))
				_, err := in.Start(t.Context(), ours, e.flow, engine.StartRequest{ReferenceID: "customer"})
				return err
			})
			if err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(setting)) {
				t.Errorf("%s: a start with %s = %s is %v, want an error that names it", kind, setting, value, err)
			}
		}
	}
}

func TestAPoolerOfSessionsServes(t *testing.T) {
	database := hostile(t, pgtest.Empty(t))
	pooled := pgtest.Pooler(t, database, "session")
	if _, err := postgres.Migrate(t.Context(), pooled); err != nil {
		t.Fatal(pgerror.Explain(err))
	}
	one := openAt(t, pooled, postgres.Options{})
	e := newEngine(t, one)
	_, err := e.Apply(t.Context(), ours, reviewed())
	must(t, err)
	one.Close()
	// The next host gets sessions that served the one before.
	other := openAt(t, pooled, postgres.Options{})
	must(t, other.Append(t.Context(), ours, runNumber(1), 0, started(1, noon(), false)))
	events, err := other.Load(t.Context(), ours, runNumber(1), 0)
	if err != nil || len(events) == 0 {
		t.Errorf("Load = %d events, %v, want the run", len(events), err)
	}
	if _, err := other.Load(t.Context(), theirs, runNumber(1), 0); !errors.Is(err, verification.ErrNotFound) {
		t.Errorf("another tenant's Load = %v, want not found", err)
	}
}

func TestAPoolerOfTransactionsIsRefused(t *testing.T) {
	database := pgtest.Database(t)
	for _, mode := range []string{"transaction", "statement"} {
		pooled := pgtest.Pooler(t, database, mode)
		for range 5 { // with few and with many sessions that the pooler keeps
			_, err := postgres.Open(t.Context(), pooled, postgres.Options{})
			if err == nil || mode == "transaction" && !strings.Contains(err.Error(), "pool mode to session") {
				t.Errorf("Open in the mode %s = %v, want an error that says what to set", mode, err)
			}
			if _, err := postgres.Migrate(t.Context(), pooled); err == nil {
				t.Errorf("Migrate in the mode %s works, want an error", mode)
			}
		}
	}
}
