// The load: customers who start runs, and do not rest until they are accepted
// and have been given what they wait for.

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

// The measures of the load.
const (
	crowd     = 500                    // customers at once at most
	retryWait = 300 * time.Millisecond // before something is sent again
)

// load is the customers and what they were told.
type load struct {
	fleet  *fleet
	seed   uint64
	client client
	// heard is told every answer; nil tells nobody.
	heard func(h *host, a answer)

	mu       sync.Mutex
	accepted map[string]order // by the id of the run
	slowest  time.Duration    // until a start was accepted
	refused  map[int]int      // answers that a customer had to put up with, by status; 0 is none
	faults   []string
	gone     bool // no start is sent again

	crowd chan struct{}
	all   sync.WaitGroup
}

func newLoad(t *testing.T, f *fleet, seed uint64) *load {
	t.Helper()
	return &load{
		fleet: f, seed: seed, client: newClient(t),
		accepted: map[string]order{}, refused: map[int]int{}, crowd: make(chan struct{}, crowd),
	}
}

// run starts a run at an interval until ctx ends, and tells how many.
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
		default: // everybody waits
		}
	}
}

// leave has the customers give up starts that are not accepted yet: they may
// have to wait for a minute, until the key of a start that broke off is free.
func (l *load) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = true
}

// serve sees one order through.
func (l *load) serve(ctx context.Context, o order) {
	if run, ok := l.start(ctx, o); ok {
		l.read(ctx, run, o)
		l.follow(ctx, run, o)
	}
}

// read looks at what can be read. A read need not be answered now, but when it
// is, the run must be there.
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
		l.fault("order %d: GET %s of run %s was answered %s", o.number, path, run, a)
	}
}

// start sends the order until it is accepted.
func (l *load) start(ctx context.Context, o order) (run string, ok bool) {
	began := time.Now()
	for ctx.Err() == nil {
		a := l.send(ctx, http.MethodPost, o.path(), o.body(), "Idempotency-Key", o.key(), "Prefer", o.prefer)
		switch {
		case a.status == http.StatusAccepted:
			var r runJSON
			if err := json.Unmarshal(a.body, &r); err != nil || r.ID == "" {
				l.fault("order %d: the start was answered %s", o.number, a)
				return "", false
			}
			l.accept(r.ID, o, time.Since(began))
			if o.number%10 == 0 {
				l.startAgain(ctx, r.ID, o)
			}
			return r.ID, true
		case a.status == http.StatusConflict && strings.Contains(string(a.body), "idempotency_key_in_flight"):
		case a.status != 0 && a.status != http.StatusServiceUnavailable:
			l.fault("order %d: the start was answered %s", o.number, a)
			return "", false
		}
		if l.isGone() || !pause(ctx) {
			return "", false
		}
	}
	return "", false
}

// startAgain sends a start that was accepted: it must stand for the same run.
func (l *load) startAgain(ctx context.Context, run string, o order) {
	a := l.send(ctx, http.MethodPost, o.path(), o.body(), "Idempotency-Key", o.key(), "Prefer", "respond-async")
	var r runJSON
	if a.status == http.StatusAccepted && (json.Unmarshal(a.body, &r) != nil || r.ID != run) {
		l.fault("order %d: the start of run %s was sent again and answered %s", o.number, run, a)
	}
}

// follow does to a run that was accepted what its order says.
func (l *load) follow(ctx context.Context, run string, o order) {
	switch o.then.verb {
	case doSignal:
		l.until(ctx, run, o, func() (done bool, a answer) {
			a = l.send(ctx, http.MethodPost, "/v1/signals/"+run+"/"+o.then.signal, `{"payload":`+o.then.payload+`}`)
			return a.status == http.StatusOK, a
		})
	case doCancel:
		l.until(ctx, run, o, func() (done bool, a answer) {
			a = l.send(ctx, http.MethodPost, "/v1/runs/"+run+"/cancel", "")
			return a.status == http.StatusOK, a
		})
	}
}

// until does something again and again until it is done: its answer may have
// got lost, and the run may not be there yet.
func (l *load) until(ctx context.Context, run string, o order, do func() (done bool, a answer)) {
	unsure := false
	for ctx.Err() == nil {
		done, a := do()
		switch {
		case done:
			return
		case a.status == 0 || a.status == http.StatusServiceUnavailable:
			unsure = true
		case a.status == http.StatusNotFound && strings.Contains(string(a.body), "no open signal"):
			if unsure && l.went(ctx, run, o) {
				return
			}
		default:
			l.fault("order %d: the %s of run %s was answered %s", o.number, o.then.verb, run, a)
			return
		}
		if !pause(ctx) {
			return
		}
	}
}

// went tells whether a signal whose answer got lost has reached its run.
func (l *load) went(ctx context.Context, run string, o order) bool {
	a := l.send(ctx, http.MethodGet, "/v1/runs/"+run, "")
	if a.status == http.StatusNotFound {
		l.fault("order %d: run %s was accepted and is not there: %s", o.number, run, a)
		return true
	}
	var r runJSON
	if a.status != http.StatusOK || json.Unmarshal(a.body, &r) != nil {
		return false
	}
	if o.want.Decision.Verdict() {
		return r.decided() == o.want.Decision
	}
	return r.Status.Terminal() || r.Action == nil
}

// send sends a request to any host.
func (l *load) send(ctx context.Context, method, path, body string, headers ...string) answer {
	h := l.fleet.any()
	if h == nil {
		return answer{}
	}
	a := l.client.ask(ctx, method, h.API+path, body, headers...)
	if a.status < 200 || a.status > 299 {
		l.mu.Lock()
		l.refused[a.status]++
		l.mu.Unlock()
	}
	if l.heard != nil {
		l.heard(h, a)
	}
	return a
}

func (l *load) accept(run string, o order, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old, there := l.accepted[run]; there && old.number != o.number {
		l.faults = append(l.faults, fmt.Sprintf("orders %d and %d were both told that they are run %s", old.number, o.number, run))
	}
	l.accepted[run] = o
	l.slowest = max(l.slowest, took)
}

func (l *load) isGone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gone
}

func (l *load) fault(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}

// knows tells whether a run was accepted, as far as the customers know.
func (l *load) knows(run string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.accepted[run]
	return ok
}

// pause waits before something is sent again.
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
