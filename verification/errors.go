// What can go wrong, said once.

package verification

import (
	"errors"
	"strings"
)

// The kinds of expected failure. Test for one with errors.Is.
var (
	// ErrNotFound: there is no such thing in this tenant. A thing of another
	// tenant is not found either.
	ErrNotFound = errors.New("not found")
	// ErrInvalid: an input breaks a rule; Error.Fields names which.
	ErrInvalid = errors.New("invalid")
	// ErrConflict: the thing is in a state that forbids this, or its history
	// moved on since it was read.
	ErrConflict = errors.New("conflict")
	// ErrNotOpen: no signal of that name is open on the run.
	ErrNotOpen = errors.New("signal not open")
	// ErrUnauthenticated: the credentials are missing or wrong.
	ErrUnauthenticated = errors.New("unauthenticated")
	// ErrForbidden: the credentials are right but do not allow this.
	ErrForbidden = errors.New("forbidden")
	// ErrKeyReused: an idempotency key came again with another request.
	ErrKeyReused = errors.New("idempotency key reused")
	// ErrInFlight: the request that first used an idempotency key has not
	// been answered yet.
	ErrInFlight = errors.New("request in flight")
	// ErrUnavailable: something the engine depends on does not answer now;
	// trying again later may help.
	ErrUnavailable = errors.New("unavailable")
)

// Error is an expected failure: its text is safe to tell a client. Any other
// error is a fault, and is told to nobody but the log.
type Error struct {
	Kind    error        // one of the kinds above
	Subject string       // what it is about: "run", "workflow", "decision"
	Message string       // one plain sentence without a final stop; may be empty
	Fields  []FieldError // which inputs are at fault; may be empty
	Cause   error        // for the log, never for a client; may be nil
}

// FieldError says what is wrong with one input.
type FieldError struct {
	// Name is the path to the input, such as "payload.notes" or
	// "nodes.pan.rules[0].when".
	Name string `json:"field"`
	// Message is a plain sentence without a final stop.
	Message string `json:"message"`
}

// Error joins subject, message and fields into one line.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Subject != "" {
		b.WriteString(e.Subject)
		b.WriteString(": ")
	}
	switch {
	case e.Message != "":
		b.WriteString(e.Message)
	case e.Kind != nil:
		b.WriteString(e.Kind.Error())
	}
	for i, f := range e.Fields {
		if i > 0 {
			b.WriteString("; ")
		} else {
			b.WriteString(": ")
		}
		b.WriteString(f.Name + ": " + f.Message)
	}
	return b.String()
}

// Unwrap lets errors.Is find both the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}

// invalid makes an ErrInvalid about one field.
func invalid(subject, field, message string) *Error {
	return &Error{Kind: ErrInvalid, Subject: subject, Fields: []FieldError{{Name: field, Message: message}}}
}
