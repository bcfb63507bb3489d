// Tests of a hold that a restore brings back while the customer of the run is asked again.

package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
)

// inRound is what a round was and led to: the facts of the run but for its hold, and what the customer saw.
type inRound struct {
	Kinds  []string
	Detail rules.RunDetail
	Round  *engine.JourneyRound
}

// TestARoundGoesOnUnderAHoldOfTheLedger restores a backup of a run whose customer is asked again, from before a hold of which the
// ledger knows. The hold counts, and the round goes on as in a backup that was restored without a hold.
func TestARoundGoesOnUnderAHoldOfTheLedger(t *testing.T) {
	pan := func(n int) map[string]any { return map[string]any{"pan": []string{"ABCDE12341", "ABCDE12342"}[n]} }
	again := rules.AskAgain{Step: "details", Reasons: []string{"other"}, Fields: []string{"pan"}, Note: "It is not legible", By: "asha", Identity: "asha"}
	for name, before := range map[string]func(k *enginetest.Kit, run rules.RunDetail){
		"the customer is asked": func(*enginetest.Kit, rules.RunDetail) {},
		"the page is open":      func(k *enginetest.Kit, run rules.RunDetail) { openJourney(t, k, run) },
		"a verdict is owed":     func(k *enginetest.Kit, run rules.RunDetail) { k.Submit(run.ID, "details_submitted", pan(1)) },
	} {
		t.Run(name, func(t *testing.T) {
			restoring := func(held bool) (got inRound) {
				ledger := blob.MemoryLedger()
				k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) { p.Ledger = ledger })
				if _, err := k.Engine.ApplyErasures(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
				run := start(k, inRounds())
				k.Submit(run.ID, "details_submitted", pan(0))
				run = k.AskAgain(run.ID, again)
				k.Advance(time.Second)
				before(k, run)
				from := backup(t, k.Store)
				if held {
					hold := rules.HoldRun{Reason: "Asha is in dispute", By: "Ravi", Identity: "ravi"}
					if err := k.Engine.HoldRun(t.Context(), enginetest.Tenant, run.ID, hold); err != nil {
						t.Fatal(err)
					}
				}
				host := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) { p.Store, p.Clock, p.Ledger = from, k.Clock, ledger })
				host.Store, host.Clock = from, k.Clock
				applied, err := host.Engine.ApplyErasures(t.Context(), "")
				want := engine.AppliedErasures{}
				if held {
					want.Kept = 1
				}
				if err != nil || applied != want {
					t.Errorf("ApplyErasures = %+v, %v, want %+v", applied, err, want)
				}
				if run = host.Run(run.ID); run.Action.Type == rules.ActionCustomerInput {
					got.Round = openJourney(t, host, run).Step.Again
					if got.Round == nil {
						t.Error("the page does not say that the customer is asked again")
					}
					host.Advance(time.Second)
					host.Submit(run.ID, "details_submitted", pan(1))
				}
				if review, err := host.Engine.Review(t.Context(), enginetest.Tenant, run.ID); err != nil || review.Since.IsZero() {
					t.Errorf("the review is %+v, %v", review, err)
				}
				got.Detail = host.GiveVerdict(run.ID, rules.DecisionApprove)
				got.Detail.Seq = 0 // the hold counts
				for _, e := range history(t, host, run.ID) {
					if _, hold := e.Fact.(rules.Held); !hold {
						got.Kinds = append(got.Kinds, e.At.Format(time.RFC3339)+" "+e.Kind())
					}
				}
				_, err = host.Engine.Redact(t.Context(), enginetest.Tenant, run.ID, "", verification.Person{Name: "Ravi", Identity: "ravi"})
				if held != errors.Is(err, rules.ErrHeld) || !held && err != nil {
					t.Errorf("Redact = %v after a restore, with a hold in the ledger: %t", err, held)
				}
				if !held {
					return got
				}
				if err := host.Engine.EndHold(t.Context(), enginetest.Tenant, run.ID, rules.EndHold{By: "Ravi", Identity: "ravi"}); err != nil {
					t.Fatal(err)
				}
				if _, err := host.Engine.Redact(t.Context(), enginetest.Tenant, run.ID, "", verification.Person{Name: "Ravi", Identity: "ravi"}); err != nil {
					t.Errorf("after the end of the hold, Redact = %v", err)
				}
				return got
			}
			want, got := restoring(false), restoring(true)
			if want.Detail.Status != rules.StatusCompleted {
				t.Errorf("without a hold the run is %s", want.Detail.Status)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("with a hold (-without +with):\n%s", diff)
			}
		})
	}
}
