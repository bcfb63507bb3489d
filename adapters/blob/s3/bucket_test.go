package s3_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/verifyd/verifyd/adapters/blob/s3"
	"github.com/verifyd/verifyd/verification"
)

const (
	bucketName = "uploads"
	accessKey  = "the-access-key"
	secretKey  = "the-secret-key"
)

// bucket is an object store in memory with one bucket.
type bucket struct {
	server  *httptest.Server
	backend *s3mem.Backend

	mu   sync.Mutex
	puts []http.Header
	// after, if it is set, writes each response to the client. It gets the one of the
	// object store.
	after func(w http.ResponseWriter, r *http.Request, response *httptest.ResponseRecorder)
}

func newBucket(t testing.TB) *bucket {
	t.Helper()
	b := &bucket{backend: s3mem.New()}
	if err := b.backend.CreateBucket(bucketName); err != nil {
		t.Fatal(err)
	}
	inner := gofakes3.New(b.backend).Server()
	b.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		if r.Method == http.MethodPut {
			b.puts = append(b.puts, r.Header.Clone())
		}
		after := b.after
		b.mu.Unlock()
		if after == nil {
			inner.ServeHTTP(w, r)
			return
		}
		response := httptest.NewRecorder()
		inner.ServeHTTP(response, r)
		after(w, r, response)
	}))
	t.Cleanup(b.server.Close)
	return b
}

func (b *bucket) options() s3.Options {
	return s3.Options{
		Endpoint: strings.TrimPrefix(b.server.URL, "http://"), Bucket: bucketName, Prefix: "verifyd/documents", Region: "us-east-1",
		AccessKey: accessKey, SecretKey: secretKey, Transport: b.server.Client().Transport,
	}
}

func (b *bucket) store(t testing.TB) s3.Store { return open(t, b.options()) }

// keys returns the keys of the objects in the bucket.
func (b *bucket) keys(t testing.TB) []string {
	t.Helper()
	list, err := b.backend.ListBucket(bucketName, nil, gofakes3.ListBucketPage{})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, c := range list.Contents {
		keys = append(keys, c.Key)
	}
	return keys
}

// sent returns the headers of the requests to put an object since the last call.
func (b *bucket) sent() []http.Header {
	b.mu.Lock()
	defer b.mu.Unlock()
	puts := slices.Clone(b.puts)
	b.puts = nil
	return puts
}

func open(t testing.TB, o s3.Options) s3.Store {
	t.Helper()
	s, err := s3.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func someRun() verification.RunRef {
	return verification.RunRef{Tenant: "a0000000-0000-7000-8000-000000000001", Run: "d0000000-0000-7000-8000-000000000001"}
}

func upload(n int) verification.Document {
	return verification.Document{
		ID: fmt.Sprintf("e0000000-0000-7000-8000-%012x", n), Field: "front", MediaType: "application/pdf",
		CreatedAt: time.Date(2026, 3, 1, 12, 0, n, 0, time.UTC),
	}
}

// somePDF returns a PDF with a comment of a length.
func somePDF(comment int) []byte {
	return []byte("%PDF-1.4\n%" + strings.Repeat("x", comment) + "\n%%EOF\n")
}

func save(t testing.TB, s s3.Store, n int) (verification.Document, error) {
	t.Helper()
	return s.SaveDocument(t.Context(), someRun(), upload(n), bytes.NewReader(somePDF(1000)))
}

func read(t testing.TB, s s3.Store, n int) ([]byte, error) {
	t.Helper()
	f, err := s.OpenDocument(t.Context(), someRun(), upload(n).ID)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}
