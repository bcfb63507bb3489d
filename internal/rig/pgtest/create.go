// Creation of a server: its files, its settings, its port.

package pgtest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/verifyd/verifyd/internal/rig/npm"
)

// create creates and starts the server. If another process takes the port that it found,
// it tries another one.
func (s *Server) create(ctx context.Context) error {
	from, err := makeTemplate(ctx, s.bin, s.templates())
	if err != nil {
		return err
	}
	secret, err := from.copyTo(s.data())
	if err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	for attempt := 1; ; attempt++ {
		s.move(secret)
		err := s.Restart(ctx)
		if err == nil {
			return s.setUp(ctx)
		}
		if attempt == 5 || available(s.port) {
			return fmt.Errorf("start with a copy of %s: %w", from, err)
		}
	}
}

// templates returns the folder of templates: the cache of the tests, or the server's own
// folder if the cache cannot be written.
func (s *Server) templates() string {
	cache, err := npm.Cache()
	if err != nil || os.MkdirAll(cache, 0o755) != nil || os.Chmod(cache, 0o755) != nil {
		return s.folder.path
	}
	return cache
}

func (s *Server) data() string { return filepath.Join(s.folder.path, "data") }

func settings(o Options, socket string) map[string]string {
	durable := "off"
	if o.Durable {
		durable = "on"
	}
	all := map[string]string{
		"listen_addresses":           "127.0.0.1",
		"unix_socket_directories":    socket,
		"max_connections":            "200",
		"shared_buffers":             "64MB",
		"dynamic_shared_memory_type": "mmap", // in the data folder, so that it goes with it
		"log_checkpoints":            "off",
		"autovacuum":                 durable, // else the plans of a slow test change
		"jit":                        durable, // compiling a statement takes longer than executing it on the few rows of tests
		"fsync":                      durable,
		"synchronous_commit":         durable,
		"full_page_writes":           durable,
	}
	if len(socket) > 80 {
		all["unix_socket_directories"] = "" // the path of a socket must not be longer than a hundred bytes
	}
	maps.Copy(all, o.Settings)
	return all
}

func (s *Server) arguments() []string {
	args := []string{"-D", s.data(), "-p", strconv.Itoa(s.port)}
	for _, name := range slices.Sorted(maps.Keys(s.settings)) {
		args = append(args, "-c", name+"="+s.settings[name])
	}
	return args
}

// freePort returns a port below those that the system gives to clients: else a client
// that calls while the server is down could be given the port itself.
func freePort() (port int) {
	for range 100 {
		port = 20000 + rand.IntN(12000) //nolint:gosec // any port that is free will do
		if available(port) {
			break
		}
	}
	return port
}

// move takes a port.
func (s *Server) move(secret string) {
	s.port = freePort()
	server := url.URL{
		Scheme:   "postgres",
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)),
		RawQuery: "sslmode=disable",
	}
	s.admin, s.owner = server, server
	s.admin.User, s.admin.Path = url.UserPassword("postgres", secret), "/postgres"
	s.owner.User = url.UserPassword("verifyd", password())
}

// available reports whether a port of loopback is free.
func available(port int) bool {
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
	if err != nil {
		return false
	}
	return l.Close() == nil
}
