package linear_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/google/uuid"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// kept is the state of a run in the model: what decides whether its personal data may be removed, hidden or used.
type kept struct {
	status                     rules.Status
	verdict                    rules.Decision // empty for none, or if hits came since
	held, restricted, redacted bool
}

func (k kept) live() bool { return k.status == rules.StatusInProgress }

func (k kept) decision() rules.Decision {
	if k.live() || k.status == rules.StatusCompleted && k.verdict == "" {
		return rules.DecisionReview
	}
	return k.verdict
}

// shown is what a read says of it.
func (k kept) shown() string {
	return fmt.Sprint(k.status, " ", k.decision(), " redacted: ", k.redacted, " restricted: ", k.restricted, " hidden: ", k.redacted || k.restricted)
}

// removal is a request of this test.
type removal string

const (
	doApprove  removal = "approve"
	doReject   removal = "reject"
	doCancel   removal = "cancel"
	doExpire   removal = "expire" // the clock passes the deadline
	doHits     removal = "hits"
	doHold     removal = "hold"
	doEndHold  removal = "end hold"
	doRestrict removal = "restrict"
	doLift     removal = "lift"
	doRedact   removal = "redact"
	doRead     removal = "read"
)

// after returns the run after a request, and its answer: what a read shows, or why it is refused.
func (k kept) after(r removal) (kept, string) {
	owes := k.decision() == rules.DecisionReview
	refused := func(err error) (kept, string) { return k, err.Error() }
	switch r {
	case doApprove, doReject:
		if k.verdict = rules.DecisionApprove; r == doReject {
			k.verdict = rules.DecisionReject
		}
		if k.live() {
			k.status = rules.StatusCompleted
		}
	case doCancel:
		if !k.live() && k.status != rules.StatusCancelled {
			return k, "refused"
		}
		k.status = rules.StatusCancelled
	case doExpire:
		if k.live() {
			k.status = rules.StatusExpired
		}
	case doHits:
		switch {
		case k.redacted:
			return refused(rules.ErrRedacted)
		case k.restricted:
			return refused(rules.ErrRestricted)
		case k.status != rules.StatusCompleted:
			return k, "refused"
		}
		k.verdict = ""
	case doHold, doEndHold:
		if k.redacted {
			return refused(rules.ErrRedacted)
		}
		if r == doEndHold && !k.held {
			return refused(rules.ErrNoHold)
		}
		k.held = r == doHold
	case doRestrict, doRedact:
		switch {
		case k.live():
			return refused(rules.ErrLive)
		case owes:
			return refused(rules.ErrVerdictOwed)
		case r == doRestrict && k.redacted:
			return refused(rules.ErrRedacted)
		case r == doRestrict:
			k.restricted = true
		case k.held:
			return refused(rules.ErrHeld)
		default:
			k.redacted, k.restricted = true, false
		}
	case doLift:
		switch {
		case k.redacted:
			return refused(rules.ErrRedacted)
		case !k.restricted:
			return refused(rules.ErrNotRestricted)
		}
		k.restricted = false
	case doRead:
		return k, k.shown()
	}
	return k, "done"
}

// TestRemovalsAreAnsweredAsIfInTurn sends verdicts, cancels, expiry, hits of later lists, holds, restrictions, their
// ends, redactions and reads for one run at the same time.
func TestRemovalsAreAnsweredAsIfInTurn(t *testing.T) {
	for name, start := range map[string]func(*testing.T) hosts{"one host on memory": inMemory, "two hosts on PostgreSQL": onPostgres} {
		t.Run(name, func(t *testing.T) {
			h, from, answers := start(t), seed(t), map[string]int{}
			applied, err := h.engines[0].Apply(t.Context(), tenant, workflow.Definition{
				Workflow: "w" + uuid.NewString(), Name: "Kept", Start: "pan", RunTTLSeconds: 3600,
				Nodes: map[verification.NodeID]workflow.Node{
					"pan":  {Type: workflow.NodeCheck, Provider: "sandbox", Next: "look"},
					"look": {Type: workflow.NodeReview, Next: "done"},
					"done": {Type: workflow.NodeEnd},
				},
			})
			must(t, err)
			for i := range number(t, envRuns, 60) {
				run, err := h.engines[0].Start(t.Context(), tenant, applied.Workflow.ID, engine.StartRequest{ReferenceID: canary})
				must(t, err)
				for run.Action == nil {
					<-time.After(time.Millisecond)
					d, err := h.engines[0].Run(t.Context(), tenant, run.ID)
					must(t, err)
					run = d.RunView
				}
				history := h.remove(t, run.ID, from, i)
				for _, op := range history {
					answers[fmt.Sprint(op.Input, ": ", strings.Fields(fmt.Sprint(op.Output))[0])]++
				}
				model := porcupine.Model{
					Init: func() any { return kept{status: rules.StatusInProgress} },
					Step: func(state, input, output any) (bool, any) {
						next, answer := state.(kept).after(input.(removal)) //nolint:errcheck,forcetypeassert // the model has no other states and inputs
						return output == any(answer), next
					},
				}
				if result := porcupine.CheckOperationsTimeout(model, history, checkTimeout); result != porcupine.Ok {
					t.Fatalf("trial %d of seed %d is %s:\n%s", i, from, result, written(history))
				}
				h.leftOf(t, run.ID)
			}
			for _, r := range []removal{doApprove, doCancel, doExpire, doHits, doHold, doEndHold, doRestrict, doLift, doRedact} {
				if answers[string(r)+": done"] == 0 {
					t.Errorf("no trial has a %s that is done: %v", r, answers)
				}
			}
		})
	}
}

