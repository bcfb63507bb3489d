// A server that a test may stop, kill and restart.

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Options configure a server. The zero value is fast and not durable.
type Options struct {
	Durable  bool              // committed data survives a crash, as in production
	Settings map[string]string // of postgresql.conf; they override the defaults
}

// Server is a PostgreSQL with its own folder on a loopback port. On Linux it ends
// with the test binary, even if that is killed. Its methods are safe for concurrent
// use.
type Server struct {
	access
	bin      string
	folder   *folder
	port     int
	settings map[string]string

	mu      sync.Mutex
	process *program // nil while it is stopped
	killed  bool     // and did not start since
}

// Start starts a server without databases; ctx bounds only the start.
func Start(ctx context.Context, o Options) (*Server, error) {
	bin, err := find(ctx)
	if err != nil {
		return nil, err
	}
	parent, err := temporary(o.Durable)
	if err != nil {
		return nil, err
	}
	f, err := newFolder(parent)
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, folder: f, settings: settings(o, f.path)}
	if err := s.create(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start the PostgreSQL of %s: %w", bin, err), s.Close())
	}
	return s, nil
}

// Restart starts a server again with the same files and port, after stopping it if
// it runs. It returns when the server accepts connections.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.end(ctx, syscall.SIGINT); err != nil {
		return err
	}
	for until := time.Now().Add(waitTimeout / 6); ; time.Sleep(50 * time.Millisecond) { //nolint:forbidigo // of another process
		p, err := launch(s.folder.path, filepath.Join(s.bin, "postgres"), s.arguments()...)
		if err != nil {
			return err
		}
		err = s.answers(ctx, p)
		if err == nil {
			s.process, s.killed = p, false
			return nil
		}
		// A server does not start while a process of one that was killed is still ending.
		if !s.killed || !errors.Is(err, errEnded) || time.Now().After(until) {
			return errors.Join(fmt.Errorf("wait for PostgreSQL: %w: %s", err, p.log), p.kill())
		}
	}
}

// errEnded is the error of a server that ends before it accepts a connection.
var errEnded = errors.New("it ended")

// answers waits until the server accepts a connection or has ended.
func (s *Server) answers(ctx context.Context, p *program) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		err := s.connected(ctx, func(c *pgx.Conn) error { return c.Ping(ctx) })
		if err == nil {
			return nil
		}
		select {
		case <-again.C:
		case <-p.Ended():
			return errEnded
		case <-ctx.Done():
			return err
		}
	}
}

// Stop closes all connections and shuts the server down.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end(ctx, syscall.SIGINT)
}

// Kill kills all processes of the server, as in a crash.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kill()
}

// Close kills the server and removes its files.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout/6)
	defer cancel()
	err := s.end(ctx, syscall.SIGQUIT)
	if err != nil {
		err = s.kill()
	}
	return errors.Join(err, s.folder.remove())
}

func (s *Server) end(ctx context.Context, signal syscall.Signal) error {
	if s.process == nil {
		return nil
	}
	if err := s.process.signal(signal); err != nil {
		return fmt.Errorf("stop PostgreSQL: %w", err)
	}
	if err := s.process.wait(ctx); err != nil {
		return fmt.Errorf("stop PostgreSQL: %w", err)
	}
	s.process = nil
	return nil
}

// kill also removes the files with the process id, which another process may have
// when the server restarts.
func (s *Server) kill() error {
	if s.process == nil {
		return nil
	}
	if err := s.process.kill(); err != nil {
		return fmt.Errorf("kill PostgreSQL: %w", err)
	}
	s.process, s.killed = nil, true
	socket := filepath.Join(s.folder.path, ".s.PGSQL."+strconv.Itoa(s.port))
	for _, name := range []string{filepath.Join(s.data(), "postmaster.pid"), socket, socket + ".lock"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("kill PostgreSQL: %w", err)
		}
	}
	return nil
}
