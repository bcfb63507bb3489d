// The load: customers who start runs and repeat each request until it is accepted.

package soak_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/adapters/client"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
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
	// onResponse is called with every response, unless it is nil.
	onResponse func(h *host, err error)

	mu       sync.Mutex
	accepted map[string]order       // by the id of the run
	starts   map[string]time.Time   // when a run was accepted
	acts     map[string][]time.Time // when signals and a cancel of a run were accepted
	live     map[string]bool        // the runs that started, or were read live, after their webhook was set
	hooked   map[string]bool        // the workflows whose webhook was set
	slowest  time.Duration          // until a start was accepted
	refused  map[int]int            // the number of failed requests by status; 0 is no response
	problems []string
	gone     bool // starts are not repeated

	crowd chan struct{}
	all   sync.WaitGroup
}

func newLoad(t *testing.T, f *cluster, seed uint64) *load {
	t.Helper()
	return &load{
		cluster: f, seed: seed,
		accepted: map[string]order{}, starts: map[string]time.Time{}, acts: map[string][]time.Time{}, live: map[string]bool{}, hooked: map[string]bool{}, refused: map[int]int{}, crowd: make(chan struct{}, crowd),
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
func (l *load) read(ctx context.Context, run verification.RunID, o order) {
	err := l.call(func(c *client.Client) (err error) {
		switch o.number % 6 {
		case 0:
			_, err = c.ListRuns(ctx, client.RunQuery{Limit: 20, Status: rules.StatusCompleted})
		case 1:
			_, err = c.ListRuns(ctx, client.RunQuery{Limit: 20, Decision: rules.DecisionReview})
		case 2:
			_, err = c.ListWorkflows(ctx, 0, 0)
		case 3:
			_, err = c.ReadReport(ctx, run)
		default:
			_, err = c.ReadRun(ctx, run)
		}
		return err
	})
	if err != nil && !passing(err) {
		l.problem("order %d: a read of run %s: %v", o.number, run, err)
	}
}

// start repeats the start of an order until it is accepted.
func (l *load) start(ctx context.Context, o order) (run verification.RunID, ok bool) {
	began := time.Now()
	for ctx.Err() == nil {
		r, err := l.startOnce(ctx, o, o.request())
		switch {
		case err == nil:
			l.accept(r.ID, o, time.Since(began))
			if o.number%10 == 0 {
				l.startAgain(ctx, r.ID, o)
			}
			return r.ID, true
		case errors.Is(err, verification.ErrInFlight):
		case !passing(err):
			l.problem("order %d: the start: %v", o.number, err)
			return "", false
		}
		if l.isGone() || !pause(ctx) {
			return "", false
		}
	}
	return "", false
}

func (l *load) startOnce(ctx context.Context, o order, request client.StartRequest) (r apitypes.Run, err error) {
	err = l.call(func(c *client.Client) (err error) {
		r, err = c.StartRun(ctx, o.workflowID(), request)
		return err
	})
	return r, err
}

// startAgain repeats an accepted start, which must return the same run.
func (l *load) startAgain(ctx context.Context, run verification.RunID, o order) {
	request := o.request()
	request.Wait = new(time.Duration)
	if r, err := l.startOnce(ctx, o, request); err == nil && r.ID != run {
		l.problem("order %d: the start of run %s was sent again and answered %s", o.number, run, r.ID)
	}
}

// follow runs the action of the order on an accepted run.
func (l *load) follow(ctx context.Context, run verification.RunID, o order) {
	signal := func(name, payload string) {
		l.until(ctx, run, o, func(c *client.Client) error {
			_, err := c.DeliverSignal(ctx, run, client.Signal{Name: name, Payload: json.RawMessage(payload)})
			return err
		})
	}
	switch o.then.verb {
	case doSignal:
		signal(o.then.signal, o.then.payload)
	case doCancel:
		l.until(ctx, run, o, func(c *client.Client) error { _, err := c.CancelRun(ctx, run); return err })
	case doLoop:
		for _, payload := range []string{`{"name":"` + listed + `","more":true}`, `{"name":"` + unlisted + `"}`} {
			signal("owner_submitted", payload)
		}
	case doWebhook:
		<-time.After(o.then.wait)
		l.setWebhook(ctx, run, o)
	}
}

// setWebhook sets the webhook of the run's workflow, and reads the run: if it is live then,
// its end must be announced. Without the response to the request that set the webhook it is
// not known since when the webhook holds.
func (l *load) setWebhook(ctx context.Context, run verification.RunID, o order) {
	for ctx.Err() == nil {
		err := l.call(func(c *client.Client) error {
			_, err := c.SetWebhook(ctx, o.workflowID(), l.cluster.site.hooks.url)
			return err
		})
		switch {
		case err == nil:
			if r, err := l.readRun(ctx, run); err == nil && !client.Ended(r) {
				l.announce(run)
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			l.hooked[o.workflow] = true
			return
		case errors.Is(err, verification.ErrConflict):
			return // it was set before
		case !passing(err):
			l.problem("order %d: the webhook: %v", o.number, err)
			return
		}
		if !pause(ctx) {
			return
		}
	}
}

// readRun reads a run from any host.
func (l *load) readRun(ctx context.Context, run verification.RunID) (r apitypes.RunDetail, err error) {
	err = l.call(func(c *client.Client) (err error) {
		r, err = c.ReadRun(ctx, run)
		return err
	})
	return r, err
}

// announce records that the end of a run must be announced.
func (l *load) announce(run verification.RunID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live[string(run)] = true
}

// isHooked reports whether the webhook of a workflow was set.
func (l *load) isHooked(workflow string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hooked[workflow]
}

// until repeats an action until it is done: its response may be lost, and the run
// may not be ready yet.
func (l *load) until(ctx context.Context, run verification.RunID, o order, do func(c *client.Client) error) {
	unsure := false
	for ctx.Err() == nil {
		err := l.call(do)
		switch {
		case err == nil:
			l.mu.Lock()
			l.acts[string(run)] = append(l.acts[string(run)], time.Now())
			l.mu.Unlock()
			return
		case passing(err):
			unsure = true
		case errors.Is(err, verification.ErrNotOpen):
			if unsure && l.arrived(ctx, run, o) {
				return
			}
		default:
			l.problem("order %d: the %s of run %s: %v", o.number, o.then.verb, run, err)
			return
		}
		if !pause(ctx) {
			return
		}
	}
}

// arrived reports whether a signal whose response was lost has reached its run.
func (l *load) arrived(ctx context.Context, run verification.RunID, o order) bool {
	r, err := l.readRun(ctx, run)
	switch {
	case errors.Is(err, verification.ErrNotFound):
		l.problem("order %d: run %s was accepted and is not there: %v", o.number, run, err)
		return true
	case err != nil:
		return false
	case o.want.Decision.Verdict():
		return decided(r) == o.want.Decision
	case o.then.verb == doLoop:
		return client.Ended(r) // before, it may wait for the customer again
	}
	return client.Ended(r) || r.ActionRequired == nil
}

// call sends a request to any host.
func (l *load) call(do func(c *client.Client) error) error {
	h := l.cluster.any()
	if h == nil {
		return errors.New("no host is there")
	}
	err := do(h.api)
	if err != nil {
		l.mu.Lock()
		l.refused[statusOf(err)]++
		l.mu.Unlock()
	}
	if l.onResponse != nil {
		l.onResponse(h, err)
	}
	return err
}

func (l *load) accept(id verification.RunID, o order, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	run := string(id)
	if old, there := l.accepted[run]; there && old.number != o.number {
		l.problems = append(l.problems, fmt.Sprintf("orders %d and %d were both told that they are run %s", old.number, o.number, run))
	}
	if l.accepted[run] = o; l.starts[run].IsZero() {
		l.starts[run] = time.Now()
	}
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
