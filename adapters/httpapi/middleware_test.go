// Tests of what every request has: methods, log lines, metrics, internal errors.

package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/httpapi"
	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func TestUnknownRoutesAndWrongMethods(t *testing.T) {
	a := newAPI(t, setup{})
	const noRoute = `{"error":"Not Found","message":"There is no such route.","code":404,"reason":"no_route"}`
	for _, path := range []string{"/v1", "/v1/", "/v2/runs", "/v1/runs/", "/v1/workflows/", "/v1/runs/x/", "/V1/runs", "//v1/runs", "/v1//runs", "/v1/./runs", "/v1/runs/x/report", "/v1/signals/x"} {
		for _, method := range []string{http.MethodGet, http.MethodPost, "BREW"} {
			a.do(method, path, "", "client-id:", "x-api-key:").is(404, noRoute).header("Allow", "").header("Cache-Control", "no-store")
		}
	}
	const wrongMethod = `{"error":"Method Not Allowed","message":"The route does not take this method.","code":405,"reason":"method_not_allowed"}`
	for path, allow := range map[string]string{
		"/v1/workflows": "GET, HEAD", "/v1/workflows/x": "GET, HEAD", "/v1/workflows/x/webhook": "POST", "/v1/workflows/x/runs": "POST",
		"/v1/runs": "GET, HEAD", "/v1/runs/x": "GET, HEAD", "/v1/runs/x/report.pdf": "GET, HEAD", "/v1/runs/x/cancel": "POST", "/v1/runs/x/redact": "POST",
		"/v1/runs/x/report.pdf.jws": "GET, HEAD", "/.well-known/jwks.json": "GET, HEAD",
		"/v1/signals/x/y": "POST", "/": "GET, HEAD", "/openapi.yaml": "GET, HEAD", "/v1/runs/%78": "GET, HEAD",
	} {
		for _, method := range []string{http.MethodDelete, http.MethodPut, http.MethodPatch, http.MethodOptions, "BREW"} {
			a.do(method, path, "", "client-id:", "x-api-key:").is(405, wrongMethod).header("Allow", allow)
		}
	}
	a.do(http.MethodPost, "/v1/runs", "{}").header("Allow", "GET, HEAD")
	a.do(http.MethodGet, "/v1/runs/x/cancel", "").is(405, wrongMethod).header("Allow", "POST")
	a.do(http.MethodHead, "/v1/runs/x/cancel", "").header("Allow", "POST")
}

// TestHeadAnswersLikeGetWithoutABody uses a real server, because net/http leaves the
// body out.
func TestHeadAnswersLikeGetWithoutABody(t *testing.T) {
	a := newAPI(t, setup{options: httpapi.Options{Signer: newSigner(t)}})
	id := string(a.started(simple()).ID)
	server := httptest.NewServer(a.handler)
	t.Cleanup(server.Close)
	for _, path := range []string{
		"/v1/workflows", "/v1/runs", "/v1/runs/" + id, "/v1/runs/" + id + "/report.pdf", "/v1/runs/" + id + "/report.pdf.jws", "/", "/openapi.yaml",
		"/.well-known/jwks.json", "/v1/runs/x", "/nowhere",
	} {
		want := a.do(http.MethodGet, path, "")
		r, err := http.NewRequestWithContext(t.Context(), http.MethodHead, server.URL+path, http.NoBody)
		must(t, err)
		r.Header = http.Header{"Client-Id": {"acme"}, "X-Api-Key": {apiKey}}
		got, err := server.Client().Do(r)
		must(t, err)
		must(t, got.Body.Close())
		if got.StatusCode != want.Status || got.ContentLength != int64(len(want.Body)) || got.Header.Get("ETag") != want.Header.Get("ETag") {
			t.Errorf("HEAD %s = %d, %d bytes, tag %s; want %d, %d bytes, tag %s", path, got.StatusCode, got.ContentLength,
				got.Header.Get("ETag"), want.Status, len(want.Body), want.Header.Get("ETag"))
		}
	}
}

func TestEveryAnswerCarriesSafeHeaders(t *testing.T) {
	a := newAPI(t, setup{})
	for _, path := range []string{"/v1/runs", "/v1/runs/x", "/nowhere", "/openapi.yaml"} {
		got := a.do(http.MethodGet, path, "").header("X-Content-Type-Options", "nosniff")
		if got.Header.Get("Content-Length") != fmt.Sprint(len(got.Body)) {
			t.Errorf("GET %s: Content-Length = %s, want %d", path, got.Header.Get("Content-Length"), len(got.Body))
		}
	}
}

// failing is a store of runs whose List fails or panics.
type failing struct {
	store.Store
	err   error
	panic any
}

