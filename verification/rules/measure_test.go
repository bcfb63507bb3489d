// Tests of what is counted in runs.

package rules_test

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
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// measures returns the measures of a history that is appended at once.
func measures(history []rules.Event) []store.Measure {
	return store.Measures(rules.Run{}, history, time.UTC)
}

func TestMeasuresOfAHistory(t *testing.T) {
	start := rules.Started{Workflow: "w", Version: 3, VersionHash: "hash"}
	check := func(node verification.NodeID, dispatch int) rules.Fact {
		return rules.Dispatched{Node: node, Key: string(node), Provider: "registry", Dispatch: dispatch, Visit: 1}
	}
	asked := rules.ReviewAsked{Node: "review"}
	approve := func(node verification.NodeID) rules.Fact {
		return rules.VerdictRecorded{Node: node, Decision: rules.DecisionApprove}
	}
	wait := rules.CustomerAwaited{Node: "consent", Type: workflow.NodeConsent, Signal: "consent_submitted"}
	unsure := rules.ResultRecorded{Node: "pan", Passed: true, Data: verification.Data(`{"source_ok":false}`)}
	screened := func(hits int) rules.Fact {
		return rules.ResultRecorded{Node: "pan", Passed: hits == 0, Screening: &rules.Screening{List: "sanctions", Hits: make([]verification.Hit, hits)}}
	}
	found := rules.HitsFound{Node: "pan", List: "sanctions", Hits: make([]verification.Hit, 1)}
	for _, tt := range []struct {
		name  string
		facts []rules.Fact // one second after another
		want  string
	}{
		{"a start", []rules.Fact{start, check("pan", 1)}, "started, transition :pan v3"},
		{
			"a pending result, then the next dispatch",
			[]rules.Fact{start, check("pan", 1), rules.ResultPending{Node: "pan"}, rules.ResultRecorded{Node: "pan"}, check("face", 1)},
			"started, transition :pan v3, dispatch_time 44:registry, checked pan:failed, transition pan:face:failed v3",
		},
		{
			"a verdict, then a dispatch",
			[]rules.Fact{start, asked, approve("review"), check("pan", 1)},
			"started, transition :review v3, verdict approve, verdict_by approve:, verdict_time 40, transition review:pan v3",
		},
		{
			"a run that completes",
			[]rules.Fact{start, wait, rules.CustomerSubmitted{Node: "consent"}, check("pan", 1), rules.ResultRecorded{Node: "pan", Passed: true}, rules.Completed{Node: "done", Outcome: "approved"}},
			"started, transition :consent v3, transition consent:pan v3, dispatch_time 40:registry, checked pan:passed, transition pan:done v3, ended completed:approved, decided :approved",
		},
		{
			"a retry and a failed check",
			[]rules.Fact{start, check("pan", 1), rules.DispatchFailed{Node: "pan"}, check("pan", 2), rules.ResultPending{Node: "pan"}, rules.ResultRecorded{Node: "pan"}, rules.Failed{Node: "pan"}},
			"started, transition :pan v3, dispatch_failed registry, dispatch_time 44:registry, checked pan:failed, stopped pan v3, ended failed",
		},
		{
			"a branch with a rule and without",
			[]rules.Fact{start, rules.BranchTaken{Node: "a", When: "x: 1 > 0", Next: "b"}, rules.BranchTaken{Node: "b", Next: "done"}, rules.Completed{Node: "done"}},
			"started, transition :a v3, transition a:b:x: 1 > 0 v3, transition b:done:else v3, ended completed, decided :",
		},
		{"a customer who did not come", []rules.Fact{start, wait, rules.Expired{}}, "started, transition :consent v3, stopped consent v3, ended expired"},
		{"a run that is cancelled before a step", []rules.Fact{start, rules.Cancelled{}}, "started, ended cancelled"},
		{
			"a verdict on a review step",
			[]rules.Fact{start, asked, approve("review"), rules.Completed{Node: "done"}},
			"started, transition :review v3, verdict approve, verdict_by approve:, verdict_time 40, transition review:done v3, ended completed, decided approve",
		},
		{
			"two verdicts on a run that is over: only the first was needed",
			[]rules.Fact{start, check("pan", 1), unsure, rules.Completed{Node: "done"}, approve(""), approve("")},
			"started, transition :pan v3, dispatch_time 40:registry, checked pan:passed, transition pan:done v3, ended completed, verdict approve, verdict_by approve:, verdict_time 40, decided approve, verdict approve, verdict_by approve:",
		},
		{
			"a rejection with a reason",
			[]rules.Fact{start, asked, rules.VerdictRecorded{Node: "review", Decision: rules.DecisionReject, Reason: "other"}, rules.Completed{Node: "done"}},
			"started, transition :review v3, verdict reject, verdict_by reject:, verdict_reason other, verdict_time 40, transition review:done:reject v3, ended completed, decided reject",
		},
		{
			"a verdict on a run that needs none, by a person",
			[]rules.Fact{start, rules.Completed{Node: "done", Outcome: "refused"}, rules.VerdictRecorded{Decision: rules.DecisionApprove, By: "Asha: Rao"}},
			"started, transition :done v3, ended completed:refused, decided :refused, verdict approve, verdict_by approve:Asha: Rao",
		},
		{
			"a verdict on a run that then expires",
			[]rules.Fact{start, asked, approve("review"), wait, rules.Expired{}},
			"started, transition :review v3, verdict approve, verdict_by approve:, verdict_time 40, transition review:consent v3, stopped consent v3, ended expired",
		},
		{
			"two verdicts that one run needs: it is decided once, by the last",
			[]rules.Fact{start, asked, approve("review"), asked, rules.VerdictRecorded{Node: "review", Decision: rules.DecisionReject, By: "Asha"}, rules.Completed{Node: "done"}},
			"started, transition :review v3, verdict approve, verdict_by approve:, verdict_time 40, transition review:review v3, " +
				"verdict reject, verdict_by reject:Asha, verdict_time 40, transition review:done:reject v3, ended completed, decided reject",
		},
		{
			"a proposal that is sent back, and one that is confirmed",
			[]rules.Fact{start, asked, rules.VerdictProposed{Node: "review", Decision: rules.DecisionReject, By: "Asha"}, rules.ProposalReturned{Node: "review", By: "Ben"}, rules.VerdictProposed{Node: "review", Decision: rules.DecisionApprove, By: "Asha"}, rules.VerdictRecorded{Node: "review", Decision: rules.DecisionApprove, By: "Ben"}, rules.Completed{Node: "done"}},
			"started, transition :review v3, verdict approve, verdict_by approve:Ben, verdict_time 48, transition review:done v3, ended completed, decided approve",
		},
		{
			"a run that is screened again",
			[]rules.Fact{start, check("pan", 1), screened(0), rules.Completed{Node: "done"}, found, found, approve(""), found, approve("")},
			"started, transition :pan v3, dispatch_time 40:registry, checked pan:passed, transition pan:done v3, ended completed, decided :, " +
				"hits pan, run_hits, hits pan, verdict approve, verdict_by approve:, verdict_time 44, decided approve, " +
				"hits pan, verdict approve, verdict_by approve:, verdict_time 40, decided approve",
		},
		{
			"a loop that visits a check twice, with hits",
			[]rules.Fact{start, check("pan", 1), screened(2), wait, rules.CustomerSubmitted{Node: "consent"}, rules.Dispatched{Node: "pan", Key: "pan", Provider: "registry", Dispatch: 2, Visit: 2}, screened(1), rules.Failed{Node: "pan"}},
			"started, transition :pan v3, dispatch_time 40:registry, checked pan:failed, hits pan, run_hits, transition pan:consent:failed v3, " +
				"transition consent:pan v3, dispatch_time 40:registry, checked pan:failed, hits pan, stopped pan v3, ended failed",
		},
		{
			"a customer who comes back from a bank",
			[]rules.Fact{
				start, check("pan", 1),
				rules.Redirected{Node: "pan"},
				rules.ResultPending{Node: "pan"},
				rules.ResultPending{Node: "pan"},
				rules.Returned{Node: "pan"},
				rules.ResultRecorded{Node: "pan"},
				rules.Failed{Node: "pan"},
			},
			"started, transition :pan v3, dispatch_time 40:registry, checked pan:failed, stopped pan v3, ended failed",
		},
		{
			"a customer who does not come back from a bank",
			[]rules.Fact{start, check("pan", 1), rules.Redirected{Node: "pan"}, rules.ResultRecorded{Node: "pan"}, rules.Failed{Node: "pan"}},
			"started, transition :pan v3, checked pan:failed, stopped pan v3, ended failed",
		},
		{
			"a group that is met, and its source",
			[]rules.Fact{
				start,
				rules.GroupBegan{Node: "address"},
				rules.Dispatched{Node: "address.bureau", Key: "bureau", Provider: "registry", Dispatch: 1, Visit: 1},
				rules.ResultRecorded{Node: "address.bureau", Passed: true},
				rules.GroupDecided{Node: "address", Passed: true},
				rules.Completed{Node: "done"},
			},
			"started, transition :address v3, dispatch_time 40:registry, checked address.bureau:passed, checked address:passed, " +
				"transition address:done v3, ended completed, decided :",
		},
		{
			"a check without a result",
			[]rules.Fact{start, check("pan", 1), rules.DispatchFailed{Node: "pan"}, rules.ResultUnavailable{Node: "pan"}, rules.Failed{Node: "pan"}},
			"started, transition :pan v3, dispatch_failed registry, stopped pan v3, ended failed",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var history []rules.Event
			at := time.Date(2026, 3, 1, 9, 14, 58, 0, time.UTC)
			for i, f := range tt.facts {
				history = append(history, rules.Event{At: at.Add(time.Duration(i) * time.Second), Fact: f})
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
		want := rules.Transitions("", history)
		var got []rules.Transition
		for _, m := range measures(history) {
			if m.Name == store.MeasureTransition {
				got = append(got, m.Parts().Transition)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("transitions (-want +got):\n%s", diff)
		}
	}
}

func TestTheKeyOfAMeasureHasItsParts(t *testing.T) {
	type parts = store.MeasureParts
	for _, row := range []struct {
		name store.MeasureName
		key  string
		want store.MeasureParts
	}{
		{store.MeasureStarted, "", parts{}},
		{store.MeasureEnded, "completed:approved", parts{Status: rules.StatusCompleted, Outcome: "approved"}},
		{store.MeasureEnded, "failed", parts{Status: rules.StatusFailed}},
		{store.MeasureDecided, "approve", parts{Decision: rules.DecisionApprove}},
		{store.MeasureDecided, ":refused: late", parts{Outcome: "refused: late"}},
		{store.MeasureDecided, ":", parts{}},
		{store.MeasureTransition, ":pan", parts{Transition: rules.Transition{To: "pan"}}},
		{store.MeasureTransition, "pan:done", parts{Transition: rules.Transition{From: "pan", To: "done", On: "next"}}},
		{store.MeasureTransition, "pan:done:a ? b : c", parts{Transition: rules.Transition{From: "pan", To: "done", On: "a ? b : c"}}},
		{store.MeasureStopped, "pan", parts{Node: "pan"}},
		{store.MeasureIncomplete, "done", parts{Node: "done"}},
		{store.MeasureVerdict, "reject", parts{Decision: rules.DecisionReject}},
		{store.MeasureVerdictTime, "0", parts{Duration: time.Millisecond}},
		{store.MeasureVerdictTime, "40", parts{Duration: 1024 * time.Millisecond}},
		{store.MeasureVerdictReason, "a:b", parts{Reason: "a:b"}},
		{store.MeasureVerdictBy, "reject:", parts{Decision: rules.DecisionReject}},
		{store.MeasureVerdictBy, "approve:Asha: desk", parts{Decision: rules.DecisionApprove, By: "Asha: desk"}},
		{store.MeasureChecked, "pan:passed", parts{Node: "pan", Passed: true}},
		{store.MeasureChecked, "pan:failed", parts{Node: "pan"}},
		{store.MeasureHits, "pan", parts{Node: "pan"}},
		{store.MeasureRunHits, "", parts{}},
		{store.MeasureDispatchFailed, "a:b", parts{Provider: "a:b"}},
		{store.MeasureDispatchTime, "4:a:b", parts{Duration: 2 * time.Millisecond, Provider: "a:b"}},
		{store.MeasureDispatchTime, "soon:a", parts{Provider: "a"}},
	} {
		if got := (store.MeasureKey{Name: row.name, Key: row.key}).Parts(); got != row.want {
			t.Errorf("%s %q has %+v, want %+v", row.name, row.key, got, row.want)
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
		history := []rules.Event{
			{At: time.Unix(0, 0), Fact: rules.Started{}},
			{At: time.Unix(0, 0), Fact: rules.ReviewAsked{Node: "review"}},
			{At: time.Unix(0, 0).Add(d), Fact: rules.VerdictRecorded{Node: "review", Decision: rules.DecisionReject}},
			{At: time.Unix(0, 0).Add(d), Fact: rules.Completed{Node: "done"}},
		}
		for _, m := range measures(history) {
			if m.Name == store.MeasureVerdictTime {
				counts.Add(m.Parts().Duration, m.Count)
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
