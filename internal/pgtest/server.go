// A server of one's own, to be stopped, killed and started again.

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

// Options say how a server runs. The zero value is a server that is fast and
// promises nothing.
type Options struct {
	Durable  bool              // what was committed stays, as in production
	Settings map[string]string // of postgresql.conf; they win over our own
}

// Server is one PostgreSQL with a folder of its own, on loopback. On Linux it
// ends when the test binary does, however that ends. Its methods may be called
// from many goroutines.
type Server struct {
	access
	bin      string
	folder   *folder
	port     int
	settings map[string]string

	mu      sync.Mutex
	process *process // nil while it does not run
}

// Start starts a server without databases; ctx bounds the start alone.
func Start(ctx context.Context, o Options) (*Server, error) {
	bin, err := find(ctx)
	if err != nil {
		return nil, err
	}
	f, err := newFolder()
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, folder: f, settings: settings(o, f.path)}
	if err := s.create(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start the PostgreSQL of %s: %w", bin, err), s.Close())
	}
	return s, nil
}

// Restart starts a server that was stopped or killed, on the same files and the
// same port; one that runs is stopped first. It returns when the server answers.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.end(ctx, syscall.SIGINT); err != nil {
		return err
	}
	p, err := launch(s.folder.path, filepath.Join(s.bin, "postgres"), s.arguments()...)
	if err != nil {
		return err
	}
	if err := s.answers(ctx, p); err != nil {
		return errors.Join(fmt.Errorf("wait for PostgreSQL: %w: %s", err, p.log), p.kill())
	}
	s.process = p
	return nil
}

// answers waits until the server lets somebody in, or has ended.
func (s *Server) answers(ctx context.Context, p *process) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
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
		case <-p.done:
			return errors.New("it ended")
		case <-ctx.Done():
			return err
		}
	}
}

// Stop ends all connections, and the server in good order.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end(ctx, syscall.SIGINT)
}

// Kill ends the server and all its processes at once, as a crash does.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kill()
}

// Close ends the server and removes its files.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), patience/6)
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

// kill also removes the files that name the process: its number could mean
// another one by the time that the server starts again.
func (s *Server) kill() error {
	if s.process == nil {
		return nil
	}
	if err := s.process.kill(); err != nil {
		return fmt.Errorf("kill PostgreSQL: %w", err)
	}
	s.process = nil
	socket := filepath.Join(s.folder.path, ".s.PGSQL."+strconv.Itoa(s.port))
	for _, name := range []string{filepath.Join(s.data(), "postmaster.pid"), socket, socket + ".lock"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("kill PostgreSQL: %w", err)
		}
	}
	return nil
}
