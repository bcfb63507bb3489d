package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Row-level security: the database shows a statement only the tenants that its
// transaction names, even if the statement names none.

func TestEveryTenantTableHasRowLevelSecurity(t *testing.T) {
	s := fresh(t)
	const tables = `
SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id'
WHERE c.relnamespace = 'verifyd'::regnamespace AND c.relkind IN ('r', 'p')`
	rows, err := s.Pool().Query(t.Context(), tables)
	must(t, err)
	kept, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct {
		Name   string
		Walled bool
	}])
	must(t, err)
	var found []string
	for _, table := range kept {
		found = append(found, table.Name)
		if !table.Walled {
			t.Errorf("row-level security of %s is not forced", table.Name)
		}
	}
	for _, table := range walledTables() {
		if !slices.Contains(found, table) {
			t.Errorf("table %s has no tenant", table)
		}
	}
	if len(found) != len(walledTables()) {
		t.Errorf("tables with a tenant = %v, want %v", found, walledTables())
	}
}

func TestATransactionSeesOnlyTheTenantsThatItNames(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{})
	furnish(t, s, 1)
	furnish(t, s, 2)
	unnamed := connect(t, url) // where the setting is null, not empty
	ours, theirs, nobody := string(tenantNumber(1)), string(tenantNumber(2)), string(tenantNumber(3))
	for _, table := range walledTables() {
		one := count(t, s, table, ours)
		if one == 0 {
			t.Errorf("%s of the tenant that is named: none", table)
		}
		for named, want := range map[string]int{
			"": 0, nobody: 0, theirs: one, ours + "," + theirs: 2 * one, "all": 2 * one,
		} {
			if got := count(t, s, table, named); got != want {
				t.Errorf("rows of %s for %q = %d, want %d", table, named, got, want)
			}
		}
		var seen int
		must(t, unnamed.QueryRow(t.Context(), "SELECT count(*) FROM verifyd."+table).Scan(&seen))
		if seen != 0 {
			t.Errorf("rows of %s for a connection that never named a tenant = %d, want 0", table, seen)
		}
		for _, malformed := range []string{"ALL", "%", ours + ",%"} {
			err := named(t, s, malformed, func(ctx context.Context, tx pgx.Tx) error {
				_, err := tx.Exec(ctx, "SELECT FROM verifyd."+table)
				return err
			})
			var refused *pgconn.PgError
			if !errors.As(err, &refused) || refused.Code != "22P02" {
				t.Errorf("rows of %s for %q: %v, want an error", table, malformed, err)
			}
		}
	}
}

func TestRowsOfAnotherTenantCannotBeWritten(t *testing.T) {
	s := fresh(t)
	furnish(t, s, 1)
	furnish(t, s, 2)
	for _, table := range walledTables() {
		err := named(t, s, string(tenantNumber(1)), func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, fmt.Sprintf("UPDATE verifyd.%s SET tenant_id = $1", table), string(tenantNumber(2)))
			return err
		})
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != "42501" {
			t.Errorf("UPDATE of %s to another tenant: %v, want it to be refused by the policy", table, err)
		}
	}
}

func walledTables() []string {
	return []string{
		"accounts", "audit_entries", "claims", "deleted_runs", "deliveries", "idempotency_keys", "measure_log", "measures", "owed_erasures", "retention_marks",
		"run_counts", "run_events", "run_months", "runs", "screened_runs", "search_keys", "tenants", "work", "workflow_versions", "workflows",
	}
}

// count counts the rows of a table in a transaction that names tenants; none
// for an empty name.
func count(t *testing.T, s *postgres.Store, table, tenants string) (n int) {
	t.Helper()
	must(t, named(t, s, tenants, func(ctx context.Context, tx pgx.Tx) error {
		return tx.QueryRow(ctx, "SELECT count(*) FROM verifyd."+table).Scan(&n)
	}))
	return n
}

func named(t *testing.T, s *postgres.Store, tenants string, f func(context.Context, pgx.Tx) error) error {
	t.Helper()
	return pgx.BeginFunc(t.Context(), s.Pool(), func(tx pgx.Tx) error {
		if tenants != "" {
			if _, err := tx.Exec(t.Context(), "SELECT set_config('verifyd.tenant', $1, true)", tenants); err != nil {
				return err
			}
		}
		return f(t.Context(), tx)
	})
}

