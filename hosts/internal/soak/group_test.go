// Test of hosts that are killed while several vendors are called for one run.

package soak_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/adapters/client"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// groupWorkflow is a workflow of a group of three members and a step for each of three elements.
const groupWorkflow = `
        start: address
        nodes:
          address:
            type: checks
            members:
              bureau: {provider: registry, timeout_seconds: 60, with: {hold: "${input.hold}"}}
              register: {provider: registry, timeout_seconds: 60, with: {hold: "${input.hold}"}}
              utility: {provider: registry, timeout_seconds: 60, with: {hold: "${input.hold}"}}
            next: owners
          owners: {type: check, provider: registry, timeout_seconds: 60, with: {hold: "${input.hold}"}, for_each: "['x', 'y', 'z']", next: done}
          done: {type: end}`

// roundWorkflow is a workflow whose customer is asked again: the group and the elements read what he types, and another check
// does not.
const roundWorkflow = `
        start: details
        nodes:
          details: {type: customer_input, fields: {pan: {type: text, required: true}}, next: address}
          address:
            type: checks
            members:
              bureau: {provider: registry, timeout_seconds: 60, with: {hold: "${input.hold}", pan: "${steps.details.data.pan}"}}
              register: {provider: registry, timeout_seconds: 60, with: {hold: "${input.hold}", pan: "${steps.details.data.pan}"}}
            next: owners
          owners:
            {type: check, provider: registry, timeout_seconds: 60, for_each: "['x', 'y', 'z']", next: court,
             with: {hold: "${input.hold}", pan: "${steps.details.data.pan}"}}
          court: {type: check, provider: registry, timeout_seconds: 60, with: {hold: "${input.hold}"}, next: review}
          review: {type: review, next: done}
          done: {type: end}`

// counting is a vendor that counts the requests for each idempotency key.
type counting struct {
	mu   sync.Mutex
	runs map[string]*counted // by run
}

// counted are the requests for one run. The vendor holds the one that the input of the run says, and all that come while it is held.
type counted struct {
	asked    map[string]int
	answered map[string]bool
	requests int
	over     bool          // nothing is held any more
	held     chan struct{} // closed when the request is
}

// of returns the requests for a run.
func (c *counting) of(run string) *counted {
	if c.runs[run] == nil {
		c.runs[run] = &counted{asked: map[string]int{}, answered: map[string]bool{}, held: make(chan struct{})}
	}
	return c.runs[run]
}

