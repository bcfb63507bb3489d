// The receiver of the lifecycle webhooks of a conversation.

package scenario

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// receiver keeps webhooks in the order of their arrival. Of those with the same webhook-id it keeps
// the first, as a client does: a host that crashes sends some again.
type receiver struct {
	url string

	mu   sync.Mutex
	came []call
	ids  map[string]bool
}

type call struct {
	path string
	body []byte
}

func newReceiver(t testing.TB) *receiver {
	r := &receiver{ids: map[string]bool{}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// ServeHTTP receives a webhook.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil || request.Method != http.MethodPost {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if id := request.Header.Get("Webhook-Id"); id != "" {
		if r.ids[id] {
			return
		}
		r.ids[id] = true
	}
	r.came = append(r.came, call{request.URL.Path, body})
}

// next compares and removes the first webhook.
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

// none returns an error if a webhook arrived that was not wanted.
func (r *receiver) none() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.came) > 0 {
		return fmt.Errorf("want no webhook, one came at %s: %s", r.came[0].path, r.came[0].body)
	}
	return nil
}
