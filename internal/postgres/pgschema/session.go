// The settings of a session, which a database, a role or a server may have otherwise.

package pgschema

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
)

// meaning is what statements rely on, wherever they are sent: how texts are read and written,
// which rows they see, and that triggers fire.
const meaning = `('standard_conforming_strings', 'on'), ('client_encoding', 'UTF8'), ('DateStyle', 'ISO, %'), ('IntervalStyle', 'postgres'),
	('bytea_output', 'hex'), ('array_nulls', 'on'), ('transform_null_equals', 'off'), ('row_security', 'on'), ('session_replication_role', 'origin')`

// conduct is what a connection of this program relies on besides. The program bounds its calls
// itself. Every value of synchronous_commit but off is durable on this server. A database that is
// read-only by default stays so: somebody has protected it.
const conduct = `, ('TimeZone', 'UTC'), ('extra_float_digits', '1'), ('exit_on_error', 'off'), ('synchronous_commit', 'on'),
	('default_transaction_isolation', 'read committed'), ('default_transaction_deferrable', 'off'),
	('lock_timeout', '0'), ('transaction_timeout', '0'), ('idle_session_timeout', '0'),
	('idle_in_transaction_session_timeout', '5min')`

const (
	from  = " FROM (VALUES "
	where = `) AS wanted (name, value) WHERE pg_catalog.current_setting(name, true) NOT LIKE value
	AND (name <> 'synchronous_commit' OR pg_catalog.current_setting(name) = 'off')`

	// Unsuitable selects the names of the settings of a transaction in which statements would
	// mean something else.
	Unsuitable = "SELECT name" + from + meaning + where

	// Only what differs is set, because some settings need a privilege.
	setAll = "SET statement_timeout = 0; SELECT pg_catalog.set_config(name, pg_catalog.replace(value, '%', 'MDY'), false)" + from + meaning + conduct + where +
		"; SELECT pg_catalog.set_config('verifyd.tenant', '"
)

// minConns is how many connections a host needs: some are held for long, by a listener and by locks.
const minConns = 4

// ParseConfig reads the URL of a database. Every connection that is made with the result has the
// settings that this program relies on. They are sent as a statement, because a connection pooler
// refuses most of them as parameters of the connection. Rows of the tenants are visible outside of
// transactions that name their tenants; it may be empty.
func ParseConfig(url, tenants string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(strings.TrimSpace(url)) // a mounted secret may end with a line break
	if err != nil {
		return nil, pgerror.BadAddress(err)
	}
	if config.MaxConns < minConns {
		return nil, &verification.Error{
			Kind: verification.ErrInvalid, Subject: "database", Message: fmt.Sprintf("pool_max_conns=%d in the URL is too few: set at least %d, or leave it out", config.MaxConns, minConns),
		}
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	statement := setAll + tenants + "', false)"
	config.ConnConfig.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		_, err := conn.Exec(ctx, statement).ReadAll()
		if pgerror.Code(err) == "42501" {
			refused, _ := errors.AsType[*pgconn.PgError](err)
			return verification.Conflict("database", fmt.Sprintf(
				"%s, which has a value that verifyd cannot work with: RESET it for the database and its role", refused.Message))
		}
		return err
	}
	return config, nil
}

// refuseTransactionPooling returns ErrConflict if a connection pooler gives each transaction
// another session: settings, listeners and locks need one that stays.
func refuseTransactionPooling(ctx context.Context, conn *pgx.Conn) error {
	first, err := session(ctx, conn)
	if err != nil || first == conn.PgConn().PID() {
		return err // no pooler: the server has told its own number
	}
	other, err := pgx.ConnectConfig(ctx, conn.Config())
	if err != nil {
		return err
	}
	defer func() { _ = other.Close(ctx) }()
	tx, err := other.Begin(ctx)
	if err != nil {
		return err
	}
	taken, err := session(ctx, other)
	if err != nil {
		return err
	}
	second, err := session(ctx, conn)
	if err == nil && (taken == first || second != first) {
		err = verification.Conflict("database", "the connection pooler gives each transaction another session: set its pool mode to session (pool_mode in pgbouncer), or connect to the server itself")
	}
	return errors.Join(err, tx.Rollback(ctx))
}

// session returns the number of the process that serves a connection.
func session(ctx context.Context, conn *pgx.Conn) (pid uint32, err error) {
	results, err := conn.PgConn().Exec(ctx, "SELECT pg_catalog.pg_backend_pid()").ReadAll()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(string(results[0].Rows[0][0]), 10, 32)
	return uint32(n), err
}
