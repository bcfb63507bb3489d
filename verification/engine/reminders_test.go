// Tests of notes, assignments and the reminder before a verdict falls due.

package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// dueSoon starts a run whose verdict is due after an hour, and returns it once it waits for
// one.
func dueSoon(k *enginetest.Kit) rules.RunDetail {
	d := onboarding()
	d.LifecycleWebhookURL, d.ReviewDueMinutes = hooks, 60
	d.Notify = []workflow.NoticeEvent{workflow.NoticeReviewDueSoon}
	d.RunTTLSeconds = 0
	run := start(k, d)
	k.Submit(run.ID, "consent_submitted", consent())
	return k.Run(run.ID)
}

// reminders returns the notices that a verdict falls due soon.
func reminders(k *enginetest.Kit) (all []rules.Notice) {
	for _, n := range k.Notices.All() {
		if n.Event == workflow.NoticeReviewDueSoon {
			all = append(all, n)
		}
	}
	return all
}

func TestAReminderIsSentBeforeAVerdictFallsDue(t *testing.T) {
	k := enginetest.New(t)
	began := k.Clock.Now()
	run := dueSoon(k)
	k.Advance(45*time.Minute - time.Second)
	if sent := reminders(k); len(sent) != 0 {
		t.Fatalf("sent %+v early", sent)
	}
	k.Advance(time.Second)
	sent := reminders(k)
	if len(sent) != 1 || sent[0].Run.ID != run.ID || !sent[0].DueAt.Equal(began.Add(time.Hour)) || sent[0].Decision != rules.DecisionReview {
		t.Fatalf("sent %+v, want one notice that the verdict is due at %s", sent, began.Add(time.Hour))
	}
	k.Advance(24 * time.Hour)
	if again := reminders(k); len(again) != 1 {
		t.Errorf("sent %d notices in a day, want one", len(again))
	}
	_, err := k.Engine.GiveVerdict(t.Context(), enginetest.Tenant, run.ID, rules.GiveVerdict{Decision: rules.DecisionApprove, Seq: run.Seq}, "")
	if err != nil {
		t.Errorf("a verdict on the run as it was before the reminder = %v", err)
	}
}

func TestNoReminderFollowsAVerdict(t *testing.T) {
	k := enginetest.New(t)
	run := dueSoon(k)
	k.Advance(30 * time.Minute)
	judge(t, k, run.ID, rules.DecisionApprove)
	k.Advance(24 * time.Hour)
	if sent := reminders(k); len(sent) != 0 {
		t.Errorf("sent %+v after the verdict", sent)
	}
}

func TestAFailedReminderIsNotRepeatedAfterAVerdict(t *testing.T) {
	k := enginetest.New(t)
	run := dueSoon(k)
	k.Notices.FailWith(errors.New("down"), errors.New("down"))
	k.Advance(45 * time.Minute)
	k.Advance(10 * time.Second)
	if sent := reminders(k); len(sent) != 2 || sent[0].ID != sent[1].ID {
		t.Fatalf("attempts = %+v, want two of one notice", sent)
	}
	judge(t, k, run.ID, rules.DecisionApprove)
	k.Advance(24 * time.Hour)
	if sent := reminders(k); len(sent) != 2 {
		t.Errorf("%d attempts, want none after the verdict", len(sent))
	}
	ref := rules.NoticeRef{Run: run.ID, Seq: reminders(k)[0].Seq}
	d, err := k.Store.Delivery(t.Context(), enginetest.Tenant, ref)
	if err != nil || d.State != rules.DeliveryFailed || !d.NextAt.IsZero() || d.Attempts != 2 {
		t.Errorf("delivery = %+v, %v, want it failed after two attempts", d, err)
	}
	if err := k.Engine.Redeliver(t.Context(), enginetest.Tenant, ref); err != nil {
		t.Fatal(err)
	}
	k.Settle()
	if d, err = k.Store.Delivery(t.Context(), enginetest.Tenant, ref); err != nil || d.State != rules.DeliveryFailed || len(reminders(k)) != 2 {
		t.Errorf("after a redelivery: %d attempts, %+v, %v", len(reminders(k)), d, err)
	}
}

func TestTheQueueCountsWhatIsDueSoon(t *testing.T) {
	k := enginetest.New(t)
	dueSoon(k)
	for _, c := range []struct {
		after time.Duration
		want  engine.QueueStats
	}{
		{0, engine.QueueStats{Open: 1}},
		{time.Second, engine.QueueStats{Open: 1, DueSoon: 1}},
		{time.Hour, engine.QueueStats{Open: 1, Overdue: 1}},
	} {
		k.Advance(c.after)
		got, err := k.Engine.QueueStats(t.Context())
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("after %s (-want +got): %v\n%s", c.after, err, diff)
		}
	}
}

func TestAnAssignmentSelectsRunsAndEndsAClaim(t *testing.T) {
	k := enginetest.New(t)
	run := dueSoon(k)
	claim := func(by string) {
		t.Helper()
		if _, err := k.Engine.Claim(t.Context(), enginetest.Tenant, run.ID, engine.ClaimRequest{By: by, Name: by}); err != nil {
			t.Fatal(err)
		}
	}
	asha := verification.Person{Identity: "Asha", Name: "Asha"}
	for _, c := range []struct {
		to     rules.Assignee
		key    string
		claims bool // of asha stays
	}{
		{rules.Assignee{Person: asha}, "person:asha", true},
		{rules.Assignee{}, "", true},
		{rules.Assignee{Team: "Seniors"}, "team:seniors", false},
	} {
		claim("asha")
		if err := k.Engine.Assign(t.Context(), enginetest.Tenant, run.ID, rules.Assign{To: c.to, By: "Asha", Identity: "asha"}); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"person:asha", "team:seniors", ""} {
			p, err := k.Engine.Queue(t.Context(), enginetest.Tenant, store.RunQuery{PageQuery: store.PageQuery{Limit: 1}, AssignedTo: []string{key}})
			if err != nil || (p.Total == 1) != (key == c.key) {
				t.Errorf("assigned to %q: %d runs of %q, %v", c.key, p.Total, key, err)
			}
			if len(p.Data) == 1 && (p.Data[0].Review.Claim.By != "") != c.claims {
				t.Errorf("assigned to %q: the claim is %+v", c.key, p.Data[0].Review.Claim)
			}
		}
	}
	other := verification.TenantID("00000000-0000-7000-8000-0000000000bb")
	if err := k.Engine.AddNote(t.Context(), other, run.ID, rules.AddNote{Notes: "x", Identity: "eve"}); !errors.Is(err, verification.ErrNotFound) {
		t.Errorf("a note of another tenant = %v, want %v", err, verification.ErrNotFound)
	}
	judge(t, k, run.ID, rules.DecisionApprove)
	err := k.Engine.Assign(t.Context(), enginetest.Tenant, run.ID, rules.Assign{To: rules.Assignee{Person: asha}, Identity: "asha"})
	if !errors.Is(err, rules.ErrNoReview) {
		t.Errorf("Assign after the verdict = %v, want %v", err, rules.ErrNoReview)
	}
}
