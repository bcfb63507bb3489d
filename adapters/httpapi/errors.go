// Errors: those with fixed texts, and the two shapes of their bodies.

package httpapi

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/verification"
)

// The errors with fixed texts. See docs/api.md, "Error bodies".
var (
	errMissingCredentials = short(http.StatusUnauthorized, "missing credentials: send client-id + x-api-key headers", "")
	errWrongCredentials   = short(http.StatusUnauthorized, "invalid service credentials", "")
	errDisabled           = short(http.StatusForbidden, "account_disabled", "")
	errSurface            = short(http.StatusForbidden, "service account not authorized for this surface", "")
	errTooMany            = short(http.StatusTooManyRequests, "too many requests: slow down", "rate_limited")

	errStatusFilter    = short(http.StatusBadRequest, "invalid status (supported: completed, cancelled, expired, failed, in_progress, abandoned)", "")
	errDecisionFilter  = short(http.StatusBadRequest, "invalid decision (supported: review, approve, reject)", "")
	errLimit           = short(http.StatusBadRequest, "invalid limit", "")
	errOffset          = short(http.StatusBadRequest, "invalid offset", "invalid_offset")
	errWorkflowFilter  = short(http.StatusBadRequest, "invalid workflow_id", "invalid_workflow_id")
	errReferenceFilter = short(http.StatusBadRequest, "invalid reference_id", "invalid_reference_id")
	errStartedAfter    = short(http.StatusBadRequest, "invalid started_after", "invalid_started_after")
	errStartedBefore   = short(http.StatusBadRequest, "invalid started_before", "invalid_started_before")
	errView            = short(http.StatusBadRequest, "invalid view", "invalid_view")
	errLanguage        = badFields([]verification.FieldError{{Name: "lang", Message: "must be given once, as a language tag"}})
	errNoStep          = short(http.StatusNotFound, "no open step for this run", "no_open_step")

	errNodeID   = short(http.StatusBadRequest, "payload.node_id is no longer accepted: a review decision applies to the whole run", "")
	errDecision = short(http.StatusBadRequest, `payload rejected: decision must be "approve" or "reject"`, "")

	errKeyReused = short(http.StatusUnprocessableEntity, "the idempotency key was used with another request", "idempotency_key_reused")
	errInFlight  = short(http.StatusConflict, "the first request with this idempotency key has not been answered yet", "idempotency_key_in_flight")

	errHasWebhook = full(http.StatusConflict, "A lifecycle webhook is already configured and cannot be changed.",
		[]apitypes.FieldError{{Field: "lifecycle_webhook_url", Message: "is already configured and cannot be changed"}})

	errForged = full(http.StatusForbidden, "The signature of the callback is not valid.", nil).as("invalid_signature")

	errNoRoute      = full(http.StatusNotFound, "There is no such route.", nil).as("no_route")
	errMethod       = full(http.StatusMethodNotAllowed, "The route does not take this method.", nil).as("method_not_allowed")
	errMediaType    = full(http.StatusUnsupportedMediaType, "The body must be JSON: send Content-Type: application/json.", nil).as("unsupported_media_type")
	errTooLarge     = full(http.StatusRequestEntityTooLarge, "The body must be at most 1 MiB.", nil).as("body_too_large")
	errNotForm      = full(http.StatusUnsupportedMediaType, "The body must be a form with one file: send Content-Type: multipart/form-data.", nil).as("unsupported_media_type")
	errFileSize     = full(http.StatusRequestEntityTooLarge, fmt.Sprintf("The file must be at most %d MiB.", verification.MaxDocumentBytes>>20), nil).as("file_too_large")
	errOneFile      = badRequest("the form must have one file, whose part has the name of the field, and nothing else")
	errCutOff       = badRequest("the body ended before it was complete")
	errFor          = badFields([]verification.FieldError{{Name: "for", Message: `must be "file", or left out`}})
	errAllowMissing = badFields([]verification.FieldError{{Name: "allow_missing", Message: "must be 1, or left out"}})
	errInternal     = full(http.StatusInternalServerError, "The service failed to answer; the error has been logged.", nil).as("internal_error")
)

// notOpen returns the error for a signal that the run does not wait for.
func notOpen(signal string) *refusal {
	return short(http.StatusNotFound, "no open signal "+cut(signal)+" for this run", "")
}

// missing returns the error for an id that the tenant does not have.
func missing(noun string) *refusal {
	f := full(http.StatusNotFound, "There is no such "+noun+".", nil)
	if noun == "run" { // a row of the contract
		return f
	}
	return f.as(strings.ReplaceAll(noun, " ", "_") + "_not_found")
}

// badRequest returns the error for a request that is not valid as a whole.
func badRequest(sentence string) *refusal {
	return full(http.StatusBadRequest, "The request is not valid.", sentence)
}

func badFields(problems []verification.FieldError) *refusal {
	return full(http.StatusBadRequest, "The request is not valid.", detailsOf(problems))
}

