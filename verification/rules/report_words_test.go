// Tests of the words about answers that count although something is open at them.

package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// hits is a screening that finds entries with these ids.
func hits(ids ...string) *verification.ScreeningResult {
	found := &verification.ScreeningResult{List: "sanctions", ListVersion: "v1"}
	for _, id := range ids {
		found.Hits = append(found.Hits, verification.Hit{ID: id, Name: "Ivan Testov", Score: 0.9})
	}
	return found
}

// give has the provider of a step answer.
func (j *journey) give(step verification.NodeID, outcome verification.CheckOutcome, data string, found *verification.ScreeningResult) *journey {
	j.t.Helper()
	w, waits := j.run.WaitAt(step)
	if !waits {
		j.t.Fatalf("the run does not wait for %s", step)
	}
	return j.do(rules.RecordResult{Node: step, Dispatch: w.Dispatch, Outcome: outcome, Data: flows.Data(j.t, data), Screening: found})
}

// judge decides a hit of a step.
func (j *journey) judge(step verification.NodeID, entry string, match rules.HitMatch) *journey {
	j.t.Helper()
	return j.do(rules.DecideHit{Node: step, List: "sanctions", Entry: entry, Match: match, By: "asha", Identity: "asha"})
}

// wording writes what a report says of each group, and of its members and elements.
func (j *journey) wording() string {
	var all []string
	for _, g := range j.run.AsOf(j.now).ReportGroups(j.program.Version.Definition) {
		words := []string{fmt.Sprintf("%s %s %d hits:", g.NodeID, g.Status, g.Hits())}
		for _, m := range g.Members {
			words = append(words, fmt.Sprintf("%s %s %d", strings.TrimPrefix(string(m.NodeID), string(g.NodeID)), m.Answer, m.Hits))
		}
		all = append(all, strings.Join(words, " "))
	}
	return strings.Join(all, "; ")
}

const doubted, unvouched, elsewhere = `{"analysis_ok":false}`, `{"source_ok":false}`, `{"geo_ok":false}`

