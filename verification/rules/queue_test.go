// Tests of reviews.

package rules_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func TestARunHasAReviewWhileItNeedsAVerdict(t *testing.T) {
	at := func(minutes int) time.Time { return time.Date(2026, 3, 1, 9, minutes, 0, 0, time.UTC) }
	start := rules.Started{
		Workflow: "w", WorkflowName: "Onboarding", ReferenceID: "customer-1", ReviewDueMinutes: 30, RunTTLSeconds: 3600,
	}
	review := func(reason string) []rules.Concern {
		return []rules.Concern{{NodeID: "review", Label: "Review", Kind: rules.ConcernReview, Sentences: []rules.Sentence{{Text: reason}}}}
	}
	asked := rules.ReviewAsked{Node: "review", Label: "Review", Reason: "The names differ."}
	long := rules.ReviewAsked{Node: "review", Label: "Review", Reason: strings.Repeat("ä", 20_000)}
	check := rules.Dispatched{Node: "pan", Key: "pan", Label: "PAN", Provider: "p", Dispatch: 3, Visit: 1}
	unsure := rules.ResultRecorded{Node: "pan", Passed: true, Data: verification.Data(`{"source_ok":false}`)}
	pan := rules.Concern{
		NodeID: "pan", Label: "PAN", Kind: rules.ConcernFlag,
		Sentences: []rules.Sentence{rules.CauseSource.Sentence(), rules.CauseDispatches.Sentence()},
	}
	proposal := rules.VerdictProposed{Node: "review", Decision: rules.DecisionReject, By: "Asha", Identity: "asha@acme"}
	verdict := rules.VerdictRecorded{Node: "review", Decision: rules.DecisionApprove}
	reviewed := func(change func(*rules.Review)) *rules.Review {
		v := rules.Review{WorkflowName: "Onboarding"}
		change(&v)
		return &v
	}
	for _, tt := range []struct {
		name  string
		facts []rules.Fact // a minute after another
		want  *rules.Review
	}{
		{"a run that waits for a result", []rules.Fact{start, check}, nil},
		{"parked on a review step", []rules.Fact{start, asked}, reviewed(func(v *rules.Review) {
			v.Since, v.DueAt = at(1), at(31)
			v.Concerns, v.Causes = review("The names differ."), []rules.Cause{rules.CauseReviewStep}
		})},
		{"parked with a long reason", []rules.Fact{start, long}, reviewed(func(v *rules.Review) {
			v.Since, v.DueAt = at(1), at(31)
			v.Concerns = review(strings.Repeat("ä", 599) + "…")
			v.Causes = []rules.Cause{rules.CauseReviewStep}
		})},
		{"answered", []rules.Fact{start, asked, verdict, rules.Completed{Node: "done"}}, nil},
		{"parked on a second one", []rules.Fact{start, asked, verdict, rules.ReviewAsked{Node: "second"}}, reviewed(func(v *rules.Review) {
			v.Since, v.DueAt = at(3), at(33)
			v.Concerns = []rules.Concern{{
				NodeID: "second", Kind: rules.ConcernReview, Sentences: []rules.Sentence{rules.CauseReviewStep.Sentence()},
			}}
			v.Causes = []rules.Cause{rules.CauseReviewStep}
		})},
		{"with a proposed verdict", []rules.Fact{start, asked, proposal}, reviewed(func(v *rules.Review) {
			v.Since, v.DueAt = at(1), at(31)
			v.Concerns, v.Causes = review("The names differ."), []rules.Cause{rules.CauseReviewStep, rules.CauseProposal}
			v.Proposed, v.ProposedBy = rules.DecisionReject, verification.Person{Identity: "asha@acme", Name: "Asha"}
		})},
		{"with a proposal that was sent back", []rules.Fact{start, asked, proposal, rules.ProposalReturned{Node: "review"}}, reviewed(func(v *rules.Review) {
			v.Since, v.DueAt = at(1), at(31)
			v.Concerns, v.Causes = review("The names differ."), []rules.Cause{rules.CauseReviewStep}
		})},
		{"completed with a flagged step", []rules.Fact{start, check, unsure, rules.Completed{Node: "done"}}, reviewed(func(v *rules.Review) {
			v.Since, v.DueAt, v.Concerns = at(3), at(33), []rules.Concern{pan}
			v.Causes = []rules.Cause{rules.CauseSource, rules.CauseDispatches}
		})},
		{"failed with a flagged step", []rules.Fact{start, check, unsure, rules.Failed{Node: "pan"}}, nil},
		{"cancelled", []rules.Fact{start, asked, rules.Cancelled{}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var history []rules.Event
			for i, f := range tt.facts {
				history = append(history, rules.Event{At: at(i), Fact: f})
			}
			run := rules.Fold(flows.RunID, history)
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
				if inReview := summary.DecisionAt(now) == rules.DecisionReview; inReview != needed {
					t.Errorf("at %s the decision is review: %t, the review is needed: %t", now, inReview, needed)
				}
			}
		})
	}
}

func TestQueuePositionsKeepTheirText(t *testing.T) {
	for _, p := range []store.QueuePosition{
		{Since: time.Date(2026, 3, 1, 9, 0, 0, 123456000, time.UTC), Run: flows.RunID},
		{Since: time.Unix(0, 0).UTC(), DueAt: time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC), Run: flows.RunID},
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
	for _, c := range rules.Causes() {
		n += len(c.Sentence().String()) + 1
	}
	if n > 600 {
		t.Errorf("the sentences of all causes have %d characters, and the queue shows 600", n)
	}
}

func TestEveryCauseHasASentence(t *testing.T) {
	for _, c := range rules.Causes() {
		if got, err := rules.ParseCause(string(c)); err != nil || got != c || c.Sentence().String() == "" {
			t.Errorf("cause %q: %v, %v, %q", c, got, err, c.Sentence())
		}
	}
	if _, err := rules.ParseCause("boredom"); err == nil {
		t.Error("ParseCause accepts any text")
	}
}
