// Tests of what the review queue says of the subject of a run.

package rules_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

func TestABriefIsBounded(t *testing.T) {
	long := strings.Repeat("ä", 300)
	d := rules.Differing{Fact: long, Source: long, Value: long}
	v := rules.Review{}.WithBrief(rules.Subject{Name: long}, []rules.Differing{d, d, d, d})
	short := strings.Repeat("ä", 99) + "…"
	s := rules.Differing{Fact: short, Source: short, Value: short}
	want := rules.Review{Subject: strings.Repeat("ä", 199) + "…", Differing: []rules.Differing{s, s, s}}
	if diff := cmp.Diff(want, v); diff != "" {
		t.Errorf("the review (-want +got):\n%s", diff)
	}
}

func TestARunIsOpenToWhoMayDecideOnIt(t *testing.T) {
	asha, ravi := verification.Person{Identity: "asha", Name: "Asha"}, verification.Person{Identity: "ravi", Name: "Ravi"}
	claimed := rules.Claim{By: ravi.Key(), Name: "Ravi"}
	for name, tt := range map[string]struct {
		review     rules.Review
		asha, ravi bool
	}{
		"nobody has claimed it":               {rules.Review{}, true, true},
		"another one has claimed it":          {rules.Review{Claim: claimed}, false, true},
		"asha has proposed":                   {rules.Review{Proposed: rules.DecisionReject, ProposedBy: asha}, false, true},
		"asha has proposed, ravi has claimed": {rules.Review{Claim: claimed, Proposed: rules.DecisionReject, ProposedBy: asha}, false, true},
		"a namesake has proposed":             {rules.Review{Proposed: rules.DecisionApprove, ProposedBy: verification.Person{Identity: "other", Name: "Asha"}}, false, true},
	} {
		if a, r := tt.review.OpenTo(asha), tt.review.OpenTo(ravi); a != tt.asha || r != tt.ravi {
			t.Errorf("%s: open to asha %v and to ravi %v, want %v and %v", name, a, r, tt.asha, tt.ravi)
		}
	}
}
