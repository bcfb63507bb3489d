package verification_test

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

func TestErrorIsOneLine(t *testing.T) {
	fields := []verification.FieldError{{Name: "a", Message: "is required"}, {Name: "b", Message: "must be a number"}}
	for _, c := range []struct {
		err  verification.Error
		want string
	}{
		{verification.Error{}, ""},
		{verification.Error{Kind: verification.ErrNotFound}, "not found"},
		{verification.Error{Kind: verification.ErrNotFound, Subject: "run"}, "run: not found"},
		{verification.Error{Kind: verification.ErrConflict, Subject: "run", Message: "it moved on"}, "run: it moved on"},
		{verification.Error{Kind: verification.ErrInvalid, Subject: "run", Fields: fields}, "run: invalid: a: is required; b: must be a number"},
		{verification.Error{Kind: verification.ErrUnavailable, Cause: io.EOF}, "unavailable"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("Error = %q, want %q", got, c.want)
		}
	}
}

func TestErrorIsOfItsKindAndOfItsCause(t *testing.T) {
	err := error(&verification.Error{Kind: verification.ErrUnavailable, Cause: io.EOF})
	if !errors.Is(err, verification.ErrUnavailable) || !errors.Is(err, io.EOF) || errors.Is(err, verification.ErrConflict) {
		t.Errorf("%v is not both ErrUnavailable and io.EOF, or is ErrConflict", err)
	}
	if err := error(&verification.Error{Kind: verification.ErrConflict}); !errors.Is(err, verification.ErrConflict) || errors.Is(err, io.EOF) {
		t.Errorf("%v is not ErrConflict, or is io.EOF", err)
	}
}

func TestPermanentMarksAnError(t *testing.T) {
	err := verification.Permanent(io.EOF)
	var mark interface{ Permanent() bool }
	if !errors.As(err, &mark) || !mark.Permanent() || !errors.Is(err, io.EOF) || err.Error() != "EOF" {
		t.Errorf("Permanent = %v, want the same error, marked", err)
	}
	if err := verification.Permanent(nil); err != nil {
		t.Errorf("Permanent(nil) = %v, want nil", err)
	}
}

func TestNoticesHaveNineMoreAttempts(t *testing.T) {
	second, minute, hour := time.Second, time.Minute, time.Hour
	plan := []time.Duration{5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour}
	for attempt, want := range plan {
		if got, more := rules.NoticeRetry(attempt); got != want || !more {
			t.Errorf("NoticeRetry(%d) = %v, %v, want %v", attempt, got, more, want)
		}
	}
	for _, attempt := range []int{-1, 9, 100} {
		if got, more := rules.NoticeRetry(attempt); got != 0 || more {
			t.Errorf("NoticeRetry(%d) = %v, %v, want no more", attempt, got, more)
		}
	}
}

func TestRetryErrorCarriesItsCause(t *testing.T) {
	err := error(&verification.RetryError{At: flows.Noon(), Cause: io.EOF})
	if !errors.Is(err, io.EOF) || err.Error() != "retry: EOF" {
		t.Errorf("RetryError = %v", err)
	}
	if got := (&verification.RetryError{}).Error(); got != "retry: <nil>" {
		t.Errorf("RetryError without a cause = %q", got)
	}
}
