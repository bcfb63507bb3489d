// The receiver of webhooks, which sometimes fails.

package soak_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// receiver receives webhooks. The first attempt of one id in eight gets 500 or no
// response, the next one is accepted: the second retry is minutes later.
type receiver struct {
	url  string
	seed uint64
	hook *standardwebhooks.Webhook

	mu       sync.Mutex
	came     map[string]*notice // by webhook-id
	problems []string
}

// notice is all requests with one webhook-id.
type notice struct {
	id       string
	run      string
	status   string
	kind     string // run.completed
	body     string
	attempts int
	taken    int // answered 2xx
	firstAt  time.Time
}

func newReceiver(t *testing.T, seed uint64) *receiver {
	t.Helper()
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{seed: seed, hook: hook, came: map[string]*notice{}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL + "/hooks"
	return r
}

// ServeHTTP accepts a webhook or fails.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // the host was killed during the request
	}
	switch n := r.keep(request, body); {
	case n.attempts == 1 && r.dice(n.id)%16 == 0:
		w.WriteHeader(http.StatusInternalServerError)
	case n.attempts == 1 && r.dice(n.id)%16 == 1:
		panic(http.ErrAbortHandler)
	default:
		r.mu.Lock()
		defer r.mu.Unlock()
		r.came[n.id].taken++
	}
}

// keep records a webhook and its problems.
func (r *receiver) keep(request *http.Request, body []byte) notice {
	id := request.Header.Get(standardwebhooks.HeaderWebhookID)
	var event struct {
		Type string
		Data struct{ ID, Status string }
	}
	err := json.Unmarshal(body, &event)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.problems = append(r.problems, fmt.Sprintf("webhook %s: %v: %s", id, err, body))
	}
	if err := r.hook.Verify(body, request.Header); err != nil {
		r.problems = append(r.problems, fmt.Sprintf("webhook %s: %v", id, err))
	}
	n := r.came[id]
	if n == nil {
		n = &notice{id: id, run: event.Data.ID, status: event.Data.Status, kind: event.Type, body: string(body), firstAt: time.Now()}
		r.came[id] = n
	}
	if n.body != string(body) {
		r.problems = append(r.problems, fmt.Sprintf("webhook %s said %s, and then %s", id, n.body, body))
	}
	n.attempts++
	return *n
}

// dice returns a number that is the same for all attempts with an id.
func (r *receiver) dice(id string) uint32 {
	h := fnv.New32a()
	fmt.Fprintf(h, "%d %s", r.seed, id)
	return h.Sum32()
}

// all returns the webhooks until now and their problems.
func (r *receiver) all() (notices []notice, problems []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.came {
		notices = append(notices, *n)
	}
	return notices, append(problems, r.problems...)
}

// taken returns the number of ids whose response was 2xx.
func (r *receiver) taken() (n int) {
	notices, _ := r.all()
	for _, each := range notices {
		if each.taken > 0 {
			n++
		}
	}
	return n
}
