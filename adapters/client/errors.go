// Answers other than success, as errors.

package client

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/verification"
)

// The codes of short errors that the client distinguishes.
const (
	codeInFlight  = "idempotency_key_in_flight"
	codeKeyReused = "idempotency_key_reused"
)

// Error is an answer of the host other than success. Its text has nothing of the request, and is safe
// to log.
//
// With errors.Is it matches a kind of package verification: ErrInvalid (400, 413, 415, and 422 for a
// document), ErrUnauthenticated (401), ErrForbidden (403), ErrNotFound (404), ErrNotOpen (404 for a
// signal that is not open), ErrConflict (409), ErrInFlight (409) and ErrKeyReused (422) for an
// idempotency key, and ErrUnavailable (429, 502, 503, 504).
type Error struct {
	Operation string // of adapters/httpapi/openapi.yaml, such as startRun
	Status    int    // HTTP status
	// Code tells errors of the same status apart, such as rate_limited or run_over: the member code of a short body, and reason of any
	// other. The errors of the contract have none.
	Code string
	// Text says what is wrong. It is the member message of the body, or error if there is no message,
	// or the reason phrase of the status if the body is not an error of the API.
	Text string
	// Fields says which fields of the request are wrong.
	Fields []apitypes.FieldError
	// Detail is what is wrong with a request whose fields cannot be told.
	Detail string
	// RequestID is the id under which the host logged the request; empty if no host answered.
	RequestID string
	// RetryAfter is the wait that the host asked for, 0 if it asked for none.
	RetryAfter time.Duration

	short bool // the body had no message
}

// Error returns the operation, the status, and what is wrong.
func (e *Error) Error() string {
	var text strings.Builder
	text.WriteString("client: " + e.Operation + ": " + strconv.Itoa(e.Status) + " " + e.Text)
	for _, f := range e.Fields {
		text.WriteString("; " + f.Field + " " + f.Message)
	}
	if e.Detail != "" {
		text.WriteString("; " + e.Detail)
	}
	if e.RequestID != "" {
		text.WriteString(" (request " + e.RequestID + ")")
	}
	return text.String()
}

// Is reports whether target is the kind of this error, for errors.Is.
func (e *Error) Is(target error) bool { return target != nil && target == e.kind() }

func (e *Error) kind() error {
	switch {
	case e.Code == codeKeyReused:
		return verification.ErrKeyReused
	case e.Code == codeInFlight:
		return verification.ErrInFlight
	case e.Status == http.StatusNotFound && e.short && (e.Operation == "deliverSignal" || e.Operation == "readStep"):
		return verification.ErrNotOpen
	}
	switch e.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return verification.ErrInvalid
	case http.StatusUnauthorized:
		return verification.ErrUnauthenticated
	case http.StatusForbidden:
		return verification.ErrForbidden
	case http.StatusNotFound:
		return verification.ErrNotFound
	case http.StatusConflict:
		return verification.ErrConflict
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return verification.ErrUnavailable
	}
	return nil
}

// newError reads both shapes of errors, and takes other bodies for the answer of a proxy.
func newError(operation string, got answer) *Error {
	e := &Error{
		Operation: operation, Status: got.status, Text: http.StatusText(got.status),
		RequestID: got.header.Get("X-Request-Id"), RetryAfter: retryAfter(got.header),
	}
	var short apitypes.ShortError
	var full apitypes.FullError
	switch {
	case json.Unmarshal(got.body, &full) == nil && full.Message != "":
		e.Text, e.Code = full.Message, full.Reason
		switch details := full.Details.(type) {
		case []apitypes.FieldError:
			e.Fields = details
		case string:
			e.Detail = details
		}
	case json.Unmarshal(got.body, &short) == nil && short.Error != "":
		e.Text, e.Code, e.short = short.Error, short.Code, true
	}
	return e
}

// retryAfter returns how long the host asked to wait, at most a day. It counts a date from the Date of
// the response, so that the clocks need not agree.
func retryAfter(h http.Header) time.Duration {
	const most = 24 * time.Hour
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, most)
	}
	at, err := http.ParseTime(value)
	sent, dateErr := http.ParseTime(h.Get("Date"))
	if err != nil || dateErr != nil {
		return 0
	}
	return max(0, min(at.Sub(sent), most))
}
