// Package journey serves the hosted journey: the page that a customer's link
// leads to.
//
// It tells what has become of the link: whether it was ever given out, and
// whether its run still waits for the customer there.
package journey

import (
	"bytes"
	"embed"
	"errors"
	"html/template"
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

//go:embed page/notice.html
var pages embed.FS

// notice is what the page says.
type notice struct {
	Tenant string
	Title  string
	Text   string
}

// Handler serves GET {prefix}/{token} for the links that the engine gives out.
func Handler(e *engine.Engine, log *slog.Logger) (http.Handler, error) {
	page, err := template.ParseFS(pages, "page/notice.html")
	if err != nil {
		return nil, err
	}
	r := chi.NewRouter()
	r.Get("/{token}", func(w http.ResponseWriter, r *http.Request) {
		status, n := visit(e, log, r)
		var b bytes.Buffer
		if err := page.Execute(&b, n); err != nil {
			log.Error("page not written", "error", err)
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		guard(w.Header())
		w.WriteHeader(status)
		_, _ = w.Write(b.Bytes()) // the customer may have gone away
	})
	return r, nil
}

// guard keeps the token out of caches, referrers and frames.
func guard(h http.Header) {
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Robots-Tag", "noindex")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
}

// visit opens the link and finds the words for what it leads to.
func visit(e *engine.Engine, log *slog.Logger, r *http.Request) (status int, n notice) {
	j, err := e.OpenJourney(r.Context(), chi.URLParam(r, "token"))
	switch {
	case errors.Is(err, verification.ErrNotFound):
		return http.StatusNotFound, notice{Title: "This link does not work", Text: "Please check that it is complete, or ask for a new one."}
	case errors.Is(err, verification.ErrUnavailable):
		return http.StatusServiceUnavailable, notice{Title: "We will be right back", Text: "Please try again in a minute."}
	case err != nil:
		log.Error("journey not opened", "error", err)
		return http.StatusInternalServerError, notice{Title: "Something went wrong", Text: "Please try again in a minute."}
	}
	n = notice{Tenant: j.Tenant.Name}
	status = http.StatusGone
	switch j.Run.Status {
	case verification.StatusExpired:
		n.Title, n.Text = "This link has expired", "Please ask for a new one."
	case verification.StatusCancelled:
		n.Title, n.Text = "This verification was cancelled", "There is nothing more to do here."
	case verification.StatusCompleted, verification.StatusFailed:
		n.Title, n.Text = "This verification is finished", "Thank you. There is nothing more to do here."
	case verification.StatusInProgress, verification.StatusAbandoned:
		status = http.StatusOK
		if j.Step != nil {
			n.Title, n.Text = "Your verification is waiting for you", "The steps are not yet served on this page. Please use the app that sent you here."
		} else {
			n.Title, n.Text = "We are checking your answers", "There is nothing to do for you right now."
		}
	}
	return status, n
}
