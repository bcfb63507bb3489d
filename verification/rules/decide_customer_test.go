package rules_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestConsentLeadsOnOrToOnDeclined(t *testing.T) {
	for _, c := range []struct {
		name    string
		d       workflow.Definition
		payload string
		want    string
		flagged bool
	}{
		{"given", flows.Refusal(), consents, "customer_submitted, dispatched", false},
		{"declined, and on_declined is a node", flows.Refusal(), `{"consent_status":"declined"}`, "customer_submitted, review_asked", true},
		{"declined, and on_declined is next", flows.DeskFlow(), `{"consent_status":"declined"}`, "customer_submitted, dispatched", true},
	} {
		j := begin(t, c.d, "")
		before := len(j.history)
		j.submit(c.payload)
		if got := flows.Kinds(j.history[before:]); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		step, _ := j.run.Step("consent")
		if step.Data.String() != c.payload || (step.Status == rules.StepFailed) != c.flagged {
			t.Errorf("%s: step = %+v", c.name, step)
		}
		if flags := j.detail().Flags; c.flagged != (len(flags) > 0 && flags[0].NodeID == "consent") {
			t.Errorf("%s: reviews = %+v, want consent flagged: %v", c.name, flags, c.flagged)
		}
	}
}

func TestConsentRefusesAnythingElse(t *testing.T) {
	status := verification.FieldError{Name: "payload.consent_status", Message: `must be "success" or "declined"`}
	for _, c := range []struct {
		payload string
		want    []verification.FieldError
	}{
		{``, []verification.FieldError{status}},
		{`{}`, []verification.FieldError{status}},
		{`{"consent_status":true}`, []verification.FieldError{status}},
		{`{"consent_status":"Success"}`, []verification.FieldError{status}},
		{`{"consent_status":null}`, []verification.FieldError{status}},
		{`{"consent_status":"success","node_id":"pan","a":1}`, []verification.FieldError{
			{Name: "payload.a", Message: "is not a field of this step"},
			{Name: "payload.node_id", Message: "is not a field of this step"},
		}},
	} {
		j := begin(t, flows.DeskFlow(), "")
		_, err := j.try(rules.Submit{Signal: "consent_submitted", Payload: flows.Data(t, c.payload)})
		if diff := cmp.Diff(c.want, flows.FieldsOf(t, err)); diff != "" {
			t.Errorf("payload %s (-want +got):\n%s", c.payload, diff)
		}
	}
}

func TestSubmitAnswersOnlyTheWaitItWasMeantFor(t *testing.T) {
	j := begin(t, flows.Loop(), "")
	first := j.run.Wait().Number
	if first != 2 || j.run.Summary().WaitNumber != first {
		t.Fatalf("the first wait is number %d, want the length of the history, 2", first)
	}
	j.submit(`{"pan":"x"}`).fail() // back to the customer
	second := j.run.Wait().Number
	if second == first || j.run.Wait().Signal != "details_submitted" {
		t.Fatalf("the run waits for %+v, want details once more", j.run.Wait())
	}
	submit := rules.Submit{Signal: "details_submitted", Payload: flows.Data(t, `{"pan":"y"}`)}
	for _, c := range []struct {
		wait int
		want string
	}{{first, "not open"}, {second, "customer_submitted, dispatched"}, {0, "customer_submitted, dispatched"}} {
		submit.WaitNumber = c.wait
		if got := flows.Outcome(j.try(submit)); got != c.want {
			t.Errorf("Submit to wait %d = %s, want %s", c.wait, got, c.want)
		}
	}
	j.after(time.Minute)
	for _, c := range []struct {
		wait int
		want string
	}{{first, "not open"}, {second, "journey_opened"}, {0, "journey_opened"}} {
		if got := flows.Outcome(j.try(rules.OpenJourney{WaitNumber: c.wait})); got != c.want {
			t.Errorf("OpenJourney at wait %d = %s, want %s", c.wait, got, c.want)
		}
	}
}