func TestAnswersThatAreFlaggedHaveOpenWords(t *testing.T) {
	two := func(need workflow.Need) *journey {
		return begin(t, group{need: need, answers: []string{"passed", "passed"}}.definition("", workflow.FinishAll, ""), "").after(time.Minute)
	}
	pass, fail := verification.OutcomePassed, verification.OutcomeFailed
	listed := func() *journey {
		return two(0).give("address.m0", pass, doubted, hits("a", "b")).give("address.m1", pass, "", hits())
	}
	for _, c := range []struct {
		name string
		j    *journey
		want string
	}{
		{"nothing is open", two(0).give("address.m0", pass, "", hits()).give("address.m1", pass, "", nil), "address met 0 hits: .m0 confirmed 0 .m1 confirmed 0"},
		{"two hits", listed(), "address flagged 2 hits: .m0 flagged 2 .m1 confirmed 0"},
		{"a source did not vouch", two(0).give("address.m0", pass, unvouched, nil).give("address.m1", pass, "", nil), "address flagged 0 hits: .m0 flagged 0 .m1 confirmed 0"},
		{"an analysis is in doubt", two(0).give("address.m0", pass, doubted, nil).give("address.m1", pass, "", nil), "address flagged 0 hits: .m0 flagged 0 .m1 confirmed 0"},
		{"the place is wrong", two(0).give("address.m0", pass, elsewhere, nil).give("address.m1", pass, "", nil), "address flagged 0 hits: .m0 flagged 0 .m1 confirmed 0"},
		{"a spare has the hit", two(1).give("address.m0", pass, "", nil).give("address.m1", fail, doubted, hits("a")), "address flagged 1 hits: .m0 confirmed 0 .m1 not_confirmed 1"},
		{"not met", two(0).give("address.m0", pass, doubted, hits("a")).give("address.m1", fail, "", nil), "address not_met 1 hits: .m0 flagged 1 .m1 not_confirmed 0"},
		{"not decided", two(0).give("address.m0", pass, doubted, hits("a")), "address open 1 hits: .m0 flagged 1 .m1 open 0"},
		{"one of two hits is another person", listed().judge("address.m0", "a", rules.MatchOther), "address flagged 1 hits: .m0 flagged 1 .m1 confirmed 0"},
		{"both are", listed().judge("address.m0", "a", rules.MatchOther).judge("address.m0", "b", rules.MatchOther), "address met 0 hits: .m0 confirmed 0 .m1 confirmed 0"},
		{"one is not sure", listed().judge("address.m0", "a", rules.MatchOther).judge("address.m0", "b", rules.MatchUnsure), "address flagged 1 hits: .m0 flagged 1 .m1 confirmed 0"},
		{"one is the same person", listed().judge("address.m0", "a", rules.MatchOther).judge("address.m0", "b", rules.MatchSame), "address flagged 1 hits: .m0 flagged 1 .m1 confirmed 0"},
		{"approved over open hits", listed().approve(""), "address flagged 2 hits: .m0 flagged 2 .m1 confirmed 0"},
		{
			"another person, and a source that did not vouch",
			two(0).give("address.m0", pass, `{"analysis_ok":false,"source_ok":false}`, hits("a")).give("address.m1", pass, "", nil).judge("address.m0", "a", rules.MatchOther),
			"address flagged 0 hits: .m0 flagged 0 .m1 confirmed 0",
		},
		{
			"a later list has a hit", two(0).give("address.m0", pass, "", hits()).give("address.m1", pass, "", nil).approve("").
				do(rules.RecordHits{Node: "address.m0", List: "sanctions", ListVersion: "v2", Hits: hits("c").Hits}),
			"address flagged 1 hits: .m0 flagged 1 .m1 confirmed 0",
		},
	} {
		if got := c.j.wording(); got != c.want {
			t.Errorf("%s: the report says\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestElementsThatAreFlaggedHaveOpenWords(t *testing.T) {
	pass := verification.OutcomePassed
	j := begin(t, group{need: 0, answers: []string{"passed", "passed"}}.definition("", "", "input.list"), `{"list":["a","b"]}`).after(time.Minute)
	for _, step := range []verification.NodeID{"address[1].m0", "address[1].m1", "address[2].m0"} {
		j.give(step, pass, "", hits())
	}
	j.give("address[2].m1", pass, doubted, hits("a", "b"))
	want := "address flagged 2 hits: [1] confirmed 0 [2] flagged 2; address[1] met 0 hits: .m0 confirmed 0 .m1 confirmed 0; " +
		"address[2] flagged 2 hits: .m0 confirmed 0 .m1 flagged 2"
	if got := j.wording(); got != want {
		t.Errorf("the report of groups says\n%s\nwant\n%s", got, want)
	}
	j = begin(t, flows.Company(), `{"list":["a","b"]}`).submit(`{"pan":"x"}`).submit(`{"pan":"x"}`).submit(`{"opted_out":true}`).pass().pass()
	j.give("owners[1]", pass, doubted, hits("a")).give("owners[2]", pass, "", nil)
	want = "homes not_met 0 hits: [1] confirmed 0 [2] flagged 0; address met 0 hits: .bureau confirmed 0 .register confirmed 0 .utility left_out 0; " +
		"owners flagged 1 hits: [1] flagged 1 [2] confirmed 0; each open 0 hits: [1] open 0 [2] open 0; each[1] open 0 hits: .cheap open 0 .dear not_called 0; " +
		"each[2] open 0 hits: .cheap open 0 .dear not_called 0"
	if got := j.wording(); got != want {
		t.Errorf("the report of a form and of checks says\n%s\nwant\n%s", got, want)
	}
}

// A printed report shows no decision: of a hit that was cleared it says what it said before.
func TestAPrintSaysNothingOfDecisionsOnHits(t *testing.T) {
	j := begin(t, group{need: 0, answers: []string{"passed"}}.definition("", "", ""), "").after(time.Minute)
	j.give("address.m0", verification.OutcomePassed, doubted, hits("a"))
	decided := j.fork().judge("address.m0", "a", rules.MatchOther).approve("")
	describe := func(string) verification.ProviderDescription { return verification.ProviderDescription{} }
	for _, forFile := range []bool{true, false} {
		run := decided.run
		if !forFile {
			run = report.WithoutVerdicts(run)
		}
		want := map[bool]rules.GroupStatus{true: rules.GroupMet, false: rules.GroupFlagged}[forFile]
		if got := report.Of(run, decided.program, decided.history, decided.now, flows.TenantID, describe, forFile).Groups[0].Status; got != want {
			t.Errorf("for the file %v: the group is %s, want %s", forFile, got, want)
		}
	}
}

// wordsSayWhatIsOpen: no group and no element is met, and no member confirms, while a step of it that was called on its last visit is
// flagged with something that nobody has decided; and only then is it flagged.
func wordsSayWhatIsOpen(t flows.Tester, j *journey) {
	t.Helper()
	cards, groups := map[verification.NodeID]rules.Card{}, map[verification.NodeID]rules.ReportGroup{}
	for _, c := range j.report().Cards {
		cards[c.NodeID] = c
	}
	all := j.run.AsOf(j.now).ReportGroups(j.program.Version.Definition)
	for _, g := range all {
		groups[g.NodeID] = g
	}
	var openAt func(g rules.ReportGroup) bool
	openAt = func(g rules.ReportGroup) (open bool) {
		for _, m := range g.Members {
			sub, inner := groups[m.NodeID]
			is := m.Called() && (inner && openAt(sub) || !inner && cardOpen(cards[m.NodeID]))
			open = open || is
			if is && m.Answer == rules.AnswerConfirmed || !is && m.Answer == rules.AnswerFlagged {
				t.Errorf("%s reads %s, and that something is open at it is %v", m.NodeID, m.Answer, is)
			}
		}
		return open
	}
	for _, g := range all {
		if open := openAt(g); open && g.Status == rules.GroupMet || !open && g.Status == rules.GroupFlagged {
			t.Errorf("the group %s reads %s, and that something is open at it is %v", g.NodeID, g.Status, open)
		}
	}
}

// cardOpen reports whether a card is flagged with something that nobody has decided.
func cardOpen(c rules.Card) bool {
	hits := c.Hits()
	for _, v := range c.Visits {
		hits = append(hits, v.Hits()...)
	}
	undecided := slices.ContainsFunc(hits, func(h rules.FoundHit) bool { return h.Decision.Match != rules.MatchOther })
	return undecided || slices.ContainsFunc(c.Causes, func(cause rules.Cause) bool {
		hit := cause == rules.CauseHit || cause == rules.CauseRescreened || cause == rules.CauseOverruled
		return !hit || len(hits) == 0
	})
}

// A redacted run does not say which of several hits a decision was on.
func TestARedactedRunCallsNoOpenHitConfirmed(t *testing.T) {
	of := func(ids ...string) *journey {
		j := begin(t, group{answers: []string{"passed"}}.definition("", "", ""), "").after(time.Minute)
		return j.give("address.m0", verification.OutcomePassed, doubted, hits(ids...)).judge("address.m0", "a", rules.MatchOther)
	}
	for want, j := range map[string]*journey{
		"address met 0 hits: .m0 confirmed 0":   of("a"),
		"address flagged 2 hits: .m0 flagged 2": of("a", "b"),
	} {
		if got := j.approve("").after(time.Minute).redacted().wording(); got != want {
			t.Errorf("the report of a redacted run says %s, want %s", got, want)
		}
	}
}

// A flag of an earlier visit stays, and the hits of that visit are not counted again.
func TestAFlagOfAnEarlierVisitIsNoHitOfTheLast(t *testing.T) {
	n := workflow.Node{
		Type: workflow.NodeChecks, Label: "Lists", Next: "look", OnNotMet: "look", OnUnavailable: "look", Members: workflow.Members{{Name: "a", Provider: "registry"}},
	}
	look := flows.ReviewNode("Look", "done")
	look.OnReject = "s"
	j := begin(t, flows.Define("s", flows.Nodes{"s": n, "look": look, "done": flows.EndNode()}), "").after(time.Minute)
	j.give("s.a", verification.OutcomePassed, doubted, hits("a"))
	clean := func(j *journey) string {
		return j.reject("again").give("s.a", verification.OutcomePassed, "", hits()).wording()
	}
	if got, want := clean(j.fork()), "s flagged 0 hits: .a flagged 0"; got != want {
		t.Errorf("after a visit with a hit the report says %s, want %s", got, want)
	}
	if got, want := clean(j.judge("s.a", "a", rules.MatchOther)), "s met 0 hits: .a confirmed 0"; got != want {
		t.Errorf("after a visit whose hit was another person the report says %s, want %s", got, want)
	}
}
