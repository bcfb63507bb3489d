// Package journey serves the hosted journey: the pages that a customer's link
// leads to.
//
// A link shows the one step that is open now, whatever step it was made for:
// a consent, a form, the wait in between, or how the run ended. Every answer is
// a plain form post that names its wait and is followed by a redirect, so that
// a reload, a second tab, the back button or a double click do no harm. The
// pages work without JavaScript; with it they share a location, follow the
// checks without a reload, and refuse a large file before it is sent.
//
// Nothing here decides: the engine tells what is open and what is wrong with an
// answer. The pages are in page, their looks in assets, their texts in words.
// See docs/journey.md.
package journey

import (
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

// site is what every page needs.
type site struct {
	engine *engine.Engine
	log    *slog.Logger
	pages  pages
	assets assets
	words  catalogues
	origin *http.CrossOriginProtection
	paces  paces
}

// Handler serves the links that the engine gives out, below whatever path it
// is mounted at: {path}/{token} and {path}/assets/.
func Handler(e *engine.Engine, log *slog.Logger) (http.Handler, error) {
	s := &site{engine: e, log: log, origin: http.NewCrossOriginProtection()}
	var err error
	if s.words, err = readCatalogues(); err != nil {
		return nil, err
	}
	if s.assets, err = readAssets(); err != nil {
		return nil, err
	}
	if s.pages, err = readPages(); err != nil {
		return nil, err
	}
	r := chi.NewRouter()
	r.Use(guard)
	r.NotFound(func(w http.ResponseWriter, r *http.Request) { s.refuse(w, s.visitor(r), errLost) })
	r.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", "GET, HEAD, POST")
		s.refuse(w, s.visitor(r), errMethod)
	})
	read := func(pattern string, h http.HandlerFunc) {
		r.Get(pattern, h)
		r.Head(pattern, h)
	}
	read("/assets/{version}/{name}", s.serveAsset)
	read("/assets/{version}/colour/{colour}", s.serveColour)
	read("/{token}", s.show)
	read("/{token}/state", s.state)
	r.Post("/{token}", s.answer)
	return r, nil
}

// maxToken is the longest token that the engine is asked about, in bytes.
const maxToken = 1024

// open follows the link of a request.
func (s *site) open(r *http.Request) (engine.Journey, error) {
	token := chi.URLParam(r, "token")
	if len(token) > maxToken {
		return engine.Journey{}, errLost
	}
	return s.engine.OpenJourney(r.Context(), token)
}

// show answers with the page for where the run stands.
func (s *site) show(w http.ResponseWriter, r *http.Request) {
	v := s.visitor(r)
	j, err := s.open(r)
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
	default:
		p := stepPage(v, j, emptyForm())
		if r.URL.Query().Has(markMoved) {
			p.Note = "note.moved"
		}
		s.write(w, http.StatusOK, "step", p)
	}
}

// The marks in the query of a link to which the answer to a post redirects.
const (
	markSent  = "sent"
	markMoved = "moved" // the post came for a step that is no longer open
)

// afterPost reports whether the browser was sent here by the answer to a post.
// Then another redirect must not lead to the client's site: a browser that
// enforces form-action would not follow it.
func afterPost(r *http.Request) bool {
	q := r.URL.Query()
	return q.Has(markSent) || q.Has(markMoved)
}

// state tells a waiting page whether there is something new to show.
func (s *site) state(w http.ResponseWriter, r *http.Request) {
	j, err := s.open(r)
	if err != nil {
		status := statusOf(err)
		if status == http.StatusInternalServerError {
			s.log.ErrorContext(r.Context(), "journey not opened", "error", err)
		}
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(stateOf(j))) // the customer may have gone away
}

// stateOf changes when the customer has something new to see.
func stateOf(j engine.Journey) string {
	state := string(j.Run.Status)
	if j.Run.Status == verification.StatusAbandoned {
		state = string(verification.StatusInProgress)
	}
	switch {
	case j.Run.Status.Terminal():
	case j.Step != nil:
		state += "." + strconv.Itoa(j.Step.Wait)
	case underReview(j):
		state += ".review"
	}
	return state
}

// underReview tells whether a person has to look at the answers.
func underReview(j engine.Journey) bool {
	return j.Run.Action != nil && j.Run.Action.Type == verification.ActionReview
}

// Refusals of requests that no run is asked about.
var (
	errLost      = &verification.Error{Kind: verification.ErrNotFound, Subject: "journey"}
	errMethod    = errors.New("method not allowed")
	errCrossSite = errors.New("the request comes from another site")
	errTooMuch   = errors.New("too much was sent")
)

// statusOf is the HTTP status of a refusal.
func statusOf(err error) int {
	switch {
	case errors.Is(err, verification.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, verification.ErrUnavailable), errors.Is(err, verification.ErrConflict):
		return http.StatusServiceUnavailable
	case errors.Is(err, errMethod):
		return http.StatusMethodNotAllowed
	case errors.Is(err, errCrossSite):
		return http.StatusForbidden
	case errors.Is(err, errTooMuch):
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusInternalServerError
}

// refuse answers with a plain page that says what is the matter.
func (s *site) refuse(w http.ResponseWriter, v visitor, err error) {
	status := statusOf(err)
	switch status {
	case http.StatusInternalServerError:
		s.log.Error("journey not served", "error", err)
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "30")
	}
	s.write(w, status, "notice", noticePage(v, status))
}
