package rules_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// clearedOf returns the hits that the decisions in a run clear for a check that is asked with.
func clearedOf(r rules.Run, with map[string]any) (all []verification.ClearedHit) {
	for _, c := range rules.Clearances([]rules.Run{r}, rules.AskedDigest(with), false) {
		all = append(all, c.Clears())
	}
	return all
}

func TestAHitIsClearedForWhomItWasComparedWith(t *testing.T) {
	d := flows.DeskFlow()
	flows.Edit("pan", func(n *workflow.Node) { n.With = verification.Data(`{"number":"${pan}"}`) })(&d)
	j := begin(t, d, "").submit(consents)
	j.screened(verification.ScreeningResult{List: "sanctions", Hits: []verification.Hit{{ID: "e-1", Digest: "1"}, {ID: "e-2"}, {ID: "e-3"}}}).found("e-4")
	asked, err := j.run.RequestAgain(j.program, flows.TenantID, "pan")
	if err != nil {
		t.Fatal(err)
	}
	j.do(decides("pan", "e-1", "1", rules.MatchOther)).do(decides("pan", "e-2", "", rules.MatchSame)).
		do(decides("pan", "e-3", "", rules.MatchUnsure)).do(decides("pan", "e-4", "", rules.MatchOther))
	if got := clearedOf(j.run, asked.With); got != nil {
		t.Errorf("before the verdict %v are cleared", got)
	}
	j.approve("")
	want := []verification.ClearedHit{{List: "sanctions", Entry: "e-1", Digest: "1"}, {List: "sanctions", Entry: "e-4"}}
	if diff := cmp.Diff(want, clearedOf(j.run, asked.With)); diff != "" {
		t.Errorf("cleared (-want +got):\n%s", diff)
	}
	asked.With["number"] = "another"
	if got := clearedOf(j.run, asked.With); len(got) > 0 {
		t.Errorf("for another person %v are cleared", got)
	}
	asked.With["number"] = "ABCDE1234F"
	j.found("e-9").do(decides("pan", "e-1", "1", rules.MatchSame)).approve("")
	if diff := cmp.Diff(want[1:], clearedOf(j.run, asked.With)); diff != "" {
		t.Errorf("cleared after another decision (-want +got):\n%s", diff)
	}
}

// Two checks may ask the same of one list.
func TestAHitThatOneCheckDoesNotClearIsNotCleared(t *testing.T) {
	j := begin(t, flows.Screening("a", "b"), "")
	for range 2 {
		j.screened(verification.ScreeningResult{List: "sanctions", Hits: []verification.Hit{{ID: "e-1"}}})
	}
	later := rules.RecordHits{Node: "a", List: "sanctions", Hits: []verification.Hit{{ID: "e-2"}}}
	j.do(later).do(decides("a", "e-1", "", rules.MatchOther)).approve("")
	if got := clearedOf(j.run, nil); len(got) != 1 {
		t.Errorf("cleared are %v, want the hit: both checks ask the same", got)
	}
	later.Hits[0].ID = "e-3"
	j.do(later).do(decides("b", "e-1", "", rules.MatchSame)).approve("")
	if got := clearedOf(j.run, nil); len(got) != 0 {
		t.Errorf("cleared are %v, want none", got)
	}
}

