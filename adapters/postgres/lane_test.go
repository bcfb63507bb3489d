// Tests of a large run that a vendor calls back about many times at once, on both kinds of store.

package postgres_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// reads counts what is read of histories and which appends lose a race.
type reads struct {
	store.Store
	mu     sync.Mutex
	whole  int // reads of a history from its beginning
	events int // that were read by the other reads
	lost   int // appends
	now    int // reads of new events
	most   int // of these at once
	before func()
}

func (r *reads) Load(ctx context.Context, t verification.TenantID, id verification.RunID, after int) ([]rules.Event, error) {
	if after > 0 {
		r.mu.Lock()
		r.now++
		r.most = max(r.most, r.now)
		r.mu.Unlock()
	}
	events, err := r.Store.Load(ctx, t, id, after)
	r.mu.Lock()
	defer r.mu.Unlock()
	if after > 0 {
		r.now--
	}
	if after == 0 {
		r.whole++
	} else {
		r.events += len(events)
	}
	return events, err
}

func (r *reads) Append(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, c store.Commit) error {
	r.mu.Lock()
	before := r.before
	r.before = nil
	r.mu.Unlock()
	if before != nil {
		before()
	}
	err := r.Store.Append(ctx, t, id, seq, c)
	if errors.Is(err, verification.ErrConflict) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.lost++
	}
	return err
}

// busyVendor answers each check by callback. A callback is held until as many as are expected have come.
type busyVendor struct {
	mu     sync.Mutex
	tokens []string
	held   *sync.WaitGroup
}

func (*busyVendor) pending() (verification.CheckResult, error) {
	return verification.CheckResult{Outcome: verification.OutcomePending, Handle: "h", PollAfter: time.Hour}, nil
}

func (v *busyVendor) Check(_ context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.tokens = append(v.tokens, r.CallbackURL[strings.LastIndex(r.CallbackURL, "/")+1:])
	return v.pending()
}

func (v *busyVendor) Poll(context.Context, verification.PollRequest) (verification.CheckResult, error) {
	return v.pending()
}

func (v *busyVendor) ReceiveCallback(context.Context, verification.PollRequest, verification.Callback) (verification.CheckResult, error) {
	if v.held != nil {
		v.held.Done()
		v.held.Wait()
	}
	return verification.CheckResult{Outcome: verification.OutcomePassed, Data: map[string]any{"answer": "yes"}}, nil
}

// busyRun is a large run that waits for many callbacks, and the hosts that may receive them.
type busyRun struct {
	k      *enginetest.Kit
	hosts  []*engine.Engine
	reads  []*reads
	vendor *busyVendor
	run    verification.RunID
}

// newBusyRun starts a run of more than 64 KiB that makes 64 checks. Only the first host drives it.
func newBusyRun(t *testing.T, s store.Store, hosts int) *busyRun {
	t.Helper()
	keys, err := token.NewKeys()
	must(t, err)
	if err := (store.Tables{RowStore: s}).SaveTenant(t.Context(), verification.Tenant{ID: enginetest.Tenant, Name: "Bank"}); err != nil {
		t.Fatal(err)
	}
	b := &busyRun{vendor: &busyVendor{}}
	for n := range hosts {
		r := &reads{Store: s}
		k := enginetest.New(t, func(p *engine.Ports, o *engine.Options) {
			p.Store, p.Callbacks, p.Providers["script"] = r, token.NewLinks(keys), b.vendor
			if n > 0 {
				p.Clock, o.Passive = b.k.Clock, true
			}
		})
		if n == 0 {
			b.k = k
		}
		b.hosts, b.reads = append(b.hosts, k.Engine), append(b.reads, r)
	}
	group := workflow.Node{Type: workflow.NodeChecks, Label: "Owners", ForEach: "input.owners", Next: "done"}
	for _, m := range []string{"a", "b", "c", "d"} {
		group.Members = append(group.Members, workflow.Member{Name: m, Key: m, Provider: "script"})
	}
	w := b.k.Apply(workflow.Definition{
		Workflow: "busy", Name: "Busy", Start: "group",
		Nodes: map[verification.NodeID]workflow.Node{"group": group, "done": {Type: workflow.NodeEnd}},
	})
	owners := make([]any, 16)
	for n := range owners {
		owners[n] = n
	}
	b.run = b.k.Start(w.ID, engine.StartRequest{ReferenceID: "x", Input: verification.DataOf(map[string]any{
		"owners": owners, "padding": strings.Repeat("x", 100_000),
	})}).ID
	for _, r := range b.reads {
		r.whole, r.events = 0, 0
	}
	return b
}

