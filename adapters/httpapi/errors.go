// What the API says when it refuses: its exact words, and the two shapes they come in.

package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/verifyd/verifyd/verification"
)

// The refusals with words of their own. See docs/api.md, "Error bodies".
var (
	errMissingCredentials = error(&refusal{status: http.StatusUnauthorized, text: "missing credentials: send client-id + x-api-key headers"})
	errWrongCredentials   = error(&refusal{status: http.StatusUnauthorized, text: "invalid service credentials"})
	errDisabled           = error(&refusal{status: http.StatusForbidden, text: "account_disabled"})
	errSurface            = error(&refusal{status: http.StatusForbidden, text: "service account not authorized for this surface"})
	errTooMany            = error(&refusal{status: http.StatusTooManyRequests, text: "too many requests: slow down", code: "rate_limited"})

	errStatusFilter   = error(&refusal{status: http.StatusBadRequest, text: "invalid status (supported: completed, cancelled, expired, failed, in_progress, abandoned)"})
	errDecisionFilter = error(&refusal{status: http.StatusBadRequest, text: "invalid decision (supported: review, approve, reject)"})
	errLimit          = error(&refusal{status: http.StatusBadRequest, text: "invalid limit"})
	errOffset         = error(&refusal{status: http.StatusBadRequest, text: "invalid offset"})
	errWorkflowFilter = error(&refusal{status: http.StatusBadRequest, text: "invalid workflow_id"})
	errView           = error(&refusal{status: http.StatusBadRequest, text: "invalid view"})

	errNodeID   = error(&refusal{status: http.StatusBadRequest, text: "payload.node_id is no longer accepted: a review decision applies to the whole run"})
	errDecision = error(&refusal{status: http.StatusBadRequest, text: `payload rejected: decision must be "approve" or "reject"`})

	errKeyReused = error(&refusal{status: http.StatusUnprocessableEntity, text: "the idempotency key was used with another request", code: "idempotency_key_reused"})
	errInFlight  = error(&refusal{status: http.StatusConflict, text: "the first request with this idempotency key has not been answered yet", code: "idempotency_key_in_flight"})

	errNoRoute   = error(&refusal{status: http.StatusNotFound, message: "There is no such route."})
	errMethod    = error(&refusal{status: http.StatusMethodNotAllowed, message: "The route does not take this method."})
	errMediaType = error(&refusal{status: http.StatusUnsupportedMediaType, message: "The body must be JSON: send Content-Type: application/json."})
	errTooLarge  = error(&refusal{status: http.StatusRequestEntityTooLarge, message: "The body must be at most 1 MiB."})
	errFault     = error(&refusal{status: http.StatusInternalServerError, message: "The service failed to answer; the fault has been logged."})
)

// notOpen refuses a signal that nothing waits for.
func notOpen(signal string) error {
	return &refusal{status: http.StatusNotFound, text: "no open signal " + short(signal) + " for this run"}
}

// missing refuses an id that names nothing, or nothing of this tenant.
func missing(noun string) error {
	return &refusal{status: http.StatusNotFound, message: "There is no such " + noun + "."}
}

// badRequest refuses a request that is at fault as a whole.
func badRequest(sentence string) error {
	return &refusal{status: http.StatusBadRequest, message: "The request is not valid.", details: sentence}
}

// badFields refuses a request whose fields are at fault.
func badFields(faults []verification.FieldError) error {
	return &refusal{status: http.StatusBadRequest, message: "The request is not valid.", details: detailsOf(faults)}
}

// unavailable refuses for now.
func unavailable(sentence string) error {
	return &refusal{status: http.StatusServiceUnavailable, message: sentence}
}

// refusal is an answer other than the one that was asked for. With a text it
// is written in the short shape, else in the fuller one.
type refusal struct {
	status  int
	text    string // the short shape's error
	code    string // the short shape's discriminator, when a program would branch on it
	message string // the fuller shape's sentence
	details any    // the fuller shape's: []detailJSON, a sentence, or nil
}

// Error is the text that the client reads.
func (f *refusal) Error() string {
	if f.text != "" {
		return f.text
	}
	return http.StatusText(f.status)
}

func (f *refusal) shape() any {
	if f.text != "" {
		return shortErrorJSON{Error: f.text, Code: f.code}
	}
	return fullErrorJSON{Error: http.StatusText(f.status), Message: f.message, Code: f.status, Details: f.details}
}

