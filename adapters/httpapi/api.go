// Package httpapi serves the API of docs/api.md over HTTP.
//
// A request is checked in this order, and the first check that fails answers
// it: route, credentials, account state, surface, rate limit, body shape, body
// rules, existence, state. Handlers decode, call one method of the engine, and
// write what it answers; they hold no rule of their own. The exact words of
// every refusal stand in errors.go, every JSON shape in wire.go, and the whole
// contract in openapi.yaml.
package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/httprate"
	"github.com/go-playground/validator/v10"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/fair"
)

// Bearers checks a dashboard access token: whose reviewer sent it, and for
// which tenant. A token that will not do is verification.ErrUnauthenticated.
type Bearers func(ctx context.Context, token string) (tenant verification.TenantID, reviewer string, err error)

// Options may all be left out.
type Options struct {
	// Log takes one line a request (reads that went well at debug level, the
	// rest at info), and every fault; nil drops them.
	Log *slog.Logger
	// Clock measures the durations that Log and Observe get, and how long the
	// decoding of a large body takes; nil measures nothing.
	Clock verification.Clock
	// RateLimit is how many requests a second one client-id may send; 0 means
	// any number. It is counted in this process alone.
	RateLimit int
	// Bearers opens the signals route to dashboard access tokens; nil keeps
	// it to client-id and x-api-key.
	Bearers Bearers
	// Observe is told about each request: the pattern of its route, such as
	// /v1/runs/{id}, or "unmatched". It must not block.
	Observe func(route, method string, status int, took time.Duration)
	// Mounts are served below their path prefix, such as "/journey", without
	// credentials, and with request ids, log and metrics like the API.
	Mounts map[string]http.Handler
	// CacheBytes bounds the encoded runs kept for polling clients; 0 means
	// 16 MiB, negative means none.
	CacheBytes int
}

// api is what every handler needs.
type api struct {
	engine   *engine.Engine
	opt      Options
	log      *slog.Logger
	limiter  *httprate.RateLimiter // nil for no limit
	validate *validator.Validate
	encode   encoder
	bodies   *bodies
	decoding *fair.Limiter // of large bodies, by tenant
	ids      *requestIDs
	routes   chi.Routes
}

// handler answers one route, or says why not.
type handler func(w *response, r *http.Request, who caller) error

// New serves the use cases of the engine.
func New(e *engine.Engine, o Options) http.Handler {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = 16 << 20
	}
	a := &api{
		engine: e, opt: o, log: o.Log, limiter: newLimiter(o.RateLimit), validate: newValidator(),
		encode: newEncoder(), bodies: newBodies(o.CacheBytes), ids: newRequestIDs(),
		decoding: fair.NewLimiter(maxDecoding, 1),
	}
	if o.Clock != nil {
		a.decoding.Rest(decodingRests, 0, o.Clock)
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
	get("/v1/runs/{id}/report.pdf", runs, a.printReport)
	post("/v1/runs/{id}/cancel", runs, a.cancelRun)

	signals := rule{surface: verification.SurfaceSignals, noun: "run", bearer: o.Bearers != nil}
	post("/v1/signals/{run_id}/{signal_name}", signals, a.deliverSignal)

	r.Get("/", a.welcome)
	r.Head("/", a.welcome)
	r.Get("/openapi.yaml", serveOpenAPI)
	r.Head("/openapi.yaml", serveOpenAPI)
	for prefix, h := range o.Mounts {
		r.Mount(prefix, h)
	}
	return r
}

// rule is what a route asks of whoever calls it, and what it is about.
type rule struct {
	surface verification.Surface
	noun    string // of the thing in the path, for the words of a 404
	bearer  bool   // a dashboard access token will do, too
}

// guard admits a caller before the handler sees the request.
func (a *api) guard(rule rule, h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		res := responseOf(w)
		res.Header()["Cache-Control"] = []string{"no-store"}
		who, err := a.admit(r, rule)
		if err == nil {
			err = h(res, r, who)
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

// methodNotAllowed answers a known route that was called by a wrong method.
// It finds out the right ones by itself: with a handler of one's own, chi does
// not tell.
func (a *api) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	path := r.URL.RawPath
	if path == "" {
		path = r.URL.Path
	}
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		if a.routes.Match(chi.NewRouteContext(), method, path) {
			allowed = append(allowed, method)
		}
	}
	if allowed == nil {
		a.notFound(w, r) // chi takes every method that it does not know for a wrong one
		return
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	a.refuse(responseOf(w), r, rule{}, errMethod)
}
