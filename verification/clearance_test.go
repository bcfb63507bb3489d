package verification_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
)

// clearedOf returns the hits that the decisions in a run clear for a check that is asked with.
func clearedOf(r verification.Run, with map[string]any) (all []verification.ClearedHit) {
	for _, c := range verification.Clearances([]verification.Run{r}, verification.AskedDigest(with), false) {
		all = append(all, c.Clears())
	}
	return all
}

func TestAHitIsClearedForWhomItWasComparedWith(t *testing.T) {
	d := deskFlow()
	edit("pan", func(n *verification.Node) { n.With = verification.Data(`{"number":"${pan}"}`) })(&d)
	j := begin(t, d, "").submit(consents)
	j.screened(verification.ScreeningResult{List: "sanctions", Hits: []verification.Hit{{ID: "e-1", Digest: "1"}, {ID: "e-2"}, {ID: "e-3"}}}).found("e-4")
	asked, err := j.run.RequestAgain(j.program, tenantID, "pan")
	if err != nil {
		t.Fatal(err)
	}
	j.do(decides("pan", "e-1", "1", verification.MatchOther)).do(decides("pan", "e-2", "", verification.MatchSame)).
		do(decides("pan", "e-3", "", verification.MatchUnsure)).do(decides("pan", "e-4", "", verification.MatchOther))
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
	j.found("e-9").do(decides("pan", "e-1", "1", verification.MatchSame)).approve("")
	if diff := cmp.Diff(want[1:], clearedOf(j.run, asked.With)); diff != "" {
		t.Errorf("cleared after another decision (-want +got):\n%s", diff)
	}
}

// Two checks may ask the same of one list.
func TestAHitThatOneCheckDoesNotClearIsNotCleared(t *testing.T) {
	j := begin(t, screening("a", "b"), "")
	for range 2 {
		j.screened(verification.ScreeningResult{List: "sanctions", Hits: []verification.Hit{{ID: "e-1"}}})
	}
	later := verification.RecordHits{Node: "a", List: "sanctions", Hits: []verification.Hit{{ID: "e-2"}}}
	j.do(later).do(decides("a", "e-1", "", verification.MatchOther)).approve("")
	if got := clearedOf(j.run, nil); len(got) != 1 {
		t.Errorf("cleared are %v, want the hit: both checks ask the same", got)
	}
	later.Hits[0].ID = "e-3"
	j.do(later).do(decides("b", "e-1", "", verification.MatchSame)).approve("")
	if got := clearedOf(j.run, nil); len(got) != 0 {
		t.Errorf("cleared are %v, want none", got)
	}
}

