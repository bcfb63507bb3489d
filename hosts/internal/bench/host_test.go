// The measured host: an engine and its store, wired as in verifyd, and clients in
// the same process.

package bench_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

const tenant = verification.TenantID("a0000000-0000-7000-8000-000000000001")

// clientTimeout ends a benchmark whose run does not end.
const clientTimeout = 2 * time.Minute

// host is an engine and its store, without servers.
type host struct {
	engine   *engine.Engine
	store    *witness
	checks   verification.WorkflowID // five checks
	reviewed verification.WorkflowID // two checks, a review, one check
}

// newHost opens a host that is closed at the end of the test.
func newHost(tb testing.TB, url string, o postgres.Options) *host {
	tb.Helper()
	ctx := context.WithoutCancel(tb.Context())
	kept, err := postgres.Open(ctx, url, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(kept.Close)
	store := &witness{Store: kept}
	h := &host{engine: newEngine(tb, store), store: store}
	h.serve(tb)
	if err := store.SaveTenant(ctx, verification.Tenant{ID: tenant, Name: "Bench"}); err != nil {
		tb.Fatal(err)
	}
	h.checks = apply(tb, h.engine, chain("checks", "a", "b", "c", "d", "e"))
	h.reviewed = apply(tb, h.engine, chain("reviewed", "a", "b", "review", "c"))
	return h
}

func newEngine(tb testing.TB, store store.Store) *engine.Engine {
	tb.Helper()
	keys, err := token.NewKeys()
	if err != nil {
		tb.Fatal(err)
	}
	e, err := engine.New(engine.Ports{
		Store:       store,
		Providers:   map[string]verification.Provider{"instant": instant{verification.Data(checkData).Map()}},
		Expressions: expression.New(), Links: token.NewLinks(keys), Clock: clock.System{},
		NewID:    func() string { return uuid.Must(uuid.NewV7()).String() },
		Notifier: discard{},
	}, engine.Options{PublicURL: "http://127.0.0.1", Workers: 64, QueueInterval: 2 * time.Second})
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// serve joins the hosts and serves the engine until the test ends.
func (h *host) serve(tb testing.TB) {
	tb.Helper()
	membership, err := h.store.Join(postgres.MembershipOptions{Wake: h.engine.Wake, Now: time.Now})
	if err != nil {
		tb.Fatal(err)
	}
	serve(tb, h.engine, func(ctx context.Context) {
		if err := membership.Serve(ctx); err != nil {
			tb.Error(err)
		}
	})
}

// serve serves the engine, and what is beside it, until the test ends.
func serve(tb testing.TB, e *engine.Engine, beside ...func(context.Context)) {
	tb.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(tb.Context()))
	var background sync.WaitGroup
	for _, f := range append(beside, e.Serve) {
		background.Go(func() { f(ctx) })
	}
	<-e.Serving()
	tb.Cleanup(func() {
		stop()
		background.Wait()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), clientTimeout)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			tb.Error(err)
		}
	})
}

// chain returns a workflow of consecutive checks; a node named review is a review.
func chain(name string, nodes ...verification.NodeID) workflow.Definition {
	d := workflow.Definition{
		Workflow: name, Name: name, Start: nodes[0],
		Nodes: map[verification.NodeID]workflow.Node{"done": {Type: workflow.NodeEnd}},
	}
	for i, id := range nodes {
		next := verification.NodeID("done")
		if i+1 < len(nodes) {
			next = nodes[i+1]
		}
		n := workflow.Node{Type: workflow.NodeCheck, Label: "Check " + string(id), Provider: "instant", Next: next}
		if id == "review" {
			n = workflow.Node{Type: workflow.NodeReview, Label: "Review", Next: next}
		}
		d.Nodes[id] = n
	}
	return d
}

func apply(tb testing.TB, e *engine.Engine, d workflow.Definition) verification.WorkflowID {
	tb.Helper()
	applied, err := e.Apply(tb.Context(), tenant, d)
	if err != nil {
		tb.Fatal(err)
	}
	return applied.Workflow.ID
}

