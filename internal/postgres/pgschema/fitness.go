// What a server and a role are to hosts, before the first of them starts.

package pgschema

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
)

// Fitness is what Examine finds.
type Fitness struct {
	ServerVersion string
	Version       int    // such as 150018 for 15.18
	Encoding      string // of the database
	ReadOnly      bool   // the server is a standby, or the database is read-only by default
	BypassesRLS   bool   // the role bypasses row-level security
	Lossy         string // the settings that are off although a crash then loses what was committed, with commas
	// MaxConnections is how many connections the server, the database and the role allow, without those reserved for
	// superusers. Others is how many connections other roles have. Hosts is how many hosts live.
	MaxConnections, Others, Hosts int
	// Foreign is something that another program has in the schema; empty if nothing does. It means nothing without privileges.
	Foreign string
	// Lacking are the privileges that the role lacks.
	Lacking []string
	// Local reports whether the connection stays on this machine. Encrypted says that it uses TLS, and Verified that
	// the certificate of the server is verified.
	Local, Encrypted, Verified bool
	// ClockSkew is how far the clock of the server is ahead, give or take half a round trip.
	ClockSkew time.Duration
}

// examine reads all but the hosts and the privileges. The session has set synchronous_commit itself.
const examine = `
SELECT current_setting('server_version'), current_setting('server_version_num')::int, pg_encoding_to_char(d.encoding),
    current_setting('transaction_read_only')::bool, r.rolsuper OR r.rolbypassrls,
    (SELECT coalesce(string_agg(name, ', ' ORDER BY name), '') FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit')
        AND CASE name WHEN 'synchronous_commit' THEN reset_val ELSE setting END = 'off'),
    least(current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
        nullif(d.datconnlimit, -1), nullif(r.rolconnlimit, -1)),
    (SELECT count(*)::int FROM pg_stat_activity WHERE datid IS NOT NULL AND usesysid <> r.oid),
    (` + foreign + `), clock_timestamp()
FROM pg_database d, pg_roles r WHERE d.datname = current_database() AND r.rolname = current_user`

// lacking selects the privileges that the role lacks. $1 says that the hosts also change the schema.
const lacking = `
WITH named AS (SELECT to_regnamespace('` + Name + `')::oid AS schema),
there AS (SELECT oid, quote_ident(relname) AS name, relkind, relowner FROM pg_class, named WHERE relnamespace = schema AND relkind IN ('r', 'p', 'S'))
SELECT 'CREATE on the database' FROM named WHERE $1 AND schema IS NULL AND NOT has_database_privilege(current_database(), 'CREATE')
UNION ALL SELECT p || ' on the schema' FROM named, unnest(ARRAY['USAGE', 'CREATE']) p WHERE NOT has_schema_privilege(schema, p) AND ($1 OR p = 'USAGE')
UNION ALL SELECT 'ownership of ' || name FROM there WHERE $1 AND NOT pg_has_role(relowner, 'USAGE')
UNION ALL SELECT p || ' on ' || name FROM there, unnest(CASE relkind WHEN 'S' THEN ARRAY['USAGE'] ELSE ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE'] END) p
    WHERE NOT CASE relkind WHEN 'S' THEN has_sequence_privilege(oid, p) ELSE has_table_privilege(oid, p) END`

// Examine connects as a host does, and changes nothing. migrates says that the hosts also change the schema; now is the
// clock of the caller.
func Examine(ctx context.Context, url string, migrates bool, now func() time.Time) (f Fitness, err error) {
	config, err := ParseConfig(url, "all")
	if err != nil {
		return f, err
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return f, pgerror.Translate("reach the database", err)
	}
	defer func() { _ = conn.Close(ctx) }() // it was only read
	if err := refuseTransactionPooling(ctx, conn); err != nil {
		return f, pgerror.Translate("reach the database", err)
	}
	f.transit(conn.PgConn().Conn())
	var at time.Time
	sent := now()
	err = conn.QueryRow(ctx, examine).Scan(&f.ServerVersion, &f.Version, &f.Encoding, &f.ReadOnly, &f.BypassesRLS, &f.Lossy,
		&f.MaxConnections, &f.Others, &f.Foreign, &at)
	f.ClockSkew = at.Sub(sent.Add(now().Sub(sent) / 2))
	if err == nil {
		rows, _ := conn.Query(ctx, lacking, migrates) // CollectRows returns its error
		f.Lacking, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	if err == nil && len(f.Lacking) == 0 {
		var applied map[int64]string
		if applied, err = appliedFiles(ctx, conn); err != nil {
			return f, err
		}
		if _, ours := applied[1]; ours {
			f.Foreign = ""
		}
		err = conn.QueryRow(ctx, liveHosts, HostTimeout.Seconds()).Scan(&f.Hosts)
		if pgerror.Code(err) == pgerror.NoTable {
			err = nil
		}
	}
	return f, pgerror.Translate("examine the database", err)
}

// transit notes how the connection reaches the server.
func (f *Fitness) transit(conn net.Conn) {
	to, isTCP := conn.RemoteAddr().(*net.TCPAddr)
	f.Local = !isTCP || to.IP.IsLoopback()
	secure, encrypted := conn.(*tls.Conn)
	f.Encrypted = encrypted
	f.Verified = encrypted && len(secure.ConnectionState().VerifiedChains) > 0
}
