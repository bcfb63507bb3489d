// Tests of hosts that share a PostgreSQL.

package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/internal/rig/pgtest"

	"github.com/verifyd/verifyd/hosts/verifyd/server"
)

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		limitFiles()
		limitOpenFiles()
		server.Main()
		return
	}
	os.Exit(pgtest.Main(browser.Tests{M: m}, func(ctx context.Context, url string) error {
		_, err := postgres.Migrate(ctx, url)
		return err
	}))
}

// onPostgres are settings of a host on a database, with the demo as its
// bootstrap file. The vendor of the demo is not served.
func onPostgres(url string, more ...string) map[string]string {
	vars := map[string]string{
		"VERIFYD_DATABASE_URL": url, "VERIFYD_BOOTSTRAP": filepath.Join("..", "demo", "bootstrap.yaml"),
		"VERIFYD_ALLOW_PRIVATE_NETWORKS": "true", "VERIFYD_LOG_LEVEL": "error",
		"VERIFYD_SECRET_REGISTRY_TOKEN": "token-of-the-vendor", "VERIFYD_SECRET_REGISTRY_HOOK": "key-of-the-hook",
	}
	for i := 0; i+1 < len(more); i += 2 {
		vars[more[i]] = more[i+1]
	}
	return vars
}

func TestAHostOnPostgresKeepsItsRunsOverARestart(t *testing.T) {
	url := pgtest.Database(t)
	first := serveHost(t, onPostgres(url))
	if first.store != "postgres" {
		t.Errorf("the ready line says store=%s, want postgres", first.store)
	}
	done := first.run("POST", first.api+records, `{"reference_id":"person-1"}`, "Prefer", "wait=10")
	if done.Status != "completed" {
		t.Fatalf("run = %+v, want completed", done)
	}
	waiting := first.run("POST", first.api+onboarding, `{"reference_id":"person-2"}`)
	if err := first.end(); err != nil {
		t.Fatal(err)
	}
	second := serveHost(t, onPostgres(url))
	if r := second.run("GET", second.api+"/v1/runs/"+done.ID, ""); r.Status != "completed" {
		t.Errorf("after the restart run = %+v, want completed", r)
	}
	path := waiting.Action.URL[strings.Index(waiting.Action.URL, "/journey/"):]
	if status, page, _ := second.call("GET", second.api+path, ""); status != http.StatusOK {
		t.Errorf("after the restart the journey link = %d %s", status, page)
	}
	if r := second.run("GET", second.api+"/v1/runs/"+waiting.ID, ""); !strings.HasSuffix(r.Action.URL, path) {
		t.Errorf("after the restart the link = %s, want the same token", r.Action.URL)
	}
}

func TestAStartIsAnsweredWhicheverHostDoesTheWork(t *testing.T) {
	url := pgtest.Database(t)
	worker := serveHost(t, onPostgres(url, "VERIFYD_ROLES", "worker"))
	if worker.api != "none" {
		t.Errorf("a host without the role api listens at %s", worker.api)
	}
	api := serveHost(t, onPostgres(url, "VERIFYD_ROLES", "api"))
	for range 5 {
		began := time.Now()
		r := api.run("POST", api.api+records, `{"reference_id":"person-3"}`, "Prefer", "wait=10")
		if r.Status != "completed" {
			t.Fatalf("run = %+v after %s, want completed by the worker", r, time.Since(began))
		}
	}
	_, metrics, _ := worker.call("GET", worker.admin+"/metrics", "")
	if want := `verifyd_provider_call_seconds_count{outcome="passed",provider="sandbox"} 25`; !strings.Contains(string(metrics), want) {
		t.Errorf("the worker's metrics lack %s", want)
	}
}

func TestHostsThatStartTogetherMigrateOnce(t *testing.T) {
	url := pgtest.Empty(t)
	hosts := make(chan *served, 3)
	for range cap(hosts) {
		go func() {
			var h *served
			defer func() { hosts <- h }() // nil if it has failed the test
			h = serveHost(t, onPostgres(url))
		}()
	}
	for range cap(hosts) {
		h := <-hosts
		if h == nil {
			continue
		}
		if status, raw, _ := h.call("GET", h.admin+"/readyz", ""); status != http.StatusOK {
			t.Errorf("/readyz = %d %s", status, raw)
		}
	}
}

