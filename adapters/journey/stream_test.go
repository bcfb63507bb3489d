// Tests that files go through as a stream.

package journey_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

// zeros is an endless reader.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// unchanged is a sanitizer that takes every file.
func unchanged(_ context.Context, content io.Reader, _ []string) (string, io.ReadCloser, error) {
	return "image/jpeg", io.NopCloser(content), nil
}

func TestAFileIsNeverHeldInMemory(t *testing.T) {
	read := int64(0)
	s := serve(t, func(p *engine.Ports, _ *engine.Options) {
		p.Sanitize = unchanged
		p.Documents = &mock.DocumentStoreMock{
			SaveDocumentFunc: func(_ context.Context, _ verification.RunRef, d verification.Document, content io.Reader) (verification.Document, error) {
				n, err := io.Copy(io.Discard, content)
				read += n
				return d, err
			},
			DocumentFunc: func(context.Context, verification.RunRef, string) (verification.Document, error) {
				return verification.Document{}, &verification.Error{Kind: verification.ErrNotFound, Subject: "document"}
			},
			RemoveDocumentFunc: func(context.Context, verification.RunRef, string) error { return nil },
		}
	})
	c := s.begin(onboarding(), "")
	onward(t, c.post("consent", "success"))
	onward(t, c.post(details()...))
	part := "--b\r\nContent-Disposition: form-data; name=\"f.front\"; filename=\"a.jpg\"\r\n\r\n"
	body := io.MultiReader(
		strings.NewReader("--b\r\nContent-Disposition: form-data; name=\"wait\"\r\n\r\n"+c.wait()+"\r\n"+part),
		io.LimitReader(zeros{}, verification.MaxDocumentBytes), strings.NewReader("\r\n"+part),
		io.LimitReader(zeros{}, verification.MaxDocumentBytes), strings.NewReader("\r\n--b--\r\n"))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, c.link, body)
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w := httptest.NewRecorder()
	s.server.Config.Handler.ServeHTTP(w, r)
	runtime.ReadMemStats(&after)
	if w.Code != http.StatusUnprocessableEntity || read != 2*verification.MaxDocumentBytes {
		t.Errorf("answer = %d after %d bytes, want 422 after two whole files", w.Code, read)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 4<<20 {
		t.Errorf("two files of 10 MiB took %d bytes of memory", took)
	}
}
