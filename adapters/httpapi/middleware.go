// Middleware: the id of a request, its log line, metrics, and recovery from panics.

package httpapi

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5/middleware"

	"github.com/verifyd/verifyd/verification"
)

// response is the writer of a response. It records the status.
type response struct {
	middleware.WrapResponseWriter
	id  string
	run verification.RunID // of the request, for the log; empty if the path names it
	// surface is the one that the account was refused; empty for any other response.
	surface verification.Surface
}

// LogRun sets the run that the log lines of the request name.
func (w *response) LogRun(id verification.RunID) { w.run = id }

func responseOf(w http.ResponseWriter) *response {
	if res, ok := w.(*response); ok {
		return res
	}
	return &response{WrapResponseWriter: middleware.NewWrapResponseWriter(w, 1)}
}

// around wraps every request, also to unknown routes and to mounts.
func (a *api) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		res := &response{WrapResponseWriter: middleware.NewWrapResponseWriter(w, r.ProtoMajor), id: a.requestID(r)}
		h := w.Header()
		h["X-Request-Id"] = []string{res.id}
		h["X-Content-Type-Options"] = []string{"nosniff"}
		var end func(route, method string, status int, run verification.RunID)
		if a.opt.Trace != nil {
			r, end = a.opt.Trace(r)
		}
		defer a.leave(res, r, a.now(), end)
		next.ServeHTTP(res, r)
	})
}

// leave ends a request. It recovers from a panic of the handler.
func (a *api) leave(
	res *response, r *http.Request, began time.Time, end func(route, method string, status int, run verification.RunID),
) {
	if p := recover(); p != nil {
		if p == http.ErrAbortHandler { //nolint:errorlint // a panic value is compared as net/http does
			panic(p)
		}
		a.log.LogAttrs(r.Context(), slog.LevelError, "request panicked", append(logged(res, r),
			slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))...)
		if res.Status() != 0 {
			panic(http.ErrAbortHandler) // the client must see that the response is not complete
		}
		if err := a.writeRefusal(res, rule{}, errInternal); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
	status := cmp.Or(res.Status(), http.StatusOK)
	var took time.Duration
	if !began.IsZero() {
		took = a.now().Sub(began)
	}
	if a.opt.Observe != nil {
		a.opt.Observe(routeOf(r), methodOf(r), status, took)
	}
	if end != nil {
		defer end(routeOf(r), methodOf(r), status, runOf(res, r))
	}
	level := slog.LevelInfo
	if status < http.StatusBadRequest && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		level = slog.LevelDebug
	}
	if a.log.Enabled(r.Context(), level) {
		a.log.LogAttrs(r.Context(), level, "request", append(logged(res, r),
			slog.String("method", methodOf(r)), slog.Int("status", status), slog.Duration("took", took))...)
	}
}

func (a *api) now() time.Time {
	if a.opt.Clock == nil {
		return time.Time{}
	}
	return a.opt.Clock.Now()
}

// logged returns the attributes of every log line of a request: its id, its route,
// and the run that it names or started.
func logged(w *response, r *http.Request) []slog.Attr {
	attrs := []slog.Attr{slog.String("request_id", w.id), slog.String("route", routeOf(r))}
	if w.surface != "" {
		attrs = append(attrs, slog.String("required_surface", string(w.surface)))
	}
	if run := runOf(w, r); run != "" {
		attrs = append(attrs, slog.String("run", string(run)))
	}
	return attrs
}

// runOf returns the run that a request names or has started; empty if there is none.
func runOf(w *response, r *http.Request) verification.RunID {
	run := w.run
	switch {
	case strings.HasPrefix(r.Pattern, "/v1/runs/"):
		run, _ = verification.ParseRunID(pathParam(r, "id"))
	case strings.HasPrefix(r.Pattern, "/v1/signals/"):
		run, _ = verification.ParseRunID(pathParam(r, "run_id"))
	}
	return run
}

// routeOf returns the pattern of the route, not the path.
func routeOf(r *http.Request) string {
	return cmp.Or(r.Pattern, "unmatched")
}

// methodOf returns the method, or "other", so that clients cannot add metric labels.
func methodOf(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions, http.MethodConnect, http.MethodTrace:
		return r.Method
	}
	return "other"
}

// requestID returns the id that the client sent if it is valid, or a new one.
func (a *api) requestID(r *http.Request) string {
	if sent := r.Header["X-Request-Id"]; len(sent) == 1 && plainID(sent[0]) {
		return sent[0]
	}
	return a.prefix + strconv.FormatUint(a.requests.Add(1), 10)
}

func plainID(s string) bool {
	return s != "" && len(s) <= 64 && strings.IndexFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-_.", c)
	}) < 0
}
