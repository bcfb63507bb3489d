// A site: a database or a data folder, a receiver of webhooks and a bootstrap file.

package soak_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/internal/rig/process"
)

// The tenant and the account of the bootstrap file.
const (
	tenant   = "0191f3c0-0000-7000-8000-0000000000aa"
	clientID = "acme"
	apiKey   = "a-key-of-at-least-twenty-characters"
	secret   = "whsec_Y3Jhc2ggdGVzdHMgYXJlIG5vIHNlY3JldHMgYXQgYWxsIQ=="
)

// site is a database or a data folder, and what else its hosts share.
type site struct {
	server    *pgtest.Server
	database  string         // its URL, without a proxy
	folder    datadir.Folder // empty on a database
	blobs     string         // the folder of uploads on a database; empty for memory
	program   string
	bootstrap string
	lesser    string // a bootstrap file without the list
	logs      string
	hooks     *receiver
	made      atomic.Int64 // number of hosts, for their names
}

var sites atomic.Int64 // number of sites, for the names of their databases

// newSite creates an empty database on a server. Its hosts are killed with the test.
func newSite(t *testing.T, server *pgtest.Server, name string, seed uint64) *site {
	t.Helper()
	name = fmt.Sprintf("%s_%d", name, sites.Add(1))
	if err := server.CreateDatabase(t.Context(), name, ""); err != nil {
		t.Fatal(err)
	}
	s := prepareSite(t, seed)
	s.server, s.database = server, server.URL(name)
	return s
}

// newFolderSite returns a site with a new data folder. Its host is killed with the test.
func newFolderSite(t *testing.T, seed uint64) *site {
	t.Helper()
	s := prepareSite(t, seed)
	s.folder = datadir.Folder(filepath.Join(t.TempDir(), "data"))
	return s
}

func prepareSite(t *testing.T, seed uint64) *site {
	t.Helper()
	s := &site{program: verifyd.path(t, "verifyd"), hooks: newReceiver(t, seed)}
	if s.logs = os.Getenv("VERIFYD_SOAK_LOGS"); s.logs != "" {
		s.logs = filepath.Join(s.logs, t.Name())
		if err := os.MkdirAll(s.logs, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.writeBootstrap(t, 0)
	return s
}

// migrate creates the schema and the table of marks.
func (s *site) migrate(t *testing.T) {
	t.Helper()
	if _, err := postgres.Migrate(t.Context(), s.database); err != nil {
		t.Fatal(err)
	}
	c := s.connect(t)
	if _, err := c.Exec(t.Context(), keepMarks); err != nil {
		t.Fatal(err)
	}
}

// start starts a host with roles and further environment variables. A host on a database has its
// own connection.
func (s *site) start(roles string, env ...string) (*host, error) {
	name := fmt.Sprintf("host-%d", s.made.Add(1))
	h := &host{roles: roles}
	if s.folder == "" {
		address, err := url.Parse(s.database)
		if err != nil {
			return nil, err
		}
		if h.proxy, err = newDatabaseProxy(address.Host); err != nil {
			return nil, err
		}
		address.Host = h.proxy.address()
		q := address.Query()
		q.Set("application_name", name)
		address.RawQuery = q.Encode()
		env = append(env, "VERIFYD_DATABASE_URL="+address.String())
	}
	var err error
	h.Host, err = process.StartHost(process.HostOptions{
		Program: s.program, Name: name, LogFolder: s.logs, Env: append(s.environment(roles), env...),
	})
	if err != nil {
		h.proxy.close()
		return nil, err
	}
	if h.API != "" {
		h.api, err = newClient(h.API)
	}
	return h, err
}

// environment returns the settings of a host, without the database.
func (s *site) environment(roles string) []string {
	env := []string{
		"VERIFYD_ADDR=127.0.0.1:0", "VERIFYD_ADMIN_ADDR=127.0.0.1:0", "VERIFYD_ROLES=" + roles,
		"VERIFYD_BOOTSTRAP=" + s.bootstrap, "VERIFYD_ALLOW_PRIVATE_NETWORKS=true",
	}
	if s.blobs != "" {
		env = append(env, "VERIFYD_BLOB_DIR="+s.blobs)
	}
	if s.folder != "" {
		env = append(env, "VERIFYD_DATA_DIR="+string(s.folder), "VERIFYD_DISK_RESERVE=134217728") // also on a disk that is nearly full
	}
	return env
}

// serve starts a host that is killed with the test.
func (s *site) serve(t *testing.T, roles string, env ...string) *host {
	t.Helper()
	h, err := s.start(roles, env...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { retire(t, h) })
	return h
}

// retire kills a host and fails the test if the host had panicked.
func retire(t *testing.T, h *host) {
	if err := h.Kill(); err != nil {
		t.Error(err)
	}
	h.proxy.close()
	if h.Log.Crash() != "" {
		t.Errorf("%s panicked: %s", h.Name, h.Log)
	}
}

// connect opens a direct connection that sees all tenants and is closed with the
// test.
func (s *site) connect(t *testing.T) *pgx.Conn {
	t.Helper()
	c, err := s.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.WithoutCancel(t.Context())) })
	return c
}

func (s *site) dial(ctx context.Context) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(s.database)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["verifyd.tenant"] = "all"
	return pgx.ConnectConfig(ctx, config)
}
