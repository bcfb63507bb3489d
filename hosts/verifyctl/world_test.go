// The database of the tests: in memory, PostgreSQL, or a data folder, with an engine that drives
// its runs under a manual clock.

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/operator"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/internal/postgres/pgschema"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
)

const tenant = enginetest.Tenant

// remembered is a store in memory that also has the methods for operators.
type remembered struct {
	*memory.Store

	mu       sync.Mutex
	keys     []byte
	health   pgadmin.Health
	counts   []string
	hosts    []pgadmin.Host
	files    []pgadmin.AppliedFile // the newest first
	lists    []pgadmin.AcceptedList
	signOuts []pgadmin.SignOut
	backup   time.Time
	broken   error // what Health and CheckCounts answer
}

func newRemembered() *remembered {
	return &remembered{Store: memory.New()}
}

func (r *remembered) SigningKeys(_ context.Context, fresh func() ([]byte, error)) (_ []byte, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keys == nil {
		r.keys, err = fresh()
	}
	return r.keys, err
}

func (r *remembered) Health(context.Context, func() time.Time) (pgadmin.Health, error) {
	return r.health, r.broken
}

func (r *remembered) Hosts(context.Context) ([]pgadmin.Host, error) { return r.hosts, nil }

func (r *remembered) AppliedFiles(context.Context) ([]pgadmin.AppliedFile, error) {
	return r.files, nil
}

func (r *remembered) SaveAppliedFile(_ context.Context, f pgadmin.AppliedFile) error {
	r.files = append([]pgadmin.AppliedFile{f}, slices.DeleteFunc(r.files, func(g pgadmin.AppliedFile) bool { return g.Hash == f.Hash })...)
	return nil
}

func (r *remembered) SaveSetup(ctx context.Context, s store.Setup) error {
	err := r.Store.SaveSetup(ctx, s)
	if err != nil || s.DryRun || s.File == (store.AppliedFile{}) {
		return err
	}
	return r.SaveAppliedFile(ctx, pgadmin.AppliedFile{Hash: s.File.Hash, Names: s.File.Names})
}

func (r *remembered) AcceptedLists(context.Context) ([]pgadmin.AcceptedList, error) {
	return r.lists, nil
}

func (r *remembered) SignOuts(context.Context) ([]pgadmin.SignOut, error) { return r.signOuts, nil }

func (r *remembered) SaveSignOut(_ context.Context, s pgadmin.SignOut) error {
	r.signOuts = append(r.signOuts, s)
	return nil
}

func (r *remembered) LastBackup(context.Context) (time.Time, error) { return r.backup, nil }

func (r *remembered) SaveBackup(_ context.Context, at time.Time) error {
	r.backup = at
	return nil
}

func (r *remembered) SaveAcceptedList(_ context.Context, l pgadmin.AcceptedList) error {
	for i := range r.lists {
		if r.lists[i].List == l.List {
			r.lists[i] = r.lists[i].With(l)
			return nil
		}
	}
	r.lists = append(r.lists, l)
	return nil
}

func (r *remembered) RunTenants(ctx context.Context, id verification.RunID) (found []verification.TenantID, err error) {
	all, err := r.Tenants(ctx)
	for _, t := range all {
		if _, missing := r.Load(ctx, t.ID, id, 0); missing == nil {
			found = append(found, t.ID)
		}
	}
	return found, err
}

func (r *remembered) CheckCounts(context.Context) ([]string, error) { return r.counts, r.broken }

// server opens the store in memory, whose schema is always current.
func (r *remembered) server() server {
	steps := func(context.Context, string) ([]pgschema.Migration, error) {
		return []pgschema.Migration{{Version: 1, Name: "runs", AppliedAt: enginetest.Began()}}, nil
	}
	return server{
		open: func(context.Context, string) (*database, error) {
			return &database{Store: r, KeyStore: r, operations: r, close: func() error { return nil }}, nil
		},
		migrations: steps,
		migrate:    func(context.Context, string) ([]pgschema.Migration, error) { return nil, nil },
		migrateDown: func(context.Context, string, bool) (pgschema.Migration, error) {
			return pgschema.Migration{}, errors.New("no migration can be reverted here")
		},
	}
}

// world is a database, the host that works on it, and the output so far.
type world struct {
	t       *testing.T
	kit     *enginetest.Kit
	store   store.Store
	server  server
	clock   verification.Clock
	env     map[string]string
	rotated string // a key that was replaced
	said    strings.Builder
	secrets []string // in the order in which they came up
	stop    func()   // stops the host of a data folder

	hostWait time.Duration
}

func onMemory(t *testing.T) *world {
	t.Helper()
	r := newRemembered()
	return newWorld(t, r, r.server(), "postgres://memory")
}

