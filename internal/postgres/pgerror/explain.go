// Connection errors, for operators.

package pgerror

import (
	"cmp"
	"errors"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/verifyd/verifyd/verification"
)

// Explain returns err as one line for an operator, with the cause of an outage. If
// the driver tried with and without TLS, equal errors are named once, and the server's
// own reply is preferred to "server refused TLS connection". The cause of an address
// that cannot be parsed is left out, because it may contain the password.
func Explain(err error) error {
	text := err.Error()
	if expected, ok := errors.AsType[*verification.Error](err); ok && errors.Is(expected.Kind, verification.ErrUnavailable) && expected.Cause != nil {
		text += ": " + expected.Cause.Error()
	}
	if connecting, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		text = "cannot connect as role " + connecting.Config.User + " to database " +
			cmp.Or(connecting.Config.Database, connecting.Config.User) + ": " + // the server's default
			strings.Join(refusals(connecting), "; ")
	}
	return errors.New(strings.Join(strings.Fields(text), " "))
}

// Answered reports whether err is an error with which the database answered a statement,
// so that the connection to it works.
func Answered(err error) bool {
	var connecting *pgconn.ConnectError
	var expected *verification.Error
	if errors.As(err, &expected) && !errors.Is(expected.Kind, verification.ErrUnavailable) {
		return false
	}
	return !errors.As(err, &connecting) && !IsUnavailable(err) && Code(err) != ""
}

// refusals returns the distinct errors of the attempts of a connection.
func refusals(err error) []string {
	var server, network, rest []string
	for _, attempt := range attempts(err) {
		var refused *pgconn.PgError
		var dialing *net.OpError
		switch {
		case errors.As(attempt, &refused):
			server = append(server, refused.Message+" (SQLSTATE "+refused.Code+")")
		case errors.As(attempt, &dialing):
			network = append(network, dialing.Error())
		default:
			rest = append(rest, attempt.Error())
		}
	}
	if len(server)+len(network) > 0 {
		rest = nil // such as "server refused TLS connection"
	}
	all := slices.Concat(server, network, rest)
	slices.Sort(all)
	return slices.Compact(all)
}

// attempts returns the errors that were joined to err.
func attempts(err error) []error {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		if said, ok := inner.(*verification.Error); ok { //nolint:errorlint // it would also find one that is joined
			return []error{said}
		}
		if joined, ok := inner.(interface{ Unwrap() []error }); ok {
			var all []error
			for _, e := range joined.Unwrap() {
				all = append(all, attempts(e)...)
			}
			return all
		}
	}
	return []error{err}
}
