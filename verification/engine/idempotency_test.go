// Tests of idempotency keys on signals, hosts that die included.

package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// twoReviews asks for two reviews, one after the other.
func twoReviews() workflow.Definition {
	return workflow.Definition{
		Workflow: "two-reviews", Name: "Two reviews", Start: "first",
		Nodes: map[verification.NodeID]workflow.Node{
			"first":  {Type: workflow.NodeReview, Label: "First", Next: "second"},
			"second": {Type: workflow.NodeReview, Label: "Second", Next: "done"},
			"done":   {Type: workflow.NodeEnd},
		},
	}
}

func decide(e *engine.Engine, run verification.RunID, v rules.GiveVerdict) (engine.SignalResult, error) {
	return e.GiveVerdict(context.Background(), enginetest.Tenant, run, v, "key")
}

// kinds returns the kinds of the events of a run.
func kinds(t *testing.T, k *enginetest.Kit, run verification.RunID) (all []string) {
	t.Helper()
	history, err := k.Store.Load(t.Context(), enginetest.Tenant, run, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range history {
		all = append(all, e.Kind())
	}
	return all
}

func count(all []string, kind string) (n int) {
	for _, k := range all {
		if k == kind {
			n++
		}
	}
	return n
}

func TestAVerdictThatIsSentAgainDecidesNoOtherReview(t *testing.T) {
	k := enginetest.New(t)
	run := start(k, twoReviews())
	v := rules.GiveVerdict{Decision: rules.DecisionApprove, Notes: "seen"}
	for range 3 {
		got, err := decide(k.Engine, run.ID, v)
		if err != nil || got != (engine.SignalResult{Result: engine.SignalDelivered, Decision: rules.DecisionApprove}) {
			t.Fatalf("verdict = %+v, %v; want it delivered", got, err)
		}
	}
	run = k.Run(run.ID)
	if got := count(kinds(t, k, run.ID), "verdict_recorded"); got != 1 || run.Decision != rules.DecisionReview {
		t.Errorf("%d verdicts are recorded and the run reads %q, want one and review", got, run.Decision)
	}
	k.GiveVerdict(run.ID, rules.DecisionReject) // without a key: the second review
	again, err := decide(k.Engine, run.ID, v)
	if err != nil || again.Result != engine.SignalDelivered || again.Decision != rules.DecisionApprove {
		t.Errorf("the first verdict again = %+v, %v; want its first answer", again, err)
	}
	if d := k.Run(run.ID); d.Decision != rules.DecisionReject {
		t.Errorf("the decision is %q, want the later one", d.Decision)
	}
}

func TestASignalKeyStandsForOneRequest(t *testing.T) {
	k := enginetest.New(t)
	run, other := start(k, twoReviews()), start(k, twoReviews())
	v := rules.GiveVerdict{Decision: rules.DecisionApprove}
	if _, err := decide(k.Engine, run.ID, v); err != nil {
		t.Fatal(err)
	}
	noted, rejected := v, v
	noted.Notes, rejected.Decision = "x", rules.DecisionReject
	for name, err := range map[string]error{
		"other notes":    second(decide(k.Engine, run.ID, noted)),
		"other decision": second(decide(k.Engine, run.ID, rejected)),
		"another run":    second(decide(k.Engine, other.ID, v)),
		"another signal": second(k.Engine.Submit(t.Context(), enginetest.Tenant, run.ID, engine.SubmitRequest{Signal: "x", IdempotencyKey: "key"})),
	} {
		if !errors.Is(err, verification.ErrKeyReused) {
			t.Errorf("%s under the key = %v, want ErrKeyReused", name, err)
		}
	}
	if v, err := k.Engine.Start(t.Context(), enginetest.Tenant, run.WorkflowID,
		engine.StartRequest{ReferenceID: "x", IdempotencyKey: "key"}); err != nil || v.ID == run.ID {
		t.Errorf("a start under the key of a signal = %s, %v; want a run of its own", v.ID, err)
	}
	k.Advance(store.IdempotencyKeyTTL)
	if got, err := decide(k.Engine, run.ID, rejected); err != nil || got.Decision != rules.DecisionReject {
		t.Errorf("another verdict after a day = %+v, %v; want it delivered", got, err)
	}
}

func TestARefusedSignalLeavesItsKeyFree(t *testing.T) {
	k := enginetest.New(t)
	run := start(k, onboarding())
	submit := func(payload string) error {
		_, err := k.Engine.Submit(t.Context(), enginetest.Tenant, run.ID, engine.SubmitRequest{
			Signal: "consent_submitted", Payload: verification.Data(payload), IdempotencyKey: "key",
		})
		return err
	}
	if err := submit(`{"consent_status":"perhaps"}`); !errors.Is(err, verification.ErrInvalid) {
		t.Fatalf("a wrong answer = %v, want ErrInvalid", err)
	}
	v := rules.GiveVerdict{Decision: rules.DecisionApprove}
	if _, err := decide(k.Engine, run.ID, v); !errors.Is(err, verification.ErrNotOpen) {
		t.Fatalf("a verdict that is not open = %v, want ErrNotOpen", err)
	}
	for range 2 {
		if err := submit(`{"consent_status":"success"}`); err != nil {
			t.Errorf("the right answer = %v, want it delivered, and again", err)
		}
	}
	if got := count(kinds(t, k, run.ID), "customer_submitted"); got != 1 {
		t.Errorf("%d answers are recorded, want one", got)
	}
}

var errGone = errors.New("the host is gone")

// dying returns an engine on the store of k whose host stops before it settles an
// idempotency key. Its appends fail with before and are not saved, or are saved and
// fail with after.
func dying(t *testing.T, k *enginetest.Kit, before, after error) *engine.Engine {
	t.Helper()
	runs := mockRuns(k.Store)
	runs.AppendFunc = func(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, c store.Commit) error {
		if before != nil {
			return before
		}
		return errors.Join(k.Store.Append(ctx, t, id, seq, c), after)
	}
	rows := mockRows(k.Store)
	rows.ChangeFunc = func(ctx context.Context, rows []store.Record) error {
		if r, ok := rows[0].(store.IdempotencyKeyRecord); ok && r.Request.Settled && !r.Released {
			return errGone
		}
		return k.Store.Change(ctx, rows)
	}
	return enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
		p.Store = replace(k.Store, func(s *ports) { s.RunStore, s.RowStore, s.WorkQueue = runs, rows, p.Store })
		p.Clock = k.Clock
		p.NewID = enginetest.SeededIDs(2)
	}).Engine
}

