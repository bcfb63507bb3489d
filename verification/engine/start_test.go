// Tests of starts: waiting, idempotency keys and refusals.

package engine_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestAStartOfAnInteractiveWorkflowCarriesItsLink(t *testing.T) {
	k := enginetest.New(t, func(_ *engine.Ports, o *engine.Options) { o.StartWait = time.Minute })
	d := onboarding()
	d.Start = "pan"
	d = with(d, "pan", func(n *workflow.Node) { n.Next = "consent" })
	d = with(d, "consent", func(n *workflow.Node) { n.Next = "review" })
	w := k.Apply(d)
	v, err := k.Engine.Start(t.Context(), enginetest.Tenant, w.ID, engine.StartRequest{ReferenceID: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if v.Action == nil || !strings.HasPrefix(v.Action.URL, "http://journey.example/journey/") {
		t.Errorf("action = %+v, want the link that the run came to while the start waited", v.Action)
	}
}

func TestAStartReturnsWhenItsWaitIsOver(t *testing.T) {
	k := enginetest.New(t)
	k.Provider.On("pan", enginetest.Slow(time.Hour, enginetest.Pass(nil)))
	w := k.Apply(with(chain("pan"), "pan", func(n *workflow.Node) { n.TimeoutSeconds = 600 }))
	wait := time.Millisecond
	v, err := k.Engine.Start(t.Context(), enginetest.Tenant, w.ID, engine.StartRequest{ReferenceID: "x", Wait: &wait})
	if err != nil || v.Status != rules.StatusInProgress || v.Action != nil {
		t.Errorf("start = %+v, %v; want in progress without an action", v, err)
	}
}

func TestAStartWhoseCallerGoesAwayIsCarriedOut(t *testing.T) {
	k := enginetest.New(t)
	w := k.Apply(chain("a"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wait := time.Minute
	k.Provider.On("a", enginetest.Slow(time.Second, enginetest.Pass(nil)))
	go func() {
		for len(k.Provider.Calls("a")) == 0 && t.Context().Err() == nil {
			runtime.Gosched()
		}
		cancel()
	}()
	v, err := k.Engine.Start(ctx, enginetest.Tenant, w.ID, engine.StartRequest{ReferenceID: "x", Wait: &wait})
	if err != nil {
		t.Fatal(err)
	}
	k.Advance(time.Second)
	wantStatus(t, k.Run(v.ID), rules.StatusCompleted)
}

func TestAnIdempotencyKeyStartsOneRun(t *testing.T) {
	k := enginetest.New(t)
	w := k.Apply(chain("a"))
	first := engine.StartRequest{ReferenceID: "x", Input: verification.Data(`{"a":1}`), IdempotencyKey: "key-1"}
	one, err := k.Engine.Start(t.Context(), enginetest.Tenant, w.ID, first)
	if err != nil {
		t.Fatal(err)
	}
	again, err := k.Engine.Start(t.Context(), enginetest.Tenant, w.ID, first)
	if err != nil || again.ID != one.ID {
		t.Errorf("the same request = run %s, %v; want %s again", again.ID, err, one.ID)
	}
	other := first
	other.ReferenceID = "y"
	if _, err := k.Engine.Start(t.Context(), enginetest.Tenant, w.ID, other); !errors.Is(err, verification.ErrKeyReused) {
		t.Errorf("another request under the key = %v, want ErrKeyReused", err)
	}
	k.Advance(24*time.Hour + time.Second)
	fresh, err := k.Engine.Start(t.Context(), enginetest.Tenant, w.ID, other)
	if err != nil || fresh.ID == one.ID {
		t.Errorf("after 24 h = run %s, %v; want a new run", fresh.ID, err)
	}
}

func TestAKeyWhoseFirstRequestIsInFlightIsRefused(t *testing.T) {
	k := enginetest.New(t)
	k.Provider.On("a", enginetest.Slow(time.Hour, enginetest.Pass(nil)))
	w := k.Apply(with(chain("a"), "a", func(n *workflow.Node) { n.TimeoutSeconds = 600 }))
	wait := time.Hour
	r := engine.StartRequest{ReferenceID: "x", IdempotencyKey: "key", Wait: &wait}
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan rules.RunView, 1)
	go func() {
		v, _ := k.Engine.Start(ctx, enginetest.Tenant, w.ID, r)
		answered <- v
	}()
	for len(k.Provider.Calls("a")) == 0 {
		time.Sleep(time.Millisecond) //nolint:forbidigo // the other request runs in real time
	}
	if _, err := k.Engine.Start(t.Context(), enginetest.Tenant, w.ID, r); !errors.Is(err, verification.ErrInFlight) {
		t.Errorf("while the first waits = %v, want ErrInFlight", err)
	}
	cancel()
	first := <-answered
	again, err := k.Engine.Start(t.Context(), enginetest.Tenant, w.ID, engine.StartRequest{ReferenceID: "x", IdempotencyKey: "key"})
	if err != nil || again.ID != first.ID {
		t.Errorf("after it was answered = %s, %v; want %s", again.ID, err, first.ID)
	}
}

func TestAKeyOfAHostThatDiedIsTakenOver(t *testing.T) {
	k := enginetest.New(t)
	w := k.Apply(chain("a"))
	r := engine.StartRequest{ReferenceID: "x", IdempotencyKey: "key"}
	dying, runs := withRuns(t, func(p *engine.Ports, _ *engine.Options) {
		p.Store, p.NewID = replace(p.Store, func(s *ports) { s.RowStore, s.WorkflowStore = k.Store, k.Store }), enginetest.SeededIDs(2)
	})
	onAppend(runs, func(verification.RunID, store.Commit) error { return errDisk })
	if _, err := dying.Engine.Start(t.Context(), enginetest.Tenant, w.ID, r); err == nil {
		t.Fatal("the start succeeded although its append failed")
	}
	if _, err := k.Engine.Start(t.Context(), enginetest.Tenant, w.ID, r); !errors.Is(err, verification.ErrInFlight) {
		t.Errorf("at once = %v, want ErrInFlight", err)
	}
	k.Advance(store.IdempotencyLockTTL)
	v, err := k.Engine.Start(t.Context(), enginetest.Tenant, w.ID, r)
	if err != nil {
		t.Fatalf("after a minute: %v", err)
	}
	wantStatus(t, k.Run(v.ID), rules.StatusCompleted)
}

func TestAnAcceptedStartAnswersUnderStricterRules(t *testing.T) {
	k := enginetest.New(t)
	w := k.Apply(chain("a"))
	r := engine.StartRequest{ReferenceID: "x", IdempotencyKey: "key"}
	first, err := k.Engine.Start(t.Context(), enginetest.Tenant, w.ID, r)
	if err != nil {
		t.Fatal(err)
	}
	d := chain("a")
	d.InputSchema = verification.Data(`{"type":"object","required":["pan"],"properties":{"pan":{"type":"string"}}}`)
	k.Apply(d)
	again, err := k.Engine.Start(t.Context(), enginetest.Tenant, w.ID, r)
	if err != nil || again.ID != first.ID {
		t.Errorf("the same start again = %s, %v; want run %s", again.ID, err, first.ID)
	}
}

func TestARefusedStartLeavesItsKeyFree(t *testing.T) {
	k := enginetest.New(t)
	w := k.Apply(chain("a"))
	r := engine.StartRequest{IdempotencyKey: "key"}
	if _, err := k.Engine.Start(t.Context(), enginetest.Tenant, w.ID, r); !errors.Is(err, verification.ErrInvalid) {
		t.Fatalf("start without a reference = %v, want ErrInvalid", err)
	}
	r.ReferenceID = "x"
	if _, err := k.Engine.Start(t.Context(), enginetest.Tenant, w.ID, r); err != nil {
		t.Errorf("the corrected start = %v, want none", err)
	}
}

func TestAStartIsRefusedWithAllItsProblems(t *testing.T) {
	k := enginetest.New(t)
	d := chain("a")
	d.InputSchema = verification.Data(`{"type":"object","required":["pan"],"properties":{"pan":{"type":"string"}}}`)
	w := k.Apply(d)
	_, err := k.Engine.Start(t.Context(), enginetest.Tenant, w.ID, engine.StartRequest{RedirectURI: "https://elsewhere.example/"})
	var refused *verification.Error
	if !errors.As(err, &refused) || !errors.Is(err, verification.ErrInvalid) {
		t.Fatalf("start = %v, want ErrInvalid", err)
	}
	var names []string
	for _, f := range refused.Fields {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); got != "reference_id input.pan redirect_uri" {
		t.Errorf("fields = %s, want reference_id input.pan redirect_uri", got)
	}
}

func TestARepeatedStartIsRefusedOnceTheRunIsDeleted(t *testing.T) {
	k := enginetest.New(t)
	w := k.Apply(chain("a"))
	r := engine.StartRequest{ReferenceID: "x", IdempotencyKey: "key"}
	run, err := k.Engine.Start(t.Context(), enginetest.Tenant, w.ID, r)
	if err != nil {
		t.Fatal(err)
	}
	k.Advance(time.Minute)
	history, err := k.Store.Load(t.Context(), enginetest.Tenant, run.ID, 0)
	if err == nil {
		err = k.Store.Append(t.Context(), enginetest.Tenant, run.ID, len(history), store.Commit{Delete: true})
	}
	if err != nil {
		t.Fatal(err)
	}
	if v, err := k.Engine.Start(t.Context(), enginetest.Tenant, w.ID, r); !errors.Is(err, verification.ErrConflict) {
		t.Errorf("the repeated start = %q, %v; want a conflict", v.ID, err)
	}
	if _, err := k.Store.Load(t.Context(), enginetest.Tenant, run.ID, 0); !errors.Is(err, verification.ErrNotFound) {
		t.Errorf("Load of the deleted run = %v, want not found", err)
	}
	k.Advance(store.IdempotencyKeyTTL)
	if v, err := k.Engine.Start(t.Context(), enginetest.Tenant, w.ID, r); err != nil || v.ID == run.ID {
		t.Errorf("a start a day later = %q, %v; want another run", v.ID, err)
	}
}

func TestARepeatedStartWaitsAsRequested(t *testing.T) {
	k := enginetest.New(t)
	w := k.Apply(chain("a"))
	k.Provider.On("a", enginetest.Slow(time.Second, enginetest.Pass(nil)))
	r := engine.StartRequest{ReferenceID: "x", IdempotencyKey: "key"}
	if _, err := k.Engine.Start(t.Context(), enginetest.Tenant, w.ID, r); err != nil {
		t.Fatal(err)
	}
	wait := time.Minute
	r.Wait = &wait
	answered := make(chan rules.RunView, 1)
	go func() {
		v, err := k.Engine.Start(t.Context(), enginetest.Tenant, w.ID, r)
		if err != nil {
			t.Error(err)
		}
		answered <- v
	}()
	select {
	case v := <-answered:
		t.Errorf("the repeated start returned %s at once, want it to wait for the check", v.Status)
	case <-time.After(50 * time.Millisecond):
		k.Advance(time.Second)
		if v := <-answered; v.Status != rules.StatusCompleted {
			t.Errorf("the repeated start returned %s, want completed", v.Status)
		}
	}
}

// slowCompiler compiles schemas whose checks end when the test allows it.
type slowCompiler struct {
	workflow.ExpressionCompiler
	began, end chan struct{}
}

type slowSchema slowCompiler

func (l slowCompiler) Schema(verification.Data) (workflow.Schema, error) {
	return slowSchema(l), nil
}

func (s slowSchema) Check(verification.Data) []verification.FieldError {
	s.began <- struct{}{}
	<-s.end
	return nil
}

func TestOneInputOfATenantIsCheckedAtATime(t *testing.T) {
	slow := slowCompiler{began: make(chan struct{}, 10), end: make(chan struct{})}
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
		slow.ExpressionCompiler = p.Expressions
		p.Expressions = slow
	})
	d := chain("a")
	d.InputSchema = verification.Data(`{"type":"object"}`)
	const other verification.TenantID = "00000000-0000-7000-8000-0000000000bb"
	if err := k.Store.SaveTenant(t.Context(), verification.Tenant{ID: other, Name: "Other"}); err != nil {
		t.Fatal(err)
	}
	workflows := map[verification.TenantID]verification.WorkflowID{enginetest.Tenant: k.Apply(d).ID}
	applied, err := k.Engine.Apply(t.Context(), other, d)
	if err != nil {
		t.Fatal(err)
	}
	workflows[other] = applied.Workflow.ID
	small := verification.Data(`{"a":1}`)
	large := verification.Data(`{"a":"` + strings.Repeat("x", 100_000) + `"}`)
	started := make(chan error, 10)
	begin := func(ctx context.Context, tenant verification.TenantID, input verification.Data) {
		go func() {
			_, err := k.Engine.Start(ctx, tenant, workflows[tenant], engine.StartRequest{ReferenceID: "x", Input: input})
			started <- err
		}()
	}
	begin(t.Context(), enginetest.Tenant, large)
	<-slow.began
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	begin(ctx, enginetest.Tenant, large)
	select {
	case <-slow.began:
		t.Error("a second large input of the tenant is checked beside the first")
	case err := <-started:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the start whose caller left = %v, want its deadline", err)
		}
	}
	begin(t.Context(), other, small)
	<-slow.began
	close(slow.end)
	for range 2 {
		if err := <-started; err != nil {
			t.Errorf("start = %v, want no error", err)
		}
	}
}

