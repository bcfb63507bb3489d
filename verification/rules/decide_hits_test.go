package rules_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

func TestOnlyHitsThatTheRunDoesNotKnowAreRecorded(t *testing.T) {
	j := checked(t).screened(verification.ScreeningResult{List: "sanctions", Hits: []verification.Hit{{ID: "e-\x001"}}})
	for _, c := range []struct {
		ids  []string
		want []string // nil: nothing is recorded
	}{
		{[]string{"e-1"}, nil},
		{[]string{"e-1", "e-2", "e-2\x00"}, []string{"e-2"}},
		{[]string{"e-2"}, nil},
		{[]string{}, nil},
		{[]string{"e-3", "e-2"}, []string{"e-3"}},
	} {
		command := rules.RecordHits{Node: "pan", List: "sanctions", ListVersion: "v2"}
		for _, id := range c.ids {
			command.Hits = append(command.Hits, verification.Hit{ID: id, Name: "Ivan Testov", Score: 0.9})
		}
		before := len(j.history)
		j.do(command)
		var got []string
		for _, e := range j.history[before:] {
			found, _ := e.Fact.(rules.HitsFound)
			for _, h := range found.Hits {
				got = append(got, h.ID)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("hits %q (-want +got):\n%s", c.ids, diff)
		}
	}
	if found := j.card("pan").Rescreened; len(found) != 2 || found[1].Hits[0].ID != "e-3" {
		t.Errorf("the card has %+v, want both hits", found)
	}
}

func TestAHitIsKnownByTheEarlierIDsOfItsEntry(t *testing.T) {
	for _, c := range []struct {
		known verification.Hit
		want  int
	}{
		{verification.Hit{ID: "e-1", Digest: "d"}, 0},
		{verification.Hit{ID: "line-9", Digest: "d"}, 0},
		{verification.Hit{ID: "e-2", Digest: "d"}, 1}, // another entry that says the same
		{verification.Hit{ID: "e-1", Digest: "c"}, 1}, // the entry has changed
		{verification.Hit{ID: "line-9"}, 1},           // it is not known what it said
	} {
		j := checked(t).screened(verification.ScreeningResult{List: "own", Hits: []verification.Hit{c.known}})
		j.do(rules.RecordHits{Node: "pan", List: "own", ListVersion: "v2", Hits: []verification.Hit{{ID: "e-9", Digest: "d", Formerly: []string{"e-1", "line-*"}}}})
		if found := j.card("pan").Rescreened; len(found) != c.want {
			t.Errorf("a hit that was %+v: recorded %+v, want %d", c.known, found, c.want)
		}
	}
}

func TestHitsInTheDataOfACheckAreNotKnown(t *testing.T) {
	j := checked(t).result(verification.OutcomePassed, `{"list":"sanctions","list_version":"v1","hits":[{"id":"e-1"}]}`).found("e-1")
	if found := j.card("pan").Rescreened; len(found) != 1 {
		t.Errorf("the card has %+v, want the hit: data is not a screening result", found)
	}
}

// Two lists may use the same id for two entries.
func TestHitsOfAnotherListAreNotKnown(t *testing.T) {
	j := begin(t, flows.Loop(), "").submit(`{"pan":"ABCDE1234F"}`).pass()
	j.do(rules.RecordResult{
		Node: "twin", Dispatch: 1, Outcome: verification.OutcomePassed,
		Screening: &verification.ScreeningResult{List: "peps", ListVersion: "v1", Hits: []verification.Hit{{ID: "e-1"}}},
	})
	for _, list := range []string{"peps", "sanctions", "sanctions", "un"} {
		j.do(rules.RecordHits{Node: "twin", List: list, Hits: []verification.Hit{{ID: "e-1"}}})
	}
	if found := j.card("twin").Rescreened; len(found) != 2 || found[0].List != "sanctions" || found[1].List != "un" {
		t.Errorf("the card has %+v, want one hit of sanctions and one of un", found)
	}
}

// A provider may find more entries than one event of new hits records: all of them are known.
func TestEveryHitOfTheCheckIsKnown(t *testing.T) {
	var hits []verification.Hit
	for n := range 12 {
		hits = append(hits, verification.Hit{ID: fmt.Sprint("e-", n), Score: 0.9})
	}
	j := checked(t).screened(verification.ScreeningResult{List: "sanctions", Hits: hits}).found("e-11")
	if found := j.card("pan").Rescreened; len(found) != 0 {
		t.Errorf("the card has %+v, want nothing new", found)
	}
}

func TestHitsOfAnEarlierVisitAreNotKnown(t *testing.T) {
	j := begin(t, flows.Loop(), "").submit(`{"pan":"ABCDE1234F"}`).pass()
	j.do(rules.RecordResult{
		Node: "twin", Dispatch: 1, Outcome: verification.OutcomeFailed,
		Screening: &verification.ScreeningResult{List: "sanctions", ListVersion: "v1", Hits: []verification.Hit{{ID: "e-1"}}},
	})
	if s, _ := j.run.Step("twin"); s.Screening == nil || s.Screening.ListVersion != "v1" || len(s.Screening.Hits) != 1 {
		t.Fatalf("after the first visit the step has %+v, want its screening", s.Screening)
	}
	j.submit(`{"pan":"ABCDE1234F"}`).pass().noResult(true)
	j.do(rules.RecordHits{Node: "twin", List: "sanctions", Hits: []verification.Hit{{ID: "e-1"}}})
	if found := j.card("twin").Rescreened; len(found) != 1 {
		t.Errorf("the card has %+v, want the hit: the last visit has no result", found)
	}
}

func TestAtMostTenHitsAreRecordedAtOnce(t *testing.T) {
	j, command := checked(t).pass(), rules.RecordHits{Node: "pan"}
	for n := range 25 {
		command.Hits = append(command.Hits, verification.Hit{ID: fmt.Sprint(n)})
	}
	j.do(command)
	if found := j.card("pan").Rescreened; len(found) != 1 || len(found[0].Hits) != 10 || found[0].Hits[9].ID != "9" {
		t.Errorf("the card has %+v, want the first ten hits", found)
	}
}

func TestHitsBelongToACheckOfTheRun(t *testing.T) {
	for _, node := range []verification.NodeID{"consent", "review", "nowhere"} {
		_, err := checked(t).pass().try(rules.RecordHits{Node: node, Hits: []verification.Hit{{ID: "e-1"}}})
		want := []verification.FieldError{{Name: "node_id", Message: "the run has made no check at this node"}}
		if diff := cmp.Diff(want, flows.FieldsOf(t, err)); diff != "" {
			t.Errorf("hits at %s (-want +got):\n%s", node, diff)
		}
	}
}

func TestAHitFlagsItsStepUntilAVerdict(t *testing.T) {
	j := checked(t).pass().after(time.Hour).found("e-1")
	want := []rules.Flag{{NodeID: "pan", Label: "PAN", Reason: "A later version of the list has a new hit."}}
	if diff := cmp.Diff(want, j.detail().Flags, reasonsOnly); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
	if v, open := j.run.Review(); !open || !v.Since.Equal(j.now) {
		t.Errorf("review = %+v, %t; want an open one since the hit", v, open)
	}
	if c := j.card("pan"); c.Status != rules.CardNeedsReview {
		t.Errorf("the card is %s, want needs_review", c.Status)
	}
	if c := j.reject("no").card("pan"); c.Status != rules.CardFailed {
		t.Errorf("after a rejection the card is %s, want failed", c.Status)
	}
}

func TestAHitDropsAProposedVerdict(t *testing.T) {
	j := begin(t, flows.FourEyes(), "").submit(consents).pass().propose().found("e-1")
	if got := flows.Outcome(j.try(verdictBy("ravi", rules.DecisionApprove))); got != "verdict_proposed" {
		t.Errorf("the verdict of another person = %s, want a proposal: the first one did not know the hit", got)
	}
}

func TestASecondHitDoesNotRestartTheReview(t *testing.T) {
	j := checked(t).result(verification.OutcomePassed, `{"hits":[{"id":"e-1"}],"analysis_ok":false}`)
	j = j.approve("seen").after(time.Hour).found("e-2")
	since := j.now
	j = j.after(time.Hour).found("e-3")
	if v, open := j.run.Review(); !open || !v.Since.Equal(since) {
		t.Errorf("review = %+v, %t; want an open one since the first hit", v, open)
	}
}
