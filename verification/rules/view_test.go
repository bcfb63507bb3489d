package rules_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

func TestChecksListsOneEntryAKey(t *testing.T) {
	first, second := verification.OutcomePassed, verification.OutcomeFailed
	for _, c := range []struct {
		name string
		j    *journey
		want []rules.Check
	}{
		{"not reached", begin(t, flows.Loop(), ""), nil},
		{"the first is out", begin(t, flows.Loop(), "").submit(`{"pan":"x"}`), []rules.Check{
			{Key: "pan_verification", Label: "PAN", Status: rules.StepRunning},
		}},
		{"the second one counts", begin(t, flows.Loop(), "").submit(`{"pan":"x"}`).result(first, `{"n":1}`), []rules.Check{
			{Key: "pan_verification", Label: "PAN", Status: rules.StepRunning},
		}},
		{"the first was reached again", begin(t, flows.Loop(), "").submit(`{"pan":"x"}`).result(first, `{"n":1}`).
			result(second, `{"n":2}`).submit(`{"pan":"y"}`).result(second, `{"n":3}`), []rules.Check{
			{Key: "pan_verification", Label: "PAN", Status: rules.StepFailed, Data: verification.Data(`{"n":3}`)},
		}},
		{"and the second after it", begin(t, flows.Loop(), "").submit(`{"pan":"x"}`).result(first, `{"n":1}`).
			result(second, `{"n":2}`).submit(`{"pan":"y"}`).result(first, `{"n":3}`).result(first, `{"n":4}`), []rules.Check{
			{Key: "pan_verification", Label: "PAN", Status: rules.StepPassed, Data: verification.Data(`{"n":4}`)},
		}},
	} {
		// All events have the same time: their order counts.
		if diff := cmp.Diff(c.want, c.j.detail().Checks, cmp.Transformer("", verification.Data.String)); diff != "" {
			t.Errorf("%s: checks (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestChecksComeInExecutionOrder(t *testing.T) {
	j := begin(t, flows.Ladder(), "").submit(consents).submit(`{"pan":"ABCDE1234F"}`).pass()
	var got []string
	for _, c := range j.detail().Checks {
		got = append(got, c.Key+" "+string(c.Status))
	}
	if diff := cmp.Diff([]string{"pan_verification passed", "face running"}, got); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
}

func TestDetailDependsOnTheTimeOfTheRead(t *testing.T) {
	j := onReview(t)
	parked, late := j.run.Detail(flows.Noon()), j.run.Detail(flows.Noon().Add(2*time.Hour))
	if parked.Status != rules.StatusInProgress || parked.Decision != rules.DecisionReview || parked.Seq != 7 {
		t.Errorf("in time: %s, %q, %d events", parked.Status, parked.Decision, parked.Seq)
	}
	if late.Status != rules.StatusExpired || late.Decision != rules.DecisionNone || late.Seq != 8 {
		t.Errorf("late: %s, %q, %d events", late.Status, late.Decision, late.Seq)
	}
	if late.Action != nil || !late.CompletedAt.Equal(flows.Noon().Add(time.Hour)) || len(late.Flags) != 1 {
		t.Errorf("late: action %+v, completed at %v, reviews %+v", late.Action, late.CompletedAt, late.Flags)
	}
	want := rules.RunView{
		ID: flows.RunID, WorkflowID: flows.WorkflowID, ReferenceID: "customer-1", Status: rules.StatusInProgress, StartedAt: flows.Noon(),
		Action: &rules.Action{Type: rules.ActionReview, SignalName: "human_review_decision"},
	}
	equal(t, "the view", parked.RunView, want)
}
