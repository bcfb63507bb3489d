// The cost of requests in process. Package hosts/internal/bench measures them over loopback.

package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/httpapi"
)

// nowhereElse is a ResponseWriter without cost.
type nowhereElse struct{ header http.Header }

func (w *nowhereElse) Header() http.Header         { return w.header }
func (w *nowhereElse) Write(p []byte) (int, error) { return len(p), nil }
func (w *nowhereElse) WriteHeader(int)             {}

func inProcess(b *testing.B, h http.Handler, path string) {
	b.Helper()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		r, w := httptest.NewRequestWithContext(b.Context(), http.MethodGet, path, http.NoBody), &nowhereElse{http.Header{}}
		r.Header = http.Header{"Client-Id": {"acme"}, "X-Api-Key": {apiKey}}
		for pb.Next() {
			clear(w.header)
			h.ServeHTTP(w, r)
		}
	})
}

// BenchmarkGetRun writes the cached body of a run.
func BenchmarkGetRun(b *testing.B) {
	a := newAPI(b, setup{})
	data := map[string]any{"source_ok": false}
	for i := range 40 {
		data["field_"+strconv.Itoa(i)] = strings.Repeat("value ", 8)
	}
	a.Provider.On("pan_verification", enginetest.Pass(data))
	inProcess(b, a.handler, "/v1/runs/"+string(a.parked()))
}

// BenchmarkGetRunUncached encodes the run for each request.
func BenchmarkGetRunUncached(b *testing.B) {
	a := newAPI(b, setup{options: httpapi.Options{CacheBytes: -1}})
	inProcess(b, a.handler, "/v1/runs/"+string(a.parked()))
}

func BenchmarkStrictDecode(b *testing.B) {
	for name, body := range map[string]string{
		"start":  `{"reference_id":"customer-8841","input":{"name":"Asha Rao","pan":"ABCDE1234F","tags":["a","b"]},"redirect_uri":"https://app.example/verify"}`,
		"review": `{"payload":{"decision":"approve","notes":"Seen on the phone."}}`,
	} {
		decode := httpapi.Decoders()[name]
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if problems, err := decode([]byte(body)); err != nil || len(problems) > 0 {
					b.Fatal(problems, err)
				}
			}
		})
	}
}
