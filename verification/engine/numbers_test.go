// Tests of the numbers: of days in zones whose clocks change at midnight, and of steps.

package engine_test

import (
	"testing"
	"time"
	_ "time/tzdata" // the zones

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

func TestADayBeginsWhenItsDateDoes(t *testing.T) {
	kit := enginetest.New(t)
	for _, test := range []struct {
		zone, from, to string
		begin          []string
	}{
		{"America/Sao_Paulo", "2018-11-03", "2018-11-05", []string{"2018-11-03T00:00-03", "2018-11-04T01:00-02", "2018-11-05T00:00-02"}},
		{"America/Sao_Paulo", "2018-02-17", "2018-02-18", []string{"2018-02-17T00:00-02", "2018-02-18T00:00-03"}},
		{"Asia/Beirut", "2022-03-26", "2022-03-28", []string{"2022-03-26T00:00+02", "2022-03-27T01:00+03", "2022-03-28T00:00+03"}},
		{"Asia/Beirut", "2022-10-29", "2022-10-31", []string{"2022-10-29T00:00+03", "2022-10-30T00:00+02", "2022-10-31T00:00+02"}},
		{"Africa/Cairo", "2023-04-27", "2023-04-29", []string{"2023-04-27T00:00+02", "2023-04-28T01:00+03", "2023-04-29T00:00+03"}},
		{"Africa/Cairo", "2023-10-26", "2023-10-27", []string{"2023-10-26T00:00+03", "2023-10-27T00:00+02"}},
		{"America/Havana", "2023-03-11", "2023-03-13", []string{"2023-03-11T00:00-05", "2023-03-12T01:00-04", "2023-03-13T00:00-04"}},
		{"America/Havana", "2023-11-04", "2023-11-06", []string{"2023-11-04T00:00-04", "2023-11-05T00:00-04", "2023-11-06T00:00-05"}},
		{"Pacific/Apia", "2011-12-28", "2012-01-01", []string{"2011-12-28T00:00-10", "2011-12-29T00:00-10", "2011-12-31T00:00+14", "2012-01-01T00:00+14"}},
		{"Asia/Kathmandu", "2023-05-01", "2023-05-02", []string{"2023-05-01T00:00+0545", "2023-05-02T00:00+0545"}},
		{"Europe/Berlin", "2023-03-25", "2023-03-27", []string{"2023-03-25T00:00+01", "2023-03-26T00:00+01", "2023-03-27T00:00+02"}},
	} {
		zone, err := time.LoadLocation(test.zone)
		if err != nil {
			t.Fatal(err)
		}
		noon := func(day string) time.Time {
			at, err := time.ParseInLocation(time.DateOnly+" 15", day+" 12", zone)
			if err != nil {
				t.Fatal(err)
			}
			return at
		}
		n, err := kit.Engine.Numbers(t.Context(), acme, engine.NumbersQuery{From: noon(test.from), To: noon(test.to), Location: zone})
		if err != nil {
			t.Fatal(err)
		}
		var begin []string
		for _, d := range n.Days {
			begin = append(begin, d.Day.Format("2006-01-02T15:04Z0700"))
		}
		for i, b := range test.begin {
			if len(b) == len("2006-01-02T15:04-03") {
				test.begin[i] += "00"
			}
		}
		if diff := cmp.Diff(test.begin, begin); diff != "" {
			t.Errorf("days in %s from %s (-want +got):\n%s", test.zone, test.from, diff)
		}
	}
}

func TestAStepOfAFormerVersionIsNumbered(t *testing.T) {
	kit := enginetest.New(t)
	var w verification.Workflow
	for _, name := range []string{"old", "new"} {
		first, consent, end := verification.NodeID(name+"_first"), verification.NodeID(name+"_consent"), verification.NodeID(name+"_end")
		w = kit.Apply(verification.Definition{
			Workflow: "steps", Name: "Steps", Start: first,
			Nodes: map[verification.NodeID]verification.Node{
				first:   {Type: verification.NodeBranch, Rules: []verification.Rule{{When: "input.agreed", Next: end}}, Else: consent},
				consent: {Type: verification.NodeConsent, Label: "Consent, " + name, Text: "Do you agree?", Next: end, OnDeclined: end},
				end:     {Type: verification.NodeEnd},
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
	today := enginetest.Began()
	n, err := kit.Engine.Numbers(t.Context(), enginetest.Tenant, engine.NumbersQuery{From: today, To: today, Workflow: w.ID})
	want := []engine.StepNumbers{
		{Node: "new_consent", Type: verification.NodeConsent, Label: "Consent, new", Reached: 1},
		{Node: "old_consent", Type: verification.NodeConsent, Label: "Consent, old", Reached: 1},
	}
	if diff := cmp.Diff(want, n.Steps); diff != "" || err != nil {
		t.Errorf("%v, steps (-want +got):\n%s", err, diff)
	}
}
