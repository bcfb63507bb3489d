// Package httpapi serves the HTTP API of docs/api.md.
//
// It checks a request in this order and answers with the first error: route,
// credentials, account state, surface, rate limit, body shape, body rules,
// existence, state. A handler decodes the request, calls one method of the engine
// and writes the result; it has no rules of its own. errors.go has the errors with
// fixed texts, package apitypes the JSON of all responses, and openapi.yaml the whole
// contract.
package httpapi

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/httprate"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/go-playground/validator/v10"

	"github.com/verifyd/verifyd/internal/fair"
	"github.com/verifyd/verifyd/internal/lru"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

// Bearers verifies a dashboard access token and returns the reviewer. The error is
// verification.ErrUnauthenticated if the token is not valid, and
// verification.ErrForbidden if its role may not give verdicts.
type Bearers func(ctx context.Context, token string) (verification.Reviewer, error)

// ReportSigner signs printed reports, such as token.Reports.
type ReportSigner interface {
	// SignReport returns the signature of a file: a compact JWS with detached content.
	// The same file should have the same signature.
	SignReport(pdf []byte) ([]byte, error)
	// ReportKeys returns the JWK set of the public keys that verify the signatures,
	// including those of keys that no longer sign.
	ReportKeys() ([]byte, error)
}

// Options configure New. The zero value is valid.
type Options struct {
	// Log receives one line for each request (successful reads at debug level,
	// all others at info level) and every internal error; nil discards them.
	Log *slog.Logger
	// Clock measures the durations for Log and Observe, the age of cached bodies, and the decoding of large
	// bodies; nil measures nothing.
	Clock verification.Clock
	// RateLimit is the maximum number of requests per second of one client-id or one
	// reviewer; 0 means no limit. Each process counts its own requests.
	RateLimit int
	// Bearers lets the signals route accept dashboard access tokens; with nil it
	// accepts only client-id and x-api-key.
	Bearers Bearers
	// Signer signs printed reports; with nil a signature is ErrUnavailable, and the
	// set of public keys is empty.
	Signer ReportSigner
	// Observe is called after each request. The route is a pattern such as
	// /v1/runs/{id}, or "unmatched"; the method is "other" if HTTP does not define it.
	// Observe must not block.
	Observe func(route, method string, status int, took time.Duration)
	// Trace begins a span of a request, and returns the request with it and a function that ends it, with what
	// Observe is called with, and the run that the request names or has started, if there is one. nil traces nothing.
	Trace func(*http.Request) (*http.Request, func(route, method string, status int, run verification.RunID))
	// Mounts are handlers by path prefix, such as "/journey". They need no
	// credentials, and have request ids, log lines and metrics like the API. Their
	// ResponseWriter has a method LogRun(verification.RunID), which names the run of
	// a request in its log lines.
	Mounts map[string]http.Handler
	// CacheBytes bounds the cache of encoded runs for clients that poll; 0 means
	// 16 MiB, negative means no cache.
	CacheBytes int
}

// api holds what the handlers share.
type api struct {
	engine   *engine.Engine
	opt      Options
	log      *slog.Logger
	limiter  *httprate.RateLimiter // nil for no limit
	validate *validator.Validate
	encoding json.Options
	bodies   *lru.Cache[verification.RunRef, cachedBody]
	decoding *fair.Limiter // of large bodies; slots are shared by tenant
	prefix   string        // of the request ids of this process
	requests atomic.Uint64 // numbers them
	routes   chi.Routes
}

// handler answers a request of one route, or returns the error to answer with.
type handler func(w *response, r *http.Request, who caller) error