func TestNotOpenSignalIsNamed(t *testing.T) {
	j := begin(t, flows.DeskFlow(), "")
	for _, c := range []struct {
		command rules.Command
		want    string
	}{
		{rules.Submit{Signal: "pan_submitted"}, "pan_submitted"},
		{rules.GiveVerdict{Decision: rules.DecisionApprove}, "human_review_decision"},
		{rules.OpenJourney{WaitNumber: 99}, "journey"},
	} {
		_, err := j.try(c.command)
		if got := err.Error(); got != "signal: "+c.want {
			t.Errorf("%T = %s, want the signal %s", c.command, got, c.want)
		}
	}
}

func TestAnArrivalDelaysTheAbandonTimeout(t *testing.T) {
	for _, c := range []struct {
		timeout     int64
		least, more time.Duration
	}{
		{0, 999 * time.Millisecond, time.Second},
		{600, 999 * time.Millisecond, time.Second},
		{5, 499 * time.Millisecond, 500 * time.Millisecond},
		{1, 99 * time.Millisecond, 100 * time.Millisecond},
	} {
		d := flows.DeskFlow()
		d.AbandonTimeoutSeconds = c.timeout
		early, late := begin(t, d, "").after(c.least), begin(t, d, "").after(c.more)
		if got := flows.Outcome(early.try(rules.OpenJourney{})); got != "nothing" {
			t.Errorf("timeout %d s: coming after %s = %s, want nothing", c.timeout, c.least, got)
		}
		if got := flows.Outcome(late.try(rules.OpenJourney{})); got != "journey_opened" {
			t.Errorf("timeout %d s: coming after %s = %s, want journey_opened", c.timeout, c.more, got)
		}
	}
	d := flows.DeskFlow()
	d.AbandonTimeoutSeconds = 1
	j := begin(t, d, "").after(900 * time.Millisecond).do(rules.OpenJourney{}).after(time.Second)
	if got := j.status(); got != rules.StatusInProgress {
		t.Errorf("a second after the customer came: %s, want in_progress", got)
	}
}

func TestArrivalCountsAsActivity(t *testing.T) {
	j := begin(t, flows.DeskFlow(), "").after(999 * time.Millisecond)
	if got := flows.Outcome(j.try(rules.OpenJourney{})); got != "nothing" {
		t.Errorf("coming within the second the run parked = %s, want nothing", got)
	}
	j.after(9 * time.Minute).do(rules.OpenJourney{})
	parked := j.run.Wait().Number
	if s := j.run.Summary(); !s.AbandonAt.Equal(j.now.Add(10*time.Minute)) || s.WaitNumber != 2 {
		t.Errorf("summary = %+v, want idle since now at wait 2", s)
	}
	j.after(10 * time.Minute)
	if got := j.status(); got != rules.StatusInProgress || parked != 2 {
		t.Errorf("ten minutes after the customer came: %s at wait %d, want in_progress at 2", got, parked)
	}
	if got := j.after(1).status(); got != rules.StatusAbandoned {
		t.Errorf("a nanosecond later: %s, want abandoned", got)
	}
}

func TestSignalNamesFollowTheNode(t *testing.T) {
	d := flows.DeskFlow()
	named := d.Nodes["consent"]
	named.Signal = "consent-given"
	d.Nodes["consent"] = named
	j := begin(t, d, "")
	if a := j.detail().Action; a == nil || a.SignalName != "consent-given" || a.Type != rules.ActionCustomerInput || a.URL != "" {
		t.Errorf("action = %+v, want consent-given of the customer, its link left to the engine", a)
	}
	if got := flows.Outcome(j.try(rules.Submit{Signal: "consent_submitted", Payload: flows.Data(t, consents)})); got != "not open" {
		t.Errorf("Submit under the usual name = %s, want not open", got)
	}
	if a := onReview(t).detail().Action; a == nil || a.SignalName != workflow.ReviewSignal || a.Type != rules.ActionReview {
		t.Errorf("action = %+v, want the review signal", a)
	}
}
