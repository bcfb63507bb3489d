// Errors of the database, as errors of the ports.

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

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/verifyd/verifyd/verification"
)

// errTimeout is the cause of a call that has timed out.
var errTimeout = errors.New("the database did not answer in time")

// translate returns err as an error of the ports. An expected failure stays as
// it is.
func translate(doing string, err error) error {
	var expected *verification.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &expected):
		return err
	case unavailable(err), overloaded(err):
		return &verification.Error{
			Kind: verification.ErrUnavailable, Subject: "database", Message: "the database does not answer",
			Cause: fmt.Errorf("%s: %w", doing, err),
		}
	case code(err) == "55P03":
		return &verification.Error{
			Kind: verification.ErrUnavailable, Subject: "run", Message: "a transaction that is still open holds the run",
			Cause: fmt.Errorf("%s: %w", doing, err),
		}
	case code(err) == "22021" || code(err) == "22P05":
		return &verification.Error{
			Kind: verification.ErrInvalid, Message: "a text holds a character that cannot be kept",
			Cause: fmt.Errorf("%s: %w", doing, err),
		}
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// code returns the SQLSTATE of an error; empty when the error is not one of the
// database.
func code(err error) string {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return refused.Code
	}
	return ""
}

// unavailable reports whether the connection to the database failed, or the
// database refused it. A statement may or may not have been carried out.
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

// overloaded reports whether the database rolled a statement back that may
// succeed later: it was canceled, it was chosen to end a deadlock, or the
// database has run out of disk, memory or what an administrator allows.
func overloaded(err error) bool {
	c := code(err)
	return c == codeCanceled || c == "40P01" || strings.HasPrefix(c, "53")
}

// met reports whether two appends wrote the same position of a history.
func met(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == "23505" && refused.ConstraintName == "run_events_pkey"
}

// missing reports whether there was no such row.
func missing(err error) bool { return errors.Is(err, sql.ErrNoRows) }

func notFound(subject string) error {
	return &verification.Error{Kind: verification.ErrNotFound, Subject: subject}
}

func conflict(subject, message string) error {
	return &verification.Error{Kind: verification.ErrConflict, Subject: subject, Message: message}
}

// badAddress returns the error of an address that cannot be parsed, without its
// password.
func badAddress(err error) error {
	var parsing *url.Error
	if errors.As(err, &parsing) {
		err = parsing.Err
	}
	var config *pgconn.ParseConfigError
	if errors.As(err, &config) {
		err = errors.New(config.Error())
	}
	return &verification.Error{
		Kind: verification.ErrInvalid, Subject: "database",
		Message: "the address must be like postgres://user:password@host:5432/name", Cause: err,
	}
}

// hasPoolSize reports whether the address bounds the pool.
func hasPoolSize(address string) bool { return strings.Contains(address, "pool_max_conns") }