// furnish writes rows into every table for a tenant.
func furnish(t *testing.T, s *postgres.Store, n int) {
	t.Helper()
	ctx, tenant, run := t.Context(), tenantNumber(n), runNumber(n)
	must(t, s.SaveTenant(ctx, verification.Tenant{ID: tenant}))
	must(t, s.SaveAccount(ctx, verification.Account{ClientID: fmt.Sprintf("client-%d", n), Tenant: tenant}))
	must(t, s.SaveWorkflow(ctx, tenant, workflow.Workflow{ID: flow, Revision: 1}, &workflow.Version{Hash: "h"}))
	_, err := s.ClaimIdempotencyKey(ctx, tenant, startRecord("key", run, noon()))
	must(t, err)
	begin(t, s, tenant, run, rules.Summary{})
	must(t, s.Append(ctx, tenant, run, 1, store.Commit{
		Events: []rules.Event{{At: noon(), Fact: rules.Completed{}}}, Work: store.AdvanceAt(noon()),
		Summary:  rules.Summary{Workflow: flow, StartedAt: noon(), Ended: rules.StatusCompleted, CompletedAt: noon()},
		Screened: []rules.ScreenedList{{List: "sanctions"}},
	}))
	must(t, s.Tenanted(ctx, tenant, "INSERT INTO verifyd.run_months VALUES (?, ?, 'completed', '', '2026-03-01', '{}')", tenant, flow))
	must(t, s.AppendAudit(ctx, []store.AuditEntry{{Tenant: tenant, ID: store.AuditID(noon(), "1"), At: noon()}}))
	must(t, store.Tables{RowStore: s}.SaveRetentionMark(ctx, store.RetentionMark{Tenant: tenant, Workflow: flow}))
	begin(t, s, tenant, runNumber(n+300), rules.Summary{})
	must(t, s.Append(ctx, tenant, runNumber(n+300), 1, store.Commit{Delete: true}))
	owe(t, s, tenant, int64(n))
	must(t, s.SaveDelivery(ctx, tenant, rules.Delivery{Run: run, State: rules.DeliveryPending, LastAt: noon()}))
	for _, other := range []int{n + 100, n + 200} { // the measures of the first are added up, those of the second are in the log
		history := reviewHistory(other, 0, 1)
		c := store.NewCommit(rules.Run{}, rules.Fold(runNumber(other), history), history, time.UTC)
		c.Work = nil // each tenant has one piece
		c.Keys = []store.SearchKey{{1}}
		must(t, s.Append(ctx, tenant, runNumber(other), 0, c))
		_, err := s.Claim(ctx, tenant, runNumber(other), rules.Claim{By: "asha", At: noon(), Until: noon().Add(time.Hour)})
		must(t, err)
		if other == n+100 {
			_, err := s.Measures(ctx, tenant, store.MeasureQuery{
				Names: []store.MeasureName{store.MeasureStarted}, First: today(), Last: today(),
			})
			must(t, err)
		}
	}
}

// owe owes the ledger of erasures an entry of a tenant.
func owe(t *testing.T, s *postgres.Store, tenant verification.TenantID, number int64) {
	t.Helper()
	was, err := s.LedgerMark(t.Context())
	must(t, err)
	must(t, s.SaveLedgerMark(t.Context(), was, store.LedgerMark{ID: "ledger", Last: number}, []verification.Erasure{{Tenant: tenant, Number: number}}))
}

// begin starts a run that is to be driven on at noon.
func begin(t *testing.T, s *postgres.Store, tenant verification.TenantID, run verification.RunID, summary rules.Summary) {
	t.Helper()
	summary.ID, summary.Workflow, summary.StartedAt = run, flow, noon()
	must(t, s.Append(t.Context(), tenant, run, 0, store.Commit{
		Events:  []rules.Event{{At: noon(), Fact: rules.Started{Workflow: flow}}},
		Summary: summary,
		Work:    store.AdvanceAt(noon()),
	}))
}

func tenantNumber(n int) verification.TenantID {
	return verification.TenantID(fmt.Sprintf("a0000000-0000-7000-8000-%012x", n))
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
