// Tests of the page that names every use case, and of AskAgain in a transaction.

package engine_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
)

func TestThePageOfEmbeddersHasEveryUseCase(t *testing.T) {
	raw, err := os.ReadFile("../../docs/embedding.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	_, table, found := strings.Cut(page, "\n| to do | call |")
	table, _, ended := strings.Cut(table, "\n\n")
	if !found || !ended {
		t.Fatal("docs/embedding.md has no table of use cases")
	}
	for m := range reflect.TypeFor[*engine.Engine]().Methods() {
		if !strings.Contains(table, "`"+m.Name+"`") {
			t.Errorf("the table of use cases in docs/embedding.md lacks Engine.%s", m.Name)
		}
	}
	_, within, _ := strings.Cut(page, "`engine.TxEngine` has ")
	within, _, _ = strings.Cut(within, "Note:")
	for m := range reflect.TypeFor[*engine.TxEngine]().Methods() {
		if !strings.Contains(within, "`"+m.Name+"`") {
			t.Errorf("docs/embedding.md does not say that a TxEngine has %s", m.Name)
		}
	}
}

// A customer is asked again in the transaction of the caller as outside of it.
func TestACustomerIsAskedAgainWithinATransaction(t *testing.T) {
	ask := rules.AskAgain{Reasons: []string{"blurred"}, By: "asha", Identity: "asha"}
	var signals []string
	for _, within := range []bool{true, false} {
		k := enginetest.New(t)
		run := k.Start(k.Apply(inRounds()).ID, engine.StartRequest{ReferenceID: "person-1"})
		if run = k.Submit(run.ID, "details_submitted", map[string]any{"pan": "A"}); run.Decision != rules.DecisionReview {
			t.Fatalf("the run has the decision %q, want a review", run.Decision)
		}
		if within {
			result, err := k.Engine.Within(k.Store).AskAgain(t.Context(), enginetest.Tenant, run.ID, ask)
			if err != nil || result.Result != engine.SignalDelivered {
				t.Fatalf("AskAgain = %+v, %v", result, err)
			}
			if run, err = k.Engine.Run(t.Context(), enginetest.Tenant, run.ID); err != nil {
				t.Fatal(err)
			}
		} else {
			run = k.AskAgain(run.ID, ask)
		}
		if run.Action == nil || run.Decision != rules.DecisionNone {
			t.Fatalf("within a transaction: %t: the run waits for %+v with the decision %q", within, run.Action, run.Decision)
		}
		signals = append(signals, run.Action.SignalName)
	}
	if signals[0] != "details_submitted" || signals[1] != signals[0] {
		t.Errorf("the runs wait for %q, want the form in both", signals)
	}
	k := enginetest.New(t)
	if _, err := k.Engine.Within(k.Store).AskAgain(t.Context(), enginetest.Tenant, verification.RunID("00000000-0000-7000-8000-00000000ffff"), ask); err == nil {
		t.Error("a run that there is not is asked again")
	}
}