func TestASignalWhoseHostDiedIsDeliveredOnce(t *testing.T) {
	for name, c := range map[string]struct{ before, after error }{
		"before the append":                     {before: errGone},
		"while the append was being saved":      {after: errGone},
		"between the append and its settlement": {},
	} {
		t.Run(name, func(t *testing.T) {
			k := enginetest.New(t)
			run := start(k, twoReviews())
			host := dying(t, k, c.before, c.after)
			v := rules.GiveVerdict{Decision: rules.DecisionApprove}
			if _, err := decide(host, run.ID, v); (err == nil) != (name == "between the append and its settlement") {
				t.Fatalf("the verdict of the host that dies = %v", err)
			}
			if _, err := decide(k.Engine, run.ID, v); !errors.Is(err, verification.ErrInFlight) {
				t.Errorf("at once = %v, want ErrInFlight", err)
			}
			k.Advance(store.IdempotencyLockTTL)
			var attempts sync.WaitGroup
			for range 4 {
				attempts.Go(func() {
					got, err := decide(k.Engine, run.ID, v)
					if err != nil || got != (engine.SignalResult{Result: engine.SignalDelivered, Decision: rules.DecisionApprove}) {
						t.Errorf("after a minute = %+v, %v; want it delivered", got, err)
					}
				})
			}
			attempts.Wait()
			if got := count(kinds(t, k, run.ID), "verdict_recorded"); got != 1 {
				t.Errorf("%d verdicts are recorded, want one: the second review is still open", got)
			}
		})
	}
}

func TestACustomersAnswerWhoseHostDiedIsDeliveredOnce(t *testing.T) {
	k := enginetest.New(t)
	run := start(k, onboarding())
	host := dying(t, k, nil, nil)
	submit := func(e *engine.Engine) (engine.SignalResult, error) {
		return e.Submit(t.Context(), enginetest.Tenant, run.ID, engine.SubmitRequest{
			Signal: "consent_submitted", Payload: verification.Data(`{"consent_status":"success"}`), IdempotencyKey: "key",
		})
	}
	if _, err := submit(host); err != nil {
		t.Fatal(err)
	}
	k.Advance(store.IdempotencyLockTTL)
	if got, err := submit(k.Engine); err != nil || got.Result != engine.SignalDelivered {
		t.Errorf("after a minute = %+v, %v; want it delivered, though the step is no longer open", got, err)
	}
	if got := count(kinds(t, k, run.ID), "customer_submitted"); got != 1 {
		t.Errorf("%d answers are recorded, want one", got)
	}
}