func TestAnOlderSchemaIsRefusedWhenItMayNotBeMigrated(t *testing.T) {
	vars := onPostgres(pgtest.Empty(t), "VERIFYD_MIGRATE", "never")
	err := server.Run(t.Context(), nil, env(vars), io.Discard, io.Discard)
	if err == nil || !strings.HasPrefix(err.Error(), "--database-url ") || strings.Count(err.Error(), "\n") != strings.Count(err.Error(), "\nwarning: ") ||
		!strings.Contains(err.Error(), "verifyctl migrate up") {
		t.Errorf("start = %v, want one problem that says what to do", err)
	}
}

func TestAHostIsListedUntilItStops(t *testing.T) {
	url := pgtest.Database(t)
	operator, err := postgres.Open(t.Context(), url, postgres.Options{SingleHost: true, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer operator.Close()
	api := serveHost(t, onPostgres(url, "VERIFYD_ROLES", "api"))
	both := serveHost(t, onPostgres(url))
	listed := func(want int) (roles []string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for {
			hosts, err := pgadmin.Of(operator).Hosts(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if len(hosts) == want {
				for _, h := range hosts {
					if !h.Alive || h.Name == "" || h.Version == "" || time.Since(h.StartedAt) > time.Minute {
						t.Errorf("host = %+v, want it alive, with its name, version and start", h)
					}
					roles = append(roles, strings.Join(h.Roles, ","))
				}
				return roles
			}
			time.Sleep(10 * time.Millisecond) //nolint:forbidigo // the host runs on the wall clock
		}
	}
	if got := listed(2); !slices.Contains(got, "api") || !slices.Contains(got, "api,worker") {
		t.Errorf("roles = %v, want api, and api,worker", got)
	}
	if err := both.end(); err != nil {
		t.Fatal(err)
	}
	if got := listed(1); got[0] != "api" {
		t.Errorf("after a stop the roles are %v, want api", got)
	}
	if err := api.end(); err != nil {
		t.Fatal(err)
	}
	listed(0)
}

func TestADatabaseIsNotGivenTheDemo(t *testing.T) {
	s := serveHost(t, onPostgres(pgtest.Database(t), "VERIFYD_BOOTSTRAP", ""))
	if status, _, _ := s.call("GET", s.api+"/v1/workflows", ""); status != http.StatusUnauthorized {
		t.Errorf("the demo's credentials = %d, want 401", status)
	}
	if strings.Contains(s.stderr.String(), "curl") {
		t.Errorf("stderr = %s, want no demo", s.stderr)
	}
}

func TestAHostIsNotReadyWhileAllItsConnectionsAreInUse(t *testing.T) {
	url := pgtest.Database(t)
	s := serveHost(t, onPostgres(url, "VERIFYD_DATABASE_CONNS", "4"))
	conn, err := pgx.Connect(t.Context(), pgtest.Admin(t, url))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if _, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE verifyd.idempotency_keys IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	var starts sync.WaitGroup
	for n := range 8 {
		starts.Go(func() {
			s.call("POST", s.api+records, `{"reference_id":"person-1"}`, "Idempotency-Key", fmt.Sprintf("key-%d", n))
		})
	}
	want := `{"status":"no database connection is free, all 4 are in use"}`
	var status int
	var raw []byte
	for began := time.Now(); time.Since(began) < 8*time.Second; { // the starts are on their way
		if status, raw, _ = s.call("GET", s.admin+"/readyz", ""); status != http.StatusOK {
			break
		}
	}
	if status != http.StatusServiceUnavailable || strings.TrimSpace(string(raw)) != want {
		t.Errorf("/readyz = %d %s, want 503 %s", status, raw, want)
	}
	if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	starts.Wait()
	if status, raw, _ := s.call("GET", s.admin+"/readyz", ""); status != http.StatusOK {
		t.Errorf("/readyz with connections to spare = %d %s", status, raw)
	}
}

func TestAHostIsReadyOnlyWhileItsDatabaseAnswers(t *testing.T) {
	pgtest.SkipIfShort(t)
	server, err := pgtest.Start(t.Context(), pgtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := server.CreateDatabase(t.Context(), "hosted", ""); err != nil {
		t.Fatal(err)
	}
	s := serveHost(t, onPostgres(server.URL("hosted")))
	if err := server.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	status, raw, header := s.call("POST", s.api+records, `{"reference_id":"person-4"}`)
	if status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" || !strings.Contains(string(raw), `"error"`) {
		t.Errorf("a start without a database = %d %v %s, want 503 with Retry-After", status, header, raw)
	}
	if status, raw, _ := s.call("GET", s.admin+"/readyz", ""); status != http.StatusServiceUnavailable {
		t.Errorf("/readyz without a database = %d %s, want 503", status, raw)
	}
	if status, _, _ := s.call("GET", s.admin+"/healthz", ""); status != http.StatusOK {
		t.Errorf("/healthz without a database = %d, want 200: the process is fine", status)
	}
	if _, metrics, _ := s.call("GET", s.admin+"/metrics", ""); !strings.Contains(string(metrics), "verifyd_database_up 0") {
		t.Errorf("the metrics do not say that the database is down:\n%s", metrics)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		if status, _, _ := s.call("GET", s.admin+"/readyz", ""); status == http.StatusOK {
			break
		}
		time.Sleep(50 * time.Millisecond) //nolint:forbidigo // the host runs on the wall clock
	}
	if r := s.run("POST", s.api+records, `{"reference_id":"person-4"}`, "Prefer", "wait=10"); r.Status != "completed" {
		t.Errorf("run after the database came back = %+v, want completed", r)
	}
	_, metrics, _ := s.call("GET", s.admin+"/metrics", "")
	for _, want := range []string{"verifyd_database_up 1", `verifyd_database_connections{state="max"} 16`, "verifyd_work_lateness_seconds 0"} {
		if !strings.Contains(string(metrics), want) {
			t.Errorf("the metrics lack %s:\n%s", want, metrics)
		}
	}
	if err := ctx.Err(); err != nil {
		t.Error(errors.Join(errors.New("the host did not recover"), err))
	}
}

// After a failover, connections may lead to a server that has become read-only, and new ones to
// the new primary. Sessions of before and after a change of the database are like that.
func TestAHostLeavesAReadOnlyServer(t *testing.T) {
	url := pgtest.Database(t)
	s := serveHost(t, onPostgres(url, "VERIFYD_LOG_LEVEL", "warn"))
	conn, err := pgx.Connect(t.Context(), pgtest.Admin(t, url))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	exec := func(format string) {
		t.Helper()
		text := strings.ReplaceAll(format, "DATABASE", "DATABASE "+pgx.Identifier{conn.Config().Database}.Sanitize())
		if _, err := conn.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	start := func() (int, string) {
		status, raw, _ := s.call("POST", s.api+records, `{"reference_id":"person-1"}`)
		return status, string(raw)
	}
	exec("ALTER DATABASE SET default_transaction_read_only = on")
	exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	want := `{"status":"the database takes no writes: it is read-only"}`
	within(t, time.Minute, "says that the database is read-only", func() bool {
		status, raw, _ := s.call("GET", s.admin+"/readyz", "")
		return status == http.StatusServiceUnavailable && strings.TrimSpace(string(raw)) == want
	})
	if status, raw := start(); status != http.StatusServiceUnavailable || !strings.Contains(raw, "read-only") {
		t.Errorf("a start on a read-only database = %d %s, want 503 that says so", status, raw)
	}
	exec("ALTER DATABASE RESET default_transaction_read_only")
	within(t, 30*time.Second, "takes starts again", func() bool { // also if nobody asks whether it is ready
		status, _ := start()
		return status == http.StatusAccepted || status == http.StatusCreated
	})
	within(t, 30*time.Second, "is ready", func() bool { // another connection of its pool may be to the server of before
		status, _, _ := s.call("GET", s.admin+"/readyz", "")
		return status == http.StatusOK
	})
	if log := s.stderr.String(); !strings.Contains(log, `msg="not ready" error="database: the database takes no writes: it is read-only"`) ||
		!strings.Contains(log, `msg="service unavailable" request_id=`) || !strings.Contains(log, "SQLSTATE 25006") {
		t.Errorf("the log does not name the cause: %s", log)
	}
}

func TestTheManualClockAdvancesOnPostgres(t *testing.T) {
	s := serveHost(t, onPostgres(pgtest.Database(t), "VERIFYD_CLOCK", "manual"))
	r := s.run("POST", s.api+onboarding, `{"reference_id":"person-5"}`)
	if status, raw, _ := s.call("POST", s.admin+"/clock/advance", `{"seconds":90000}`); status != http.StatusOK {
		t.Fatalf("advance = %d %s", status, raw)
	}
	if got := s.run("GET", s.api+"/v1/runs/"+r.ID, ""); got.Status != "expired" {
		t.Errorf("after the deadline = %s, want expired", got.Status)
	}
}