// New returns the handler of the API of an engine.
func New(e *engine.Engine, o Options) http.Handler {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.CacheBytes = cmp.Or(o.CacheBytes, 16<<20)
	a := &api{
		engine: e, opt: o, log: o.Log, limiter: newLimiter(o.RateLimit), validate: newValidator(),
		bodies: newBodyCache(o.CacheBytes),
		// Recorded data is written as it was recorded, even if its names repeat or its strings
		// are not valid UTF-8.
		encoding: json.JoinOptions(
			jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true),
		),
		prefix: rand.Text() + "-", decoding: fair.NewLimiter(maxDecoding, 1),
	}
	if o.Clock != nil {
		a.decoding.Rest(decodingRest, 0, o.Clock)
		a.bodies.Aging(o.Clock.AfterFunc)
	}
	r := chi.NewRouter()
	a.routes = r
	r.Use(a.around)
	r.NotFound(a.notFound)
	r.MethodNotAllowed(a.methodNotAllowed)

	get := func(pattern string, rule rule, h handler) {
		serve := a.guard(rule, h)
		r.Get(pattern, serve)
		r.Head(pattern, serve)
	}
	post := func(pattern string, rule rule, h handler) { r.Post(pattern, a.guard(rule, h)) }

	workflows := rule{surface: verification.SurfaceWorkflows, noun: "workflow"}
	get("/v1/workflows", workflows, a.listWorkflows)
	get("/v1/workflows/{id}", workflows, a.readWorkflow)
	post("/v1/workflows/{id}/webhook", workflows, a.setWebhook)
	post("/v1/workflows/{id}/runs", rule{surface: verification.SurfaceRuns, noun: "workflow"}, a.startRun)

	runs := rule{surface: verification.SurfaceRuns, noun: "run"}
	get("/v1/runs", runs, a.listRuns)
	get("/v1/runs/{id}", runs, a.readRun)
	reports := rule{surface: verification.SurfaceRuns, noun: "run", report: true}
	get("/v1/runs/{id}/report.pdf", reports, a.printReport)
	get("/v1/runs/{id}/report.pdf.jws", reports, a.signReport)
	get("/v1/runs/{id}/documents/{document_id}", rule{surface: verification.SurfaceRuns, noun: "document"}, a.readDocument)
	customer := rule{surface: verification.SurfaceSignals, noun: "run"}
	get("/v1/runs/{id}/step", customer, a.readStep)
	post("/v1/runs/{id}/documents", customer, a.uploadDocument)
	post("/v1/runs/{id}/cancel", runs, a.cancelRun)
	post("/v1/runs/{id}/redact", rule{surface: verification.SurfaceErase, noun: "run"}, a.redactRun)

	signals := rule{surface: verification.SurfaceSignals, noun: "run", bearer: o.Bearers != nil}
	post("/v1/signals/{run_id}/{signal_name}", signals, a.deliverSignal)

	r.Post(engine.CallbackPath+"{token}", a.receiveCallback)
	r.Get("/", a.welcome)
	r.Head("/", a.welcome)
	r.Get("/openapi.yaml", serveOpenAPI)
	r.Head("/openapi.yaml", serveOpenAPI)
	r.Get("/.well-known/jwks.json", a.reportKeys)
	r.Head("/.well-known/jwks.json", a.reportKeys)
	for prefix, h := range o.Mounts {
		r.Mount(prefix, h)
	}
	return r
}

// rule says who may call a route, and what the route is about.
type rule struct {
	surface verification.Surface
	noun    string // names the resource in the text of a 404
	bearer  bool   // the route accepts dashboard access tokens
	report  bool   // the surface is SurfaceFiles if the request is for the file
}

// guard returns a handler that checks the caller before it calls h.
func (a *api) guard(rule rule, h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		res := responseOf(w)
		res.Header()["Cache-Control"] = []string{"no-store"}
		who, err := a.admit(r, rule)
		if err == nil {
			err = h(res, r.WithContext(verification.WithActor(r.Context(), who.actor())), who)
		}
		if err != nil {
			a.refuse(res, r, rule, err)
		}
	}
}

// notFound answers an unknown route.
func (a *api) notFound(w http.ResponseWriter, r *http.Request) {
	a.refuse(responseOf(w), r, rule{}, errNoRoute)
}

// methodNotAllowed answers a known route that was called with a wrong method. It
// looks for the allowed methods, because chi sets Allow only without a custom handler.
func (a *api) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	path := cmp.Or(r.URL.RawPath, r.URL.Path)
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		if a.routes.Match(chi.NewRouteContext(), method, path) {
			allowed = append(allowed, method)
		}
	}
	if allowed == nil {
		a.notFound(w, r) // chi calls this for every method that it does not know
		return
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	a.refuse(responseOf(w), r, rule{}, errMethod)
}
