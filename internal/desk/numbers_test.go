// Tests of the numbers: of days in the zone of the tenant, and of steps.

package desk_test

import (
	"cmp"
	"log/slog"
	"testing"
	"time"
	_ "time/tzdata" // the zones

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/workflow"
)

// deskOf returns the desk of a test kit.
func deskOf(k *enginetest.Kit) *desk.Desk {
	return desk.New(k.Engine, k.Store, k.Clock.Now, slog.New(slog.DiscardHandler))
}

func TestNumbersAreByTheDaysOfTheTenant(t *testing.T) {
	for _, name := range []string{"", "Asia/Kolkata", "America/Los_Angeles", "Pacific/Kiritimati"} {
		kit := enginetest.New(t)
		tenant, err := kit.Store.Tenant(t.Context(), enginetest.Tenant)
		if err != nil {
			t.Fatal(err)
		}
		tenant.Zone = name
		if err := kit.Store.SaveTenant(t.Context(), tenant); err != nil {
			t.Fatal(err)
		}
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		w := kit.Apply(workflow.Definition{
			Workflow: "days", Name: "Days", Start: "end", Nodes: map[verification.NodeID]workflow.Node{"end": {Type: workflow.NodeEnd}},
		})
		want := map[string]int{}
		for range 30 { // about two days
			kit.Start(w.ID, engine.StartRequest{ReferenceID: "person-1"})
			want[kit.Clock.Now().In(zone).Format(time.DateOnly)]++
			kit.Advance(97 * time.Minute)
		}
		n, err := deskOf(kit).Numbers(t.Context(), enginetest.Tenant, desk.NumbersQuery{Days: 7})
		if err != nil || n.Zone != cmp.Or(name, "UTC") || len(n.Days) != 7 {
			t.Fatalf("Numbers = %d days in %s, %v", len(n.Days), n.Zone, err)
		}
		got := map[string]int{}
		for _, d := range n.Days {
			if d.Started > 0 {
				got[d.Day.String()] = d.Started
			}
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("starts by day in %q (-want +got):\n%s", name, diff)
		}
		if last, today := n.Days[6].Day.String(), kit.Clock.Now().In(zone).Format(time.DateOnly); last != today {
			t.Errorf("the last day in %q is %s, want today, %s", name, last, today)
		}
	}
}

func TestAStepOfAFormerVersionIsNumbered(t *testing.T) {
	kit := enginetest.New(t)
	var w workflow.Workflow
	for _, name := range []string{"old", "new"} {
		first, consent, end := verification.NodeID(name+"_first"), verification.NodeID(name+"_consent"), verification.NodeID(name+"_end")
		w = kit.Apply(workflow.Definition{
			Workflow: "steps", Name: "Steps", Start: first,
			Nodes: map[verification.NodeID]workflow.Node{
				first:   {Type: workflow.NodeBranch, Rules: []workflow.Rule{{When: "input.agreed", Next: end}}, Else: consent},
				consent: {Type: workflow.NodeConsent, Label: "Consent, " + name, Text: "Do you agree?", Next: end, OnDeclined: end},
				end:     {Type: workflow.NodeEnd},
			},
		})
		for _, agreed := range []bool{true, false} {
			input, err := verification.NewData(map[string]any{"agreed": agreed})
			if err != nil {
				t.Fatal(err)
			}
			kit.Start(w.ID, engine.StartRequest{ReferenceID: "person-1", Input: input})
		}
	}
	n, err := deskOf(kit).Numbers(t.Context(), enginetest.Tenant, desk.NumbersQuery{Days: 1, Workflow: w.ID})
	want := []desk.StepNumbers{
		{Node: "new_consent", Type: workflow.NodeConsent, Label: "Consent, new", Reached: 1},
		{Node: "old_consent", Type: workflow.NodeConsent, Label: "Consent, old", Reached: 1},
	}
	if diff := gocmp.Diff(want, n.Steps); diff != "" || err != nil {
		t.Errorf("%v, steps (-want +got):\n%s", err, diff)
	}
}
