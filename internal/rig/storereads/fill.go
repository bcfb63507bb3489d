// Many runs.

package storereads

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Fill starts runs, each with nineteen events, work, search keys and a delivery.
func Fill(t testing.TB, s store.Store, runs int) {
	t.Helper()
	ctx := t.Context()
	failed := []error{
		store.Tables{RowStore: s}.SaveTenant(ctx, verification.Tenant{ID: Tenant, Name: "Acme"}),
		store.Tables{RowStore: s}.SaveAccount(ctx, verification.Account{ClientID: "acme", Tenant: Tenant}),
		s.SaveWorkflow(ctx, Tenant, workflow.Workflow{ID: Workflow, Name: "Onboarding", Revision: 1},
			&workflow.Version{Number: 1, Hash: "first"}),
	}
	for n := range runs {
		id, at := RunID(n), Start().Add(time.Duration(n)*time.Second)
		events := []rules.Event{{At: at, Fact: rules.Started{
			Workflow: Workflow, WorkflowName: "Onboarding", Version: 1, VersionHash: "first", ReferenceID: fmt.Sprint("customer-", n),
			Input: verification.DataOf(map[string]any{"name": fmt.Sprint("Zoë ", n)}),
		}}}
		for i := range 9 {
			events = append(events,
				rules.Event{At: at, Fact: rules.Dispatched{Node: "pan", Key: "pan", Label: "PAN", Provider: "sandbox", Dispatch: 1, Visit: i + 1}},
				rules.Event{At: at, Fact: rules.ResultRecorded{Node: "pan", Passed: true, Data: verification.DataOf(map[string]any{"name": "Zoë", "score": 0.5})}})
		}
		c := store.NewCommit(rules.Run{}, rules.Fold(id, events), events, time.UTC)
		c.Work[store.WorkKey{Kind: store.WorkAdvance}] = at.Add(time.Minute)
		c.Keys = []store.SearchKey{SearchKey(n % 100), SearchKey(100 + n%100)}
		failed = append(failed, s.Append(ctx, Tenant, id, 0, c),
			store.Tables{RowStore: s}.SaveDelivery(ctx, Tenant, rules.Delivery{Run: id, State: rules.DeliveryPending, LastAt: at, Attempts: 1}))
	}
	if err := errors.Join(failed...); err != nil {
		t.Fatal(err)
	}
}
