// Tests of the time zones of tenants.

package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestACheckKnowsTheZoneOfItsRunsStart(t *testing.T) {
	k := enginetest.New(t)
	k.Provider.On("pan", enginetest.Pass(nil))
	w := k.Apply(chain("pan"))
	for i, step := range []struct {
		zone  string
		after time.Duration
		want  string
	}{
		{"", 0, ""},
		{"Asia/Kolkata", time.Second, ""}, // a start may use the zone before for a minute
		{"Asia/Kolkata", time.Minute, "Asia/Kolkata"},
		{"Pacific/Kiritimati", 2 * time.Minute, "Pacific/Kiritimati"},
	} {
		if err := k.Store.SaveTenant(t.Context(), verification.Tenant{ID: enginetest.Tenant, Name: "Test", Zone: step.zone}); err != nil {
			t.Fatal(err)
		}
		k.Advance(step.after)
		k.Start(w.ID, engine.StartRequest{ReferenceID: "x"})
		k.Settle()
		calls := k.Provider.Calls("pan")
		if len(calls) != i+1 || calls[i].Zone != step.want {
			t.Fatalf("%d calls, the last with %+v, want %d with zone %q", len(calls), calls[len(calls)-1], i+1, step.want)
		}
	}
}

func TestAnAnswerIsJudgedByTheDayOfTheTenant(t *testing.T) {
	for _, tt := range []struct {
		zone string
		ok   bool
	}{{"", false}, {"Asia/Kolkata", true}} { // 20:00 on 5 January in UTC is 01:30 of the next day in India
		k := enginetest.New(t)
		if err := k.Store.SaveTenant(t.Context(), verification.Tenant{ID: enginetest.Tenant, Name: "Test", Zone: tt.zone}); err != nil {
			t.Fatal(err)
		}
		k.Advance(11 * time.Hour)
		run := k.Start(k.Apply(workflow.Definition{
			Workflow: "adults", Name: "Adults", Start: "form",
			Nodes: map[verification.NodeID]workflow.Node{
				"form": {
					Type: workflow.NodeCustomerInput, Label: "You", Next: "done",
					Fields: workflow.InputFields{{Name: "born", Label: "Born", Type: workflow.FieldDate, Required: true, MaxDate: "-18y"}},
				},
				"done": {Type: workflow.NodeEnd},
			},
		}).ID, engine.StartRequest{ReferenceID: "x"})
		detail := k.Run(run.ID)
		j, err := k.Engine.OpenJourney(t.Context(), detail.Action.URL[strings.LastIndex(detail.Action.URL, "/")+1:])
		if err != nil {
			t.Fatal(err)
		}
		want := map[bool]string{true: "2008-01-06", false: "2008-01-05"}[tt.ok]
		if got := j.Step.Fields[0].MaxDate; got != want {
			t.Errorf("in %q the page allows births until %s, want %s", tt.zone, got, want)
		}
		_, err = k.Engine.Submit(t.Context(), enginetest.Tenant, run.ID, engine.SubmitRequest{
			Signal: detail.Action.SignalName, Payload: verification.Data(`{"born":"2008-01-06"}`),
		})
		if (err == nil) != tt.ok {
			t.Errorf("in %q an answer on the eighteenth birthday in India is %v", tt.zone, err)
		}
	}
}
