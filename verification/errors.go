// The kinds of expected failure, and the error that carries them.

package verification

import (
	"errors"
	"strings"
)

// The kinds of expected failure. Test for one with errors.Is.
var (
	// ErrNotFound is returned when the tenant has no such object. An object of
	// another tenant is not found either.
	ErrNotFound = errors.New("not found")
	// ErrInvalid is returned when an input breaks a rule; Error.Fields names the
	// inputs.
	ErrInvalid = errors.New("invalid")
	// ErrConflict is returned when the state of the object forbids the request,
	// or when its history has changed since it was read.
	ErrConflict = errors.New("conflict")
	// ErrNotOpen is returned when no signal of that name is open on the run.
	ErrNotOpen = errors.New("signal not open")
	// ErrUnauthenticated is returned when the credentials are missing or wrong.
	ErrUnauthenticated = errors.New("unauthenticated")
	// ErrForbidden is returned when the credentials are right but do not allow
	// the request.
	ErrForbidden = errors.New("forbidden")
	// ErrKeyReused is returned when an idempotency key is sent again with
	// another request.
	ErrKeyReused = errors.New("idempotency key reused")
	// ErrInFlight is returned while the request that first used an idempotency
	// key has no result yet.
	ErrInFlight = errors.New("request in flight")
	// ErrUnavailable is returned when something that the engine depends on does
	// not respond; a later attempt may succeed.
	ErrUnavailable = errors.New("unavailable")
)

// Error is an expected failure; its text is safe to show to a client. Any other
// error is an internal error and goes only to the log.
type Error struct {
	Kind    error        // ErrNotFound, ErrInvalid or another kind of this package
	Subject string       // the noun it concerns: "run", "workflow", "decision"
	Message string       // one plain sentence without a final full stop; may be empty
	Fields  []FieldError // the inputs that break a rule; may be empty
	Reason  string       // a word for programs, such as run_over; may be empty
	Cause   error        // for the log, never for a client; may be nil
}

// FieldError says what is wrong with one input.
type FieldError struct {
	// Name is the path to the input, such as "payload.notes" or
	// "nodes.pan.rules[0].when".
	Name string `json:"field"`
	// Message is a plain sentence without a final full stop.
	Message string `json:"message"`
	// Character is the position of the problem in a text of a definition, counted in
	// characters from 1; 0 if the problem concerns the whole input.
	Character int `json:"-"`
}

// TextError is a problem of an expression or a schema in a definition.
type TextError struct {
	// Path leads from an object to its string with the expression, or from a schema to its
	// part with the problem, such as a.b[0]; empty for an expression alone or a whole schema.
	Path string
	// Character is the position of the problem in that string; see FieldError.
	Character int
	// Message is a plain sentence without a final full stop.
	Message string
}

// Error returns path and message on one line.
func (e *TextError) Error() string {
	if e.Path == "" {
		return e.Message
	}
	return e.Path + ": " + e.Message
}

// At returns the problem of a text, an object or a schema that is at a path of a definition.
func (e *TextError) At(path string) FieldError {
	if e.Path != "" && e.Path[0] != '[' {
		path += "."
	}
	return FieldError{Name: path + e.Path, Message: e.Message, Character: e.Character}
}

// NotFound returns an ErrNotFound about the subject.
func NotFound(subject string) *Error { return &Error{Kind: ErrNotFound, Subject: subject} }

// Conflict returns an ErrConflict about the subject.
func Conflict(subject, message string) *Error {
	return &Error{Kind: ErrConflict, Subject: subject, Message: message}
}

// ConflictFor returns an ErrConflict about the subject, with a reason for programs.
func ConflictFor(reason, subject, message string) *Error {
	return &Error{Kind: ErrConflict, Subject: subject, Message: message, Reason: reason}
}

// Forbidden returns an ErrForbidden about the subject.
func Forbidden(subject, message string) *Error {
	return &Error{Kind: ErrForbidden, Subject: subject, Message: message}
}

// Unavailable returns an ErrUnavailable about the subject.
func Unavailable(subject, message string) *Error {
	return &Error{Kind: ErrUnavailable, Subject: subject, Message: message}
}

// Invalid returns an ErrInvalid about the subject as a whole.
func Invalid(subject, message string) *Error {
	return &Error{Kind: ErrInvalid, Subject: subject, Message: message}
}

// InvalidField returns an ErrInvalid about one field of the subject.
func InvalidField(subject, field, message string) *Error {
	return &Error{Kind: ErrInvalid, Subject: subject, Fields: []FieldError{{Name: field, Message: message}}}
}

// Error returns subject, message and fields on one line.
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

// Unwrap returns the kind and, if there is one, the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}
