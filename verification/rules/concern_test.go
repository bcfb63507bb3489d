// Tests of concerns.

package rules_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestConcernsSayWhatIsWrong(t *testing.T) {
	check := func(node string, f rules.Fact) []rules.Fact {
		id := verification.NodeID(node)
		switch answer := f.(type) {
		case rules.ResultRecorded:
			answer.Node = id
			f = answer
		case rules.ResultUnavailable:
			answer.Node = id
			f = answer
		}
		return []rules.Fact{rules.Dispatched{Node: id, Key: node, Label: node, Dispatch: 1, Visit: 1}, f}
	}
	ivan := verification.Hit{ID: "e-1", Name: "Ivan Testov", Score: 0.9, BirthDates: []string{"1961-03-14"}}
	olga := verification.Hit{ID: "e-2", Name: "Olga Testova", Score: 0.95}
	screened := rules.ResultRecorded{
		Passed: true, Data: verification.Data(`{"analysis_ok":false}`),
		Screening: &rules.Screening{List: "sanctions", ListVersion: "v1", Hits: []verification.Hit{ivan, olga}},
	}
	sentence := func(keys ...string) (all []rules.Sentence) {
		for _, key := range keys {
			all = append(all, rules.Sentence{Key: key})
		}
		return all
	}
	score := 0.41
	asked := rules.ReviewAsked{Node: "review", Label: "review"}
	for _, tt := range []struct {
		name  string
		facts []rules.Fact
		want  []rules.Concern
	}{
		{"a check that passed", check("pan", rules.ResultRecorded{Passed: true}), nil},
		{"a failed check with a finding and a score", check("face", rules.ResultRecorded{Data: verification.Data(`{"status":"low","score":0.41,"reason":" too dark "}`)}), []rules.Concern{
			{NodeID: "face", Label: "face", Kind: rules.ConcernFailed, Finding: "too dark", Score: &score, Sentences: sentence("not_passed")},
		}},
		{"a source that gave no answer", check("pan", rules.ResultUnavailable{Data: verification.Data(`{"source_ok":false}`)}), []rules.Concern{
			{NodeID: "pan", Label: "pan", Kind: rules.ConcernFailed, Sentences: sentence("source.no_answer")},
		}},
		{"the best of two hits", check("screen", screened), []rules.Concern{
			{NodeID: "screen", Label: "screen", Kind: rules.ConcernHit, Hit: &olga, MoreHits: 1, Sentences: sentence("hit")},
		}},
		{
			"hits first, then failed checks, then flags, and no review step without a reason",
			slices.Concat(check("geo", rules.ResultRecorded{Passed: true, Data: verification.Data(`{"geo_ok":false}`)}), check("pan", rules.ResultRecorded{}), check("screen", screened), []rules.Fact{asked}),
			[]rules.Concern{
				{NodeID: "screen", Label: "screen", Kind: rules.ConcernHit, Hit: &olga, MoreHits: 1, Sentences: sentence("hit")},
				{NodeID: "pan", Label: "pan", Kind: rules.ConcernFailed, Sentences: sentence("not_passed")},
				{NodeID: "geo", Label: "geo", Kind: rules.ConcernFlag, Sentences: sentence("location")},
			},
		},
		{"a review step alone", []rules.Fact{asked}, []rules.Concern{
			{NodeID: "review", Label: "review", Kind: rules.ConcernReview, Sentences: sentence("review_step")},
		}},
		{
			"a screening that was not called", []rules.Fact{
				rules.GroupBegan{Node: "owner", Type: workflow.NodeChecks, Label: "Owner", Visit: 1, Screens: []rules.ScreeningMember{{Name: "lists", Label: "Lists"}}},
				rules.GroupDecided{Node: "owner", Type: workflow.NodeChecks, Passed: true},
				asked,
			}, []rules.Concern{{NodeID: "owner.lists", Label: "Owner: Lists", Kind: rules.ConcernUnscreened, Sentences: sentence("unscreened.decided")}},
		},
		{"an answered review step", []rules.Fact{asked, rules.VerdictRecorded{Node: "review", Decision: rules.DecisionApprove}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			history := []rules.Event{{At: flows.Noon(), Fact: rules.Started{Workflow: "w"}}}
			for i, f := range tt.facts {
				history = append(history, rules.Event{At: flows.Noon().Add(time.Duration(i+1) * time.Second), Fact: f})
			}
			if diff := cmp.Diff(tt.want, rules.MakeReport("run", history, flows.Noon()).Concerns); diff != "" {
				t.Errorf("concerns (-want +got):\n%s", diff)
			}
		})
	}
}
