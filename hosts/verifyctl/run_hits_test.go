package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

func TestRunShowHasEachHitAsItStands(t *testing.T) {
	screening := rules.Screening{List: "sanctions"}
	card := rules.Card{NodeID: "owners[1]", Screening: &screening}
	for _, id := range []string{"e-1", "e-2", "e-3", "e-4", ""} { // the last one is redacted
		screening.Hits = append(screening.Hits, verification.Hit{ID: id})
	}
	for entry, match := range map[string]rules.HitMatch{"e-1": rules.MatchUnsure, "e-2": rules.MatchOther, "e-3": rules.MatchSame} {
		card.HitDecisions = append(card.HitDecisions, rules.HitDecision{HitDecided: rules.HitDecided{List: "sanctions", Entry: entry, Match: match, By: "asha"}})
	}
	visit := rules.CardVisit{Number: 1, Screening: &rules.Screening{List: "peps", Hits: []verification.Hit{{ID: "p-1"}}}}
	card.Visits = append(card.Visits, visit)
	var got [][]string
	for _, h := range hitsOf(rules.Report{Cards: []rules.Card{card}}) {
		got = append(got, h.row())
	}
	want := [][]string{
		{"owners[1]", "sanctions", "e-1", "not sure", "asha"},
		{"owners[1]", "sanctions", "e-2", "another person", "asha"},
		{"owners[1]", "sanctions", "e-3", "same person", "asha"},
		{"owners[1]", "sanctions", "e-4", "open", ""},
		{"owners[1], visit 1", "peps", "p-1", "open", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hits (-want +got):\n%s", diff)
	}
}
