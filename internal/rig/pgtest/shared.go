// The server that all tests of one test binary share.

package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

type shared struct {
	prepare func(ctx context.Context, url string) error

	once   sync.Once
	err    error
	access *access
	server *Server // nil if the server was running already

	told atomic.Bool  // a test has reported the error
	made atomic.Int64 // number of databases, for their names
}

// start starts the server once; it may have to install PostgreSQL.
func (s *shared) start() error {
	s.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		s.err = s.open(ctx)
	})
	return s.err
}

func (s *shared) open(ctx context.Context) (err error) {
	if there := os.Getenv(EnvURL); there != "" {
		s.access, err = visit(ctx, there)
	} else if s.server, err = Start(ctx, Options{}); err == nil {
		s.access = &s.server.access
	}
	if err != nil {
		return err
	}
	if err := s.access.CreateDatabase(ctx, s.template(), ""); err != nil {
		return err
	}
	if s.prepare != nil {
		if err := s.prepare(ctx, s.access.URL(s.template())); err != nil {
			return fmt.Errorf("prepare the database of the tests: %w", err)
		}
	}
	return nil
}

// visit uses a running server. It creates a role with a new name, because other
// tests may use the server at the same time.
func visit(ctx context.Context, there string) (*access, error) {
	admin, err := url.Parse(there)
	if err != nil || admin.Host == "" {
		return nil, fmt.Errorf("%s must be a URL such as postgres://user:password@host:5432/postgres", EnvURL)
	}
	owner := *admin
	owner.User = url.UserPassword("verifyd_"+strings.ToLower(rand.Text()[:8]), password())
	a := &access{admin: *admin, owner: owner}
	if err := a.setUp(ctx); err != nil {
		return nil, fmt.Errorf("use the server of %s: %w", EnvURL, err)
	}
	return a, nil
}

func (s *shared) template() string { return s.access.owner.User.Username() + "_template" }

// database creates a database and drops it when the test ends.
func (s *shared) database(tb testing.TB, template string) string {
	tb.Helper()
	name := fmt.Sprintf("%s_%d", s.access.owner.User.Username(), s.made.Add(1))
	ctx, cancel := context.WithTimeout(tb.Context(), waitTimeout)
	defer cancel()
	if err := s.access.CreateDatabase(ctx, name, template); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), waitTimeout)
		defer cancel()
		if err := s.access.DropDatabase(ctx, name); err != nil {
			tb.Error(err)
		}
	})
	return s.access.URL(name)
}

// close stops the server, or removes what visit created.
func (s *shared) close() error {
	if s.server != nil {
		return s.server.Close()
	}
	if s.access == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	return errors.Join(s.access.DropDatabase(ctx, s.template()), s.access.tearDown(ctx))
}
