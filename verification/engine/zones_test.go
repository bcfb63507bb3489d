// Tests of the time zones of tenants.

package engine_test

import (
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
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
