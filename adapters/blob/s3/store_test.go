package s3_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/blob/s3"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/storetest"
)

func TestBucketKeepsTheContract(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	storetest.Documents(t, func(t *testing.T) verification.DocumentStore { return newBucket(t).store(t) })
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) != 0 {
		t.Errorf("there are %v, %v left of the temporary files, want none", left, err)
	}
}

func TestDocumentIsOneObjectSentOnce(t *testing.T) {
	b := newBucket(t)
	d, err := save(t, b.store(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"verifyd/documents/a0000000-0000-7000-8000-000000000001/d0000000-0000-7000-8000-000000000001/e0000000-0000-7000-8000-000000000001/content"}
	if diff := cmp.Diff(want, b.keys(t)); diff != "" {
		t.Errorf("the bucket (-want +got):\n%s", diff)
	}
	sent := b.sent()
	if len(sent) != 1 {
		t.Fatalf("%d objects were put, want 1", len(sent))
	}
	for key, want := range map[string]string{
		"Content-Length": fmt.Sprint(d.Size), "Content-Type": "application/pdf", "X-Amz-Content-Sha256": d.SHA256, "If-None-Match": "*",
	} {
		if got := sent[0].Get(key); got != want {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
}

func TestABucketHasOneIdentity(t *testing.T) {
	b := newBucket(t)
	ids := make([]string, 4)
	var all sync.WaitGroup
	for i := range ids {
		s := b.store(t)
		all.Go(func() {
			var err error
			if ids[i], err = s.Identity(t.Context()); err != nil || ids[i] == "" {
				t.Errorf("Identity = %q, %v", ids[i], err)
			}
		})
	}
	all.Wait()
	other, err := newBucket(t).store(t).Identity(t.Context())
	if err != nil || other == ids[0] {
		t.Errorf("the identity of another bucket = %q, %v", other, err)
	}
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("the identities are %q, want one", ids)
		}
	}
}

func TestAnIDIsSavedOnce(t *testing.T) {
	b := newBucket(t)
	const callers = 8
	saved := 0
	done := make(chan error, callers)
	for range callers {
		s := b.store(t)
		go func() {
			_, err := s.SaveDocument(t.Context(), someRun(), upload(1), bytes.NewReader(somePDF(1000)))
			done <- err
		}()
	}
	for range callers {
		switch err := <-done; {
		case err == nil:
			saved++
		case !errors.Is(err, verification.ErrConflict):
			t.Errorf("SaveDocument: %v, want conflict", err)
		}
	}
	if saved != 1 {
		t.Errorf("%d of %d callers saved one document, want 1", saved, callers)
	}
	if got, err := read(t, b.store(t), 1); err != nil || !bytes.Equal(got, somePDF(1000)) {
		t.Errorf("the document reads %d bytes, %v, want it as it was saved", len(got), err)
	}
}

func TestALostResponseIsNoConflict(t *testing.T) {
	b := newBucket(t)
	var lost atomic.Bool
	b.after = func(w http.ResponseWriter, r *http.Request, response *httptest.ResponseRecorder) {
		if r.Method == http.MethodPut && !lost.Swap(true) {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		write(w, response)
	}
	want, err := save(t, b.store(t), 1)
	if err != nil {
		t.Fatalf("SaveDocument: %v, want it saved", err)
	}
	if got, err := b.store(t).Document(t.Context(), someRun(), upload(1).ID); err != nil || got != want {
		t.Errorf("Document = %+v, %v, want %+v", got, err, want)
	}
	if n := len(b.sent()); n != 2 {
		t.Errorf("%d requests to put, want 2", n)
	}
}

// write writes a recorded response.
func write(w http.ResponseWriter, response *httptest.ResponseRecorder) {
	for key, values := range response.Header() {
		w.Header()[key] = values
	}
	w.WriteHeader(response.Code)
	_, _ = w.Write(response.Body.Bytes())
}

func TestRefusedContentIsNotSent(t *testing.T) {
	b := newBucket(t)
	s := b.store(t)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx     context.Context
		id      string
		content io.Reader
		want    error
	}{
		"a refused file":       {t.Context(), upload(1).ID, refused(0), verification.ErrInvalid},
		"a file refused late":  {t.Context(), upload(1).ID, refused(100_000), verification.ErrInvalid},
		"a broken connection":  {t.Context(), upload(1).ID, iotest.ErrReader(io.ErrClosedPipe), io.ErrClosedPipe},
		"a context that ended": {ended, upload(1).ID, bytes.NewReader(somePDF(0)), context.Canceled},
		"a path for an id":     {t.Context(), "../" + upload(1).ID, bytes.NewReader(somePDF(0)), nil},
	} {
		d := upload(1)
		d.ID = c.id
		if _, err := s.SaveDocument(c.ctx, someRun(), d, c.content); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("SaveDocument of %s: %v, want %v", name, err, c.want)
		}
	}
	if keys, sent := b.keys(t), b.sent(); len(keys) != 0 || len(sent) != 0 {
		t.Errorf("the bucket has %q after %d requests to put, want nothing and none", keys, len(sent))
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) != 0 {
		t.Errorf("there are %v, %v left of the temporary files, want none", left, err)
	}
}

