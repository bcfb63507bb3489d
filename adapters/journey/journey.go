// Package journey serves the hosted journey: the pages behind a customer's link.
//
// A link shows the step that is open now, whatever step it was made for: a
// consent, a form, a wait page, or the end of the run. An answer is a form post
// that names its wait, followed by a redirect, so that a reload, a second tab,
// the back button and a double click are harmless. The pages work without
// JavaScript. With it they share a location, follow the checks without a reload, check
// photos, and send files with progress and again after a broken connection.
//
// The engine decides which step is open and whether an answer is valid. The
// templates are in page, styles and scripts in assets, texts in messages. See
// docs/journey.md.
package journey

import (
	"bytes"
	"embed"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

//go:embed assets/*
var assetFiles embed.FS

// site is the state of the handler.
type site struct {
	engine   *engine.Engine
	log      *slog.Logger
	pages    pages
	assets   *web.Assets
	catalogs web.Catalogs
	origin   *http.CrossOriginProtection
}

// Handler returns a handler for {path}/{token}, {path}/back/{state} and {path}/assets/, where {path}
// is the path that it is mounted at. Log lines name the run, and the request id that the
// caller has set as X-Request-Id on the response. If the ResponseWriter is a RunLogger, the
// handler tells it the run of the request.
func Handler(e *engine.Engine, log *slog.Logger) (http.Handler, error) {
	s := &site{engine: e, log: log, origin: http.NewCrossOriginProtection()}
	var err error
	if s.catalogs, err = web.ReadCatalogs(messageFiles); err != nil {
		return nil, err
	}
	if s.assets, err = web.NewAssets(assetFiles); err != nil {
		return nil, err
	}
	if s.pages, err = readPages(); err != nil {
		return nil, err
	}
	r := chi.NewRouter()
	r.Use(headers().Secure)
	r.NotFound(func(w http.ResponseWriter, r *http.Request) { s.refuse(w, s.visitor(w, r), errNotFound) })
	r.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", "GET, HEAD, POST")
		s.refuse(w, s.visitor(w, r), web.ErrMethod)
	})
	read := func(pattern string, h http.HandlerFunc) {
		r.Get(pattern, h)
		r.Head(pattern, h)
	}
	read("/assets/*", func(w http.ResponseWriter, r *http.Request) { s.assets.Serve(w, r, chi.URLParam(r, "*")) })
	read("/{token}", s.show)
	read("/{token}/state", s.state)
	read("/{token}/logo/{name}", s.logo)
	r.Post("/{token}", s.answer)
	r.Post("/{token}/opened", s.opened)
	r.Get("/back/{state}", s.back)
	r.Post("/back/{state}", s.back)
	read("/back/{state}/done", s.comeBack)
	return r, nil
}

// RunLogger is a ResponseWriter whose log line names the run of its request.
type RunLogger interface {
	LogRun(id verification.RunID)
}

// maxToken is the length of the longest token that is opened, in bytes.
const maxToken = 1024

// open opens the link of a request, and names its run in the log lines. Only a post shows that
// the customer is there: mail scanners, previews and browsers that prefetch send GET and HEAD.
func (s *site) open(w http.ResponseWriter, r *http.Request) (visitor, engine.Journey, error) {
	v := s.visitor(w, r)
	if len(v.token) > maxToken {
		return v, engine.Journey{}, errNotFound
	}
	open := s.engine.ReadJourney
	if r.Method == http.MethodPost {
		open = s.engine.OpenJourney
	}
	j, err := open(r.Context(), v.token)
	v.tenant = j.Tenant
	if id := j.Run.ID; id != "" {
		v.log = v.log.With("run", id)
		logRun(w, id)
	}
	return v, j, err
}

// logRun names the run of a request in its log lines; an empty id is none.
func logRun(w http.ResponseWriter, id verification.RunID) {
	if l, ok := w.(RunLogger); ok && id != "" {
		l.LogRun(id)
	}
}

// show writes the page for the current state of the run.
func (s *site) show(w http.ResponseWriter, r *http.Request) {
	v, j, err := s.open(w, r)
	switch {
	case err != nil:
		s.refuse(w, v, err)
	case j.Redirect != "" && !afterPost(r):
		w.Header().Set("Location", j.Redirect)
		w.WriteHeader(http.StatusSeeOther)
	case j.Run.Status.Terminal():
		s.write(w, endStatus(j.Run.Status), "end", endPage(v, j))
	case j.Step == nil:
		s.write(w, http.StatusOK, "wait", waitPage(v, j))
	case j.Step.Away != nil:
		remember(w, v, j)
		s.write(w, http.StatusOK, "away", awayPage(v, j))
	case j.Step.Type == workflow.NodeConsent && r.URL.Query().Has(markDecline):
		s.write(w, http.StatusOK, "decline", declinePage(v, j))
	default:
		p := stepPage(v, j, firstForm(j.Step))
		switch q := r.URL.Query(); {
		case q.Has(markMoved):
			p.Note = "note.moved"
		case q.Has(markDeclined):
			p.Note = "note.declined"
		}
		s.write(w, http.StatusOK, "step", p)
	}
}

