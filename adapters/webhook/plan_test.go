// Notices that an engine sends, in virtual time.

package webhook_test

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/webhook"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// newKit returns an engine with a Notifier of its own.
func newKit(t testing.TB) (k *enginetest.Kit, s *sender) {
	t.Helper()
	k = enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
		s = newSender(t, func(o *webhook.Options) { o.Now = p.Clock.Now })
		p.Notifier = s
	})
	return k, s
}

// definition has a consent, a check, and a webhook at an origin.
func definition(origin string) workflow.Definition {
	return workflow.Definition{
		Workflow: "onboarding", Name: "Onboarding", Start: "consent", RunTTLSeconds: 24 * 3600,
		LifecycleWebhookURL: origin + "/hooks?key=" + hidden,
		Nodes: map[verification.NodeID]workflow.Node{
			"consent": {Type: workflow.NodeConsent, Text: "We check your PAN.", OnDeclined: "next", Next: "pan"},
			"pan": {
				Type: workflow.NodeCheck, Key: "pan_verification", Label: "PAN verification",
				Provider: "script", Next: "done",
			},
			"done": {Type: workflow.NodeEnd},
		},
	}
}

// cancelled starts a run and cancels it, which sends a notice.
func cancelled(t testing.TB, k *enginetest.Kit, origin string) verification.RunID {
	t.Helper()
	id := k.Start(k.Apply(definition(origin)).ID, engine.StartRequest{ReferenceID: "person-1"}).ID
	if _, err := k.Engine.Cancel(t.Context(), enginetest.Tenant, id); err != nil {
		t.Fatal(err)
	}
	k.Settle()
	return id
}

func TestAttemptsContinueForThreeDaysWithOneID(t *testing.T) {
	r := newReceiver(t, answers(http.StatusInternalServerError))
	k, s := newKit(t)
	id := cancelled(t, k, r.URL)
	k.Advance(30 * 24 * time.Hour)

	came, attempts := r.all(), s.attempts()
	if len(came) != 10 || len(attempts) != 10 {
		t.Fatalf("%d notices came of %d attempts, want 10", len(came), len(attempts))
	}
	for i, d := range came {
		d.verified(t, newSecret)
		if !slices.Equal(d.body, came[0].body) {
			t.Errorf("attempt %d said %s, the first %s", i+1, d.body, came[0].body)
		}
		if got := d.Header.Get("webhook-id"); got != "run_"+string(id) {
			t.Errorf("webhook-id of attempt %d = %q", i+1, got)
		}
		attempt := attempts[i]
		if attempt.Number != i || attempt.Class != webhook.ClassServerError || attempt.Status != 500 || attempt.Run != id || attempt.Tenant != enginetest.Tenant {
			t.Errorf("attempt %d was observed as %+v", i+1, attempt)
		}
		if got := d.Header.Get("webhook-timestamp"); got != strconv.FormatInt(attempt.At.Unix(), 10) {
			t.Errorf("webhook-timestamp of attempt %d = %s, want %d", i+1, got, attempt.At.Unix())
		}
		if i == 0 {
			continue
		}
		longest, _ := rules.NoticeRetry(i - 1)
		if wait := attempt.At.Sub(attempts[i-1].At); wait > longest || wait < longest*9/10 {
			t.Errorf("wait before attempt %d = %s, want %s or up to a tenth less", i+1, wait, longest)
		}
	}
	if span := attempts[9].At.Sub(attempts[0].At); span < 65*time.Hour || span > 76*time.Hour {
		t.Errorf("the attempts span %s, want about three days", span)
	}
}

func TestANoticeIsDeliveredOnceWhenTheReceiverRecovers(t *testing.T) {
	status := []int{500, 301, 200}
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status[0])
		status = status[1:]
	})
	k, s := newKit(t)
	cancelled(t, k, r.URL)
	k.Advance(30 * 24 * time.Hour)
	var classes []string
	for _, attempt := range s.attempts() {
		classes = append(classes, attempt.Class)
	}
	if want := []string{webhook.ClassServerError, webhook.ClassRedirected, webhook.ClassDelivered}; !slices.Equal(classes, want) {
		t.Errorf("attempts ended %q, want %q", classes, want)
	}
}

func TestRetryAfterAndGoneAreHonoured(t *testing.T) {
	replies := []http.HandlerFunc{
		answers(429, "Retry-After: 5400"),
		answers(503, "Retry-After: "+enginetest.Began().Add(4*time.Hour).Format(http.TimeFormat)),
		answers(http.StatusGone),
	}
	r := newReceiver(t, func(w http.ResponseWriter, request *http.Request) {
		reply := replies[0]
		replies = replies[1:]
		reply(w, request)
	})
	k, s := newKit(t)
	cancelled(t, k, r.URL)
	k.Advance(30 * 24 * time.Hour)
	var at []time.Duration
	for _, attempt := range s.attempts() {
		at = append(at, attempt.At.Sub(enginetest.Began()))
	}
	if want := []time.Duration{0, 90 * time.Minute, 4 * time.Hour}; !slices.Equal(at, want) {
		t.Errorf("attempts came at %s, want %s", at, want)
	}
}

func TestANoticeIsSentAfterTheRunAndItsReportCanBeRead(t *testing.T) {
	var k *enginetest.Kit
	read := make(chan error, 1)
	r := newReceiver(t, func(_ http.ResponseWriter, request *http.Request) {
		id := verification.RunID(request.Header.Get("webhook-id")[len("run_"):])
		run, err := k.Engine.Run(request.Context(), enginetest.Tenant, id)
		if err == nil && run.Status != rules.StatusCancelled {
			err = errors.New("it reads " + string(run.Status))
		}
		if err == nil {
			_, err = k.Engine.Report(request.Context(), enginetest.Tenant, id)
		}
		read <- err
	})
	k, _ = newKit(t)
	cancelled(t, k, r.URL)
	if err := <-read; err != nil {
		t.Errorf("the notice was sent before the run could be read: %v", err)
	}
}