// A verdict was given after the decision that it covers, by as many people as must agree.
func TestWhichDecisionsClearAHit(t *testing.T) {
	const approve, reject = rules.DecisionApprove, rules.DecisionReject
	type does = func(*journey) *journey
	other := func(who string) does {
		return func(j *journey) *journey {
			d := decides("screen", "e-1", "", rules.MatchOther)
			d.By, d.Identity = who, who
			return j.do(d)
		}
	}
	verdict := func(who string, v rules.Decision) does {
		return func(j *journey) *journey { return j.after(time.Minute).do(verdictBy(who, v)) }
	}
	byProgram := func(j *journey) *journey { return j.do(rules.GiveVerdict{Decision: approve}) }
	later := func(j *journey) *journey {
		return j.do(rules.RecordHits{Node: "screen", List: "sanctions", Hits: []verification.Hit{{ID: "e-2"}}})
	}
	for _, row := range []struct {
		name     string
		fourEyes bool
		does     []does
		one, two bool // whether it counts where one person is enough, and where two must agree
	}{
		{"no verdict", false, []does{other("asha")}, false, false},
		{"approved by the same person", false, []does{other("asha"), verdict("asha", approve)}, true, false},
		{"approved by another person", false, []does{other("asha"), verdict("ravi", approve)}, true, true},
		{"approved by a program", false, []does{other("asha"), byProgram}, true, false},
		{"rejected", false, []does{other("asha"), verdict("ravi", reject)}, false, false},
		{"rejected at last", false, []does{other("asha"), verdict("ravi", approve), verdict("ravi", reject)}, false, false},
		{"approved at last", false, []does{other("asha"), verdict("ravi", reject), verdict("ravi", approve)}, true, true},
		{"approved again by the same person", false, []does{other("asha"), verdict("ravi", approve), verdict("asha", approve)}, true, false},
		{"a later hit", false, []does{other("asha"), verdict("ravi", approve), later}, false, false},
		{"a later hit, and approved again", false, []does{other("asha"), verdict("ravi", approve), later, verdict("ravi", approve)}, true, true},
		{"proposed", true, []does{other("asha"), verdict("asha", approve)}, false, false},
		{"confirmed", true, []does{other("asha"), verdict("asha", approve), verdict("ravi", approve)}, true, true},
		{"confirmed by the person who decided", true, []does{other("ravi"), verdict("asha", approve), verdict("ravi", approve)}, true, true},
		{"decided after the proposal by its person", true, []does{verdict("asha", approve), other("asha"), verdict("ravi", approve)}, true, true},
		{"decided after the proposal by one", true, []does{verdict("asha", approve), other("ravi"), verdict("ravi", approve)}, false, false},
		{"sent back", true, []does{other("asha"), verdict("asha", approve), verdict("ravi", reject)}, false, false},
		{"decided between two proposals", true, []does{
			verdict("asha", reject), verdict("ravi", approve), other("ravi"), verdict("asha", approve), verdict("ravi", approve),
		}, true, true},
		{"another verdict is proposed", true, []does{
			verdict("asha", approve), other("ravi"), verdict("ravi", approve), verdict("ravi", reject),
		}, false, false},
		{"rejected by both", true, []does{other("asha"), verdict("asha", reject), verdict("ravi", reject)}, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := flows.Define("screen", flows.Nodes{"screen": flows.CheckNode("Screening", "done"), "done": flows.EndNode()})
			d.FourEyes = row.fourEyes
			j := begin(t, d, "").do(rules.RecordResult{
				Node: "screen", Dispatch: 1, Outcome: verification.OutcomePassed, Data: flows.Data(t, `{"analysis_ok":false}`),
				Screening: &verification.ScreeningResult{List: "sanctions", Hits: []verification.Hit{{ID: "e-1"}}},
			})
			before := j.run
			for _, do := range row.does {
				do(j)
			}
			for two, want := range map[bool]bool{false: row.one, true: row.two} {
				asked := rules.AskedDigest(nil)
				if got := len(rules.Clearances([]rules.Run{j.run}, asked, two)) > 0; got != want {
					t.Errorf("where two people must agree: %t; cleared = %t, want %t", two, got, want)
				}
			}
			if before.Overruled(j.run) {
				t.Error("a decision that did not count before is overruled")
			}
		})
	}
}

func TestWhatOverrulesADecision(t *testing.T) {
	later := rules.RecordHits{Node: "screen", List: "sanctions", Hits: []verification.Hit{{ID: "e-2"}}}
	for name, row := range map[string]struct {
		before, then []rules.Command
		want         bool
	}{
		"a rejection":                {then: []rules.Command{verdictBy("ravi", rules.DecisionReject)}, want: true},
		"an approval by another":     {then: []rules.Command{verdictBy("meena", rules.DecisionApprove)}},
		"an approval by one and all": {then: []rules.Command{verdictBy("asha", rules.DecisionApprove)}, want: true},
		"a later hit":                {then: []rules.Command{later}, want: true},
		"a note":                     {then: []rules.Command{rules.AddNote{Notes: "seen", By: "ravi", Identity: "ravi"}}},
		"the same person": {
			before: []rules.Command{later}, then: []rules.Command{decides("screen", "e-1", "", rules.MatchSame)}, want: true,
		},
		"the same person twice": {
			before: []rules.Command{later, decides("screen", "e-1", "", rules.MatchSame)},
			then:   []rules.Command{decides("screen", "e-1", "", rules.MatchUnsure)},
		},
		"a doubt about the later hit": {
			before: []rules.Command{later}, then: []rules.Command{decides("screen", "e-2", "", rules.MatchUnsure)}, want: true,
		},
		"another person": {
			before: []rules.Command{later}, then: []rules.Command{decides("screen", "e-2", "", rules.MatchOther)},
		},
		"a verdict on a doubt": {
			before: []rules.Command{later, decides("screen", "e-1", "", rules.MatchSame)},
			then:   []rules.Command{verdictBy("ravi", rules.DecisionReject)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := flows.Define("screen", flows.Nodes{"screen": flows.CheckNode("Screening", "done"), "done": flows.EndNode()})
			j := begin(t, d, "").do(rules.RecordResult{
				Node: "screen", Dispatch: 1, Outcome: verification.OutcomePassed, Data: flows.Data(t, `{"analysis_ok":false}`),
				Screening: &verification.ScreeningResult{List: "sanctions", Hits: []verification.Hit{{ID: "e-1"}}},
			})
			j.do(decides("screen", "e-1", "", rules.MatchOther)).do(verdictBy("ravi", rules.DecisionApprove))
			for _, c := range row.before {
				j.do(c)
			}
			before := j.run
			for _, c := range row.then {
				j.do(c)
			}
			if got := before.Overruled(j.run); got != row.want {
				t.Errorf("overruled = %t, want %t", got, row.want)
			}
		})
	}
}

