// The program and the server that the crash tests share.

package soak_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/internal/rig/process"
)

func TestMain(m *testing.M) {
	if at := os.Getenv(engineAt); at != "" {
		serve := func() error { return serveEngine(at) }
		if task := os.Getenv(forgetTask); task != "" {
			serve = func() error { return serveForget(at, task) }
		}
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	zerolog.SetGlobalLevel(zerolog.Disabled) // parts of the proxy use the global logger
	code := m.Run()
	if err := errors.Join(steady.close(), verifyd.remove(), next.remove()); err != nil {
		fmt.Fprintf(os.Stderr, "clean up after the crash tests: %v\n", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

var (
	verifyd = programs{make: func(folder string) error { return process.Build(context.Background(), folder, "verifyd") }}
	next    = programs{make: buildNext} // verifyd and verifyctl of the next release
	steady  sharedServer
)

// programs are programs that are built once for all tests.
type programs struct {
	make   func(folder string) error
	once   sync.Once
	folder string
	err    error
}

// path returns the path of a program and builds all of them if necessary.
func (p *programs) path(t *testing.T, name string) string {
	t.Helper()
	p.once.Do(func() { p.err = p.build() })
	if p.err != nil {
		t.Fatal(p.err)
	}
	return filepath.Join(p.folder, name)
}

func (p *programs) build() (err error) {
	if p.folder, err = os.MkdirTemp("", "verifyd-soak-"); err != nil {
		return err
	}
	return p.make(p.folder)
}

func (p *programs) remove() error { return os.RemoveAll(p.folder) }

// sharedServer is a PostgreSQL for tests that do not disturb it.
type sharedServer struct {
	once   sync.Once
	server *pgtest.Server
	err    error
}

func (s *sharedServer) get(t *testing.T) *pgtest.Server {
	t.Helper()
	s.once.Do(func() { s.server, s.err = startServer() })
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.server
}

func (s *sharedServer) close() error {
	if s.server == nil {
		return nil
	}
	return s.server.Close()
}

// startServer starts a PostgreSQL whose data survive that its processes are killed. What they have written is with the
// system then, so they need not wait for the disk; only a crash of the machine would lose it.
func startServer() (*pgtest.Server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // it may have to be installed
	defer cancel()
	return pgtest.Start(ctx, pgtest.Options{
		Durable: true, Settings: map[string]string{"fsync": "off", "full_page_writes": "off", "jit": "off"},
	})
}

// serverOf returns a PostgreSQL for one test, which may kill it.
func serverOf(t *testing.T) *pgtest.Server {
	t.Helper()
	s, err := startServer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
