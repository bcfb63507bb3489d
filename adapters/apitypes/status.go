// The HTTP statuses of errors.

package apitypes

import (
	"context"
	"errors"
	"net/http"

	"github.com/verifyd/verifyd/verification"
)

// StatusOf returns the HTTP status of an error, for the API and the pages: by the kind of
// a *verification.Error, by a kind that a port returns as it is, and 503 for a call that was
// cancelled or timed out. Any other error is internal: 500.
func StatusOf(err error) int {
	kind := kindOf(err)
	for _, row := range []struct {
		status int
		kinds  []error
	}{
		{http.StatusNotFound, []error{verification.ErrNotFound, verification.ErrNotOpen}},
		{http.StatusBadRequest, []error{verification.ErrInvalid}},
		{http.StatusConflict, []error{verification.ErrConflict, verification.ErrInFlight}},
		{http.StatusUnprocessableEntity, []error{verification.ErrKeyReused}},
		{http.StatusUnauthorized, []error{verification.ErrUnauthenticated}},
		{http.StatusForbidden, []error{verification.ErrForbidden}},
		{http.StatusServiceUnavailable, []error{verification.ErrUnavailable, context.Canceled, context.DeadlineExceeded}},
	} {
		for _, k := range row.kinds {
			if errors.Is(kind, k) {
				return row.status
			}
		}
	}
	return http.StatusInternalServerError
}

// kindOf returns the kind of a *verification.Error, whatever its cause is, and any other error
// as it is.
func kindOf(err error) error {
	if e, ok := errors.AsType[*verification.Error](err); ok {
		return e.Kind
	}
	return err
}
