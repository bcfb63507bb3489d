// Tests of the contract of a store.

package postgres_test

import (
	"context"
	"errors"
	"flag"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/storetest"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "40"); err != nil { // the flag of the command wins
		panic(err)
	}
	os.Exit(pgtest.Main(m, func(ctx context.Context, url string) error {
		_, err := postgres.Migrate(ctx, url)
		return err
	}))
}

const (
	ours   = verification.TenantID("a0000000-0000-7000-8000-000000000001")
	theirs = verification.TenantID("b0000000-0000-7000-8000-000000000002")
	flow   = verification.WorkflowID("c0000000-0000-7000-8000-000000000001")
)

func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// openAt opens a store that is closed at the end of the test.
func openAt(tb testing.TB, url string, o postgres.Options) *postgres.Store {
	tb.Helper()
	s, err := postgres.Open(tb.Context(), url, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

// connect opens a connection that is closed at the end of the test.
func connect(tb testing.TB, url string) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), url)
	must(tb, err)
	tb.Cleanup(func() { _ = conn.Close(context.WithoutCancel(tb.Context())) })
	return conn
}

// execute executes a statement as the role of the tests.
func execute(t *testing.T, url, statement string) {
	t.Helper()
	_, err := connect(t, url).Exec(t.Context(), statement)
	must(t, err)
}

// fresh is an empty store.
func fresh(tb testing.TB) *postgres.Store {
	tb.Helper()
	return openAt(tb, pgtest.Database(tb), postgres.Options{})
}

func TestStoreKeepsTheContract(t *testing.T) {
	url := pgtest.Database(t)
	s, empty := openAt(t, url, postgres.Options{}), emptier(t, url)
	storetest.All(t, func(t *testing.T) store.Store { empty(t); return s })
}

func TestOpenRefusesAnUnsuitableDatabase(t *testing.T) {
	for name, tt := range map[string]struct {
		url  string
		kind error
	}{
		"an older schema":  {pgtest.Empty(t), verification.ErrConflict},
		"no server":        {"postgres://verifyd@127.0.0.1:1/none", verification.ErrUnavailable},
		"no database":      {at(t, func(u *url.URL) { u.Path = "/absent" }), verification.ErrUnavailable},
		"no role":          {at(t, func(u *url.URL) { u.User = url.UserPassword("absent", "secret") }), verification.ErrUnavailable},
		"a wrong password": {at(t, func(u *url.URL) { u.User = url.UserPassword(u.User.Username(), "secret") }), verification.ErrUnavailable},
		"one connection":   {pgtest.Database(t) + "&pool_max_conns=1", verification.ErrInvalid},
		"another scheme":   {"mysql://x:secret@y/z", verification.ErrInvalid},
	} {
		_, err := postgres.Open(t.Context(), tt.url, postgres.Options{})
		if !errors.Is(err, tt.kind) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: Open = %v, want %v", name, err, tt.kind)
		}
	}
}

// at returns a URL of the server of the tests, changed.
func at(t *testing.T, change func(*url.URL)) string {
	t.Helper()
	u, err := url.Parse(pgtest.Empty(t))
	must(t, err)
	change(u)
	return u.String()
}

func TestPingReportsThatAllConnectionsAreInUse(t *testing.T) {
	s := openAt(t, pgtest.Database(t), postgres.Options{MaxConns: 2, SingleHost: true})
	one, err := s.Pool().Acquire(t.Context())
	must(t, err)
	defer one.Release()
	other, err := s.Pool().Acquire(t.Context())
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err = s.Ping(ctx)
	if !errors.Is(err, verification.ErrUnavailable) || !strings.Contains(err.Error(), "all 2 are in use") {
		t.Errorf("Ping = %v, want ErrUnavailable that names the connections", err)
	}
	other.Release()
	must(t, s.Ping(t.Context()))
}

// TestTwoStoresOnOneDatabaseKeepTheContract uses a database whose settings are for another application.
func TestTwoStoresOnOneDatabaseKeepTheContract(t *testing.T) {
	url := pgtest.Database(t)
	empty := emptier(t, url)
	hostile(t, url)
	p := &pair{Store: openAt(t, url, postgres.Options{}), other: openAt(t, url, postgres.Options{SingleHost: true})}
	storetest.All(t, func(t *testing.T) store.Store { empty(t); return p })
}

// emptier returns a function that deletes every row of a database. The tables of counts
// are the last ones, because triggers count the rows that go. To delete few rows is faster
// than TRUNCATE, which makes new files, and waits for no read of an earlier test.
func emptier(t *testing.T, url string) func(t *testing.T) {
	t.Helper()
	admin := connect(t, pgtest.Admin(t, url))
	var all strings.Builder
	for _, table := range []string{
		"tenants", "accounts", "workflows", "workflow_versions", "run_events", "runs", "work", "idempotency_keys", "deliveries", "audit_entries",
		"claims", "measure_log", "measures", "screened_runs", "search_keys", "rescreen_passes", "run_counts", "run_months",
		"deleted_runs", "retention_marks", "owed_erasures", "erasure_ledger",
	} {
		all.WriteString("DELETE FROM verifyd." + table + ";")
	}
	return func(t *testing.T) {
		t.Helper()
		_, err := admin.Exec(t.Context(), all.String())
		must(t, err)
	}
}

// pair is two hosts' stores on one database: what one wrote the other reads.
type pair struct {
	*postgres.Store
	other *postgres.Store
}

func (p *pair) Load(ctx context.Context, t verification.TenantID, id verification.RunID, after int) ([]rules.Event, error) {
	return p.other.Load(ctx, t, id, after)
}

func (p *pair) Measures(ctx context.Context, t verification.TenantID, q store.MeasureQuery) ([]store.MeasureCounts, error) {
	return p.other.Measures(ctx, t, q)
}

func (p *pair) List(ctx context.Context, t verification.TenantID, q store.RunQuery) (store.Page[rules.Summary], error) {
	return p.other.List(ctx, t, q)
}

func (p *pair) Take(ctx context.Context, r store.TakeRequest) ([]store.Work, time.Time, error) {
	return p.other.Take(ctx, r)
}

func (p *pair) Workflow(ctx context.Context, t verification.TenantID, id verification.WorkflowID) (workflow.Workflow, error) {
	return p.other.Workflow(ctx, t, id)
}

func (p *pair) Row(ctx context.Context, kind store.RecordKind, key string) (store.Record, error) {
	return p.other.Row(ctx, kind, key)
}
