// Tests of deadlines, abandonment, notices and their retries.

package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

func TestADeadlineIsWrittenDownOnceItHasPassed(t *testing.T) {
	k := enginetest.New(t)
	d := onboarding()
	d.LifecycleWebhookURL = "https://client.example/hooks"
	run := start(k, d)
	k.Advance(time.Hour)
	wantStatus(t, k.Run(run.ID), verification.StatusAbandoned)
	k.Advance(time.Microsecond)
	history, err := k.Store.Load(t.Context(), enginetest.Tenant, run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	last := history[len(history)-1]
	if _, ok := last.Fact.(verification.Expired); !ok || !last.At.Equal(enginetest.Began().Add(time.Hour)) {
		t.Errorf("last event = %s at %s, want expired at the deadline", last.Kind(), last.At)
	}
	if told := k.Notices.All(); len(told) != 1 || told[0].Run.Status != verification.StatusExpired {
		t.Errorf("told = %+v, want one notice of the expiry", told)
	}
}

func TestClientsAreToldOnceOfEveryEnd(t *testing.T) {
	d := chain("a")
	d.LifecycleWebhookURL = "https://client.example/hooks"
	for name, c := range map[string]struct {
		reply enginetest.Reply
		want  verification.Status
	}{
		"completed": {enginetest.Pass(nil), verification.StatusCompleted},
		"failed":    {enginetest.Fail(nil), verification.StatusFailed},
	} {
		t.Run(name, func(t *testing.T) {
			k := enginetest.New(t)
			k.Provider.On("a", c.reply)
			run := start(k, d)
			k.Decide(run.ID, verification.DecisionApprove)
			k.Advance(48 * time.Hour)
			told := k.Notices.All()
			if len(told) != 1 || told[0].Run.Status != c.want || told[0].Run.ID != run.ID {
				t.Errorf("told = %+v, want once, of %s; never of the verdict", told, c.want)
			}
		})
	}
}

func TestANoticeIsTriedAsPlannedUnderOneID(t *testing.T) {
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
	told := k.Notices.All()
	if len(told) != 1+len(plan) {
		t.Fatalf("tries = %d, want the first and %d more", len(told), len(plan))
	}
	for i, n := range told {
		ids[n.ID] = true
		if i == 0 {
			continue
		}
		if wait, most := n.At.Sub(told[i-1].At), plan[i-1]; wait > most || wait < most*9/10 {
			t.Errorf("wait before try %d = %s, want %s or up to a tenth less", i+1, wait, most)
		}
	}
	if len(ids) != 1 {
		t.Errorf("ids = %v, want one", ids)
	}
}

func TestANotifierMaySayWhenToTryAgainOrNever(t *testing.T) {
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
	told := k.Notices.All()
	if len(told) != 2 || !told[1].At.Equal(later) {
		t.Errorf("tries = %+v, want a second one at %s and no third", told, later)
	}
}

func TestAWebhookSetLaterStillTellsOfTheEnd(t *testing.T) {
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
	if told := k.Notices.All(); len(told) != 1 || told[0].URL != "https://client.example/hooks" {
		t.Errorf("told = %+v, want one notice to the address set meanwhile", told)
	}
}
