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
