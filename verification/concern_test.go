// Tests of concerns.

package verification_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
)

func TestConcernsSayWhatIsWrong(t *testing.T) {
	check := func(node string, f verification.Fact) []verification.Fact {
		id := verification.NodeID(node)
		switch answer := f.(type) {
		case verification.ResultRecorded:
			answer.Node = id
			f = answer
		case verification.ResultUnavailable:
			answer.Node = id
			f = answer
		}
		return []verification.Fact{verification.Dispatched{Node: id, Key: node, Label: node, Dispatch: 1, Visit: 1}, f}
	}
	ivan := verification.Hit{ID: "e-1", Name: "Ivan Testov", Score: 0.9, BirthDates: []string{"1961-03-14"}}
	olga := verification.Hit{ID: "e-2", Name: "Olga Testova", Score: 0.95}
	screened := verification.ResultRecorded{
		Passed: true, Data: verification.Data(`{"analysis_ok":false}`),
		Screening: &verification.Screening{List: "sanctions", ListVersion: "v1", Hits: []verification.Hit{ivan, olga}},
	}
	sentence := func(keys ...string) (all []verification.Sentence) {
		for _, key := range keys {
			all = append(all, verification.Sentence{Key: key})
		}
		return all
	}
	score := 0.41
	asked := verification.ReviewAsked{Node: "review", Label: "review"}
	for _, tt := range []struct {
		name  string
		facts []verification.Fact
		want  []verification.Concern
	}{
		{"a check that passed", check("pan", verification.ResultRecorded{Passed: true}), nil},
		{"a failed check with a finding and a score", check("face", verification.ResultRecorded{Data: verification.Data(`{"status":"low","score":0.41,"reason":" too dark "}`)}), []verification.Concern{
			{NodeID: "face", Label: "face", Kind: verification.ConcernFailed, Finding: "too dark", Score: &score, Sentences: sentence("not_passed")},
		}},
		{"a source that gave no answer", check("pan", verification.ResultUnavailable{Data: verification.Data(`{"source_ok":false}`)}), []verification.Concern{
			{NodeID: "pan", Label: "pan", Kind: verification.ConcernFailed, Sentences: sentence("source")},
		}},
		{"the best of two hits", check("screen", screened), []verification.Concern{
			{NodeID: "screen", Label: "screen", Kind: verification.ConcernHit, Hit: &olga, MoreHits: 1, Sentences: sentence("hit")},
		}},
		{
			"hits first, then failed checks, then flags, and no review step without a reason",
			slices.Concat(check("geo", verification.ResultRecorded{Passed: true, Data: verification.Data(`{"geo_ok":false}`)}), check("pan", verification.ResultRecorded{}), check("screen", screened), []verification.Fact{asked}),
			[]verification.Concern{
				{NodeID: "screen", Label: "screen", Kind: verification.ConcernHit, Hit: &olga, MoreHits: 1, Sentences: sentence("hit")},
				{NodeID: "pan", Label: "pan", Kind: verification.ConcernFailed, Sentences: sentence("not_passed")},
				{NodeID: "geo", Label: "geo", Kind: verification.ConcernFlag, Sentences: sentence("location")},
			},
		},
		{"a review step alone", []verification.Fact{asked}, []verification.Concern{
			{NodeID: "review", Label: "review", Kind: verification.ConcernReview, Sentences: sentence("review_step")},
		}},
		{"an answered review step", []verification.Fact{asked, verification.VerdictRecorded{Node: "review", Decision: verification.DecisionApprove}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			history := []verification.Event{{At: noon(), Fact: verification.Started{Workflow: "w"}}}
			for i, f := range tt.facts {
				history = append(history, verification.Event{At: noon().Add(time.Duration(i+1) * time.Second), Fact: f})
			}
			if diff := cmp.Diff(tt.want, verification.MakeReport("run", history, noon()).Concerns); diff != "" {
				t.Errorf("concerns (-want +got):\n%s", diff)
			}
		})
	}
}