func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct{ Hold int }
	_ = json.NewDecoder(r.Body).Decode(&body)
	key := r.Header.Get("Idempotency-Key")
	run, _, _ := strings.Cut(key, "/")
	c.mu.Lock()
	of := c.of(run)
	of.requests++
	of.asked[key]++
	holds := !of.over && of.requests >= body.Hold
	if !of.over && of.requests == body.Hold {
		close(of.held)
	}
	of.answered[key] = of.answered[key] || !holds
	c.mu.Unlock()
	if holds {
		<-r.Context().Done() // until the host is dead
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"result":"VALID","order":1}`)
}

// hold waits until a host waits for a call of a run, and has saved the answers before. It has the vendor hold no further call.
func (c *counting) hold(ctx context.Context, t *testing.T, db *pgx.Conn, run string) {
	t.Helper()
	c.mu.Lock()
	of := c.of(run)
	c.mu.Unlock()
	select {
	case <-of.held:
	case <-ctx.Done():
		t.Fatal("the call to hold did not come")
	}
	c.mu.Lock()
	answered := 0
	for _, was := range of.answered {
		if was {
			answered++
		}
	}
	c.mu.Unlock()
	for saved := -1; saved < answered; {
		if saved >= 0 && !pause(ctx) {
			t.Fatalf("the host has saved %d of %d answers", saved, answered)
		}
		saved, _ = savedCalls(ctx, t, db, run)
	}
	c.release(run)
}

// savedCalls counts the results in the history of a run, and returns the keys of the calls that have none.
func savedCalls(ctx context.Context, t *testing.T, db *pgx.Conn, run string) (results int, inFlight map[string]bool) {
	t.Helper()
	rows, err := readAppends(ctx, db, "run_id = $1::uuid", run)
	if err != nil {
		t.Fatal(err)
	}
	open := map[verification.NodeID]string{}
	for _, r := range rows {
		events, err := rules.DecodeEvents([]byte(r.Raw))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			switch f := e.Fact.(type) {
			case rules.Dispatched:
				open[f.Node] = fmt.Sprintf("%s/%s/%d", run, f.Node, f.Dispatch)
			case rules.ResultRecorded:
				delete(open, f.Node)
				results++
			}
		}
	}
	inFlight = map[string]bool{}
	for _, key := range open {
		inFlight[key] = true
	}
	return results, inFlight
}

// release has the vendor hold no further call of a run.
func (c *counting) release(run string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of(run).over = true
}

func TestKillsDuringAGroupCallNobodyTwice(t *testing.T) {
	t.Parallel()
	vendor := &counting{runs: map[string]*counted{}}
	s := newRegistrySite(t, "group", groupWorkflow, vendor)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	second, db := s.serve(t, "api,worker"), s.connect(t)
	const calls = 6 // of a run that nobody disturbs
	var runs []string
	inFlight := map[string]map[string]bool{}
	for hold := 1; hold <= calls; hold++ {
		h := s.serve(t, "api,worker")
		run := string(start(t, h, workflowID("f"), "person-1", map[string]any{"hold": hold}).ID)
		runs = append(runs, run)
		vendor.hold(ctx, t, db, run)
		if err := h.Kill(); err != nil {
			t.Fatal(err)
		}
		_, inFlight[run] = savedCalls(ctx, t, db, run)
	}
	for i, run := range runs {
		ended := completed(ctx, t, second, verification.RunID(run))
		if decided(ended) != rules.DecisionNone {
			t.Errorf("killed at call %d: the decision is %s, want none", i+1, decided(ended))
		}
		vendor.calledOnce(t, fmt.Sprintf("killed at call %d", i+1), run, inFlight[run], []string{
			"address.bureau/1", "address.register/1", "address.utility/1", "owners[1]/1", "owners[2]/1", "owners[3]/1",
		})
	}
}

// calledOnce fails the test unless the vendor was called for each dispatch of a run, and once but for those in flight.
func (c *counting) calledOnce(t *testing.T, name, run string, inFlight map[string]bool, want []string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := c.of(run).asked
	for _, dispatch := range want {
		if n := asked[run+"/"+dispatch]; n != 1 && (n != 2 || !inFlight[run+"/"+dispatch]) {
			t.Errorf("%s: the vendor was called %d times for %s; in flight were %v", name, n, dispatch, inFlight)
		}
	}
	if len(asked) != len(want) {
		t.Errorf("%s: the vendor was called for %q, want %q", name, slices.Sorted(maps.Keys(asked)), want)
	}
}

// person is the customer and the reviewer of a run: the one answers, the other asks again once and then approves.
type person struct {
	run    verification.RunID
	asked  bool // the customer was asked again
	leaves bool // when he has just been
}

// act does what the run waits for until it has ended, until the people leave, or until the context is done.
func (p *person) act(ctx context.Context, c *client.Client) (ended apitypes.RunDetail, err error) {
	for {
		r, err := c.WaitForRun(ctx, p.run, client.Resting)
		if err != nil || client.Ended(r) {
			return r, err
		}
		switch {
		case r.ActionRequired.Type == rules.ActionCustomerInput:
			_, err = c.DeliverSignal(ctx, p.run, client.Signal{Name: r.ActionRequired.SignalName, Payload: map[string]string{"pan": "ABCDE1234F"}})
		case p.asked:
			_, err = c.GiveVerdict(ctx, p.run, client.Verdict{Decision: rules.DecisionApprove})
		default:
			p.asked = true
			if _, err = c.AskAgain(ctx, p.run, client.AskAgain{Step: "details", Reasons: []string{"other"}}); p.leaves {
				return r, err
			}
		}
		if err != nil {
			return r, err
		}
	}
}

// The hosts are killed at each call of two rounds, and once when the customer has just been asked again.
func TestKillsDuringARoundCallNobodyTwice(t *testing.T) {
	t.Parallel()
	vendor := &counting{runs: map[string]*counted{}}
	s := newRegistrySite(t, "round", roundWorkflow, vendor)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	second, db := s.serve(t, "api,worker"), s.connect(t)
	want := []string{
		"address.bureau/1", "address.register/1", "owners[1]/1", "owners[2]/1", "owners[3]/1", "court/1",
		"address.bureau/2", "address.register/2", "owners[1]/2", "owners[2]/2", "owners[3]/2",
	}
	var people []*person
	inFlight := map[verification.RunID]map[string]bool{}
	for hold := 1; hold <= len(want)+1; hold++ {
		h := s.serve(t, "api,worker")
		p := &person{run: start(t, h, workflowID("f"), "person-1", map[string]any{"hold": hold}).ID, leaves: hold > len(want)}
		people = append(people, p)
		onFirst, leave := context.WithCancel(ctx)
		left := make(chan struct{})
		go func() {
			defer close(left)
			if r, err := p.act(onFirst, h.api); err != nil && onFirst.Err() == nil || client.Ended(r) {
				t.Errorf("before the kill: the run is %s, %v", r.Status, err)
			}
		}()
		if p.leaves {
			<-left
			vendor.release(string(p.run))
		} else {
			vendor.hold(ctx, t, db, string(p.run))
		}
		leave() // before the host dies: what he sees of that is no failure
		<-left
		if err := h.Kill(); err != nil {
			t.Fatal(err)
		}
		_, inFlight[p.run] = savedCalls(ctx, t, db, string(p.run))
		p.leaves = false
	}
	for i, p := range people {
		name := fmt.Sprintf("killed at call %d", i+1)
		ended, err := p.act(ctx, second.api)
		if err != nil || ended.Status != rules.StatusCompleted || decided(ended) != rules.DecisionApprove {
			t.Errorf("%s: the run is %s with the decision %q, %v; want it approved", name, ended.Status, decided(ended), err)
		}
		vendor.calledOnce(t, name, string(p.run), inFlight[p.run], want)
	}
}