// A verdict was given after the decision that it covers, by as many people as must agree.
func TestWhichDecisionsClearAHit(t *testing.T) {
	const approve, reject = verification.DecisionApprove, verification.DecisionReject
	type does = func(*journey) *journey
	other := func(who string) does {
		return func(j *journey) *journey {
			d := decides("screen", "e-1", "", verification.MatchOther)
			d.By, d.Identity = who, who
			return j.do(d)
		}
	}
	verdict := func(who string, v verification.Decision) does {
		return func(j *journey) *journey { return j.after(time.Minute).do(verdictBy(who, v)) }
	}
	byProgram := func(j *journey) *journey { return j.do(verification.GiveVerdict{Decision: approve}) }
	later := func(j *journey) *journey {
		return j.do(verification.RecordHits{Node: "screen", List: "sanctions", Hits: []verification.Hit{{ID: "e-2"}}})
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
			d := define("screen", nodes{"screen": checkNode("Screening", "done"), "done": endNode()})
			d.FourEyes = row.fourEyes
			j := begin(t, d, "").do(verification.RecordResult{
				Node: "screen", Dispatch: 1, Outcome: verification.OutcomePassed, Data: data(t, `{"analysis_ok":false}`),
				Screening: &verification.ScreeningResult{List: "sanctions", Hits: []verification.Hit{{ID: "e-1"}}},
			})
			before := j.run
			for _, do := range row.does {
				do(j)
			}
			for two, want := range map[bool]bool{false: row.one, true: row.two} {
				asked := verification.AskedDigest(nil)
				if got := len(verification.Clearances([]verification.Run{j.run}, asked, two)) > 0; got != want {
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
	later := verification.RecordHits{Node: "screen", List: "sanctions", Hits: []verification.Hit{{ID: "e-2"}}}
	for name, row := range map[string]struct {
		before, then []verification.Command
		want         bool
	}{
		"a rejection":                {then: []verification.Command{verdictBy("ravi", verification.DecisionReject)}, want: true},
		"an approval by another":     {then: []verification.Command{verdictBy("meena", verification.DecisionApprove)}},
		"an approval by one and all": {then: []verification.Command{verdictBy("asha", verification.DecisionApprove)}, want: true},
		"a later hit":                {then: []verification.Command{later}, want: true},
		"a note":                     {then: []verification.Command{verification.AddNote{Notes: "seen", By: "ravi", Identity: "ravi"}}},
		"the same person": {
			before: []verification.Command{later}, then: []verification.Command{decides("screen", "e-1", "", verification.MatchSame)}, want: true,
		},
		"the same person twice": {
			before: []verification.Command{later, decides("screen", "e-1", "", verification.MatchSame)},
			then:   []verification.Command{decides("screen", "e-1", "", verification.MatchUnsure)},
		},
		"a doubt about the later hit": {
			before: []verification.Command{later}, then: []verification.Command{decides("screen", "e-2", "", verification.MatchUnsure)}, want: true,
		},
		"another person": {
			before: []verification.Command{later}, then: []verification.Command{decides("screen", "e-2", "", verification.MatchOther)},
		},
		"a verdict on a doubt": {
			before: []verification.Command{later, decides("screen", "e-1", "", verification.MatchSame)},
			then:   []verification.Command{verdictBy("ravi", verification.DecisionReject)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := define("screen", nodes{"screen": checkNode("Screening", "done"), "done": endNode()})
			j := begin(t, d, "").do(verification.RecordResult{
				Node: "screen", Dispatch: 1, Outcome: verification.OutcomePassed, Data: data(t, `{"analysis_ok":false}`),
				Screening: &verification.ScreeningResult{List: "sanctions", Hits: []verification.Hit{{ID: "e-1"}}},
			})
			j.do(decides("screen", "e-1", "", verification.MatchOther)).do(verdictBy("ravi", verification.DecisionApprove))
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
func byAsha() verification.Clearance {
	return verification.Clearance{
		List: "sanctions", Hit: verification.Hit{ID: "e-1"}, Asked: "ab", Run: "earlier", Node: "screen", Visit: 1, At: noon(), By: "asha", Identity: "asha",
	}
}

func TestARunRecordsWhoClearedItsHits(t *testing.T) {
	j := begin(t, screening("a"), "")
	j.do(verification.RecordResult{
		Node: "a", Dispatch: 1, Outcome: verification.OutcomePassed, Screening: leftOut(), Cleared: []verification.Clearance{byAsha()},
	})
	want := byAsha()
	want.ListVersion, want.Hit.Name, want.For = "v1", "Ivan Testov", 1
	step, _ := j.run.Step("a")
	if diff := cmp.Diff([]verification.Clearance{want}, step.Cleared); diff != "" {
		t.Errorf("cleared (-want +got):\n%s", diff)
	}
	if hits := j.card("a").Hits(); len(hits) != 1 || hits[0].ID != "e-2" {
		t.Errorf("the hits are %+v, want the one that was left out although no decision clears it", hits)
	}
	if got := j.run.ClearedByOthers(); got != 1 {
		t.Errorf("%d hits are cleared by others, want 1", got)
	}
	if got := j.run.Decision(); got != verification.DecisionReview {
		t.Errorf("the decision is %q, want review: no decision clears the second hit", got)
	}
}

func TestAReScreeningRecordsWhoClearedItsHits(t *testing.T) {
	j := begin(t, screening("a"), "").pass()
	again := verification.RecordHits{
		Node: "a", List: "sanctions", ListVersion: "v2", LeftOut: []verification.Hit{{ID: "e-1"}}, Cleared: []verification.Clearance{byAsha()},
	}
	for _, want := range []string{"hits_cleared", "nothing"} {
		if got := outcome(j.try(again)); got != want {
			t.Errorf("a hit that was left out = %s, want %s", got, want)
		}
		j.do(again)
	}
	if d := j.decision(); d != verification.DecisionNone {
		t.Errorf("the decision is %q, want none", d)
	}
	overruled := verification.RecordHits{Node: "a", List: "sanctions", Hits: []verification.Hit{{ID: "e-1"}}, Overruled: true}
	j.do(overruled)
	want := []verification.Flag{{
		NodeID: "a", Label: "Screening", Reason: "A hit was cleared by a decision that no longer counts.",
		Sentences: []verification.Sentence{{Key: "overruled"}},
	}}
	if diff := cmp.Diff(want, j.report().Flags); diff != "" || j.decision() != verification.DecisionReview {
		t.Errorf("the decision is %q, and the flags are (-want +got):\n%s", j.decision(), diff)
	}
	if got := outcome(j.try(overruled)); got != "nothing" {
		t.Errorf("the hit again = %s, want nothing", got)
	}
}

// A run may be settled by the verdict of an earlier review step.
func TestAVerdictThatCameBeforeADecisionClearsNothing(t *testing.T) {
	d := define("first", nodes{
		"first": reviewNode("First look", "screen"), "screen": checkNode("Screening", "second"), "second": reviewNode("Second look", "done"), "done": endNode(),
	})
	j := begin(t, d, "").approve("").screened(verification.ScreeningResult{List: "sanctions", Hits: []verification.Hit{{ID: "e-1"}}}).
		do(decides("screen", "e-1", "", verification.MatchOther)).cancel()
	if got := clearedOf(j.run, nil); j.decision() != verification.DecisionApprove || len(got) > 0 {
		t.Errorf("the decision is %q, and cleared are %v; want approve and none", j.decision(), got)
	}
}
