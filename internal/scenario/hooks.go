// Where the lifecycle webhooks of a conversation arrive.

package scenario

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// receiver keeps what it is told, in the order it came.
type receiver struct {
	url string

	mu   sync.Mutex
	came []call
}

type call struct {
	path string
	body []byte
}

func newReceiver(t testing.TB) *receiver {
	r := &receiver{}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// ServeHTTP takes a webhook.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil || request.Method != http.MethodPost {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.came = append(r.came, call{request.URL.Path, body})
}

// next compares what came first, and forgets it.
func (r *receiver) next(n names, path, want string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.came) == 0 {
		return fmt.Errorf("want a webhook at %s, none came", path)
	}
	first := r.came[0]
	r.came = r.came[1:]
	if first.path != path {
		return fmt.Errorf("want a webhook at %s, one came at %s", path, first.path)
	}
	if err := n.matchBody(want, first.body); err != nil {
		return fmt.Errorf("%w\nthe webhook was %s", err, first.body)
	}
	return nil
}

// none tells whether something came that nobody asked for.
func (r *receiver) none() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.came) > 0 {
		return fmt.Errorf("want no webhook, one came at %s: %s", r.came[0].path, r.came[0].body)
	}
	return nil
}