func (f *failing) List(ctx context.Context, t verification.TenantID, q store.RunQuery) (store.Page[rules.Summary], error) {
	if f.panic != nil {
		panic(f.panic)
	}
	if f.err != nil {
		return store.Page[rules.Summary]{}, f.err
	}
	return f.Store.List(ctx, t, q)
}

func TestInternalErrorsAreLoggedOnceAndNotShown(t *testing.T) {
	var log bytes.Buffer
	store := &failing{}
	a := newAPI(t, setup{
		options: httpapi.Options{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))},
		ports:   func(p *engine.Ports, _ *engine.Options) { store.Store, p.Store = p.Store, store },
	})
	const internal = `{"error":"Internal Server Error","message":"The service failed to answer; the error has been logged.","code":500,"reason":"internal_error"}`
	const later = `{"error":"Service Unavailable","message":"The service cannot answer now; try again.","code":503}`
	for _, c := range []struct {
		name   string
		err    error
		panic  any
		status int
		body   string
		logged string
	}{
		{"an internal error", errors.New("secret detail"), nil, 500, internal, "level=ERROR msg=\"request failed\" request_id=r-1 route=/v1/runs error=\"secret detail\""},
		{"a panic", nil, "secret detail", 500, internal, "level=ERROR msg=\"request panicked\" request_id=r-1 route=/v1/runs panic=\"secret detail\""},
		{"unavailable", &verification.Error{Kind: verification.ErrUnavailable, Cause: errors.New("secret detail")}, nil, 503, later, "level=WARN"},
		{"unavailable, bare", fmt.Errorf("list: %w", verification.ErrUnavailable), nil, 503, later, "level=WARN"},
		{"too late", fmt.Errorf("list: %w", context.DeadlineExceeded), nil, 503, later, "level=WARN"},
		{"an unknown kind", &verification.Error{Kind: errors.New("odd"), Message: "secret detail"}, nil, 500, internal, "level=ERROR"},
		{"forbidden", &verification.Error{Kind: verification.ErrForbidden, Message: "not you"}, nil, 403, `{"error":"Forbidden","message":"Not you.","code":403,"reason":"forbidden"}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			log.Reset()
			store.err, store.panic = c.err, c.panic
			rec := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/runs", nil)
			r.Header = http.Header{"Client-Id": {"acme"}, "X-Api-Key": {apiKey}, "X-Request-Id": {"r-1"}}
			a.handler.ServeHTTP(rec, r)
			if rec.Code != c.status || rec.Body.String() != c.body+"\n" {
				t.Errorf("answer = %d %s, want %d %s", rec.Code, rec.Body, c.status, c.body)
			}
			if (c.status == 503) != (rec.Header().Get("Retry-After") == "1") {
				t.Errorf("Retry-After = %q with status %d", rec.Header().Get("Retry-After"), c.status)
			}
			if lines := strings.Count(log.String(), "\n"); !strings.Contains(log.String(), c.logged) || lines > 1 || c.logged == "" && lines > 0 {
				t.Errorf("log = %q, want one line with %q", log.String(), c.logged)
			}
			if strings.Contains(log.String(), apiKey) {
				t.Errorf("the log holds the key: %s", log.String())
			}
		})
	}
}

func TestAPanicAfterTheHeaderClosesTheConnection(t *testing.T) {
	a := newAPI(t, setup{options: httpapi.Options{Mounts: map[string]http.Handler{
		"/half": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "half")
			panic("the other half")
		}),
	}}})
	defer func() {
		if p := recover(); p != http.ErrAbortHandler { //nolint:errorlint // a panic value, not a returned error
			t.Errorf("panic = %v, want %v", p, http.ErrAbortHandler)
		}
	}()
	a.handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/half", nil))
}

func TestRequestsAreObservedByThePatternOfTheirRoute(t *testing.T) {
	var seen []string
	now := enginetest.Began()
	a := newAPI(t, setup{options: httpapi.Options{
		Clock: &mock.ClockMock{
			NowFunc:       func() time.Time { now = now.Add(time.Millisecond); return now },
			AfterFuncFunc: func(time.Duration, func()) func() bool { return func() bool { return true } },
		},
		Observe: func(route, method string, status int, took time.Duration) {
			seen = append(seen, fmt.Sprintf("%s %s %d %s", method, route, status, took))
		},
		Mounts: map[string]http.Handler{"/journey": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if w.Header().Get("Cache-Control") != "" {
				t.Error("a mount has a Cache-Control header, want none")
			}
			fmt.Fprint(w, r.URL.Path)
		})},
	}})
	id := string(a.started(simple()).ID)
	a.do(http.MethodGet, "/v1/runs/"+id, "")
	a.do(http.MethodGet, "/v1/runs/"+nowhere, "")
	a.do(http.MethodPost, "/v1/signals/"+nowhere+"/x", `{"payload":{}}`)
	a.do(http.MethodPut, "/v1/runs", "")
	a.do("BREW", "/nowhere/"+id, "")
	a.do(http.MethodHead, "/v1/runs", "")
	rec := httptest.NewRecorder()
	a.handler.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/journey/token-1", nil))
	if rec.Body.String() != "/journey/token-1" {
		t.Errorf("GET /journey/token-1 = %d %s", rec.Code, rec.Body)
	}
	want := []string{
		"GET /v1/runs/{id} 200 1ms", "GET /v1/runs/{id} 404 1ms", "POST /v1/signals/{run_id}/{signal_name} 404 1ms",
		"PUT unmatched 405 1ms", "other unmatched 404 1ms", "HEAD /v1/runs 200 1ms", "GET /journey/* 200 1ms",
	}
	if strings.Join(seen, "\n") != strings.Join(want, "\n") {
		t.Errorf("observed\n%s\nwant\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
	}
}

func TestTheLogHasOneLinePerRequestWithoutItsContent(t *testing.T) {
	var log bytes.Buffer
	level := new(slog.LevelVar)
	a := newAPI(t, setup{options: httpapi.Options{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level}))}})
	w := a.Apply(simple())
	a.do(http.MethodGet, "/v1/runs?status=completed", "").says(200, "data")
	if log.Len() > 0 {
		t.Errorf("a read that went well is logged at info level: %s", log.String())
	}
	level.Set(slog.LevelDebug)
	a.do(http.MethodGet, "/v1/runs?status=completed", "").says(200, "data")
	a.do(http.MethodPost, "/v1/workflows/"+string(w.ID)+"/runs", `{"reference_id":"the person"}`, "Idempotency-Key: the-key").says(202, "the person")
	a.do(http.MethodGet, "/v1/runs/the-path", "").is(404, noRun)
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	for i, want := range []string{
		"level=DEBUG msg=request", "level=INFO msg=request", "level=INFO msg=request",
	} {
		if len(lines) != 3 || !strings.Contains(lines[i], want) {
			t.Fatalf("log =\n%s\nwant line %d with %s", log.String(), i+1, want)
		}
	}
	for _, secret := range []string{apiKey, "the person", "the-key", "the-path", string(w.ID)} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log holds %q:\n%s", secret, log.String())
		}
	}
}

func TestTheLogNamesTheRunOfARequest(t *testing.T) {
	var log bytes.Buffer
	a := newAPI(t, setup{options: httpapi.Options{
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Mounts: map[string]http.Handler{"/mount": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if l, ok := w.(interface{ LogRun(id verification.RunID) }); ok {
				l.LogRun(nowhere)
			}
		})},
	}})
	id := string(a.started(simple()).ID)
	named := func(method, path, body, run string) {
		t.Helper()
		log.Reset()
		got := a.do(method, path, body)
		if run == "" && method == http.MethodPost {
			run = field(t, got, "id")
		}
		if want := " run=" + run; run != "" && !strings.Contains(log.String(), want) || run == "" && strings.Contains(log.String(), " run=") {
			t.Errorf("%s %s is logged as %s, want the run %q", method, path, log.String(), run)
		}
	}
	named(http.MethodGet, "/v1/runs/"+id, "", id)
	named(http.MethodGet, "/v1/runs/"+strings.ToUpper(id)+"?view=report", "", id)
	named(http.MethodGet, "/v1/runs/"+id+"/report.pdf", "", id)
	named(http.MethodPost, "/v1/runs/"+id+"/cancel", "", id)
	named(http.MethodPost, "/v1/runs/"+id+"/redact", "", id)
	named(http.MethodPost, "/v1/signals/"+id+"/human_review_decision", `{"payload":{"decision":"approve"}}`, id)
	named(http.MethodPost, "/v1/signals/"+nowhere+"/x", `{"payload":`, nowhere)
	named(http.MethodPost, "/v1/workflows/"+string(a.Apply(simple()).ID)+"/runs", `{"reference_id":"p"}`, "")
	named(http.MethodGet, "/v1/runs/the-path", "", "")
	log.Reset()
	a.handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/mount", nil))
	if !strings.Contains(log.String(), "route=/mount run="+nowhere) {
		t.Errorf("a mount that names its run is logged as %s", log.String())
	}
	named(http.MethodGet, "/v1/runs", "", "")
	named(http.MethodGet, "/v1/workflows/"+string(a.Apply(simple()).ID), "", "")
}

func TestAClientThatDisconnectsIsNoInternalError(t *testing.T) {
	var log bytes.Buffer
	a := newAPI(t, setup{options: httpapi.Options{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/runs", nil)
	r.Header = http.Header{"Client-Id": {"acme"}, "X-Api-Key": {apiKey}}
	a.send(r)
	if log.Len() > 0 {
		t.Errorf("log = %s, want nothing", log.String())
	}
}
