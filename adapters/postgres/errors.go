// Errors of the database and the ports.

package postgres

import (
	"database/sql"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
)

// isAppendConflict reports whether two appends wrote the same position of a history.
func isAppendConflict(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == "23505" && refused.ConstraintName == "run_events_pkey"
}

// isMissing reports whether a query found no row.
func isMissing(err error) bool { return errors.Is(err, sql.ErrNoRows) }

// errClosed is the error of a call after Close.
func errClosed() error { return pgerror.Unavailable("database", "the store is closed", nil) }

func notStorable(subject string) error { return verification.Invalid(subject, pgerror.NotStorable) }

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
