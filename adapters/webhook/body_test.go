// The bytes of a notice.

package webhook_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/httpapi"
	"github.com/verifyd/verifyd/adapters/webhook"
	"github.com/verifyd/verifyd/internal/rig/golden"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestTheBodyNamesTheStatusAndHoldsTheRun(t *testing.T) {
	for _, status := range rules.Statuses() {
		t.Run(string(status), func(t *testing.T) {
			r, s := newReceiver(t, nil), newSender(t)
			n := notice(r.URL)
			n.Run = view(status)
			err := s.Notify(t.Context(), n)
			if !status.Terminal() {
				discreet(t, err)
				s.last(t, webhook.ClassUnsent, 0)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			golden.Equal(t, "testdata/"+string(status)+".json", r.one(t).body)
		})
	}
}

// The notice of another event names it, and the decision.
func TestTheBodyOfAnEventNamesTheDecision(t *testing.T) {
	r, s := newReceiver(t, nil), newSender(t)
	n := notice(r.URL)
	n.ID, n.Seq, n.Event = rules.NoticeRef{Run: aRun, Seq: 12}.ID(), 12, workflow.NoticeReviewed
	n.OccurredAt, n.Decision = noon, rules.DecisionReject
	n.Run = view(rules.StatusInProgress)
	n.Run.CompletedAt = time.Time{}
	if err := s.Notify(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "testdata/reviewed.json", r.one(t).body)
}

// The notice before a verdict falls due says when that is.
func TestTheBodyOfAReminderNamesTheDueTime(t *testing.T) {
	r, s := newReceiver(t, nil), newSender(t)
	n := notice(r.URL)
	n.ID, n.Seq, n.Event = rules.NoticeRef{Run: aRun, Seq: 12}.ID(), 12, workflow.NoticeReviewDueSoon
	n.OccurredAt, n.Decision, n.DueAt = noon, rules.DecisionReview, noon.Add(time.Hour)
	n.Run = view(rules.StatusInProgress)
	n.Run.CompletedAt = time.Time{}
	if err := s.Notify(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "testdata/review_due_soon.json", r.one(t).body)
}

// The bytes of data are those that the API lists the run with.
func TestTheDataOfANoticeIsTheRunAsTheAPIListsIt(t *testing.T) {
	r := newReceiver(t, nil)
	k, _ := newKit(t)
	account := verification.Account{
		ClientID: "acme", Tenant: enginetest.Tenant, KeyHash: verification.HashAPIKey("a key of the tests alone"), Surfaces: verification.Surfaces(),
	}
	if err := k.Store.SaveAccount(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	w := k.Apply(definition(r.URL))
	start := func(reference string) verification.RunID {
		return k.Start(w.ID, engine.StartRequest{ReferenceID: reference}).ID
	}
	consent := func(id verification.RunID) {
		k.Submit(id, "consent_submitted", map[string]any{"consent_status": "success"})
	}
	consent(start("passes"))
	consent(start(`odd: "<&>" / \ ` + "\u2028 \u00e9 \U0001f600"))
	k.Provider.On("pan_verification", enginetest.Fail(nil))
	consent(start("fails"))
	k.Provider.On("pan_verification", enginetest.Refuse())
	consent(start("is not answered"))
	if _, err := k.Engine.Cancel(t.Context(), enginetest.Tenant, start("is cancelled")); err != nil {
		t.Fatal(err)
	}
	k.Advance(1500 * time.Millisecond)
	start("expires")
	k.Advance(25 * time.Hour)

	listed := map[string]json.RawMessage{}
	for _, run := range list(t, k) {
		listed[member(t, run, "id")] = run
	}
	notified := map[string]json.RawMessage{}
	statuses := map[string]bool{}
	for _, d := range r.all() {
		d.verified(t, newSecret)
		var event struct {
			Type      string
			Timestamp string
			Data      json.RawMessage
		}
		if err := json.Unmarshal(d.body, &event); err != nil {
			t.Fatal(err)
		}
		id, status := member(t, event.Data, "id"), member(t, event.Data, "status")
		notified[id], statuses[status] = event.Data, true
		if event.Type != "run."+status || event.Timestamp != member(t, event.Data, "completed_at") || d.Header.Get("webhook-id") != "run_"+id {
			t.Errorf("notice %s %s of %s", event.Type, event.Timestamp, event.Data)
		}
	}
	if len(notified) != 6 || len(statuses) != 4 {
		t.Errorf("%d runs were notified, of %d statuses, want 6 of 4", len(notified), len(statuses))
	}
	if diff := cmp.Diff(listed, notified); diff != "" {
		t.Errorf("data (-listed +notified):\n%s", diff)
	}
}

// list reads every run by the API.
func list(t *testing.T, k *enginetest.Kit) []json.RawMessage {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/runs?limit=100", nil)
	request.Header.Set("client-id", "acme")
	request.Header.Set("x-api-key", "a key of the tests alone")
	w := httptest.NewRecorder()
	httpapi.New(k.Engine, httpapi.Options{}).ServeHTTP(w, request)
	var page struct{ Data []json.RawMessage }
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != http.StatusOK {
		t.Fatalf("list = %d %s", w.Code, w.Body)
	}
	return page.Data
}

func member(t *testing.T, object json.RawMessage, name string) string {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal(object, &members); err != nil {
		t.Fatal(err)
	}
	text, ok := members[name].(string)
	if !ok {
		t.Fatalf("%s of %s is no text", name, object)
	}
	return text
}

// vector is a notice that another library has verified.
type vector struct {
	Secret    string `json:"secret"`
	ID        string `json:"id"`
	Timestamp string `json:"timestamp"`
	Body      string `json:"body"`
	Signature string `json:"signature"`
}

// testdata/vector.json was written by a Notifier, and accepted by the npm
// package standardwebhooks 1.1.1 of the Standard Webhooks project on node 20:
// new Webhook(secret).verify(body, headers), with Date.now at the timestamp,
// returned the event; new Webhook(secret).sign made the same signature; and a
// changed body, id or timestamp was refused. If you change the file,
// verify it with that library again. This test checks that we still send the same.
func TestAnotherLibraryVerifiesTheNotice(t *testing.T) {
	raw, err := os.ReadFile("testdata/vector.json")
	if err != nil {
		t.Fatal(err)
	}
	var want vector
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	r := newReceiver(t, nil)
	s := newSender(t, func(o *webhook.Options) { o.Secrets = secretsOf(want.Secret) })
	n := notice(r.URL)
	n.Run = view(rules.StatusFailed)
	seconds, err := strconv.ParseInt(want.Timestamp, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	n.At = time.Unix(seconds, 999_999_000)
	if err := s.Notify(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	d := r.one(t)
	got := vector{want.Secret, d.Header.Get("webhook-id"), d.Header.Get("webhook-timestamp"), string(d.body), d.Header.Get("webhook-signature")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("notice (-accepted +sent):\n%s", diff)
	}
	if expected, err := os.ReadFile("testdata/failed.json"); err != nil || !bytes.Equal(expected, d.body) {
		t.Errorf("the body of the vector is not that of testdata/failed.json: %v", err)
	}
}
