// What goes around every request: its id, its log line, its metrics, and the net below it.

package httpapi

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// response remembers what was answered.
type response struct {
	http.ResponseWriter
	status int // 0 until the header is written
	id     string
	run    verification.RunID // that a start made, for the log
}

// WriteHeader writes the header.
func (w *response) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write writes the body, and the header before it.
func (w *response) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Flush sends what was written so far.
func (w *response) Flush() {
	if f, ok := w.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// Unwrap is for http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// responseOf is the response that around made.
func responseOf(w http.ResponseWriter) *response {
	if res, ok := w.(*response); ok {
		return res
	}
	return &response{ResponseWriter: w}
}

// around wraps every route, the unknown ones and the mounts included.
func (a *api) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		res := &response{ResponseWriter: w, id: a.ids.of(r)}
		h := w.Header()
		h["X-Request-Id"] = []string{res.id}
		h["X-Content-Type-Options"] = []string{"nosniff"}
		defer a.leave(res, r, a.now())
		next.ServeHTTP(res, r)
	})
}

// leave ends a request, one that panicked included.
func (a *api) leave(res *response, r *http.Request, began time.Time) {
	if p := recover(); p != nil {
		if p == http.ErrAbortHandler { //nolint:errorlint // a panic value is compared as net/http does
			panic(p)
		}
		a.log.LogAttrs(r.Context(), slog.LevelError, "request panicked", append(logged(res, r),
			slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))...)
		if res.status != 0 {
			panic(http.ErrAbortHandler) // the client must not take half an answer for a whole one
		}
		if err := a.writeRefusal(res, rule{}, refusalOf(errFault, "")); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
	status := res.status
	if status == 0 {
		status = http.StatusOK
	}
	var took time.Duration
	if !began.IsZero() {
		took = a.now().Sub(began)
	}
	if a.opt.Observe != nil {
		a.opt.Observe(routeOf(r), methodOf(r), status, took)
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

// logged is what every log line tells of a request: its id, its route, and the
// run that it names or made.
func logged(w *response, r *http.Request) []slog.Attr {
	attrs := []slog.Attr{slog.String("request_id", w.id), slog.String("route", routeOf(r))}
	run := w.run
	switch {
	case strings.HasPrefix(r.Pattern, "/v1/runs/"):
		run, _ = verification.ParseRunID(pathParam(r, "id"))
	case strings.HasPrefix(r.Pattern, "/v1/signals/"):
		run, _ = verification.ParseRunID(pathParam(r, "run_id"))
	}
	if run != "" {
		attrs = append(attrs, slog.String("run", string(run)))
	}
	return attrs
}

// routeOf is the pattern of the request's route, never its path.
func routeOf(r *http.Request) string {
	if r.Pattern == "" {
		return "unmatched"
	}
	return r.Pattern
}

// methodOf keeps clients from making up labels.
func methodOf(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions, http.MethodConnect, http.MethodTrace:
		return r.Method
	}
	return "other"
}

// requestIDs names requests: a random prefix for the process, and a count.
type requestIDs struct {
	prefix string
	count  atomic.Uint64
}

func newRequestIDs() *requestIDs {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return &requestIDs{prefix: hex.EncodeToString(b[:]) + "-"}
}

// of takes the client's own id when it is one line of plain characters.
func (ids *requestIDs) of(r *http.Request) string {
	if sent := r.Header["X-Request-Id"]; len(sent) == 1 && plainID(sent[0]) {
		return sent[0]
	}
	var b [48]byte
	return string(strconv.AppendUint(append(b[:0], ids.prefix...), ids.count.Add(1), 10))
}

func plainID(s string) bool {
	return s != "" && len(s) <= 128 && strings.IndexFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-_.:+/=@", c)
	}) < 0
}
