// Errors of the database and the ports.

package postgres

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
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/verifyd/verifyd/verification"
)

// errTimeout is the cause of a call that has timed out.
var errTimeout = errors.New("the database did not answer in time")

// translate returns err as an error of the ports. It returns a *verification.Error
// unchanged.
func translate(doing string, err error) error {
	var expected *verification.Error
	if err == nil || errors.As(err, &expected) {
		return err
	}
	wrapped := fmt.Errorf("%s: %w", doing, err)
	switch {
	case unavailable(err), overloaded(err):
		return errUnavailable("database", "the database does not answer", wrapped)
	case code(err) == codeNoTable || code(err) == "3F000": // a table, or the whole schema
		return errUnavailable("database", "the tables of verifyd are gone", wrapped)
	case code(err) == codeNotLocked:
		return errUnavailable("run", "a transaction that is still open holds the run", wrapped)
	case code(err) == "22021" || code(err) == "22P05":
		return &verification.Error{Kind: verification.ErrInvalid, Message: notStorableMessage, Cause: wrapped}
	}
	return wrapped
}

// code returns the SQLSTATE of an error, or "" when the server did not send one.
func code(err error) string {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return refused.Code
	}
	return ""
}

// unavailable reports whether the connection to the database failed or was refused.
// The statement may have been executed.
func unavailable(err error) bool {
	if c := code(err); c != "" {
		// Connections, shutdowns, too many clients, a standby that takes no writes.
		return strings.HasPrefix(c, "08") || strings.HasPrefix(c, "57P") || c == "53300" || c == "25006"
	}
	var connecting *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connecting) || errors.As(err, &network) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, puddle.ErrClosedPool) || errors.Is(err, errTimeout) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, sql.ErrTxDone) || errors.Is(err, pgx.ErrTxClosed) ||
		errors.Is(err, context.DeadlineExceeded)
}

// codeCanceled is the SQLSTATE of a statement that was canceled, by its timeout
// or by an administrator.
const codeCanceled = "57014"

// codeNotLocked is the SQLSTATE of a statement that waited for a lock until its
// lock_timeout.
const codeNotLocked = "55P03"

// codeNoTable is the SQLSTATE of a statement about a table that does not exist.
const codeNoTable = "42P01"

// overloaded reports whether the database rolled back a statement that may succeed
// later: it was canceled, it ended a deadlock, or a resource is exhausted.
func overloaded(err error) bool {
	c := code(err)
	return c == codeCanceled || c == "40P01" || strings.HasPrefix(c, "53")
}

// isAppendConflict reports whether two appends wrote the same position of a history.
func isAppendConflict(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == "23505" && refused.ConstraintName == "run_events_pkey"
}

// isMissing reports whether a query found no row.
func isMissing(err error) bool { return errors.Is(err, sql.ErrNoRows) }

// badAddress returns the error of an address that cannot be parsed, without its
// password.
func badAddress(err error) error {
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

// errClosed is the error of a call after Close.
func errClosed() error { return errUnavailable("database", "the store is closed", nil) }

func errUnavailable(subject, message string, cause error) error {
	return &verification.Error{Kind: verification.ErrUnavailable, Subject: subject, Message: message, Cause: cause}
}

// notStorableMessage is the message of an error about a text that is not storable.
const notStorableMessage = "a text has a character that cannot be stored"

func notStorable(subject string) error { return verification.Invalid(subject, notStorableMessage) }

// storable reports whether the database returns texts unchanged: it accepts no NUL,
// and bun replaces invalid UTF-8.
func storable(texts ...string) bool {
	for _, text := range texts {
		if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
			return false
		}
	}
	return true
}
