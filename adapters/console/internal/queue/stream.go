// Live updates of the queue page: server-sent events.

package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// The bounds of streams. A browser without a stream reads the page again every 15 s.
const (
	maxStreams       = 512              // of the host
	maxTenantStreams = 64               // of one tenant
	maxPersonStreams = 4                // of one person
	streamLife       = 10 * time.Minute // then the browser opens a new one
	streamWrite      = 10 * time.Second // for one event
	queueLook        = 3 * time.Second  // between two looks at a queue
	queueTimeout     = 5 * time.Second  // for one look
)

// watcher looks at the queues that browsers have open, once for all browsers of a
// tenant, and notifies them when a queue has changed.
type watcher struct {
	look func(ctx context.Context, t verification.TenantID) (store.Page[rules.Summary], error)

	mu      sync.Mutex
	streams int
	queues  map[verification.TenantID]*watchedQueue
}

// watchedQueue is the queue of one tenant while a browser has it open.
type watchedQueue struct {
	streams map[chan struct{}]string // the keys of the people who watch
	stop    context.CancelFunc
	looked  chan struct{} // closed after the first look
	state   string        // at the last look; empty if the queue could not be read
}

func newWatcher(look func(context.Context, verification.TenantID) (store.Page[rules.Summary], error)) *watcher {
	return &watcher{look: look, queues: map[verification.TenantID]*watchedQueue{}}
}

// watch returns a channel that receives a value after each change of the queue of a
// tenant that follows the call, and at once unless the queue is in the state since, if that is not empty. It also returns
// a function that ends that. ok is false when there are
// too many streams, in all, of the tenant, or of the person with this key.
func (w *watcher) watch(ctx context.Context, t verification.TenantID, person, since string) (changed <-chan struct{}, end func(), ok bool) {
	q, c := w.add(ctx, t, person)
	if q == nil {
		return nil, nil, false
	}
	select {
	case <-q.looked:
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if since != "" && since != q.state {
		notify(c)
	}
	return c, func() { w.end(t, q, c) }, true
}

// add adds a stream to the queue of a tenant; q is nil when there are too many.
func (w *watcher) add(ctx context.Context, t verification.TenantID, person string) (q *watchedQueue, c chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q = w.queues[t]
	if w.streams >= maxStreams || q != nil && (len(q.streams) >= maxTenantStreams || q.of(person) >= maxPersonStreams) {
		return nil, nil
	}
	if q == nil {
		ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
		q = &watchedQueue{streams: map[chan struct{}]string{}, stop: stop, looked: make(chan struct{})}
		w.queues[t] = q
		go w.follow(ctx, t, q)
	}
	c = make(chan struct{}, 1)
	q.streams[c] = person
	w.streams++
	return q, c
}

// of returns the number of streams of a person.
func (q *watchedQueue) of(person string) (n int) {
	for _, who := range q.streams {
		if who == person {
			n++
		}
	}
	return n
}

func (w *watcher) end(t verification.TenantID, q *watchedQueue, c chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(q.streams, c)
	w.streams--
	if len(q.streams) == 0 {
		q.stop()
		delete(w.queues, t)
	}
}

// follow looks at a queue until its last stream has ended.
func (w *watcher) follow(ctx context.Context, t verification.TenantID, q *watchedQueue) {
	tick := time.NewTicker(queueLook)
	defer tick.Stop()
	first := w.state(ctx, t)
	w.mu.Lock()
	q.state = first // after a failure the next state counts as a change
	w.mu.Unlock()
	close(q.looked)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		w.see(q, w.state(ctx, t))
	}
}

// see keeps the state of a queue, and notifies its streams if it has changed.
func (w *watcher) see(q *watchedQueue, state string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if state == "" || state == q.state {
		return
	}
	q.state = state
	for c := range q.streams {
		notify(c)
	}
}

// notify tells a stream of a change, unless it has not sent the last one yet.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// state returns the state of a queue; empty if it cannot be read.
func (w *watcher) state(ctx context.Context, t verification.TenantID) string {
	ctx, cancel := context.WithTimeout(ctx, queueTimeout)
	defer cancel()
	found, err := w.look(ctx, t)
	if err != nil {
		return ""
	}
	return stateOf(found)
}

// stateOf returns a hash of the first page of a queue and of the number of its runs.
func stateOf(found store.Page[rules.Summary]) string {
	found.Data = slices.Clone(found.Data)
	for i, run := range found.Data { // a claim that is renewed is no change
		review := *run.Review
		review.Claim.Until = time.Time{}
		found.Data[i].Review = &review
	}
	raw, err := json.Marshal(found)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

// lookAtQueue reads what a watcher compares.
func (p *Pages) lookAtQueue(ctx context.Context, t verification.TenantID) (store.Page[rules.Summary], error) {
	return p.shell.Engine.Queue(ctx, t, store.RunQuery{PageQuery: shell.PageQuery(1)})
}

const eventStream = "text/event-stream"

// Events sends an event each time the queue has changed.
func (p *Pages) Events(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	if !strings.Contains(r.Header.Get("Accept"), eventStream) {
		return verification.Invalid("queue", "the request must accept "+eventStream)
	}
	if r.Method == http.MethodHead { // it would hold a stream
		w.Header().Set("Content-Type", eventStream)
		return nil
	}
	changed, end, ok := p.watcher.watch(r.Context(), s.Tenant, s.Key(), r.URL.Query().Get("since"))
	if !ok {
		return verification.Unavailable("queue", "too many pages follow the queue")
	}
	defer end()
	life := time.NewTimer(min(streamLife, s.Expires.Sub(p.now())))
	defer life.Stop()
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", eventStream)
	w.Header().Set("X-Accel-Buffering", "no")
	send := func(text string) bool {
		if err := out.SetWriteDeadline(time.Now().Add(streamWrite)); err != nil { //nolint:forbidigo // the network is on the wall clock
			return false
		}
		_, err := fmt.Fprint(w, text)
		return err == nil && out.Flush() == nil
	}
	for open := send("retry: 5000\n\n"); open; {
		select {
		case <-changed:
			open = send("event: changed\ndata:\n\n")
		case <-life.C:
			return nil
		case <-r.Context().Done():
			return nil
		case <-p.stopping:
			return nil
		}
	}
	return nil
}
