package pgadmin_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/internal/postgres/pgschema"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func TestMain(m *testing.M) {
	os.Exit(pgtest.Main(m, func(ctx context.Context, url string) error {
		_, err := pgschema.Up(ctx, url)
		return err
	}))
}

const flow = verification.WorkflowID("c0000000-0000-7000-8000-000000000001")

func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func runNumber(n int) verification.RunID {
	return verification.RunID(fmt.Sprintf("d0000000-0000-7000-8000-%012x", n))
}

func tenantNumber(n int) verification.TenantID {
	return verification.TenantID(fmt.Sprintf("a0000000-0000-7000-8000-%012x", n))
}

// fresh returns an empty store, which is closed at the end of the test.
func fresh(t *testing.T) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), pgtest.Database(t), postgres.Options{SingleHost: true})
	must(t, err)
	t.Cleanup(s.Close)
	return s
}

// begin starts a run whose work is due at noon.
func begin(t *testing.T, s *postgres.Store, tenant verification.TenantID, run verification.RunID, summary rules.Summary) {
	t.Helper()
	summary.ID, summary.Workflow, summary.StartedAt = run, flow, noon()
	must(t, s.Append(t.Context(), tenant, run, 0, store.Commit{
		Events:  []rules.Event{{At: noon(), Fact: rules.Started{Workflow: flow}}},
		Summary: summary,
		Work:    store.AdvanceAt(noon()),
	}))
}

// named calls f in a transaction that sees the rows of every tenant.
func named(t *testing.T, s *postgres.Store, f func(context.Context, pgx.Tx) error) error {
	t.Helper()
	return pgx.BeginFunc(t.Context(), s.Pool(), func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "SELECT set_config('verifyd.tenant', 'all', true)"); err != nil {
			return err
		}
		return f(t.Context(), tx)
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheTenantOfARunIsFound(t *testing.T) {
	s := fresh(t)
	ctx := t.Context()
	for n := range 3 {
		must(t, s.SaveTenant(ctx, verification.Tenant{ID: tenantNumber(n + 1), Name: "t"}))
	}
	const run verification.RunID = "00000000-0000-7000-8000-00000000a001"
	began := rules.Event{At: time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC), Fact: rules.Started{Workflow: flow}}
	must(t, s.Append(ctx, tenantNumber(2), run, 0, store.Commit{
		Events: []rules.Event{began}, Summary: rules.Fold(run, []rules.Event{began}).Summary(),
	}))
	got, err := pgadmin.Of(s).RunTenants(ctx, run)
	must(t, err)
	if diff := cmp.Diff([]verification.TenantID{tenantNumber(2)}, got); diff != "" {
		t.Errorf("tenants differ (-want +got):\n%s", diff)
	}
	if none, err := pgadmin.Of(s).RunTenants(ctx, "00000000-0000-7000-8000-00000000a002"); err != nil || len(none) != 0 {
		t.Errorf("of a run that is nowhere: %v, %v; want none", none, err)
	}
}