// refuse answers with what err amounts to. A fault is logged here, and
// nowhere else, and its text is told to nobody.
func (a *api) refuse(w *response, r *http.Request, rule rule, err error) {
	f := refusalOf(err, rule.noun)
	switch {
	case r.Context().Err() != nil:
		a.logFault(w, r, slog.LevelDebug, "client went away", err)
	case f.status == http.StatusInternalServerError:
		a.logFault(w, r, slog.LevelError, "request failed", err)
	case f.status == http.StatusServiceUnavailable:
		a.logFault(w, r, slog.LevelWarn, "service unavailable", err)
	}
	if err := a.writeRefusal(w, rule, f); err != nil {
		a.logFault(w, r, slog.LevelError, "error body not encoded", err)
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// writeRefusal answers with a refusal and the headers that belong to it.
func (a *api) writeRefusal(w *response, rule rule, f *refusal) error {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	switch f.status {
	case http.StatusUnauthorized:
		h.Add("WWW-Authenticate", `ApiKey realm="verifyd"`)
		if rule.bearer {
			h.Add("WWW-Authenticate", `Bearer realm="verifyd"`)
		}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	case http.StatusConflict:
		if f.code != "" {
			h.Set("Retry-After", "1")
		}
	}
	return a.write(w, f.status, f.shape())
}

func (a *api) logFault(w *response, r *http.Request, level slog.Level, message string, err error) {
	a.log.LogAttrs(r.Context(), level, message, append(logged(w, r), slog.Any("error", err))...)
}

// refusalOf translates: an expected failure by its kind, anything else into a
// fault.
func refusalOf(err error, noun string) *refusal {
	var f *refusal
	if errors.As(err, &f) {
		return f
	}
	translated := errFault
	var e *verification.Error
	if errors.As(err, &e) {
		translated = translate(e.Kind, e, noun)
	} else {
		for _, kind := range kinds() {
			if errors.Is(err, kind) {
				translated = translate(kind, &verification.Error{Kind: kind}, noun)
				break
			}
		}
	}
	if !errors.As(translated, &f) {
		f = &refusal{status: http.StatusInternalServerError}
	}
	return f
}

// kinds are those that a port may return bare. A call that was cut off is as
// good as a service that does not answer.
func kinds() []error {
	return []error{
		verification.ErrNotFound, verification.ErrInvalid, verification.ErrConflict, verification.ErrUnauthenticated,
		verification.ErrForbidden, verification.ErrUnavailable, context.Canceled, context.DeadlineExceeded,
	}
}

func translate(kind error, e *verification.Error, noun string) error {
	is := func(k error) bool { return errors.Is(kind, k) }
	switch {
	case is(verification.ErrNotFound):
		return missing(noun)
	case is(verification.ErrInvalid) && len(e.Fields) > 0:
		return badFields(e.Fields)
	case is(verification.ErrInvalid):
		return badRequest(sentence(e.Message, "A rule of the request is broken."))
	case is(verification.ErrConflict):
		return &refusal{
			status: http.StatusConflict, message: sentence(e.Message, "The state of the "+noun+" forbids this."),
			details: detailsOf(e.Fields),
		}
	case is(verification.ErrNotOpen):
		return notOpen(e.Message)
	case is(verification.ErrKeyReused):
		return errKeyReused
	case is(verification.ErrInFlight):
		return errInFlight
	case is(verification.ErrUnauthenticated):
		return errWrongCredentials
	case is(verification.ErrForbidden):
		return &refusal{status: http.StatusForbidden, message: sentence(e.Message, "This is not allowed.")}
	case is(verification.ErrUnavailable), is(context.Canceled), is(context.DeadlineExceeded):
		return unavailable(sentence(e.Message, "The service cannot answer now; try again."))
	}
	return errFault
}

// sentence makes a message of the rules one that begins with a capital letter
// and ends with a period.
func sentence(message, otherwise string) string {
	if message == "" {
		return otherwise
	}
	first, n := utf8.DecodeRuneInString(message)
	message = string(unicode.ToUpper(first)) + message[n:]
	if !strings.HasSuffix(message, ".") {
		message += "."
	}
	return message
}

// detailsOf is nil for no faults, so that the member is left out.
func detailsOf(faults []verification.FieldError) any {
	if len(faults) == 0 {
		return nil
	}
	details := make([]detailJSON, min(len(faults), maxDetails))
	for i := range details {
		details[i] = detailJSON{Field: short(faults[i].Name), Message: faults[i].Message}
	}
	return details
}

// maxDetails bounds the faults that one answer tells, and maxName the
// characters of a name that it repeats: a client may send what it likes.
const (
	maxDetails = 100
	maxName    = 200
)

func short(name string) string {
	n := 0
	for at := range name {
		if n++; n > maxName {
			return name[:at] + "..."
		}
	}
	return name
}
