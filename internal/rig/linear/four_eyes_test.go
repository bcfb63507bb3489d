package linear_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// fourEyes returns a definition with two reviews, each of whose verdicts needs two people.
func fourEyes() workflow.Definition {
	return workflow.Definition{
		Workflow: "w" + uuid.NewString(), Name: "Four eyes", FourEyes: true, Start: "first",
		Nodes: map[verification.NodeID]workflow.Node{
			"first":  {Type: workflow.NodeReview, OnReject: "done", Next: "second"},
			"second": {Type: workflow.NodeReview, Next: "done"},
			"done":   {Type: workflow.NodeEnd},
		},
	}
}

func TestNoRunWithFourEyesGetsAVerdictOfOnePerson(t *testing.T) {
	for name, start := range map[string]func(*testing.T) hosts{
		"one host on memory":      inMemory,
		"two hosts on PostgreSQL": onPostgres,
	} {
		t.Run(name, func(t *testing.T) {
			h, from, seen := start(t), seed(t), map[string]int{}
			applied, err := h.engines[0].Apply(t.Context(), tenant, fourEyes())
			must(t, err)
			for i := range number(t, envRuns, 40) {
				run, err := h.engines[0].Start(t.Context(), tenant, applied.Workflow.ID, engine.StartRequest{ReferenceID: "trial"})
				must(t, err)
				h.decideTogether(t, run.ID, from, i)
				events := h.events(t, run.ID)
				for _, e := range events {
					seen[e.Kind()]++
				}
				if err := twoPeopleAgreed(events); err != nil {
					t.Fatalf("trial %d: %v", i, err)
				}
			}
			for _, kind := range []string{"verdict_proposed", "proposal_returned", "verdict_recorded", "completed", "cancelled"} {
				if seen[kind] == 0 {
					t.Errorf("no trial led to %s: %v", kind, seen)
				}
			}
		})
	}
}

// decideTogether lets four clients decide on one run at the same time, as people and as
// a program, with every request that can change the verdict.
func (h hosts) decideTogether(t *testing.T, run verification.RunID, seed, trial uint64) {
	t.Helper()
	var clients sync.WaitGroup
	failed := make([]error, 4)
	for c := range failed {
		r := rand.New(rand.NewPCG(seed, trial<<8|uint64(c)))
		clients.Go(func() {
			for range 8 {
				if err := h.decideOnce(t.Context(), r, run); err != nil {
					failed[c] = err
					return
				}
			}
		})
	}
	clients.Wait()
	must(t, errors.Join(failed...))
}

// decideOnce sends one random request. A refusal is not an error.
func (h hosts) decideOnce(ctx context.Context, r *rand.Rand, run verification.RunID) error {
	n := r.IntN(len(h.engines))
	e, who := h.engines[n], []string{"asha", "ravi", "meera", ""}[r.IntN(4)]
	verdict := rules.GiveVerdict{
		Decision: []rules.Decision{rules.DecisionApprove, rules.DecisionReject}[r.IntN(2)],
		By:       who, Identity: who,
	}
	var err error
	switch r.IntN(16) {
	case 0:
		_, err = e.Cancel(ctx, tenant, run)
	case 1:
		err = e.ReturnProposal(ctx, tenant, run, rules.ReturnProposal{By: who, Identity: who})
	case 2, 3, 4:
		_, err = e.Within(struct {
			store.Store
			store.Tables
		}{h.stores[n], store.Tables{RowStore: h.stores[n]}}).GiveVerdict(ctx, tenant, run, verdict)
	case 5, 6, 7:
		_, err = e.GiveVerdict(ctx, tenant, run, verdict, fmt.Sprint(run, r.IntN(4))) // other clients use the same keys
	default:
		_, err = e.GiveVerdict(ctx, tenant, run, verdict, "")
	}
	var refused *verification.Error
	if errors.As(err, &refused) {
		return nil
	}
	return err
}

// twoPeopleAgreed returns an error unless each verdict follows a proposal of the same
// decision for the same step by another person, with nothing between them.
func twoPeopleAgreed(events []rules.Event) error {
	var before rules.Fact
	for i, e := range events {
		if f, ok := e.Fact.(rules.VerdictRecorded); ok {
			p, _ := before.(rules.VerdictProposed)
			if p.Identity == "" || f.Identity == "" || p.Identity == f.Identity || p.Decision != f.Decision || p.Node != f.Node {
				return fmt.Errorf("event %d is %+v after %+v", i, f, before)
			}
		}
		before = e.Fact
	}
	return nil
}
