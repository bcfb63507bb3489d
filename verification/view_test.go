package verification_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
)

func TestChecksListsOneEntryAKey(t *testing.T) {
	first, second := verification.OutcomePassed, verification.OutcomeFailed
	for _, c := range []struct {
		name string
		j    *journey
		want []verification.Check
	}{
		{"not reached", begin(t, loop(), ""), nil},
		{"the first is out", begin(t, loop(), "").submit(`{"pan":"x"}`), []verification.Check{
			{Key: "pan_verification", Label: "PAN", Status: verification.StepRunning},
		}},
		{"the second one counts", begin(t, loop(), "").submit(`{"pan":"x"}`).result(first, `{"n":1}`), []verification.Check{
			{Key: "pan_verification", Label: "PAN", Status: verification.StepRunning},
		}},
		{"the first was reached again", begin(t, loop(), "").submit(`{"pan":"x"}`).result(first, `{"n":1}`).
			result(second, `{"n":2}`).submit(`{"pan":"y"}`).result(second, `{"n":3}`), []verification.Check{
			{Key: "pan_verification", Label: "PAN", Status: verification.StepFailed, Data: verification.Data(`{"n":3}`)},
		}},
		{"and the second after it", begin(t, loop(), "").submit(`{"pan":"x"}`).result(first, `{"n":1}`).
			result(second, `{"n":2}`).submit(`{"pan":"y"}`).result(first, `{"n":3}`).result(first, `{"n":4}`), []verification.Check{
			{Key: "pan_verification", Label: "PAN", Status: verification.StepPassed, Data: verification.Data(`{"n":4}`)},
		}},
	} {
		// All events have the same time: their order counts.
		if diff := cmp.Diff(c.want, c.j.detail().Checks, cmp.Transformer("", verification.Data.String)); diff != "" {
			t.Errorf("%s: checks (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestChecksComeInExecutionOrder(t *testing.T) {
	j := begin(t, ladder(), "").submit(consents).submit(`{"pan":"ABCDE1234F"}`).pass()
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
	parked, late := j.run.Detail(noon()), j.run.Detail(noon().Add(2*time.Hour))
	if parked.Status != verification.StatusInProgress || parked.Decision != verification.DecisionReview || parked.Seq != 7 {
		t.Errorf("in time: %s, %q, %d events", parked.Status, parked.Decision, parked.Seq)
	}
	if late.Status != verification.StatusExpired || late.Decision != verification.DecisionNone || late.Seq != 8 {
		t.Errorf("late: %s, %q, %d events", late.Status, late.Decision, late.Seq)
	}
	if late.Action != nil || !late.CompletedAt.Equal(noon().Add(time.Hour)) || len(late.Flags) != 1 {
		t.Errorf("late: action %+v, completed at %v, reviews %+v", late.Action, late.CompletedAt, late.Flags)
	}
	want := verification.RunView{
		ID: runID, WorkflowID: workflowID, ReferenceID: "customer-1", Status: verification.StatusInProgress, StartedAt: noon(),
		Action: &verification.Action{Type: verification.ActionReview, SignalName: "human_review_decision"},
	}
	equal(t, "the view", parked.RunView, want)
}
