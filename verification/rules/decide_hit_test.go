package rules_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// decides is a decision of Asha on a hit of the list sanctions.
func decides(node verification.NodeID, entry, digest string, m rules.HitMatch) rules.DecideHit {
	return rules.DecideHit{Node: node, List: "sanctions", Entry: entry, Digest: digest, Match: m, By: "asha", Identity: "asha"}
}

// doubtful returns a run that is completed, and whose check has two hits.
func doubtful(t *testing.T) *journey {
	t.Helper()
	j := checked(t)
	w := j.run.Wait()
	return j.do(rules.RecordResult{
		Node: w.Node, Dispatch: w.Dispatch, Outcome: verification.OutcomePassed, Data: flows.Data(t, `{"analysis_ok":false}`),
		Screening: &verification.ScreeningResult{List: "sanctions", ListVersion: "v1", Hits: []verification.Hit{
			{ID: "e-1", Name: "Ivan Testov", Score: 0.95, Digest: "1"}, {ID: "e-2", Name: "Olga Testova", Score: 0.9},
		}},
	})
}

func TestWhichHitDecisionsAreAccepted(t *testing.T) {
	good := decides("pan", "e-1", "1", rules.MatchOther)
	with := func(change func(*rules.DecideHit)) rules.DecideHit {
		c := good
		change(&c)
		return c
	}
	held := rules.Claim{By: verification.Person{Identity: "ravi"}.Key(), Until: flows.Noon().Add(time.Hour)}
	for _, row := range []struct {
		name string
		run  func(*testing.T) *journey
		c    rules.DecideHit
		want string
	}{
		{"of a person", doubtful, good, "hit_decided"},
		{"of a program", doubtful, with(func(c *rules.DecideHit) { c.By, c.Identity = "", "" }), "hit_decided"},
		{"the longest reason", doubtful, with(func(c *rules.DecideHit) { c.Reason = strings.Repeat("é", rules.MaxNotes) }), "hit_decided"},
		{"a longer reason", doubtful, with(func(c *rules.DecideHit) { c.Reason = strings.Repeat("é", rules.MaxNotes+1) }), "invalid"},
		{"a reason that no store can keep", doubtful, with(func(c *rules.DecideHit) { c.Reason = "a\x00" }), "invalid"},
		{"no answer", doubtful, with(func(c *rules.DecideHit) { c.Match = "" }), "invalid"},
		{"another answer", doubtful, with(func(c *rules.DecideHit) { c.Match = "maybe" }), "invalid"},
		{"another node", doubtful, with(func(c *rules.DecideHit) { c.Node = "consent" }), "conflict"},
		{"another list", doubtful, with(func(c *rules.DecideHit) { c.List = "peps" }), "conflict"},
		{"another entry", doubtful, with(func(c *rules.DecideHit) { c.Entry = "e-3" }), "conflict"},
		{"an entry that has changed", doubtful, with(func(c *rules.DecideHit) { c.Digest = "2" }), "conflict"},
		{"while another person has the claim", doubtful, with(func(c *rules.DecideHit) { c.Claim = held }), "conflict"},
		{"after a verdict", func(t *testing.T) *journey { t.Helper(); return doubtful(t).approve("") }, good, "conflict"},
		{"of a run without a hit", finishedOpen, good, "conflict"},
		{"of a later version", func(t *testing.T) *journey { t.Helper(); return checked(t).pass().found("e-9") }, decides("pan", "e-9", "", rules.MatchSame), "hit_decided"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := flows.Outcome(row.run(t).try(row.c)); got != row.want {
				t.Errorf("Decide = %s, want %s", got, row.want)
			}
		})
	}
	if _, err := doubtful(t).try(with(func(c *rules.DecideHit) { c.Claim = held })); !errors.Is(err, rules.ErrClaimed) {
		t.Errorf("beside the claim of another person: %v, want ErrClaimed", err)
	}
}

func TestTheNewestDecisionOnAHitCounts(t *testing.T) {
	j := doubtful(t).do(decides("pan", "e-1", "1", rules.MatchOther)).after(time.Minute)
	if events, err := j.try(decides("pan", "e-1", "1", rules.MatchOther)); err != nil || len(events) > 0 {
		t.Errorf("the same decision again = %v, %v; want nothing", events, err)
	}
	again := decides("pan", "e-1", "1", rules.MatchSame)
	again.Reason, again.By = "the passport", "ravi"
	j.do(again)
	var got []string
	for _, h := range j.card("pan").Hits() {
		got = append(got, strings.Join([]string{h.List, h.ID, string(h.Decision.Match), h.Decision.By, h.Decision.Reason}, "|"))
	}
	if diff := cmp.Diff([]string{"sanctions|e-1|same|ravi|the passport", "sanctions|e-2|||"}, got); diff != "" {
		t.Errorf("hits (-want +got):\n%s", diff)
	}
	if d := j.card("pan").Hits()[0].Decision; !d.At.Equal(j.now) {
		t.Errorf("the decision was made at %v, want %v", d.At, j.now)
	}
}

func TestADecisionOnAHitIsNoVerdict(t *testing.T) {
	j := doubtful(t)
	was, before := j.detail(), j.card("pan")
	j.do(decides("pan", "e-1", "1", rules.MatchOther)).do(decides("pan", "e-2", "", rules.MatchOther))
	was.Seq += 2
	equal(t, "the run", j.detail(), was)
	after := j.card("pan")
	after.HitDecisions = nil
	equal(t, "the card", after, before)
}