// The marks in the query of the link. All but the last are added by the redirect after
// a post.
const (
	markSent     = "sent"     // no step is open after the post
	markMoved    = "moved"    // the post was for a step that is no longer open
	markDeclined = "declined" // the post declined a consent, and the run goes on
	markDecline  = "decline"  // the customer is asked to confirm that a consent is declined
)

// afterPost reports whether a redirect after a post led to this request. Then a
// redirect to the client's site must not follow: browsers that enforce
// form-action would block it.
func afterPost(r *http.Request) bool {
	q := r.URL.Query()
	return q.Has(markSent) || q.Has(markMoved) || q.Has(markDeclined)
}

// opened is what the script of a page says once somebody sees the page.
func (s *site) opened(w http.ResponseWriter, r *http.Request) {
	if s.crossSite(r) {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	status := http.StatusNoContent
	if v, _, err := s.open(w, r); err != nil {
		status = v.failed(err)
	}
	w.WriteHeader(status)
}

// state writes the state of the run for the script of a wait page.
func (s *site) state(w http.ResponseWriter, r *http.Request) {
	v, j, err := s.open(w, r)
	if err != nil {
		w.WriteHeader(v.failed(err))
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(stateOf(j))) // the customer may have gone away
}

// logo writes the logo of the tenant of a link.
func (s *site) logo(w http.ResponseWriter, r *http.Request) {
	v := s.visitor(w, r)
	logo, err := s.engine.JourneyLogo(r.Context(), v.token)
	if err == nil && logo.Name != chi.URLParam(r, "name") {
		err = errNotFound
	}
	if err != nil {
		w.WriteHeader(v.failed(err))
		return
	}
	h := w.Header()
	web.CacheForever(h)
	h.Set("Content-Type", logo.MediaType())
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(logo.Content))
}

// stateOf returns a string that changes when the page of the run changes.
func stateOf(j engine.Journey) string {
	state := string(j.Run.Status)
	if j.Run.Status == rules.StatusAbandoned {
		state = string(rules.StatusInProgress)
	}
	switch {
	case j.Run.Status.Terminal():
	case j.Step != nil:
		state += "." + strconv.Itoa(j.Step.WaitNumber)
		if j.Step.Away != nil && j.Step.Away.Returned {
			state += ".back"
		}
	case underReview(j):
		state += ".review"
	}
	return state
}

// underReview reports whether the run waits for a reviewer.
func underReview(j engine.Journey) bool {
	return j.Run.Action != nil && j.Run.Action.Type == rules.ActionReview
}

var errNotFound = verification.NotFound("journey")

// statusOf returns the HTTP status of an error. A conflict passes when the page is loaded
// again, and an answer that the rules refuse is shown on the form: elsewhere it is internal.
func statusOf(err error) int {
	switch status := web.StatusOf(err); status {
	case http.StatusConflict:
		return http.StatusServiceUnavailable
	case http.StatusNotFound, http.StatusServiceUnavailable, http.StatusMethodNotAllowed, http.StatusForbidden, http.StatusRequestEntityTooLarge:
		return status
	}
	return http.StatusInternalServerError
}

// failed logs an error that the operator should know about, and returns its HTTP
// status.
func (v visitor) failed(err error) int {
	status := statusOf(err)
	switch status {
	case http.StatusInternalServerError:
		v.log.Error("journey failed", "error", err)
	case http.StatusServiceUnavailable:
		v.log.Warn("journey unavailable", "error", err)
	}
	return status
}

// refuse writes the notice page of an error.
func (s *site) refuse(w http.ResponseWriter, v visitor, err error) {
	status := v.failed(err)
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "30")
	}
	s.write(w, status, "notice", noticePage(v, status))
}

// headers are the security headers of the pages. The token in the path is the only
// credential, so no page may refer to another site.
func headers() web.Policy {
	return web.Policy{
		Referrer:    "no-referrer",
		Permissions: "camera=(self), geolocation=(self), microphone=(), payment=(), usb=()",
	}
}

// crossSite reports whether another site caused the request. A browser that
// sends no Sec-Fetch-Site (an old one, or any over plain HTTP) sends "Origin:
// null" for our own forms, because the pages send no referrer. Such a request is
// accepted: it needs the token in the path.
func (s *site) crossSite(r *http.Request) bool {
	if r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "null" {
		return false
	}
	return s.origin.Check(r) != nil
}