// runChecks starts a run of five checks and returns the time until it completed.
func (h *host) runChecks(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	v, err := h.engine.Start(ctx, tenant, h.checks, engine.StartRequest{ReferenceID: "person"})
	if err != nil {
		return 0, err
	}
	defer h.store.forget(v.ID)
	return h.completed(v.ID, began)
}

// runReviewed does the same with a verdict as soon as the run is in review.
func (h *host) runReviewed(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	v, err := h.engine.Start(ctx, tenant, h.reviewed, engine.StartRequest{ReferenceID: "person"})
	if err != nil {
		return 0, err
	}
	defer h.store.forget(v.ID)
	at, err := h.store.rest(v.ID)
	if err != nil {
		return 0, err
	}
	if at.Waiting != rules.ActionReview {
		return 0, fmt.Errorf("run %s waits for %q, ended %q; want it to wait for its review", v.ID, at.Waiting, at.Ended)
	}
	verdict := rules.GiveVerdict{Decision: rules.DecisionApprove, By: "reviewer"}
	if _, err := h.engine.GiveVerdict(ctx, tenant, v.ID, verdict, ""); err != nil {
		return 0, err
	}
	return h.completed(v.ID, began)
}

func (h *host) completed(id verification.RunID, began time.Time) (time.Duration, error) {
	at, err := h.store.rest(id)
	if err == nil && at.Ended != rules.StatusCompleted {
		err = fmt.Errorf("run %s ended %q; want it completed", id, at.Ended)
	}
	return at.time.Sub(began), err
}

// witness is a store that counts appends and signals runs that wait or have ended.
type witness struct {
	*postgres.Store
	steps atomic.Int64
	rests sync.Map // of chan rest, by RunID
}

// rest is the state of a run that waits for a person or has ended.
type rest struct {
	rules.Summary
	time time.Time
}

// Append calls the store.
func (w *witness) Append(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, a store.Commit) error {
	err := w.Store.Append(ctx, t, id, seq, a)
	if err == nil {
		w.steps.Add(1)
		if a.Summary.Ended != "" || a.Summary.Waiting != "" {
			w.restsOf(id) <- rest{a.Summary, time.Now()}
		}
	}
	return err
}

func (w *witness) restsOf(id verification.RunID) chan rest {
	const max = 4 // more than a run has
	c, _ := w.rests.LoadOrStore(id, make(chan rest, max))
	return c.(chan rest) //nolint:errcheck // the only type in the map
}

// rest waits until the run waits for a person or has ended.
func (w *witness) rest(id verification.RunID) (rest, error) {
	giveUp := time.NewTimer(clientTimeout)
	defer giveUp.Stop()
	select {
	case r := <-w.restsOf(id):
		return r, nil
	case <-giveUp.C:
		return rest{}, fmt.Errorf("run %s does not come to rest", id)
	}
}

func (w *witness) forget(id verification.RunID) { w.rests.Delete(id) }

// checkData is the data of a check: 300 bytes.
const checkData = `{"aadhaar_linked":true,"address":{"city":"Bengaluru","line":"14 Lake View Road","postcode":"560001"},` +
	`"category":"individual","date_of_birth":"1990-01-31","name":"Asha Rao","name_match":0.97,"pan":"ABCDE1234F",` +
	`"reference":"7f3c-9a52","source_ok":true,"sources":["registry","bureau"],"status":"active"}`

// instant is a provider that passes every check immediately.
type instant struct{ data map[string]any }

func (p instant) Check(context.Context, verification.CheckRequest) (verification.CheckResult, error) {
	return verification.CheckResult{Outcome: verification.OutcomePassed, Data: p.data}, nil
}

// discard is a notifier that sends nothing.
type discard struct{}

func (discard) Notify(context.Context, rules.Notice) error { return nil }
