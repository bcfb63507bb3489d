// Pages: how they are written, and the errors of requests that reach no use case.

package web

import (
	"bytes"
	"errors"
	"html/template"
	"log/slog"
	"net/http"

	"github.com/verifyd/verifyd/adapters/apitypes"
)

// The errors of requests for a page that reach no use case.
var (
	ErrMethod    = errors.New("method not allowed")
	ErrCrossSite = errors.New("the request comes from another site")
	ErrTooLarge  = errors.New("the form is too large")
)

// StatusOf returns the HTTP status of an error of a page: one of this package, or else that
// of apitypes.StatusOf.
func StatusOf(err error) int {
	switch {
	case errors.Is(err, ErrMethod):
		return http.StatusMethodNotAllowed
	case errors.Is(err, ErrCrossSite):
		return http.StatusForbidden
	case errors.Is(err, ErrTooLarge):
		return http.StatusRequestEntityTooLarge
	}
	return apitypes.StatusOf(err)
}

// Log returns the logger of a request: with the request id that the response has, if any.
func Log(w http.ResponseWriter, log *slog.Logger) *slog.Logger {
	if id := w.Header().Get("X-Request-Id"); id != "" {
		return log.With("request_id", id)
	}
	return log
}

// Write renders a page in the language of c and sends it. If the page cannot be rendered, it
// sends nothing and returns the error. vary names the request headers that the page
// depends on.
func Write(w http.ResponseWriter, status int, c Catalog, vary string, t *template.Template, name string, data any) error {
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, name, data); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", c.Lang())
	h.Add("Vary", vary)
	w.WriteHeader(status)
	_, _ = b.WriteTo(w) // the reader may have gone away
	return nil
}
