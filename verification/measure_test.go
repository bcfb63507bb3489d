// Tests of what is counted in runs.

package verification_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// measures returns the measures of a history that is appended at once.
func measures(history []verification.Event) []store.Measure {
	return store.Measures(verification.Run{}, history, time.UTC)
}

func TestMeasuresOfAHistory(t *testing.T) {
	start := verification.Started{Workflow: "w", Version: 3, VersionHash: "hash"}
	check := func(node verification.NodeID, dispatch int) verification.Fact {
		return verification.Dispatched{Node: node, Key: string(node), Provider: "registry", Dispatch: dispatch, Visit: 1}
	}
	asked := verification.ReviewAsked{Node: "review"}
	approve := func(node verification.NodeID) verification.Fact {
		return verification.VerdictRecorded{Node: node, Decision: verification.DecisionApprove}
	}
	wait := verification.CustomerAwaited{Node: "consent", Type: verification.NodeConsent, Signal: "consent_submitted"}
	unsure := verification.ResultRecorded{Node: "pan", Passed: true, Data: verification.Data(`{"source_ok":false}`)}
	screened := func(hits int) verification.Fact {
		return verification.ResultRecorded{Node: "pan", Passed: hits == 0, Screening: &verification.Screening{List: "sanctions", Hits: make([]verification.Hit, hits)}}
	}
	found := verification.HitsFound{Node: "pan", List: "sanctions", Hits: make([]verification.Hit, 1)}
	for _, tt := range []struct {
		name  string
		facts []verification.Fact // one second after another
		want  string
	}{
		{"a start", []verification.Fact{start, check("pan", 1)}, "started, transition :pan v3"},
		{
			"a pending result, then the next dispatch",
			[]verification.Fact{start, check("pan", 1), verification.ResultPending{Node: "pan"}, verification.ResultRecorded{Node: "pan"}, check("face", 1)},
			"started, transition :pan v3, dispatch_time 44:registry, checked pan:failed, transition pan:face:failed v3",
		},
		{
			"a verdict, then a dispatch",
			[]verification.Fact{start, asked, approve("review"), check("pan", 1)},
			"started, transition :review v3, verdict approve, verdict_by approve:, verdict_time 40, transition review:pan v3",
		},
		{
			"a run that completes",
			[]verification.Fact{start, wait, verification.CustomerSubmitted{Node: "consent"}, check("pan", 1), verification.ResultRecorded{Node: "pan", Passed: true}, verification.Completed{Node: "done", Outcome: "approved"}},
			"started, transition :consent v3, transition consent:pan v3, dispatch_time 40:registry, checked pan:passed, transition pan:done v3, ended completed:approved, decided :approved",
		},
		{
			"a retry and a failed check",
			[]verification.Fact{start, check("pan", 1), verification.DispatchFailed{Node: "pan"}, check("pan", 2), verification.ResultPending{Node: "pan"}, verification.ResultRecorded{Node: "pan"}, verification.Failed{Node: "pan"}},
			"started, transition :pan v3, dispatch_failed registry, dispatch_time 44:registry, checked pan:failed, stopped pan v3, ended failed",
		},
		{
			"a branch with a rule and without",
			[]verification.Fact{start, verification.BranchTaken{Node: "a", When: "x: 1 > 0", Next: "b"}, verification.BranchTaken{Node: "b", Next: "done"}, verification.Completed{Node: "done"}},
			"started, transition :a v3, transition a:b:x: 1 > 0 v3, transition b:done:else v3, ended completed, decided :",
		},
		{"a customer who did not come", []verification.Fact{start, wait, verification.Expired{}}, "started, transition :consent v3, stopped consent v3, ended expired"},
		{"a run that is cancelled before a step", []verification.Fact{start, verification.Cancelled{}}, "started, ended cancelled"},
		{
			"a verdict on a review step",
			[]verification.Fact{start, asked, approve("review"), verification.Completed{Node: "done"}},
			"started, transition :review v3, verdict approve, verdict_by approve:, verdict_time 40, transition review:done v3, ended completed, decided approve",
		},
		{
			"two verdicts on a run that is over: only the first was needed",
			[]verification.Fact{start, check("pan", 1), unsure, verification.Completed{Node: "done"}, approve(""), approve("")},
			"started, transition :pan v3, dispatch_time 40:registry, checked pan:passed, transition pan:done v3, ended completed, verdict approve, verdict_by approve:, verdict_time 40, decided approve, verdict approve, verdict_by approve:",
		},
		{
			"a rejection with a reason",
			[]verification.Fact{start, asked, verification.VerdictRecorded{Node: "review", Decision: verification.DecisionReject, Reason: "other"}, verification.Completed{Node: "done"}},
			"started, transition :review v3, verdict reject, verdict_by reject:, verdict_reason other, verdict_time 40, transition review:done:reject v3, ended completed, decided reject",
		},
		{
			"a verdict on a run that needs none, by a person",
			[]verification.Fact{start, verification.Completed{Node: "done", Outcome: "refused"}, verification.VerdictRecorded{Decision: verification.DecisionApprove, By: "Asha: Rao"}},
			"started, transition :done v3, ended completed:refused, decided :refused, verdict approve, verdict_by approve:Asha: Rao",
		},
		{
			"a verdict on a run that then expires",
			[]verification.Fact{start, asked, approve("review"), wait, verification.Expired{}},
			"started, transition :review v3, verdict approve, verdict_by approve:, verdict_time 40, transition review:consent v3, stopped consent v3, ended expired",
		},
		{
			"two verdicts that one run needs: it is decided once, by the last",
			[]verification.Fact{start, asked, approve("review"), asked, verification.VerdictRecorded{Node: "review", Decision: verification.DecisionReject, By: "Asha"}, verification.Completed{Node: "done"}},
			"started, transition :review v3, verdict approve, verdict_by approve:, verdict_time 40, transition review:review v3, " +
				"verdict reject, verdict_by reject:Asha, verdict_time 40, transition review:done:reject v3, ended completed, decided reject",
		},
		{
			"a proposal that is sent back, and one that is confirmed",
			[]verification.Fact{start, asked, verification.VerdictProposed{Node: "review", Decision: verification.DecisionReject, By: "Asha"}, verification.ProposalReturned{Node: "review", By: "Ben"}, verification.VerdictProposed{Node: "review", Decision: verification.DecisionApprove, By: "Asha"}, verification.VerdictRecorded{Node: "review", Decision: verification.DecisionApprove, By: "Ben"}, verification.Completed{Node: "done"}},
			"started, transition :review v3, verdict approve, verdict_by approve:Ben, verdict_time 48, transition review:done v3, ended completed, decided approve",
		},
		{
			"a run that is screened again",
			[]verification.Fact{start, check("pan", 1), screened(0), verification.Completed{Node: "done"}, found, found, approve(""), found, approve("")},
			"started, transition :pan v3, dispatch_time 40:registry, checked pan:passed, transition pan:done v3, ended completed, decided :, " +
				"hits pan, run_hits, hits pan, verdict approve, verdict_by approve:, verdict_time 44, decided approve, " +
				"hits pan, verdict approve, verdict_by approve:, verdict_time 40, decided approve",
		},
		{
			"a loop that visits a check twice, with hits",
			[]verification.Fact{start, check("pan", 1), screened(2), wait, verification.CustomerSubmitted{Node: "consent"}, verification.Dispatched{Node: "pan", Key: "pan", Provider: "registry", Dispatch: 2, Visit: 2}, screened(1), verification.Failed{Node: "pan"}},
			"started, transition :pan v3, dispatch_time 40:registry, checked pan:failed, hits pan, run_hits, transition pan:consent:failed v3, " +
				"transition consent:pan v3, dispatch_time 40:registry, checked pan:failed, hits pan, stopped pan v3, ended failed",
		},
		{
			"a check without a result",
			[]verification.Fact{start, check("pan", 1), verification.DispatchFailed{Node: "pan"}, verification.ResultUnavailable{Node: "pan"}, verification.Failed{Node: "pan"}},
			"started, transition :pan v3, dispatch_failed registry, stopped pan v3, ended failed",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var history []verification.Event
			at := time.Date(2026, 3, 1, 9, 14, 58, 0, time.UTC)
			for i, f := range tt.facts {
				history = append(history, verification.Event{At: at.Add(time.Duration(i) * time.Second), Fact: f})
			}
			var got []string
			for _, m := range measures(history) {
				text := strings.TrimSpace(string(m.Name) + " " + m.Key)
				if m.Version > 0 {
					text += fmt.Sprintf(" v%d", m.Version)
				}
				got = append(got, text)
				if m.Day.String() != "2026-03-01" || m.Count != 1 {
					t.Errorf("%s: %d on %s", text, m.Count, m.Day)
				}
			}
			// The transition of an event is counted before its other measures.
			if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("measures (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheKeyOfATransitionKeepsIt(t *testing.T) {
	for _, history := range recorded(t) {
		want := verification.Transitions("", history)
		var got []verification.Transition
		for _, m := range measures(history) {
			if m.Name == store.MeasureTransition {
				got = append(got, store.ParseTransition(m.Key))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("transitions (-want +got):\n%s", diff)
		}
	}
}

func TestAQuantileIsAtMost19PercentTooHigh(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var all []time.Duration
	counts := store.DurationCounts{}
	if got := counts.Quantile(0.5); got != 0 {
		t.Errorf("the median of nothing = %s, want 0", got)
	}
	for range 1000 {
		d := time.Duration(float64(time.Millisecond) * (1 + random.ExpFloat64()*100_000))
		all = append(all, d)
		history := []verification.Event{
			{At: time.Unix(0, 0), Fact: verification.Started{}},
			{At: time.Unix(0, 0), Fact: verification.ReviewAsked{Node: "review"}},
			{At: time.Unix(0, 0).Add(d), Fact: verification.VerdictRecorded{Node: "review", Decision: verification.DecisionReject}},
			{At: time.Unix(0, 0).Add(d), Fact: verification.Completed{Node: "done"}},
		}
		for _, m := range measures(history) {
			if m.Name == store.MeasureVerdictTime {
				counts.Add(m.Key, m.Count)
			}
		}
	}
	slices.Sort(all)
	for _, share := range []float64{0.01, 0.5, 0.95, 1} {
		exact, got := all[int(share*1000)-1], counts.Quantile(share)
		if got < exact || float64(got) > 1.19*float64(exact) {
			t.Errorf("Quantile(%v) = %s, want %s to %s", share, got, exact, time.Duration(1.19*float64(exact)))
		}
	}
	if counts.Total() != 1000 {
		t.Errorf("Total = %d, want 1000", counts.Total())
	}
}

func TestADayIsOfItsDate(t *testing.T) {
	for _, test := range []struct{ zone, begins, day, before string }{
		{"America/Sao_Paulo", "2018-11-04T01:00:00-02:00", "2018-11-04", "2018-11-03"}, // the clock skips midnight
		{"America/Sao_Paulo", "2018-02-18T00:00:00-03:00", "2018-02-18", "2018-02-17"},
		{"Asia/Beirut", "2022-03-27T01:00:00+03:00", "2022-03-27", "2022-03-26"},
		{"Africa/Cairo", "2023-10-27T00:00:00+02:00", "2023-10-27", "2023-10-26"},
		{"America/Havana", "2023-11-05T00:00:00-04:00", "2023-11-05", "2023-11-04"},
		{"Pacific/Apia", "2011-12-31T00:00:00+14:00", "2011-12-31", "2011-12-29"}, // no 30 December
		{"Asia/Kathmandu", "2023-05-02T00:00:00+05:45", "2023-05-02", "2023-05-01"},
		{"Asia/Kolkata", "2026-11-25T00:00:00+05:30", "2026-11-25", "2026-11-24"},
		{"Pacific/Kiritimati", "2026-11-25T00:00:00+14:00", "2026-11-25", "2026-11-24"},
		{"UTC", "1970-01-01T00:00:00Z", "1970-01-01", "1969-12-31"},
	} {
		zone, err := time.LoadLocation(test.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, test.begins)
		if err != nil {
			t.Fatal(err)
		}
		day, before := store.DayOf(at, zone), store.DayOf(at.Add(-1), zone)
		if day.String() != test.day || before.String() != test.before {
			t.Errorf("%s in %s is %s, and %s just before, want %s and %s", test.begins, test.zone, day, before, test.day, test.before)
		}
		if parsed, err := store.ParseDay(test.day); err != nil || parsed != day {
			t.Errorf("ParseDay(%q) = %d, %v, want %d", test.day, parsed, err, day)
		}
	}
	if _, err := store.ParseDay("2026-02-30"); !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("ParseDay of 30 February = %v, want ErrInvalid", err)
	}
}