// canary is the personal data of the run.
const canary = "Kanarina"

// remove has four clients send requests for one run at the same time, and returns them with their answers. The last
// one reads the run once all are answered.
func (h hosts) remove(t *testing.T, run verification.RunID, seed, trial uint64) (all []porcupine.Operation) {
	t.Helper()
	began, ops := time.Now(), make([][]porcupine.Operation, 4)
	do := func(client int, r *rand.Rand, in removal) porcupine.Operation {
		op := porcupine.Operation{ClientId: client, Input: in, Call: int64(time.Since(began))}
		op.Output = h.removal(t.Context(), h.engines[r.IntN(len(h.engines))], r, run, in)
		op.Return = int64(time.Since(began))
		return op
	}
	var clients sync.WaitGroup
	for c := range ops {
		r := rand.New(rand.NewPCG(seed, trial<<8|uint64(c)))
		clients.Go(func() {
			for n := range 6 {
				likely := []removal{doApprove, doReject, doHold, doEndHold, doRestrict, doRestrict, doLift, doRead, doRead, doHits}
				if n == 0 {
					likely = []removal{doApprove, doCancel, doExpire, doRestrict, doHold, doRead}
				} else if n > 3 {
					likely = append(likely, doRedact)
				}
				ops[c] = append(ops[c], do(c, r, likely[r.IntN(len(likely))]))
			}
		})
	}
	clients.Wait()
	for _, of := range ops {
		all = append(all, of...)
	}
	r := rand.New(rand.NewPCG(seed, trial))
	return append(all, do(0, r, doRead), do(0, r, doRead))
}

// removal sends a request, and returns its answer as kept.after does.
func (h hosts) removal(ctx context.Context, e *engine.Engine, r *rand.Rand, run verification.RunID, in removal) string {
	var err error
	by := verification.Person{Name: "asha", Identity: "asha"}
	verdict := func(d rules.Decision) error {
		_, err := e.GiveVerdict(ctx, tenant, run, rules.GiveVerdict{Decision: d, Notes: canary, By: by.Name, Identity: by.Identity}, "")
		return err
	}
	switch in {
	case doApprove:
		err = verdict(rules.DecisionApprove)
	case doReject:
		err = verdict(rules.DecisionReject)
	case doCancel:
		if _, err = e.Cancel(ctx, tenant, run); errors.Is(err, verification.ErrConflict) {
			return "refused"
		}
	case doExpire:
		h.clock.Advance(2 * time.Hour)
	case doHits:
		_, err = e.RecordHits(ctx, tenant, run, rules.RecordHits{
			Node: "pan", List: "sanctions", ListVersion: "2", Hits: []verification.Hit{{ID: fmt.Sprint(r.Uint64()), Name: canary}},
		})
		if errors.Is(err, verification.ErrConflict) && !errors.Is(err, rules.ErrRedacted) && !errors.Is(err, rules.ErrRestricted) {
			return "refused"
		}
	case doHold:
		err = e.HoldRun(ctx, tenant, run, rules.HoldRun{Reason: canary, By: by.Name, Identity: by.Identity})
	case doEndHold:
		err = e.EndHold(ctx, tenant, run, rules.EndHold{By: by.Name, Identity: by.Identity})
	case doRestrict:
		_, err = e.Restrict(ctx, tenant, run, canary, by)
	case doLift:
		_, err = e.LiftRestriction(ctx, tenant, run, canary, by)
	case doRedact:
		_, err = e.Redact(ctx, tenant, run, "", by)
	case doRead:
		d, err := e.Run(ctx, tenant, run)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(d.Status, " ", d.Decision, " redacted: ", !d.RedactedAt.IsZero(), " restricted: ", !d.RestrictedAt.IsZero(),
			" hidden: ", d.ReferenceID == rules.RedactedReference)
	}
	if err != nil {
		return err.Error()
	}
	return "done"
}

// leftOf fails the test if a redacted run has personal data that was there before, or a run does not read like what is
// stored.
func (h hosts) leftOf(t *testing.T, run verification.RunID) {
	t.Helper()
	events := h.events(t, run)
	for i, e := range events {
		if _, ok := e.Fact.(rules.Redacted); !ok {
			continue
		}
		if raw, err := json.Marshal(events[:i+1]); err != nil || strings.Contains(string(raw), canary) {
			t.Fatalf("the redacted run has %s, %v", raw, err)
		}
	}
	for _, e := range h.engines {
		got, err := e.Report(t.Context(), tenant, run)
		must(t, err)
		for stored := h.events(t, run); len(stored) > len(events); stored = h.events(t, run) { // a redaction was completed meanwhile
			events = stored
			got, err = e.Report(t.Context(), tenant, run)
			must(t, err)
		}
		want := rules.MakeReport(run, rules.Shown(events), h.clock.Now())
		if got.Digest != want.Digest || !reflect.DeepEqual(got.Run, want.Run) || got.Decision != want.Decision || got.Notes != want.Notes {
			t.Fatalf("a host reads %+v, want %+v", got, want)
		}
	}
}

func (h hosts) events(t *testing.T, run verification.RunID) []rules.Event {
	t.Helper()
	events, err := h.stores[0].Load(t.Context(), tenant, run, 0)
	must(t, err)
	return events
}

// written writes requests and answers, by the time of the requests.
func written(history []porcupine.Operation) string {
	var b strings.Builder
	for _, op := range history {
		fmt.Fprintf(&b, "client %d, %9d to %9d: %-8s %s\n", op.ClientId, op.Call, op.Return, op.Input, op.Output)
	}
	return b.String()
}
