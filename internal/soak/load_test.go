// The load: customers who start runs and repeat each request until it is accepted.

package soak_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// The parameters of the load.
const (
	crowd     = 500                    // maximum number of concurrent customers
	retryWait = 300 * time.Millisecond // before a request is repeated
)

// load is the customers and the responses that they got.
type load struct {
	cluster *cluster
	seed    uint64
	client  client
	// onResponse is called with every response, unless it is nil.
	onResponse func(h *host, a response)

	mu       sync.Mutex
	accepted map[string]order // by the id of the run
	live     map[string]bool  // the runs that started, or were read live, after their webhook was set
	hooked   map[string]bool  // the workflows whose webhook was set
	slowest  time.Duration    // until a start was accepted
	refused  map[int]int      // the number of failed requests by status; 0 is no response
	problems []string
	gone     bool // starts are not repeated

	crowd chan struct{}
	all   sync.WaitGroup
}

func newLoad(t *testing.T, f *cluster, seed uint64) *load {
	t.Helper()
	return &load{
		cluster: f, seed: seed, client: newClient(t),
		accepted: map[string]order{}, live: map[string]bool{}, hooked: map[string]bool{}, refused: map[int]int{}, crowd: make(chan struct{}, crowd),
	}
}

// run starts runs at an interval until ctx is done and returns their number.
func (l *load) run(ctx, all context.Context, every time.Duration) (orders int) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return orders
		case <-tick.C:
		}
		select {
		case l.crowd <- struct{}{}:
			o := newOrder(l.seed, orders)
			orders++
			l.all.Go(func() {
				defer func() { <-l.crowd }()
				l.serve(all, o)
			})
		default: // all customers are waiting
		}
	}
}

// leave makes customers abandon starts that are not accepted yet, which may have to
// wait for a minute until the key of an interrupted start is free.
func (l *load) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = true
}

// serve runs one order.
func (l *load) serve(ctx context.Context, o order) {
	hooked := l.isHooked(o.workflow)
	if run, ok := l.start(ctx, o); ok {
		if hooked {
			l.announce(run)
		}
		l.read(ctx, run, o)
		l.follow(ctx, run, o)
	}
}

// read makes a read. It may fail during the failures, but a response must have the run.
func (l *load) read(ctx context.Context, run string, o order) {
	path := "/v1/runs/" + run
	switch o.number % 6 {
	case 0:
		path = "/v1/runs?limit=20&status=completed"
	case 1:
		path = "/v1/runs?limit=20&decision=review"
	case 2:
		path = "/v1/workflows"
	case 3:
		path += "?view=report"
	}
	a := l.send(ctx, http.MethodGet, path, "")
	if a.status != http.StatusOK && a.status != http.StatusServiceUnavailable && a.status != 0 {
		l.problem("order %d: GET %s of run %s was answered %s", o.number, path, run, a)
	}
}

// start repeats the start of an order until it is accepted.
func (l *load) start(ctx context.Context, o order) (run string, ok bool) {
	began := time.Now()
	for ctx.Err() == nil {
		a := l.send(ctx, http.MethodPost, o.path(), o.body(), "Idempotency-Key", o.key(), "Prefer", o.prefer)
		switch {
		case a.status == http.StatusAccepted:
			var r runJSON
			if err := json.Unmarshal(a.body, &r); err != nil || r.ID == "" {
				l.problem("order %d: the start was answered %s", o.number, a)
				return "", false
			}
			l.accept(r.ID, o, time.Since(began))
			if o.number%10 == 0 {
				l.startAgain(ctx, r.ID, o)
			}
			return r.ID, true
		case a.status == http.StatusConflict && strings.Contains(string(a.body), "idempotency_key_in_flight"):
		case a.status != 0 && a.status != http.StatusServiceUnavailable:
			l.problem("order %d: the start was answered %s", o.number, a)
			return "", false
		}
		if l.isGone() || !pause(ctx) {
			return "", false
		}
	}
	return "", false
}

// startAgain repeats an accepted start, which must return the same run.
func (l *load) startAgain(ctx context.Context, run string, o order) {
	a := l.send(ctx, http.MethodPost, o.path(), o.body(), "Idempotency-Key", o.key(), "Prefer", "respond-async")
	var r runJSON
	if a.status == http.StatusAccepted && (json.Unmarshal(a.body, &r) != nil || r.ID != run) {
		l.problem("order %d: the start of run %s was sent again and answered %s", o.number, run, a)
	}
}

