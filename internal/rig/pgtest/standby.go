// A standby that streams from a server.

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// Standby starts a standby of the server, which streams from an address that leads to the server. It is known to the
// server by a name, as synchronous_standby_names has it. A base backup is made by pg_basebackup; if that is not
// there, or cold is set, the server is stopped and its files are copied. how says which. The settings are those of the server.
func (s *Server) Standby(ctx context.Context, from, name string, cold bool) (standby *Server, how string, err error) {
	f, err := newFolder(filepath.Dir(s.folder.path))
	if err != nil {
		return nil, "", err
	}
	standby = &Server{access: s.access, bin: s.bin, folder: f, port: freePort(), settings: maps.Clone(s.settings)}
	at := net.JoinHostPort("127.0.0.1", strconv.Itoa(standby.port))
	standby.admin.Host, standby.owner.Host = at, at
	if standby.settings["unix_socket_directories"] != "" {
		standby.settings["unix_socket_directories"] = f.path
	}
	primary := s.admin
	primary.Host = from
	q := primary.Query()
	q.Set("application_name", name)
	primary.RawQuery, primary.Path = q.Encode(), ""
	if how, err = s.backUpTo(ctx, standby, primary, cold); err == nil {
		err = standby.Restart(ctx)
	}
	if err != nil {
		return nil, how, errors.Join(fmt.Errorf("start a standby with %s: %w", how, err), standby.Close())
	}
	return standby, how, nil
}

// backUpTo makes a base backup in the folder of a standby.
func (s *Server) backUpTo(ctx context.Context, standby *Server, primary url.URL, cold bool) (how string, err error) {
	how = "pg_basebackup"
	program := filepath.Join(s.bin, how)
	if linked, err := filepath.EvalSymlinks(filepath.Join(s.bin, "postgres")); err == nil {
		program = filepath.Join(filepath.Dir(linked), how)
	}
	if _, missing := os.Stat(program); missing == nil && !cold {
		p, err := launch(standby.folder.path, program, "--pgdata="+standby.data(), "--dbname="+primary.String(),
			"--wal-method=stream", "--checkpoint=fast", "--write-recovery-conf", "--no-sync")
		if err == nil {
			err = p.wait(ctx)
		}
		if err == nil && p.Err() != nil {
			err = fmt.Errorf("%w: %s", p.Err(), p.log)
		}
		return how, err
	}
	how = "a copy of the files of the stopped server"
	if err := s.Stop(ctx); err != nil {
		return how, err
	}
	if err = os.CopyFS(standby.data(), os.DirFS(s.data())); err == nil {
		err = os.Chmod(standby.data(), 0o700) // else PostgreSQL does not start
	}
	if err == nil {
		err = filepath.WalkDir(standby.data(), func(path string, _ fs.DirEntry, err error) error { return errors.Join(err, handOver(path)) })
	}
	if err == nil {
		standby.settings["primary_conninfo"] = primary.String()
		err = standby.folder.write(filepath.Join(standby.data(), "standby.signal"), "")
	}
	return how, errors.Join(err, s.Restart(ctx))
}

// Promote makes a standby take writes. It returns when the standby does.
func (s *Server) Promote(ctx context.Context) error {
	return s.connected(ctx, func(c *pgx.Conn) error {
		_, err := c.Exec(ctx, "SELECT pg_promote()")
		return err
	})
}
