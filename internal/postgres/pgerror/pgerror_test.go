// Tests of the errors after which a client should retry.

package pgerror_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
)

func TestTemporaryErrorsAreUnavailable(t *testing.T) {
	for code, want := range map[string]bool{
		"08006": true,  // connection failure
		"25006": true,  // read-only transaction, on a standby
		"40P01": true,  // deadlock detected
		"53000": true,  // insufficient resources
		"53100": true,  // disk full
		"53200": true,  // out of memory
		"53300": true,  // too many connections
		"53400": true,  // configuration limit exceeded
		"55P03": true,  // lock not available
		"57014": true,  // query canceled
		"57P01": true,  // admin shutdown
		"23505": false, // unique violation
		"42601": false, // syntax error
		"XX000": false, // internal error
	} {
		err := pgerror.Translate("try", fmt.Errorf("append: %w", &pgconn.PgError{Code: code}))
		if got := errors.Is(err, verification.ErrUnavailable); got != want {
			t.Errorf("SQLSTATE %s is unavailable: %t, want %t: %v", code, got, want, err)
		}
	}
	if err := pgerror.Translate("try", fmt.Errorf("append: %w", pgconn.ErrConnClosed)); !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("a closed connection is %v, want ErrUnavailable", err)
	}
	if err := pgerror.Translate("try", errors.New("the conn closed the deal")); errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("an error is unavailable by its text: %v", err)
	}
}
