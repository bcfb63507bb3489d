// Tests of connection errors.

package pgerror_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/internal/postgres/pgschema"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
)

func TestExplainNamesTheCauseOfAnOutageOnce(t *testing.T) {
	good, err := url.Parse(pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	role, name := good.User.Username(), strings.TrimPrefix(good.Path, "/")
	for _, tt := range []struct {
		name  string
		spoil func(*url.URL)
		want  string
	}{
		{
			"a wrong password", func(u *url.URL) { u.User = url.UserPassword(role, "wrong") },
			`cannot connect as role ` + role + ` to database ` + name + `: password authentication failed for user "` + role + `" (SQLSTATE 28P01)`,
		},
		{
			"no such database", func(u *url.URL) { u.Path += "_not_there" },
			`cannot connect as role ` + role + ` to database ` + name + `_not_there: database "` + name + `_not_there" does not exist (SQLSTATE 3D000)`,
		},
		{
			"a closed port", func(u *url.URL) { u.Host = "127.0.0.1:1" },
			`cannot connect as role ` + role + ` to database ` + name + `: dial tcp 127.0.0.1:1: connect: connection refused`,
		},
		{
			"no name of a database", func(u *url.URL) { u.Host, u.Path = "127.0.0.1:1", "" },
			`cannot connect as role ` + role + ` to database ` + role + `: dial tcp 127.0.0.1:1: connect: connection refused`,
		},
		{
			"no TLS where it is required", func(u *url.URL) { u.RawQuery = "sslmode=require" },
			`cannot connect as role ` + role + ` to database ` + name + `: ` + good.Host + ` (` + good.Hostname() + `): tls error: server refused TLS connection`,
		},
		{
			"no address", func(u *url.URL) { u.Host = "127.0.0.1:x" },
			"database: the address must be like postgres://user:password@host:5432/name",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := *good
			tt.spoil(&u)
			_, migrating := pgschema.All(t.Context(), u.String())
			_, opening := postgres.Open(t.Context(), u.String(), postgres.Options{})
			for call, err := range map[string]error{"Migrations": migrating, "Open": opening} {
				if err == nil {
					t.Errorf("%s succeeded", call)
				} else if got := pgerror.Explain(err).Error(); got != tt.want {
					t.Errorf("%s: %s\nwant %s", call, got, tt.want)
				}
			}
		})
	}
}