// callBack has one host receive one callback.
func (b *busyRun) callBack(t *testing.T, host, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := b.hosts[host].ReceiveCallback(ctx, b.vendor.tokens[n], verification.Callback{Body: []byte("{}")}); err != nil {
		t.Errorf("callback %d: %v", n, err)
	}
}

// answers returns how many results the run has.
func (b *busyRun) answers(t *testing.T) (n int) {
	t.Helper()
	history, err := b.reads[0].Store.Load(t.Context(), enginetest.Tenant, b.run, 0)
	must(t, err)
	for _, e := range history {
		if _, ok := e.Fact.(rules.ResultRecorded); ok {
			n++
		}
	}
	return n
}

// stores open the stores that hosts may share.
func stores(t *testing.T) map[string]func() store.Store {
	return map[string]func() store.Store{
		"memory":     func() store.Store { return memory.New() },
		"PostgreSQL": func() store.Store { return fresh(t) },
	}
}

func TestABusyLargeRunIsReadOnce(t *testing.T) {
	for name, open := range stores(t) {
		for hosts := 1; hosts <= 2; hosts++ {
			b := newBusyRun(t, open(), hosts)
			all := len(b.vendor.tokens)
			b.vendor.held = &sync.WaitGroup{}
			b.vendor.held.Add(all)
			var calls sync.WaitGroup
			for n := range all {
				calls.Go(func() { b.callBack(t, n%hosts, n) })
			}
			calls.Wait()
			if run := b.k.Run(b.run); all != 64 || run.Status != rules.StatusCompleted || len(run.Flags) != 0 {
				t.Errorf("%s, %d hosts: after %d callbacks, the run is %s with the flags %v", name, hosts, all, run.Status, run.Flags)
			}
			if answers := b.answers(t); answers != all {
				t.Errorf("%s, %d hosts: %d answers were recorded for %d callbacks", name, hosts, answers, all)
			}
			for n, r := range b.reads {
				// A host that does not know how large a run is reads it four times at once. The worker that goes on with
				// the run, and the read above, come later.
				if r.whole > 6 {
					t.Errorf("%s, host %d of %d read the whole history %d times for %d callbacks, want at most 6", name, n+1, hosts, r.whole, all)
				}
				// Beside these, one caller, one command and the worker.
				if r.most > 8 {
					t.Errorf("%s, host %d of %d read new events %d times at once, want at most 8", name, n+1, hosts, r.most)
				}
				if hosts == 1 && r.lost > 0 {
					t.Errorf("%s: %d changes were decided in vain on the only host", name, r.lost)
				}
				if r.events > 4*all {
					t.Errorf("%s, host %d of %d read %d new events", name, n+1, hosts, r.events)
				}
			}
		}
	}
}

func TestALostRaceReadsOnlyWhatIsNew(t *testing.T) {
	for name, open := range stores(t) {
		b := newBusyRun(t, open(), 2)
		b.reads[0].before = func() { b.callBack(t, 1, 1) }
		b.callBack(t, 0, 0)
		if r := b.reads[0]; r.lost != 1 || r.whole != 1 || r.events != 1 {
			t.Errorf("%s: after %d lost races, the whole history was read %d times and %d events beside, want 1 each", name, r.lost, r.whole, r.events)
		}
		if answers := b.answers(t); answers != 2 {
			t.Errorf("%s: %d answers were recorded, want 2", name, answers)
		}
	}
}
