// Tests of the statuses of errors.

package apitypes_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/verification"
)

func TestEachKindOfErrorHasOneStatus(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{verification.NotFound("run"), 404},
		{verification.ErrNotFound, 404},
		{&verification.Error{Kind: verification.ErrNotOpen, Message: "x"}, 404},
		{fmt.Errorf("load: %w", verification.InvalidField("run", "input", "is required")), 400},
		{verification.Conflict("run", "has ended"), 409},
		{verification.ErrInFlight, 409},
		{verification.ErrKeyReused, 422},
		{verification.ErrUnauthenticated, 401},
		{verification.Forbidden("run", ""), 403},
		{verification.Unavailable("run", ""), 503},
		{fmt.Errorf("load: %w", context.DeadlineExceeded), 503},
		{context.Canceled, 503},
		{errors.New("disk"), 500},
		{&verification.Error{Kind: verification.ErrInvalid, Cause: context.Canceled}, 400},
		{&verification.Error{Kind: verification.ErrUnavailable, Cause: verification.ErrNotFound}, 503},
	} {
		if got := apitypes.StatusOf(c.err); got != c.want {
			t.Errorf("StatusOf(%v) = %d, want %d", c.err, got, c.want)
		}
	}
}