func TestTheConcernCountsTheHitsThatAreLeft(t *testing.T) {
	j := doubtful(t)
	for _, want := range []struct {
		entry, best   string
		left, decided int
		unsure        int
		match         rules.HitMatch
	}{
		{"", "e-1", 2, 0, 0, ""},
		{"e-1", "e-2", 2, 0, 1, rules.MatchUnsure},
		{"e-2", "e-1", 2, 0, 2, rules.MatchUnsure},
		{"e-1", "e-2", 1, 1, 1, rules.MatchOther},
		{"e-2", "e-1", 0, 2, 0, rules.MatchOther},
	} {
		if want.entry != "" {
			digest := map[string]string{"e-1": "1"}[want.entry]
			j.do(decides("pan", want.entry, digest, want.match))
		}
		v, _ := j.run.Review()
		c := v.Concerns[0]
		if c.Kind != rules.ConcernHit || c.Hit.ID != want.best || c.OpenHits() != want.left || c.DecidedHits != want.decided || c.UnsureHits != want.unsure {
			t.Errorf("after the decision on %q: %+v of %s, %d left; want %+v", want.entry, c, c.Hit.ID, c.OpenHits(), want)
		}
	}
}

func TestAnEntryThatHasChangedIsANewHit(t *testing.T) {
	j := doubtful(t).do(decides("pan", "e-1", "1", rules.MatchOther)).approve("fine")
	for _, row := range []struct {
		id, digest string
		want       string
	}{
		{"e-1", "1", "nothing"},
		{"e-1", "", "nothing"},  // the provider gives no digest
		{"e-2", "9", "nothing"}, // it gave none before
		{"e-1", "2", "hits_found"},
		{"e-1", "2", "nothing"},
		{"e-1", "1", "nothing"},
	} {
		c := rules.RecordHits{Node: "pan", List: "sanctions", Hits: []verification.Hit{{ID: row.id, Digest: row.digest}}}
		if got := flows.Outcome(j.try(c)); got != row.want {
			t.Errorf("%s with the digest %q = %s, want %s", row.id, row.digest, got, row.want)
		}
		j.do(c)
	}
	hits := j.card("pan").Hits()
	if len(hits) != 3 || hits[0].Decision.Match != rules.MatchOther || hits[2].ID != "e-1" || hits[2].Decision.Match != "" {
		t.Errorf("hits = %+v, want the old one decided and the new one not", hits)
	}
}

func TestADecisionCountsForItsVisitOnly(t *testing.T) {
	d := flows.Define("screen", flows.Nodes{"screen": flows.CheckNode("Screening", "review"), "review": flows.ReviewNode("Manual review", "done"), "done": flows.EndNode()})
	flows.Edit("review", func(n *workflow.Node) { n.OnReject = "screen" })(&d)
	j := begin(t, d, "")
	hit := verification.ScreeningResult{List: "sanctions", Hits: []verification.Hit{{ID: "e-1"}}}
	j.screened(hit).do(decides("screen", "e-1", "", rules.MatchOther)).reject("again").screened(hit)
	if h := j.card("screen").Hits(); len(h) != 1 || h[0].Decision.Match != "" {
		t.Errorf("on the second visit the hits are %+v, want one that is not decided", h)
	}
	if got := clearedOf(j.run, nil); len(got) != 0 {
		t.Errorf("after a rejection %v are cleared, want none", got)
	}
}

func TestOnlyAPrintForTheFileHasHitDecisions(t *testing.T) {
	j := doubtful(t).do(decides("pan", "e-1", "1", rules.MatchOther)).approve("fine")
	for forFile, want := range map[bool]rules.HitMatch{false: "", true: rules.MatchOther} {
		for _, c := range printed(j, verification.ProviderDescription{}, forFile).Cards {
			if hits := c.Hits(); c.NodeID == "pan" && (len(hits) != 2 || hits[0].Decision.Match != want) {
				t.Errorf("for the file: %t; the hits are %+v, want the first one decided: %q", forFile, hits, want)
			}
		}
	}
}

func TestAnApprovalOfAListedPersonNeedsNotes(t *testing.T) {
	approve := rules.GiveVerdict{Decision: rules.DecisionApprove, By: "asha", Identity: "id-asha", Justified: true}
	noted, program, rejected := approve, approve, approve
	noted.Notes, program.Justified, rejected.Decision, rejected.Reason = "Licence 17 permits it.", false, rules.DecisionReject, "other"
	for _, row := range []struct {
		name  string
		match rules.HitMatch
		give  rules.GiveVerdict
		want  error
	}{
		{"the same person", rules.MatchSame, approve, rules.ErrNotesForListed},
		{"the same person, with notes", rules.MatchSame, noted, nil},
		{"the same person, by a program", rules.MatchSame, program, nil},
		{"the same person, rejected", rules.MatchSame, rejected, nil},
		{"another person", rules.MatchOther, approve, nil},
		{"not sure", rules.MatchUnsure, approve, rules.ErrNotesForUnsure},
		{"not sure, with notes", rules.MatchUnsure, noted, nil},
		{"not sure, by a program", rules.MatchUnsure, program, nil},
		{"not sure, rejected", rules.MatchUnsure, rejected, nil},
		{"nobody has decided", "", approve, rules.ErrNotesForUnsure},
		{"nobody has decided, by a program", "", program, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			j := doubtful(t).do(decides("pan", "e-1", "1", rules.MatchOther))
			if row.match != "" {
				j.do(decides("pan", "e-2", "", row.match))
			}
			if _, err := j.try(row.give); !errors.Is(err, row.want) {
				t.Errorf("the verdict = %v, want %v", err, row.want)
			}
		})
	}
	c := doubtful(t).do(decides("pan", "e-2", "", rules.MatchSame)).report().Concerns[0]
	if c.Hit.ID != "e-2" || c.SameHits != 1 || c.OpenHits() != 1 {
		t.Errorf("the concern = %+v of %s; want the hit that is the same person, and one left", c, c.Hit.ID)
	}
}
