// Tests of deadlines, abandonment, notices and their retries.

package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
)

func TestADeadlineIsSavedOnceItHasPassed(t *testing.T) {
	k := enginetest.New(t)
	d := onboarding()
	d.LifecycleWebhookURL = "https://client.example/hooks"
	run := start(k, d)
	k.Advance(time.Hour)
	wantStatus(t, k.Run(run.ID), rules.StatusAbandoned)
	k.Advance(time.Microsecond)
	history, err := k.Store.Load(t.Context(), enginetest.Tenant, run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	last := history[len(history)-1]
	if _, ok := last.Fact.(rules.Expired); !ok || !last.At.Equal(enginetest.Began().Add(time.Hour)) {
		t.Errorf("last event = %s at %s, want expired at the deadline", last.Kind(), last.At)
	}
	if notices := k.Notices.All(); len(notices) != 1 || notices[0].Run.Status != rules.StatusExpired {
		t.Errorf("notices = %+v, want one notice of the expiry", notices)
	}
}

func TestClientsAreNotifiedOnceOfEveryEnd(t *testing.T) {
	d := chain("a")
	d.LifecycleWebhookURL = "https://client.example/hooks"
	for name, c := range map[string]struct {
		reply enginetest.Reply
		want  rules.Status
	}{
		"completed": {enginetest.Pass(nil), rules.StatusCompleted},
		"failed":    {enginetest.Fail(nil), rules.StatusFailed},
	} {
		t.Run(name, func(t *testing.T) {
			k := enginetest.New(t)
			k.Provider.On("a", c.reply)
			run := start(k, d)
			k.GiveVerdict(run.ID, rules.DecisionApprove)
			k.Advance(48 * time.Hour)
			notices := k.Notices.All()
			if len(notices) != 1 || notices[0].Run.Status != c.want || notices[0].Run.ID != run.ID {
				t.Errorf("notices = %+v, want one, of %s, and none of the verdict", notices, c.want)
			}
		})
	}
}

func TestTheAttemptsOfANoticeFollowThePlan(t *testing.T) {
	k := enginetest.New(t)
	down := errors.New("down")
	k.Notices.FailWith(down, down, down, down, down, down, down, down, down, down)
	d := chain("a")
	d.LifecycleWebhookURL = "https://client.example/hooks"
	start(k, d)
	k.Advance(30 * 24 * time.Hour)
	plan := []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
		10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
	}
	ids := map[string]bool{}
	notices := k.Notices.All()
	if len(notices) != 1+len(plan) {
		t.Fatalf("attempts = %d, want the first and %d more", len(notices), len(plan))
	}
	for i, n := range notices {
		ids[n.ID] = true
		if i == 0 {
			continue
		}
		if wait, limit := n.At.Sub(notices[i-1].At), plan[i-1]; wait > limit || wait < limit*9/10 {
			t.Errorf("wait before attempt %d = %s, want %s or up to a tenth less", i+1, wait, limit)
		}
	}
	if len(ids) != 1 {
		t.Errorf("ids = %v, want one", ids)
	}
}

func TestANotifierMayScheduleOrPreventTheNextAttempt(t *testing.T) {
	k := enginetest.New(t)
	later := enginetest.Began().Add(time.Hour)
	k.Notices.FailWith(
		&verification.RetryError{At: later, Cause: errors.New("429")},
		&verification.RetryError{Cause: errors.New("410")},
	)
	d := chain("a")
	d.LifecycleWebhookURL = "https://client.example/hooks"
	start(k, d)
	k.Advance(30 * 24 * time.Hour)
	notices := k.Notices.All()
	if len(notices) != 2 || !notices[1].At.Equal(later) {
		t.Errorf("attempts = %+v, want a second one at %s and no third", notices, later)
	}
}

func TestAWebhookSetDuringTheRunIsNotified(t *testing.T) {
	k := enginetest.New(t)
	w := k.Apply(onboarding())
	run := k.Start(w.ID, engine.StartRequest{ReferenceID: "x"})
	if _, err := k.Engine.SetWebhook(t.Context(), enginetest.Tenant, w.ID, "https://client.example/hooks"); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Engine.Cancel(t.Context(), enginetest.Tenant, run.ID); err != nil {
		t.Fatal(err)
	}
	k.Settle()
	if notices := k.Notices.All(); len(notices) != 1 || notices[0].URL != "https://client.example/hooks" {
		t.Errorf("notices = %+v, want one notice to the new webhook", notices)
	}
}

func TestAWebhookThatWasClearedIsNotNotified(t *testing.T) {
	k := enginetest.New(t)
	k.Notices.FailWith(errors.New("down"))
	run := notified(k)
	if _, err := k.Engine.ClearWebhook(t.Context(), enginetest.Tenant, run.WorkflowID); err != nil {
		t.Fatal(err)
	}
	k.Advance(48 * time.Hour)
	if notices := k.Notices.All(); len(notices) != 1 {
		t.Errorf("notices = %+v, want the one before the webhook was cleared", notices)
	}
}
