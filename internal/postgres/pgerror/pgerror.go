// Package pgerror translates errors of PostgreSQL and its driver into errors of the ports,
// and explains them to operators.
package pgerror

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/verifyd/verifyd/verification"
)

// ErrTimeout is the cause of a call that has timed out.
var ErrTimeout = errors.New("the database did not answer in time")

// Translate returns err as an error of the ports. It returns a *verification.Error
// unchanged.
func Translate(doing string, err error) error {
	var expected *verification.Error
	if err == nil || errors.As(err, &expected) {
		return err
	}
	wrapped := fmt.Errorf("%s: %w", doing, err)
	switch {
	case Code(err) == ReadOnly:
		return Unavailable("database", TakesNoWrites, wrapped)
	case IsOverloaded(err):
		return Unavailable("database", "the database cannot do this now", wrapped)
	case IsUnavailable(err):
		return Unavailable("database", "the database does not answer", wrapped)
	case Code(err) == NoTable || Code(err) == "3F000": // a table, or the whole schema
		return Unavailable("database", "the tables of verifyd are gone", wrapped)
	case Code(err) == NotLocked:
		if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Where != "" {
			wrapped = fmt.Errorf("%w: %s", wrapped, refused.Where) // the table whose row is held
		}
		return Unavailable("run", "a transaction that is still open holds the run", wrapped)
	case Code(err) == "22021" || Code(err) == "22P05":
		return &verification.Error{Kind: verification.ErrInvalid, Message: NotStorable, Cause: wrapped}
	}
	return wrapped
}

// Code returns the SQLSTATE of an error, or "" when the server did not send one.
func Code(err error) string {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return refused.Code
	}
	return ""
}

// IsUnavailable reports whether the connection to the database failed or was refused,
// for whatever reason. The statement may have been executed.
func IsUnavailable(err error) bool {
	var connecting *pgconn.ConnectError
	if errors.As(err, &connecting) {
		return true
	}
	if c := Code(err); c != "" {
		// Connections, shutdowns, too many clients, a standby that takes no writes.
		return strings.HasPrefix(c, "08") || strings.HasPrefix(c, "57P") || c == "53300" || c == ReadOnly
	}
	var network net.Error
	return errors.As(err, &network) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, puddle.ErrClosedPool) || errors.Is(err, ErrTimeout) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, sql.ErrTxDone) || errors.Is(err, pgx.ErrTxClosed) ||
		errors.Is(err, context.DeadlineExceeded)
}

// Canceled is the SQLSTATE of a statement that was canceled, by its timeout
// or by an administrator.
const Canceled = "57014"

// ReadOnly is the SQLSTATE of a write in a read-only transaction: the server is a standby, or
// was the primary before a failover.
const ReadOnly = "25006"

// TakesNoWrites is the message of an error of such a server.
const TakesNoWrites = "the database takes no writes: it is read-only"

// NotLocked is the SQLSTATE of a statement that waited for a lock until its
// lock_timeout.
const NotLocked = "55P03"

// NoTable is the SQLSTATE of a statement about a table that does not exist.
const NoTable = "42P01"

// IsOverloaded reports whether the database rolled back a statement that may succeed
// later: it was canceled, it ended a deadlock, or a resource is exhausted.
func IsOverloaded(err error) bool {
	c := Code(err)
	return c == Canceled || c == "40P01" || strings.HasPrefix(c, "53")
}

// BadAddress returns the error of an address that cannot be parsed, without its
// password.
func BadAddress(err error) error {
	if parsing, ok := errors.AsType[*url.Error](err); ok {
		err = parsing.Err
	}
	if config, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
		err = errors.New(config.Error())
	}
	return &verification.Error{
		Kind: verification.ErrInvalid, Subject: "database",
		Message: "the address must be like postgres://user:password@host:5432/name", Cause: err,
	}
}

// Unavailable returns an error whose kind is ErrUnavailable.
func Unavailable(subject, message string, cause error) error {
	return &verification.Error{Kind: verification.ErrUnavailable, Subject: subject, Message: message, Cause: cause}
}

// NotStorable is the message of an error about a text that the database does not store.
const NotStorable = "a text has a character that cannot be stored"
