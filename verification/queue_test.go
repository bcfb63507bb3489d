// Tests of reviews.

package verification_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

func TestARunHasAReviewWhileItNeedsAVerdict(t *testing.T) {
	at := func(minutes int) time.Time { return time.Date(2026, 3, 1, 9, minutes, 0, 0, time.UTC) }
	start := verification.Started{
		Workflow: "w", WorkflowName: "Onboarding", ReferenceID: "customer-1", ReviewDueMinutes: 30, RunTTLSeconds: 3600,
	}
	review := func(reason string) []verification.Concern {
		return []verification.Concern{{NodeID: "review", Label: "Review", Kind: verification.ConcernReview, Sentences: []verification.Sentence{{Text: reason}}}}
	}
	asked := verification.ReviewAsked{Node: "review", Label: "Review", Reason: "The names differ."}
	long := verification.ReviewAsked{Node: "review", Label: "Review", Reason: strings.Repeat("ä", 20_000)}
	check := verification.Dispatched{Node: "pan", Key: "pan", Label: "PAN", Provider: "p", Dispatch: 3, Visit: 1}
	unsure := verification.ResultRecorded{Node: "pan", Passed: true, Data: verification.Data(`{"source_ok":false}`)}
	pan := verification.Concern{
		NodeID: "pan", Label: "PAN", Kind: verification.ConcernFlag,
		Sentences: []verification.Sentence{verification.CauseSource.Sentence(), verification.CauseDispatches.Sentence()},
	}
	proposal := verification.VerdictProposed{Node: "review", Decision: verification.DecisionReject, By: "Asha", Identity: "asha@acme"}
	verdict := verification.VerdictRecorded{Node: "review", Decision: verification.DecisionApprove}
	reviewed := func(change func(*verification.Review)) *verification.Review {
		v := verification.Review{WorkflowName: "Onboarding"}
		change(&v)
		return &v
	}
	for _, tt := range []struct {
		name  string
		facts []verification.Fact // a minute after another
		want  *verification.Review
	}{
		{"a run that waits for a result", []verification.Fact{start, check}, nil},
		{"parked on a review step", []verification.Fact{start, asked}, reviewed(func(v *verification.Review) {
			v.Since, v.DueAt = at(1), at(31)
			v.Concerns, v.Causes = review("The names differ."), []verification.Cause{verification.CauseReviewStep}
		})},
		{"parked with a long reason", []verification.Fact{start, long}, reviewed(func(v *verification.Review) {
			v.Since, v.DueAt = at(1), at(31)
			v.Concerns = review(strings.Repeat("ä", 599) + "…")
			v.Causes = []verification.Cause{verification.CauseReviewStep}
		})},
		{"answered", []verification.Fact{start, asked, verdict, verification.Completed{Node: "done"}}, nil},
		{"parked on a second one", []verification.Fact{start, asked, verdict, verification.ReviewAsked{Node: "second"}}, reviewed(func(v *verification.Review) {
			v.Since, v.DueAt = at(3), at(33)
			v.Concerns = []verification.Concern{{
				NodeID: "second", Kind: verification.ConcernReview, Sentences: []verification.Sentence{verification.CauseReviewStep.Sentence()},
			}}
			v.Causes = []verification.Cause{verification.CauseReviewStep}
		})},
		{"with a proposed verdict", []verification.Fact{start, asked, proposal}, reviewed(func(v *verification.Review) {
			v.Since, v.DueAt = at(1), at(31)
			v.Concerns, v.Causes = review("The names differ."), []verification.Cause{verification.CauseReviewStep, verification.CauseProposal}
			v.Proposed, v.ProposedBy = verification.DecisionReject, verification.Person{Identity: "asha@acme", Name: "Asha"}
		})},
		{"with a proposal that was sent back", []verification.Fact{start, asked, proposal, verification.ProposalReturned{Node: "review"}}, reviewed(func(v *verification.Review) {
			v.Since, v.DueAt = at(1), at(31)
			v.Concerns, v.Causes = review("The names differ."), []verification.Cause{verification.CauseReviewStep}
		})},
		{"completed with a flagged step", []verification.Fact{start, check, unsure, verification.Completed{Node: "done"}}, reviewed(func(v *verification.Review) {
			v.Since, v.DueAt, v.Concerns = at(3), at(33), []verification.Concern{pan}
			v.Causes = []verification.Cause{verification.CauseSource, verification.CauseDispatches}
		})},
		{"failed with a flagged step", []verification.Fact{start, check, unsure, verification.Failed{Node: "pan"}}, nil},
		{"cancelled", []verification.Fact{start, asked, verification.Cancelled{}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var history []verification.Event
			for i, f := range tt.facts {
				history = append(history, verification.Event{At: at(i), Fact: f})
			}
			run := verification.Fold(runID, history)
			got, open := run.Review()
			if (tt.want != nil) != open || open && cmp.Diff(*tt.want, got, reasonsOnly) != "" {
				t.Errorf("Review = %+v, %t, want %+v", got, open, tt.want)
			}
			summary := run.Summary()
			if open != (summary.Review != nil) {
				t.Errorf("Summary().Review = %+v, want it: %t", summary.Review, open)
			}
			for _, now := range []time.Time{at(5), at(60), at(60).Add(time.Microsecond)} {
				until := summary.ReviewUntil()
				needed := open && (until.IsZero() || !now.After(until))
				if inReview := summary.DecisionAt(now) == verification.DecisionReview; inReview != needed {
					t.Errorf("at %s the decision is review: %t, the review is needed: %t", now, inReview, needed)
				}
			}
		})
	}
}

func TestQueuePositionsKeepTheirText(t *testing.T) {
	for _, p := range []store.QueuePosition{
		{Since: time.Date(2026, 3, 1, 9, 0, 0, 123456000, time.UTC), Run: runID},
		{Since: time.Unix(0, 0).UTC(), DueAt: time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC), Run: runID},
	} {
		got, err := store.ParseQueuePosition(p.String())
		if err != nil || got != p {
			t.Errorf("ParseQueuePosition(%q) = %v, %v, want %v", p, got, err, p)
		}
	}
	for _, s := range []string{"", "x", "Li4", "****", store.QueuePosition{}.String()} {
		if p, err := store.ParseQueuePosition(s); err == nil {
			t.Errorf("ParseQueuePosition(%q) = %v, want an error", s, p)
		}
	}
}

func TestTheQueueShowsTheSentencesOfAllCauses(t *testing.T) {
	n := 0
	for _, c := range verification.Causes() {
		n += len(c.Sentence().String()) + 1
	}
	if n > 600 {
		t.Errorf("the sentences of all causes have %d characters, and the queue shows 600", n)
	}
}

func TestEveryCauseHasASentence(t *testing.T) {
	for _, c := range verification.Causes() {
		if got, err := verification.ParseCause(string(c)); err != nil || got != c || c.Sentence().String() == "" {
			t.Errorf("cause %q: %v, %v, %q", c, got, err, c.Sentence())
		}
	}
	if _, err := verification.ParseCause("boredom"); err == nil {
		t.Error("ParseCause accepts any text")
	}
}
