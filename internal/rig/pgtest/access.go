// Access to a server as its owner: roles and databases.

package pgtest

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5"
)

// access is how tests reach a server: as a superuser, or another role that may create
// databases and roles, and as a role without privileges, which owns the databases of the tests.
type access struct {
	admin, owner url.URL
	strategy     string // the option of CREATE DATABASE for how files are copied; empty for the default
}

// URL is the address of a database for the role that owns it.
func (a *access) URL(database string) string { return at(a.owner, database) }

// Admin is the address of a database for the role that may create databases and roles.
func (a *access) Admin(database string) string { return at(a.admin, database) }

func at(server url.URL, database string) string {
	server.Path = "/" + database
	return server.String()
}

// password returns a password with characters that a URL must escape, so that tests
// also cover the parsing of the URL.
func password() string { return rand.Text() + "@:/?#%" }

// verifier returns the text that a server stores for a password, by RFC 5803. It has one
// iteration instead of 4096, because tests connect often.
func verifier(password string) (string, error) {
	salt := []byte(rand.Text())
	salted, err := pbkdf2.Key(sha256.New, password, salt, 1, sha256.Size)
	sign := func(text string) []byte {
		mac := hmac.New(sha256.New, salted)
		_, _ = mac.Write([]byte(text)) // never fails
		return mac.Sum(nil)
	}
	stored, encode := sha256.Sum256(sign("Client Key")), base64.StdEncoding.EncodeToString
	return "SCRAM-SHA-256$1:" + encode(salt) + "$" + encode(stored[:]) + ":" + encode(sign("Server Key")), err
}

// setUp creates the role without privileges, and chooses the faster way to copy a database:
// without fsync it copies the files; with fsync it writes the write-ahead log, the default.
func (a *access) setUp(ctx context.Context) error {
	return a.connected(ctx, func(c *pgx.Conn) error {
		var copiesFiles bool
		const query = "SELECT current_setting('fsync') = 'off' AND current_setting('server_version_num')::int >= 150000"
		if err := c.QueryRow(ctx, query).Scan(&copiesFiles); err != nil {
			return err
		}
		if copiesFiles {
			a.strategy = " STRATEGY file_copy"
		}
		plain, _ := a.owner.User.Password()
		secret, err := verifier(plain)
		if err != nil {
			return err
		}
		if err := run(ctx, c, "CREATE ROLE %I LOGIN PASSWORD %L", a.owner.User.Username(), secret); err != nil {
			return err
		}
		return run(ctx, c, "GRANT %I TO CURRENT_USER", a.owner.User.Username())
	})
}

// tearDown drops the role that setUp created.
func (a *access) tearDown(ctx context.Context) error {
	return a.connected(ctx, func(c *pgx.Conn) error {
		return run(ctx, c, "DROP ROLE %I", a.owner.User.Username())
	})
}

// CreateDatabase creates a database as a copy of the template, to which no client may be
// connected. Without a template it creates an empty one.
func (a *access) CreateDatabase(ctx context.Context, name, template string) error {
	if template == "" {
		template = "template0"
	}
	err := a.connected(ctx, func(c *pgx.Conn) error {
		return run(ctx, c, "CREATE DATABASE %I OWNER %I TEMPLATE %I"+a.strategy, name, a.owner.User.Username(), template)
	})
	if err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	return nil
}

// DropDatabase drops a database, and the connections to it.
func (a *access) DropDatabase(ctx context.Context, name string) error {
	err := a.connected(ctx, func(c *pgx.Conn) error {
		return run(ctx, c, "DROP DATABASE IF EXISTS %I WITH (FORCE)", name)
	})
	if err != nil {
		return fmt.Errorf("drop database %s: %w", name, err)
	}
	return nil
}

// connected calls do with a connection of the admin role.
func (a *access) connected(ctx context.Context, do func(c *pgx.Conn) error) error {
	c, err := pgx.Connect(ctx, a.admin.String())
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	return do(c)
}

// run executes a statement. The server puts the arguments in, and quotes them as names (%I)
// and texts (%L).
func run(ctx context.Context, c *pgx.Conn, statement string, args ...string) error {
	var quoted string
	if err := c.QueryRow(ctx, "SELECT format($1, VARIADIC $2::text[])", statement, args).Scan(&quoted); err != nil {
		return err
	}
	_, err := c.Exec(ctx, quoted)
	return err
}
