// Tests of the lists of kept and removed runs.

package desk_test

import (
	"cmp"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// copied returns a store with the records of another one.
func copied(t *testing.T, from *memory.Store) *memory.Store {
	t.Helper()
	to := memory.New()
	for _, kind := range store.RecordKinds() {
		for r, err := range from.Records(t.Context(), kind) {
			if err := cmp.Or(err, to.SaveRecords(t.Context(), []store.Record{r})); err != nil {
				t.Fatal(err)
			}
		}
	}
	return to
}

// TestARestoreListsWhatItKeepsAndRemovesAgain makes a backup before and after things are done to runs, and applies the
// ledger to both.
func TestARestoreListsWhatItKeepsAndRemovesAgain(t *testing.T) {
	ledger := blob.MemoryLedger()
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) { p.Ledger = ledger })
	if _, err := k.Engine.ApplyErasures(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	flow := k.Apply(workflow.Definition{Workflow: "kept", Name: "Kept", Start: "pan", Nodes: map[verification.NodeID]workflow.Node{
		"pan": {Type: workflow.NodeCheck, Provider: "script", Label: "PAN", Next: "done"}, "done": {Type: workflow.NodeEnd},
	}}).ID
	ctx, by := t.Context(), verification.Person{Name: "Ravi", Identity: "ravi"}
	hold := func(id verification.RunID) error {
		return k.Engine.HoldRun(ctx, enginetest.Tenant, id, rules.HoldRun{Reason: "a court asks", By: by.Name, Identity: by.Identity})
	}
	second := func(_ rules.RunDetail, err error) error { return err }
	restrict := func(id verification.RunID) error {
		return second(k.Engine.Restrict(ctx, enginetest.Tenant, id, "she objects", by))
	}
	acts := []struct {
		list store.AuditAction
		do   func(verification.RunID) error
		none bool // ends what it began
	}{
		{list: store.AuditRunHeld, do: hold},
		{list: store.AuditRunRestricted, do: restrict},
		{list: store.AuditRunRedacted, do: func(id verification.RunID) error {
			return second(k.Engine.Redact(ctx, enginetest.Tenant, id, rules.RedactAsked, by))
		}},
		{list: store.AuditRunHeld, none: true, do: func(id verification.RunID) error {
			return errors.Join(hold(id), k.Engine.EndHold(ctx, enginetest.Tenant, id, rules.EndHold{By: by.Name, Identity: by.Identity}))
		}},
		{list: store.AuditRunRestricted, none: true, do: func(id verification.RunID) error {
			return errors.Join(restrict(id), second(k.Engine.LiftRestriction(ctx, enginetest.Tenant, id, "she agrees", by)))
		}},
	}
	want := map[store.AuditAction]verification.RunID{}
	runs := make([]verification.RunID, len(acts))
	for i := range acts {
		runs[i] = k.Start(flow, engine.StartRequest{ReferenceID: "person"}).ID
	}
	k.Settle()
	before := copied(t, k.Store)
	for i, act := range acts {
		k.Advance(time.Second)
		if err := act.do(runs[i]); err != nil {
			t.Fatal(err)
		}
		if !act.none {
			want[act.list] = runs[i]
		}
	}
	for name, s := range map[string]*memory.Store{"before": before, "after": copied(t, k.Store)} {
		host := enginetest.New(t, func(p *engine.Ports, o *engine.Options) {
			p.Store, p.Clock, p.Ledger, o.Passive = s, k.Clock, ledger, true
		}).Engine
		if applied, err := host.ApplyErasures(ctx, ""); err != nil || applied.Failed > 0 {
			t.Fatalf("%s: ApplyErasures = %+v, %v", name, applied, err)
		}
		lists := desk.New(host, s, k.Clock.Now, slog.New(slog.DiscardHandler))
		for action, id := range want {
			kept, _, err := lists.KeptRuns(ctx, enginetest.Tenant, action, "")
			if err != nil || len(kept) != 1 || kept[0].AuditEntry.Run != id || kept[0].Actor.Name == "" {
				t.Errorf("%s: the list %s has %+v, %v; want run %s with who did it", name, action, kept, err, id)
			}
		}
	}
}