func onPostgres(t *testing.T) *world {
	t.Helper()
	url := pgtest.Database(t)
	s, err := postgres.Open(t.Context(), url, postgres.Options{SingleHost: true, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return newWorld(t, s, postgresServer(), url)
}

// onFolder is a data folder that is served, like by a host.
func onFolder(t *testing.T) *world {
	t.Helper()
	return onFolderOf(t, operator.Host{})
}

func onFolderOf(t *testing.T, host operator.Host) *world {
	t.Helper()
	folder := datadir.Folder(t.TempDir())
	j, err := journal.Open(t.Context(), folder.Journal(), journal.Options{OpenedAt: enginetest.Began()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() }) // stop has closed it
	w := newWorld(t, j, postgresServer(), "")
	w.env["VERIFYD_DATA_DIR"] = string(folder)
	held := operator.Hold(folder, j, host)
	keys, err := cli.NewKeySet()
	if err == nil {
		err = os.WriteFile(folder.SigningKeys(), keys, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	stop, err := operator.Serve(context.WithoutCancel(t.Context()), folder, held, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	w.stop = sync.OnceFunc(func() {
		stop()
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(w.stop)
	return w
}

func newWorld(t *testing.T, store store.Store, s server, url string) *world {
	t.Helper()
	kit := enginetest.New(t, func(p *engine.Ports, o *engine.Options) {
		p.Store = store
		p.Providers["sandbox"], p.Providers["offline.screening"] = p.Providers["script"], p.Providers["script"]
		o.QueueInterval = time.Second // others leave work
		o.SearchKey = []byte(testSearchKey)
	})
	return &world{t: t, kit: kit, store: store, server: s, clock: kit.Clock, env: map[string]string{"VERIFYD_DATABASE_URL": url}}
}

// database opens the database or the folder.
func (w *world) database() *database {
	w.t.Helper()
	f := databaseFlag{DataDir: datadir.Folder(w.env["VERIFYD_DATA_DIR"])}
	f.DatabaseURL = w.env["VERIFYD_DATABASE_URL"]
	db, err := f.open(w.t.Context(), &session{clock: w.clock, server: w.server, stderr: io.Discard})
	if err != nil {
		w.t.Fatal(err)
	}
	return db
}

// ctl runs a command line, records it in the transcript, and returns its output. TENANT is replaced by the id of the tenant.
func (w *world) ctl(line string) string { return w.ctlWith("", line) }

// ctlWith gives the command something on stdin.
func (w *world) ctlWith(stdin, line string) string {
	w.t.Helper()
	line = strings.ReplaceAll(line, "TENANT", string(tenant))
	var stdout, stderr bytes.Buffer
	code := run(w.t.Context(), strings.Fields(line), session{
		getenv: func(name string) string { return w.env[name] }, stdin: strings.NewReader(stdin),
		stdout: &stdout, stderr: &stderr, clock: w.clock, server: w.server,
		operator: verification.Person{Name: "root", Identity: "operator#root"},
		hostWait: w.hostWait,
	})
	if w.said.Len() > 0 {
		w.said.WriteString("\n")
	}
	w.said.WriteString(w.masked(written(line, stdout.String(), stderr.String(), code)))
	return stdout.String()
}

// transcript returns the transcript since the last call.
func (w *world) transcript() []byte {
	text := w.said.String()
	w.said.Reset()
	return []byte(text)
}

// masked replaces each secret by a name of its own.
func (w *world) masked(text string) string {
	secret := regexp.MustCompile(`whsec_[A-Za-z0-9+/=]+|\b[A-Z2-7]{52}\b|\beyJ[\w-]+\.[\w-]+\.[\w-]+`)
	return secret.ReplaceAllStringFunc(text, func(s string) string {
		i := slices.Index(w.secrets, s)
		if i < 0 {
			i, w.secrets = len(w.secrets), append(w.secrets, s)
		}
		return fmt.Sprintf("(secret %d)", i+1)
	})
}

// written returns a command line and its output as a transcript has them.
func written(line, stdout, stderr string, code int) string {
	var b strings.Builder
	fmt.Fprintln(&b, "$ verifyctl", line)
	b.WriteString(stdout)
	for line := range strings.Lines(stderr) {
		b.WriteString("stderr: " + line)
	}
	fmt.Fprintln(&b, "exit", code)
	return b.String()
}

// bare is a session without a database.
func bare(stdout, stderr *bytes.Buffer) session {
	unreached := func() error { return errors.New("no database is reached here") }
	return session{
		getenv: func(string) string { return "" }, stdin: strings.NewReader(""), stdout: stdout, stderr: stderr,
		clock: clock.System{},
		server: server{
			open:       func(context.Context, string) (*database, error) { return nil, unreached() },
			migrate:    func(context.Context, string) ([]pgschema.Migration, error) { return nil, unreached() },
			migrations: func(context.Context, string) ([]pgschema.Migration, error) { return nil, unreached() },
			migrateDown: func(context.Context, string, bool) (pgschema.Migration, error) {
				return pgschema.Migration{}, unreached()
			},
		},
	}
}