// refused is content that the sanitizer refuses after a number of bytes.
func refused(after int) io.Reader {
	err := &verification.Error{Kind: verification.ErrInvalid, Subject: "document", Message: "the PDF cannot be read"}
	return io.MultiReader(bytes.NewReader(somePDF(after)), iotest.ErrReader(err))
}

// callAll calls every method of a store for one document, and returns the errors by the
// name of the method.
func callAll(t *testing.T, s s3.Store) map[string]error {
	t.Helper()
	_, saved := save(t, s, 1)
	_, found := s.Document(t.Context(), someRun(), upload(1).ID)
	_, opened := read(t, s, 1)
	removed := s.RemoveDocument(t.Context(), someRun(), upload(1).ID)
	return map[string]error{"SaveDocument": saved, "Document": found, "OpenDocument": opened, "RemoveDocument": removed}
}

func TestAnEndpointThatDoesNotAnswerIsUnavailable(t *testing.T) {
	b := newBucket(t)
	s := b.store(t)
	b.server.Close()
	for method, err := range callAll(t, s) {
		if !errors.Is(err, verification.ErrUnavailable) {
			t.Errorf("%s: %v, want unavailable", method, err)
		}
		hidesKeys(t, err)
	}
}

func TestErrorsAreTranslatedByTheirCode(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		want   error
	}{
		{http.StatusServiceUnavailable, "SlowDown", verification.ErrUnavailable},
		{http.StatusInternalServerError, "InternalError", verification.ErrUnavailable},
		{http.StatusTooManyRequests, "TooManyRequests", verification.ErrUnavailable},
		{http.StatusBadRequest, "RequestTimeout", verification.ErrUnavailable},
		{http.StatusConflict, "ConditionalRequestConflict", verification.ErrUnavailable},
		{http.StatusForbidden, "InvalidAccessKeyId", verification.ErrUnavailable},
		{http.StatusNotFound, "NoSuchBucket", verification.ErrUnavailable},
		{http.StatusBadRequest, "InvalidArgument", verification.ErrUnavailable},
	} {
		t.Run(c.code, func(t *testing.T) {
			t.Parallel() // the pauses between attempts add up
			b := newBucket(t)
			b.after = func(w http.ResponseWriter, _ *http.Request, _ *httptest.ResponseRecorder) {
				w.Header().Set("X-Minio-Error-Code", c.code) // the response to a HEAD has no body
				w.WriteHeader(c.status)
				fmt.Fprintf(w, "<Error><Code>%s</Code><Message>NoSuchKey: unavailable, %s %s</Message></Error>", c.code, accessKey, secretKey)
			}
			for method, err := range callAll(t, b.store(t)) {
				hidesKeys(t, err)
				expected, _ := errors.AsType[*verification.Error](err)
				if !errors.Is(err, c.want) || expected.Cause == nil {
					t.Errorf("%s: %v, want %v with a cause", method, err, c.want)
				}
			}
		})
	}
}

