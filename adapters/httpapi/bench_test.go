// How fast a run is read, beside a bare handler that writes the same bytes.

package httpapi_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/httpapi"
)

// polled is an API, and the path of a run with some checks on it.
func polled(b *testing.B) (http.Handler, string) {
	b.Helper()
	a := newAPI(b, setup{})
	data := map[string]any{"source_ok": false}
	for i := range 40 {
		data["field_"+strconv.Itoa(i)] = strings.Repeat("value ", 8)
	}
	a.Provider.On("pan_verification", enginetest.Pass(data))
	return a.handler, "/v1/runs/" + string(a.parked())
}

// bare writes what the API writes for a path, and nothing else.
func bare(b *testing.B, h http.Handler, path string) http.Handler {
	b.Helper()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, request(b, "http://api.example"+path))
	if rec.Code != http.StatusOK {
		b.Fatalf("GET %s = %d %s", path, rec.Code, rec.Body)
	}
	body := rec.Body.Bytes()
	b.Logf("%d bytes", len(body))
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
	})
}

func request(b *testing.B, url string) *http.Request {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	r.Header = http.Header{"Client-Id": {"acme"}, "X-Api-Key": {apiKey}}
	return r
}

// nowhereElse is a writer that costs nothing.
type nowhereElse struct{ header http.Header }

func (w *nowhereElse) Header() http.Header         { return w.header }
func (w *nowhereElse) Write(p []byte) (int, error) { return len(p), nil }
func (w *nowhereElse) WriteHeader(int)             {}

func inProcess(b *testing.B, h http.Handler, path string) {
	b.Helper()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		r, w := request(b, "http://api.example"+path), &nowhereElse{http.Header{}}
		for pb.Next() {
			clear(w.header)
			h.ServeHTTP(w, r)
		}
	})
}

func overLoopback(b *testing.B, h http.Handler, path string) {
	b.Helper()
	server := httptest.NewServer(h)
	b.Cleanup(server.Close)
	raw := "GET " + path + " HTTP/1.1\r\nHost: api.example\r\nclient-id: acme\r\nx-api-key: " + apiKey + "\r\nX-Request-Id: bench\r\n\r\n"
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		// A client of a few lines, so that the server is what is measured.
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			b.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		buf := make([]byte, 64<<10)
		length := 0
		for pb.Next() {
			if _, err := io.WriteString(conn, raw); err != nil {
				b.Error(err)
				return
			}
			if length == 0 {
				if length = firstAnswer(b, conn, buf); length == 0 {
					return
				}
				continue
			}
			if _, err := io.ReadFull(conn, buf[:length]); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}

// firstAnswer reads an answer and returns its length, which is that of all that
// follow but for the count in the request id: the bench sends its own.
func firstAnswer(b *testing.B, conn net.Conn, buf []byte) int {
	b.Helper()
	got := 0
	for {
		n, err := conn.Read(buf[got:])
		if err != nil {
			b.Error(err)
			return 0
		}
		got += n
		head, _, whole := strings.Cut(string(buf[:got]), "\r\n\r\n")
		if !whole {
			continue
		}
		_, after, _ := strings.Cut(head, "Content-Length: ")
		digits, _, _ := strings.Cut(after, "\r\n")
		body, err := strconv.Atoi(digits)
		if err != nil {
			b.Error(err)
			return 0
		}
		if got == len(head)+4+body {
			return got
		}
	}
}

func BenchmarkGetRun(b *testing.B) {
	h, path := polled(b)
	b.Run("in process", func(b *testing.B) { inProcess(b, h, path) })
	b.Run("over loopback", func(b *testing.B) { overLoopback(b, h, path) })
}

func BenchmarkBareHandler(b *testing.B) {
	api, path := polled(b)
	h := bare(b, api, path)
	b.Run("in process", func(b *testing.B) { inProcess(b, h, path) })
	b.Run("over loopback", func(b *testing.B) { overLoopback(b, h, path) })
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
