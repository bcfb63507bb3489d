// Tests of what the review queue says of the subject of a run.

package verification_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
)

func TestABriefIsBounded(t *testing.T) {
	long := strings.Repeat("ä", 300)
	d := verification.Differing{Fact: long, Source: long, Value: long}
	v := verification.Review{}.WithBrief(verification.Subject{Name: long}, []verification.Differing{d, d, d, d})
	short := strings.Repeat("ä", 99) + "…"
	s := verification.Differing{Fact: short, Source: short, Value: short}
	want := verification.Review{Subject: strings.Repeat("ä", 199) + "…", Differing: []verification.Differing{s, s, s}}
	if diff := cmp.Diff(want, v); diff != "" {
		t.Errorf("the review (-want +got):\n%s", diff)
	}
}

func TestARunIsOpenToWhoMayDecideOnIt(t *testing.T) {
	asha, ravi := verification.Person{Identity: "asha", Name: "Asha"}, verification.Person{Identity: "ravi", Name: "Ravi"}
	claimed := verification.Claim{By: ravi.Key(), Name: "Ravi"}
	for name, tt := range map[string]struct {
		review     verification.Review
		asha, ravi bool
	}{
		"nobody has claimed it":               {verification.Review{}, true, true},
		"another one has claimed it":          {verification.Review{Claim: claimed}, false, true},
		"asha has proposed":                   {verification.Review{Proposed: verification.DecisionReject, ProposedBy: asha}, false, true},
		"asha has proposed, ravi has claimed": {verification.Review{Claim: claimed, Proposed: verification.DecisionReject, ProposedBy: asha}, false, true},
		"a namesake has proposed":             {verification.Review{Proposed: verification.DecisionApprove, ProposedBy: verification.Person{Identity: "other", Name: "Asha"}}, false, true},
	} {
		if a, r := tt.review.OpenTo(asha), tt.review.OpenTo(ravi); a != tt.asha || r != tt.ravi {
			t.Errorf("%s: open to asha %v and to ravi %v, want %v and %v", name, a, r, tt.asha, tt.ravi)
		}
	}
}