// leftOut is a result without the hits e-1 and e-2, as a provider leaves them out.
func leftOut() *verification.ScreeningResult {
	return &verification.ScreeningResult{List: "sanctions", ListVersion: "v1", Cleared: []verification.Hit{{ID: "e-1", Name: "Ivan Testov"}, {ID: "e-2"}}}
}

// byAsha is a decision in another run.
func byAsha() rules.Clearance {
	return rules.Clearance{
		List: "sanctions", Hit: verification.Hit{ID: "e-1"}, Asked: "ab", Run: "earlier", Node: "screen", Visit: 1, At: flows.Noon(), By: "asha", Identity: "asha",
	}
}

func TestARunRecordsWhoClearedItsHits(t *testing.T) {
	j := begin(t, flows.Screening("a"), "")
	j.do(rules.RecordResult{
		Node: "a", Dispatch: 1, Outcome: verification.OutcomePassed, Screening: leftOut(), Cleared: []rules.Clearance{byAsha()},
	})
	want := byAsha()
	want.ListVersion, want.Hit.Name, want.For = "v1", "Ivan Testov", 1
	step, _ := j.run.Step("a")
	if diff := cmp.Diff([]rules.Clearance{want}, step.Cleared); diff != "" {
		t.Errorf("cleared (-want +got):\n%s", diff)
	}
	if hits := j.card("a").Hits(); len(hits) != 1 || hits[0].ID != "e-2" {
		t.Errorf("the hits are %+v, want the one that was left out although no decision clears it", hits)
	}
	if got := j.run.ClearedByOthers(); got != 1 {
		t.Errorf("%d hits are cleared by others, want 1", got)
	}
	if got := j.run.Decision(); got != rules.DecisionReview {
		t.Errorf("the decision is %q, want review: no decision clears the second hit", got)
	}
	for _, e := range j.history {
		if _, answer := e.Fact.(rules.ResultRecorded); answer {
			j.run = j.run.Evolve(rules.Event{At: e.At, Fact: rules.Dispatched{Node: "a", Provider: "screening", Dispatch: 2, Visit: 2}}).Evolve(e)
		}
	}
	if step, _ = j.run.Step("a"); len(step.Cleared) != 1 || step.Cleared[0].For != 2 {
		t.Errorf("after a later visit cleared are %+v, want the hit, of that visit", step.Cleared)
	}
}

func TestAReScreeningRecordsWhoClearedItsHits(t *testing.T) {
	j := begin(t, flows.Screening("a"), "").pass()
	again := rules.RecordHits{
		Node: "a", List: "sanctions", ListVersion: "v2", LeftOut: []verification.Hit{{ID: "e-1"}}, Cleared: []rules.Clearance{byAsha()},
	}
	for _, want := range []string{"hits_cleared", "nothing"} {
		if got := flows.Outcome(j.try(again)); got != want {
			t.Errorf("a hit that was left out = %s, want %s", got, want)
		}
		j.do(again)
	}
	if d := j.decision(); d != rules.DecisionNone {
		t.Errorf("the decision is %q, want none", d)
	}
	overruled := rules.RecordHits{Node: "a", List: "sanctions", Hits: []verification.Hit{{ID: "e-1"}}, Overruled: true}
	j.do(overruled)
	want := []rules.Flag{{
		NodeID: "a", Label: "Screening", Reason: "A hit was cleared by a decision that no longer counts.",
		Sentences: []rules.Sentence{{Key: "overruled"}},
	}}
	if diff := cmp.Diff(want, j.report().Flags); diff != "" || j.decision() != rules.DecisionReview {
		t.Errorf("the decision is %q, and the flags are (-want +got):\n%s", j.decision(), diff)
	}
	if got := flows.Outcome(j.try(overruled)); got != "nothing" {
		t.Errorf("the hit again = %s, want nothing", got)
	}
}

// A run may be settled by the verdict of an earlier review step.
func TestAVerdictThatCameBeforeADecisionClearsNothing(t *testing.T) {
	d := flows.Define("first", flows.Nodes{
		"first": flows.ReviewNode("First look", "screen"), "screen": flows.CheckNode("Screening", "second"), "second": flows.ReviewNode("Second look", "done"), "done": flows.EndNode(),
	})
	j := begin(t, d, "").approve("").screened(verification.ScreeningResult{List: "sanctions", Hits: []verification.Hit{{ID: "e-1"}}}).
		do(decides("screen", "e-1", "", rules.MatchOther)).cancel()
	if got := clearedOf(j.run, nil); j.decision() != rules.DecisionApprove || len(got) > 0 {
		t.Errorf("the decision is %q, and cleared are %v; want approve and none", j.decision(), got)
	}
}
