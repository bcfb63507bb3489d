package verification_test

import (
	"testing"
	"time"

	"github.com/verifyd/verifyd/verification"
)

func TestSummaryHoldsTimesAndFacts(t *testing.T) {
	hour, wait := noon().Add(time.Hour), noon().Add(10*time.Minute)
	base := func(change func(*verification.Summary)) verification.Summary {
		s := verification.Summary{
			ID: runID, Workflow: workflowID, ReferenceID: "customer-1", StartedAt: noon(), ExpiresAt: hour,
		}
		change(&s)
		return s
	}
	for _, c := range []struct {
		name string
		j    *journey
		want verification.Summary
	}{
		{"parked on the customer", atDesk(t), base(func(s *verification.Summary) {
			s.Waiting, s.Signal, s.WaitNumber, s.AbandonAt = verification.ActionCustomerInput, "consent_submitted", 2, wait
		})},
		{"no limits", begin(t, refusal(), ""), base(func(s *verification.Summary) {
			s.Waiting, s.Signal, s.WaitNumber = verification.ActionCustomerInput, "consent_submitted", 2
			s.ExpiresAt = time.Time{}
		})},
		{"checking", checked(t), base(func(*verification.Summary) {})},
		{"parked on review", onReview(t), base(func(s *verification.Summary) {
			s.Waiting, s.Signal, s.WaitNumber, s.Flagged = verification.ActionReview, verification.ReviewSignal, 7, true
		})},
		{"completed, something open", finishedOpen(t), base(func(s *verification.Summary) {
			s.Ended, s.CompletedAt, s.Flagged = verification.StatusCompleted, noon(), true
		})},
		{"settled", finishedOpen(t).reject("no"), base(func(s *verification.Summary) {
			s.Ended, s.CompletedAt, s.Flagged, s.Verdict = verification.StatusCompleted, noon(), true, verification.DecisionReject
		})},
		{"failed", checked(t).fail(), base(func(s *verification.Summary) {
			s.Ended, s.CompletedAt = verification.StatusFailed, noon()
			s.Error = &verification.RunError{Code: verification.CodeCheckFailed, Check: "pan", Message: "The check pan did not pass."}
		})},
	} {
		got := c.j.run.Summary()
		got.Review = nil // see TestARunHasAReviewWhileItNeedsAVerdict
		equal(t, c.name, got, c.want)
	}
}

func TestStatusesAreSix(t *testing.T) {
	seen := map[verification.Status]bool{}
	for _, s := range verification.Statuses() {
		seen[s] = true
		parsed, err := verification.ParseStatus(string(s))
		if err != nil || parsed != s {
			t.Errorf("ParseStatus(%s) = %s, %v", s, parsed, err)
		}
		terminal := s != verification.StatusInProgress && s != verification.StatusAbandoned
		if s.Terminal() != terminal {
			t.Errorf("%s.Terminal() = %v, want %v", s, s.Terminal(), terminal)
		}
	}
	if len(seen) != 6 {
		t.Errorf("there are %d statuses, want 6", len(seen))
	}
	for _, s := range []string{"", "COMPLETED", "in-progress", "done"} {
		if _, err := verification.ParseStatus(s); outcome(nil, err) != "invalid" || err.Error() != "status: there is no such status" {
			t.Errorf("ParseStatus(%q) = %v, want invalid", s, err)
		}
	}
	if verification.Status("odd").Terminal() {
		t.Error("an unknown status reads terminal")
	}
}

func TestDecisionsAreThreeAndNull(t *testing.T) {
	for d, verdict := range map[verification.Decision]bool{
		verification.DecisionReview: false, verification.DecisionApprove: true, verification.DecisionReject: true,
	} {
		parsed, err := verification.ParseDecision(string(d))
		if err != nil || parsed != d || d.Verdict() != verdict {
			t.Errorf("ParseDecision(%s) = %s, %v; a verdict: %v", d, parsed, err, d.Verdict())
		}
	}
	for _, s := range []string{"", "null", "Approve", "approved"} {
		if _, err := verification.ParseDecision(s); outcome(nil, err) != "invalid" || err.Error() != "decision: there is no such decision" {
			t.Errorf("ParseDecision(%q) = %v, want invalid", s, err)
		}
	}
	if verification.DecisionNone.Verdict() {
		t.Error("null reads as a verdict")
	}
}

func TestASummaryReadsTheSameThroughoutAnInterval(t *testing.T) {
	early, late := noon().Add(time.Hour), noon().Add(2*time.Hour)
	const inProgress, abandoned, expired = verification.StatusInProgress, verification.StatusAbandoned, verification.StatusExpired
	for _, c := range []struct {
		name string
		s    verification.Summary
		want []verification.StatusInterval
	}{
		{"no limits", verification.Summary{}, []verification.StatusInterval{{Status: inProgress}}},
		{"abandoned, then expired", verification.Summary{AbandonAt: early, ExpiresAt: late}, []verification.StatusInterval{
			{Status: inProgress, Until: early}, {Status: abandoned, From: early, Until: late}, {Status: expired, From: late},
		}},
		{"expired before it is abandoned", verification.Summary{AbandonAt: late, ExpiresAt: early}, []verification.StatusInterval{
			{Status: inProgress, Until: early}, {Status: expired, From: early},
		}},
		{"both at once", verification.Summary{AbandonAt: early, ExpiresAt: early}, []verification.StatusInterval{
			{Status: inProgress, Until: early}, {Status: expired, From: early},
		}},
		{"a review that expires", verification.Summary{Waiting: verification.ActionReview, ExpiresAt: late}, []verification.StatusInterval{
			{Status: inProgress, Decision: verification.DecisionReview, Until: late}, {Status: expired, From: late},
		}},
		{"over", verification.Summary{Ended: verification.StatusCompleted, AbandonAt: early, ExpiresAt: late}, []verification.StatusInterval{
			{Status: verification.StatusCompleted},
		}},
	} {
		for _, want := range c.want {
			if !want.From.IsZero() {
				equal(t, c.name, c.s.IntervalAt(want.From.Add(1)), want)
			}
			if !want.Until.IsZero() {
				equal(t, c.name, c.s.IntervalAt(want.Until), want)
			} else {
				equal(t, c.name, c.s.IntervalAt(late.Add(time.Hour)), want)
			}
		}
	}
}