func TestAHostNoticesThatAnotherHostChangedTheWorkflow(t *testing.T) {
	k := enginetest.New(t)
	other := operator(t, k, func(p *engine.Ports) { p.NewID = enginetest.SeededIDs(3) })
	d := chain("a")
	d.Nodes["a"] = workflow.Node{Type: workflow.NodeReview, Label: "Review", Reason: "Always.", Next: "done"}
	d.InputSchema = verification.Data(`{"type":"object","required":["age"]}`)
	w := k.Apply(d)
	startOnOther := func(input string) (rules.RunView, error) {
		return other.Start(t.Context(), enginetest.Tenant, w.ID, engine.StartRequest{
			ReferenceID: "x", Input: verification.Data(input), Wait: new(time.Duration),
		})
	}
	run, err := startOnOther(`{"age":7}`)
	if err != nil {
		t.Fatal(err)
	}
	d.InputSchema = verification.Data(`{"type":"object","required":["name"]}`)
	k.Apply(d)
	if _, err := startOnOther(`{"name":"Asha"}`); err != nil {
		t.Errorf("a start that the new version allows = %v, want a run", err)
	}
	d.InputSchema = verification.Data(`{"type":"object","required":["pan"]}`)
	k.Apply(d)
	if _, err := startOnOther(`{"name":"Asha"}`); !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("a start that only the old version allows = %v, want %v", err, verification.ErrInvalid)
	}
	if _, err := k.Engine.SetWebhook(t.Context(), enginetest.Tenant, w.ID, "https://client.example/hooks"); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Cancel(t.Context(), enginetest.Tenant, run.ID); err != nil {
		t.Fatal(err)
	}
	k.Engine.Wake()
	k.Settle()
	if notices := k.Notices.All(); len(notices) == 0 || notices[0].Run.ID != run.ID {
		t.Errorf("notices = %+v, want one about the run that ended after the webhook was set", notices)
	}
}