func TestASilentEndpointIsUnavailableSoon(t *testing.T) {
	b := newBucket(t)
	released := make(chan struct{})
	b.after = func(http.ResponseWriter, *http.Request, *httptest.ResponseRecorder) { <-released }
	t.Cleanup(func() { close(released) })
	o := b.options()
	o.Timeout = 300 * time.Millisecond
	for method, err := range callAll(t, open(t, o)) { // or the test takes minutes
		if !errors.Is(err, verification.ErrUnavailable) {
			t.Errorf("%s: %v, want unavailable", method, err)
		}
		hidesKeys(t, err)
	}
}

func TestWithoutAFolderForFilesThereIsNoStore(t *testing.T) {
	b := newBucket(t)
	t.Setenv("TMPDIR", "/nonexistent/folder")
	if _, err := s3.New(b.options()); err == nil || !strings.Contains(err.Error(), "set TMPDIR") {
		t.Errorf("New = %v, want an error that names TMPDIR", err)
	}
}

func TestTruncatedContentIsUnavailable(t *testing.T) {
	b := newBucket(t)
	s := b.store(t)
	if _, err := save(t, s, 1); err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	b.after = func(w http.ResponseWriter, _ *http.Request, response *httptest.ResponseRecorder) {
		response.Body.Truncate(100) // of the length that was announced
		write(w, response)
	}
	b.mu.Unlock()
	if got, err := read(t, s, 1); !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("reading truncated content: %d bytes, %v, want unavailable", len(got), err)
	}
}

func TestSaveDocumentEndsWithItsContext(t *testing.T) {
	requested, free := make(chan struct{}, 1), make(chan struct{})
	b := newBucket(t)
	b.after = func(http.ResponseWriter, *http.Request, *httptest.ResponseRecorder) {
		requested <- struct{}{}
		<-free
	}
	defer close(free)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-requested
		cancel()
	}()
	_, err := b.store(t).SaveDocument(ctx, someRun(), upload(1), bytes.NewReader(somePDF(1000)))
	if !errors.Is(err, context.Canceled) || errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("SaveDocument: %v, want context canceled", err)
	}
}

func TestInvalidOptionsAreRefused(t *testing.T) {
	for name, change := range map[string]func(*s3.Options){
		"no endpoint":             func(o *s3.Options) { o.Endpoint = "" },
		"an endpoint with a path": func(o *s3.Options) { o.Endpoint = "https://" + accessKey + ":" + secretKey + "@localhost/x" },
		"no bucket":               func(o *s3.Options) { o.Bucket = "" },
		"a bucket with a slash":   func(o *s3.Options) { o.Bucket = "up/loads" },
		"a prefix with dots":      func(o *s3.Options) { o.Prefix = "a/../../b" },
		"no access key":           func(o *s3.Options) { o.AccessKey = "" },
		"no secret key":           func(o *s3.Options) { o.SecretKey = "" },
	} {
		o := s3.Options{Endpoint: "localhost:9000", Bucket: bucketName, AccessKey: accessKey, SecretKey: secretKey}
		change(&o)
		_, err := s3.New(o)
		if err == nil {
			t.Errorf("New with %s succeeded, want an error", name)
			continue
		}
		hidesKeys(t, err)
	}
}

func TestFormattedOptionsHideTheKeys(t *testing.T) {
	o := newBucket(t).options()
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("open", "options", o, "all", []s3.Options{o})
	slog.New(slog.NewTextHandler(&out, nil)).Info("open", "options", o, "all", []s3.Options{o})
	fmt.Fprintf(&out, "%v %+v %#v %s %q", o, &o, o, o, o)
	if err := json.NewEncoder(&out).Encode(o); err != nil {
		t.Fatal(err)
	}
	hides(t, out.String())
}

// hidesKeys fails the test if an error or its cause contains a key.
func hidesKeys(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	hides(t, fmt.Sprintf("%v %+v", err, err))
	var expected *verification.Error
	if errors.As(err, &expected) {
		hides(t, fmt.Sprintf("%v %+v", expected.Cause, expected))
	}
}

func hides(t *testing.T, text string) {
	t.Helper()
	if strings.Contains(text, accessKey) || strings.Contains(text, secretKey) {
		t.Errorf("%s\ncontains a key", text)
	}
}