// refusal is an error as the client receives it.
type refusal struct {
	status int
	body   any // apitypes.ShortError or apitypes.FullError
	// surface is the one that the account is not authorized for; empty for any other error.
	surface verification.Surface
}

// as returns the error with a reason for programs. The rows of the contract have none.
func (f *refusal) as(reason string) *refusal {
	body, _ := f.body.(apitypes.FullError)
	body.Reason = reason
	return &refusal{status: f.status, body: body}
}

// short returns an error with a text of its own, and a code if programs need to
// tell it apart.
func short(status int, text, code string) *refusal {
	return &refusal{status: status, body: apitypes.ShortError{Error: text, Code: code}}
}

// full returns an error with a message, and details: a sentence, a
// []apitypes.FieldError, or nil.
func full(status int, message string, details any) *refusal {
	return &refusal{status: status, body: apitypes.FullError{Error: http.StatusText(status), Message: message, Code: status, Details: details}}
}

func (f *refusal) Error() string { return http.StatusText(f.status) }

// refuse answers with an error. An internal error is logged here, and the client
// does not see its text.
func (a *api) refuse(w *response, r *http.Request, rule rule, err error) {
	f := refusalOf(err, rule.noun)
	w.surface = f.surface
	switch {
	case r.Context().Err() != nil:
		a.logError(w, r, slog.LevelDebug, "client disconnected", err)
	case f.status == http.StatusInternalServerError:
		a.logError(w, r, slog.LevelError, "request failed", err)
	case f.status == http.StatusServiceUnavailable:
		a.logError(w, r, slog.LevelWarn, "service unavailable", err)
	}
	if err := a.writeRefusal(w, rule, f); err != nil {
		a.logError(w, r, slog.LevelError, "error body not encoded", err)
		w.WriteHeader(http.StatusInternalServerError)
	}
}

func (a *api) writeRefusal(w *response, rule rule, f *refusal) error {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	if f.surface != "" {
		h.Set("X-Required-Surface", string(f.surface))
	}
	switch f.status {
	case http.StatusUnauthorized:
		h.Add("WWW-Authenticate", `ApiKey realm="verifyd"`)
		if rule.bearer {
			h.Add("WWW-Authenticate", `Bearer realm="verifyd"`)
		}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	case http.StatusConflict:
		if _, inFlight := f.body.(apitypes.ShortError); inFlight {
			h.Set("Retry-After", "1")
		}
	}
	return a.write(w, f.status, f.body)
}

func (a *api) logError(w *response, r *http.Request, level slog.Level, message string, err error) {
	a.log.LogAttrs(r.Context(), level, message, append(logged(w, r), slog.Any("error", err))...)
}

// refusalOf returns what the client receives for a refusal and for any other error, see
// apitypes.StatusOf.
func refusalOf(err error, noun string) *refusal {
	if f, ok := errors.AsType[*refusal](err); ok {
		return f
	}
	e := &verification.Error{Kind: err}
	_ = errors.As(err, &e)
	is := func(kind error) bool { return errors.Is(e.Kind, kind) }
	status := apitypes.StatusOf(err)
	otherwise := ""
	switch {
	case is(verification.ErrNotFound):
		return missing(noun)
	case is(verification.ErrNotOpen):
		return notOpen(e.Message)
	case is(verification.ErrKeyReused):
		return errKeyReused
	case is(verification.ErrInFlight):
		return errInFlight
	case status == http.StatusBadRequest && len(e.Fields) > 0:
		return badFields(e.Fields)
	case status == http.StatusBadRequest:
		return badRequest(sentence(e.Message, "A rule of the request is broken."))
	case status == http.StatusUnauthorized:
		return errWrongCredentials
	case status == http.StatusConflict:
		otherwise = "The state of the " + noun + " forbids this."
	case status == http.StatusForbidden:
		otherwise = "This is not allowed."
	case status == http.StatusServiceUnavailable:
		otherwise = "The service cannot answer now; try again."
	default:
		return errInternal
	}
	f := full(status, sentence(e.Message, otherwise), detailsOf(e.Fields))
	if status == http.StatusServiceUnavailable { // a row of the contract
		return f
	}
	return f.as(cmp.Or(e.Reason, map[int]string{http.StatusConflict: "conflict", http.StatusForbidden: "forbidden"}[status]))
}

// sentence adds a capital letter and a period to a message of the rules. Without a
// message it returns otherwise.
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

// detailsOf returns nil if there are no problems, so that the member is left out.
func detailsOf(problems []verification.FieldError) any {
	if len(problems) == 0 {
		return nil
	}
	details := make([]apitypes.FieldError, min(len(problems), maxDetails))
	for i := range details {
		details[i] = apitypes.FieldError{Field: cut(problems[i].Name), Message: problems[i].Message}
	}
	return details
}

// A response reports at most maxDetails problems, and repeats at most maxName
// characters of a name that the client sent.
const (
	maxDetails = 100
	maxName    = 200
)

// cut shortens a name to maxName characters.
func cut(name string) string {
	n := 0
	for i := range name {
		if n++; n > maxName {
			return name[:i] + "..."
		}
	}
	return name
}