func TestARefusedLargeInputDelaysNoOther(t *testing.T) {
	k := enginetest.New(t)
	w := k.Apply(chain("a"))
	large := engine.StartRequest{Input: verification.Data(`{"a":"` + strings.Repeat("x", 100_000) + `"}`)}
	if _, err := k.Engine.Start(t.Context(), enginetest.Tenant, w.ID, large); !errors.Is(err, verification.ErrInvalid) {
		t.Fatalf("start without a reference = %v, want ErrInvalid", err)
	}
	large.ReferenceID = "x"
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := k.Engine.Start(ctx, enginetest.Tenant, w.ID, large); err != nil {
		t.Errorf("the next start = %v", err)
	}
}

func TestAStartThatWasTakenOverReturnsItsFirstRun(t *testing.T) {
	k, runs := withRuns(t)
	w := k.Apply(chain("a"))
	r := engine.StartRequest{ReferenceID: "x", IdempotencyKey: "key"}
	other := operator(t, k, func(p *engine.Ports) { p.NewID = enginetest.SeededIDs(3) })
	var taken rules.RunView
	nextAppend(runs, func() { // the first host stands still for longer than its key is locked
		k.Advance(store.IdempotencyLockTTL)
		var err error
		if taken, err = other.Start(t.Context(), enginetest.Tenant, w.ID, r); err != nil {
			t.Error(err)
		}
	})
	first, err := k.Engine.Start(t.Context(), enginetest.Tenant, w.ID, r)
	if err != nil || first.ID != taken.ID {
		t.Errorf("start = %s, %v; want run %s, which another host has saved", first.ID, err, taken.ID)
	}
}