// follow runs the action of the order on an accepted run.
func (l *load) follow(ctx context.Context, run string, o order) {
	switch o.then.verb {
	case doSignal:
		l.until(ctx, run, o, func() (done bool, a response) {
			a = l.send(ctx, http.MethodPost, "/v1/signals/"+run+"/"+o.then.signal, `{"payload":`+o.then.payload+`}`)
			return a.status == http.StatusOK, a
		})
	case doCancel:
		l.until(ctx, run, o, func() (done bool, a response) {
			a = l.send(ctx, http.MethodPost, "/v1/runs/"+run+"/cancel", "")
			return a.status == http.StatusOK, a
		})
	case doLoop:
		for _, payload := range []string{`{"name":"` + listed + `","more":true}`, `{"name":"` + unlisted + `"}`} {
			l.until(ctx, run, o, func() (done bool, a response) {
				a = l.send(ctx, http.MethodPost, "/v1/signals/"+run+"/owner_submitted", `{"payload":`+payload+`}`)
				return a.status == http.StatusOK, a
			})
		}
	case doWebhook:
		<-time.After(o.then.wait)
		l.setWebhook(ctx, run, o)
	}
}

// setWebhook sets the webhook of the run's workflow, and reads the run: if it is live then,
// its end must be announced. Without the response to the request that set the webhook it is
// not known since when the webhook holds.
func (l *load) setWebhook(ctx context.Context, run string, o order) {
	path := "/v1/workflows/" + o.workflow + "/webhook"
	for ctx.Err() == nil {
		a := l.send(ctx, http.MethodPost, path, `{"lifecycle_webhook_url":"`+l.cluster.site.hooks.url+`"}`)
		switch a.status {
		case http.StatusOK:
			var r runJSON
			read := l.send(ctx, http.MethodGet, "/v1/runs/"+run, "")
			if read.status == http.StatusOK && json.Unmarshal(read.body, &r) == nil && !r.Status.Terminal() {
				l.announce(run)
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			l.hooked[o.workflow] = true
			return
		case http.StatusConflict:
			return // it was set before
		case 0, http.StatusServiceUnavailable:
		default:
			l.problem("order %d: the webhook was answered %s", o.number, a)
			return
		}
		if !pause(ctx) {
			return
		}
	}
}

// announce records that the end of a run must be announced.
func (l *load) announce(run string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live[run] = true
}

// isHooked reports whether the webhook of a workflow was set.
func (l *load) isHooked(workflow string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hooked[workflow]
}

// until repeats an action until it is done: its response may be lost, and the run
// may not be ready yet.
func (l *load) until(ctx context.Context, run string, o order, do func() (done bool, a response)) {
	unsure := false
	for ctx.Err() == nil {
		done, a := do()
		switch {
		case done:
			return
		case a.status == 0 || a.status == http.StatusServiceUnavailable:
			unsure = true
		case a.status == http.StatusNotFound && strings.Contains(string(a.body), "no open signal"):
			if unsure && l.arrived(ctx, run, o) {
				return
			}
		default:
			l.problem("order %d: the %s of run %s was answered %s", o.number, o.then.verb, run, a)
			return
		}
		if !pause(ctx) {
			return
		}
	}
}

// arrived reports whether a signal whose response was lost has reached its run.
func (l *load) arrived(ctx context.Context, run string, o order) bool {
	a := l.send(ctx, http.MethodGet, "/v1/runs/"+run, "")
	if a.status == http.StatusNotFound {
		l.problem("order %d: run %s was accepted and is not there: %s", o.number, run, a)
		return true
	}
	var r runJSON
	if a.status != http.StatusOK || json.Unmarshal(a.body, &r) != nil {
		return false
	}
	if o.want.Decision.Verdict() {
		return r.decided() == o.want.Decision
	}
	if o.then.verb == doLoop {
		return r.Status.Terminal() // before, it may wait for the customer again
	}
	return r.Status.Terminal() || r.Action == nil
}

// send sends a request to any host.
func (l *load) send(ctx context.Context, method, path, body string, headers ...string) response {
	h := l.cluster.any()
	if h == nil {
		return response{}
	}
	a := l.client.request(ctx, method, h.API+path, body, headers...)
	if a.status < 200 || a.status > 299 {
		l.mu.Lock()
		l.refused[a.status]++
		l.mu.Unlock()
	}
	if l.onResponse != nil {
		l.onResponse(h, a)
	}
	return a
}

func (l *load) accept(run string, o order, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old, there := l.accepted[run]; there && old.number != o.number {
		l.problems = append(l.problems, fmt.Sprintf("orders %d and %d were both told that they are run %s", old.number, o.number, run))
	}
	l.accepted[run] = o
	l.slowest = max(l.slowest, took)
}

func (l *load) isGone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gone
}

func (l *load) problem(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
}

// knows reports whether a customer knows that a run was accepted.
func (l *load) knows(run string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.accepted[run]
	return ok
}

// pause waits before a request is repeated and reports whether ctx is not done.
func pause(ctx context.Context) bool {
	wait := time.NewTimer(retryWait)
	defer wait.Stop()
	select {
	case <-wait.C:
		return true
	case <-ctx.Done():
		return false
	}
}
