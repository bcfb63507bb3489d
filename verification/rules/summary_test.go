package rules_test

import (
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestSummaryHoldsTimesAndFacts(t *testing.T) {
	hour, wait := flows.Noon().Add(time.Hour), flows.Noon().Add(10*time.Minute)
	base := func(change func(*rules.Summary)) rules.Summary {
		s := rules.Summary{
			ID: flows.RunID, Workflow: flows.WorkflowID, ReferenceID: "customer-1", StartedAt: flows.Noon(), ExpiresAt: hour,
		}
		change(&s)
		return s
	}
	for _, c := range []struct {
		name string
		j    *journey
		want rules.Summary
	}{
		{"parked on the customer", atDesk(t), base(func(s *rules.Summary) {
			s.Waiting, s.Signal, s.WaitNumber, s.AbandonAt = rules.ActionCustomerInput, "consent_submitted", 2, wait
		})},
		{"no limits", begin(t, flows.Refusal(), ""), base(func(s *rules.Summary) {
			s.Waiting, s.Signal, s.WaitNumber = rules.ActionCustomerInput, "consent_submitted", 2
			s.ExpiresAt = time.Time{}
		})},
		{"checking", checked(t), base(func(*rules.Summary) {})},
		{"parked on review", onReview(t), base(func(s *rules.Summary) {
			s.Waiting, s.Signal, s.WaitNumber, s.Flagged = rules.ActionReview, workflow.ReviewSignal, 7, true
		})},
		{"completed, something open", finishedOpen(t), base(func(s *rules.Summary) {
			s.Ended, s.CompletedAt, s.Flagged = rules.StatusCompleted, flows.Noon(), true
		})},
		{"settled", finishedOpen(t).reject("no"), base(func(s *rules.Summary) {
			s.Ended, s.CompletedAt, s.Flagged, s.Verdict = rules.StatusCompleted, flows.Noon(), true, rules.DecisionReject
		})},
		{"failed", checked(t).fail(), base(func(s *rules.Summary) {
			s.Ended, s.CompletedAt = rules.StatusFailed, flows.Noon()
			s.Error = &rules.RunError{Code: rules.CodeCheckFailed, Check: "pan", Message: "The check pan did not pass."}
		})},
	} {
		got := c.j.run.Summary()
		got.Review = nil // see TestARunHasAReviewWhileItNeedsAVerdict
		equal(t, c.name, got, c.want)
	}
}

func TestStatusesAreSix(t *testing.T) {
	seen := map[rules.Status]bool{}
	for _, s := range rules.Statuses() {
		seen[s] = true
		parsed, err := rules.ParseStatus(string(s))
		if err != nil || parsed != s {
			t.Errorf("ParseStatus(%s) = %s, %v", s, parsed, err)
		}
		terminal := s != rules.StatusInProgress && s != rules.StatusAbandoned
		if s.Terminal() != terminal {
			t.Errorf("%s.Terminal() = %v, want %v", s, s.Terminal(), terminal)
		}
	}
	if len(seen) != 6 {
		t.Errorf("there are %d statuses, want 6", len(seen))
	}
	for _, s := range []string{"", "COMPLETED", "in-progress", "done"} {
		if _, err := rules.ParseStatus(s); flows.Outcome(nil, err) != "invalid" || err.Error() != "status: there is no such status" {
			t.Errorf("ParseStatus(%q) = %v, want invalid", s, err)
		}
	}
	if rules.Status("odd").Terminal() {
		t.Error("an unknown status reads terminal")
	}
}

func TestDecisionsAreThreeAndNull(t *testing.T) {
	for d, verdict := range map[rules.Decision]bool{
		rules.DecisionReview: false, rules.DecisionApprove: true, rules.DecisionReject: true,
	} {
		parsed, err := rules.ParseDecision(string(d))
		if err != nil || parsed != d || d.Verdict() != verdict {
			t.Errorf("ParseDecision(%s) = %s, %v; a verdict: %v", d, parsed, err, d.Verdict())
		}
	}
	for _, s := range []string{"", "null", "Approve", "approved"} {
		if _, err := rules.ParseDecision(s); flows.Outcome(nil, err) != "invalid" || err.Error() != "decision: there is no such decision" {
			t.Errorf("ParseDecision(%q) = %v, want invalid", s, err)
		}
	}
	if rules.DecisionNone.Verdict() {
		t.Error("null reads as a verdict")
	}
}

func TestASummaryReadsTheSameThroughoutAnInterval(t *testing.T) {
	early, late := flows.Noon().Add(time.Hour), flows.Noon().Add(2*time.Hour)
	const inProgress, abandoned, expired = rules.StatusInProgress, rules.StatusAbandoned, rules.StatusExpired
	for _, c := range []struct {
		name string
		s    rules.Summary
		want []rules.StatusInterval
	}{
		{"no limits", rules.Summary{}, []rules.StatusInterval{{Status: inProgress}}},
		{"abandoned, then expired", rules.Summary{AbandonAt: early, ExpiresAt: late}, []rules.StatusInterval{
			{Status: inProgress, Until: early}, {Status: abandoned, From: early, Until: late}, {Status: expired, From: late},
		}},
		{"expired before it is abandoned", rules.Summary{AbandonAt: late, ExpiresAt: early}, []rules.StatusInterval{
			{Status: inProgress, Until: early}, {Status: expired, From: early},
		}},
		{"both at once", rules.Summary{AbandonAt: early, ExpiresAt: early}, []rules.StatusInterval{
			{Status: inProgress, Until: early}, {Status: expired, From: early},
		}},
		{"a review that expires", rules.Summary{Waiting: rules.ActionReview, ExpiresAt: late}, []rules.StatusInterval{
			{Status: inProgress, Decision: rules.DecisionReview, Until: late}, {Status: expired, From: late},
		}},
		{"over", rules.Summary{Ended: rules.StatusCompleted, AbandonAt: early, ExpiresAt: late}, []rules.StatusInterval{
			{Status: rules.StatusCompleted},
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
