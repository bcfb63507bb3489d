// Helpers: a run that is over, a Notifier that may call this machine, and a receiver that
// records its requests.

package webhook_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"go.uber.org/goleak"

	"github.com/verifyd/verifyd/adapters/webhook"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	aTenant = verification.TenantID("0191f3c0-0000-7000-8000-00000000000a")
	aRun    = verification.RunID("0191f3c0-0000-7000-8000-000000000101")

	// Secrets for these tests only.
	newSecret = "whsec_bmV3IHNlY3JldCBvZiB0aGUgdGVzdHMgYWxvbmUh"
	oldSecret = "whsec_b2xkIHNlY3JldCBvZiB0aGUgdGVzdHMgYWxvbmUh"

	// hidden is in the query of every URL, and must not be in an error.
	hidden = "hidden-in-the-query"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// view returns a run with a status.
func view(status rules.Status) rules.RunView {
	v := rules.RunView{
		ID: aRun, WorkflowID: "0191f3c0-0000-7000-8000-000000000001", ReferenceID: "person-1", Status: status,
		StartedAt: noon.Add(-2*time.Minute - 250*time.Millisecond), CompletedAt: noon.Add(-time.Minute - time.Microsecond),
	}
	switch status {
	case rules.StatusFailed:
		v.Error = &rules.RunError{Code: rules.CodeCheckFailed, Check: "pan_verification", Message: "PAN <verification> did not pass & the run ended \u2028 «наконец»"}
	case rules.StatusExpired:
		v.Error = &rules.RunError{Code: rules.CodeLinkExpired, Message: "The customer did not come in time."}
	case rules.StatusCompleted, rules.StatusCancelled, rules.StatusInProgress, rules.StatusAbandoned:
	}
	return v
}

// notice returns a notice for an origin.
func notice(origin string) rules.Notice {
	return rules.Notice{
		ID: "run_" + string(aRun), Tenant: aTenant, URL: origin + "/hooks?key=" + hidden, At: noon.Add(1500 * time.Millisecond),
		Run: view(rules.StatusCompleted),
	}
}

// secretsOf has the same secrets for every tenant.
func secretsOf(secrets ...string) func(context.Context, verification.TenantID) ([]string, error) {
	return func(context.Context, verification.TenantID) ([]string, error) { return secrets, nil }
}

// sender is a Notifier and the attempts that it observed.
type sender struct {
	rules.Notifier
	mu       sync.Mutex
	observed []webhook.Attempt
}

// newSender returns a sender that may call this machine. Its clock shows noon.
func newSender(t testing.TB, changes ...func(*webhook.Options)) *sender {
	t.Helper()
	s := &sender{}
	o := webhook.Options{
		Secrets: secretsOf(newSecret), Now: func() time.Time { return noon }, AllowPrivateNetworks: true,
		Observe: s.observe,
	}
	for _, change := range changes {
		change(&o)
	}
	n, err := webhook.New(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Notifier = n
	return s
}

func (s *sender) observe(_ context.Context, a webhook.Attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observed = append(s.observed, a)
}

// soon bounds an attempt to a short time.
func soon(o *webhook.Options) { o.Timeout = 150 * time.Millisecond }

// attempts returns the attempts so far.
func (s *sender) attempts() []webhook.Attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.observed)
}

// last fails the test unless there was one attempt and it ended in this way.
func (s *sender) last(t testing.TB, class string, status int) webhook.Attempt {
	t.Helper()
	attempts := s.attempts()
	if len(attempts) != 1 {
		t.Fatalf("attempts = %+v, want one", attempts)
	}
	if attempts[0].Class != class || attempts[0].Status != status {
		t.Errorf("the attempt ended %s %d (%v), want %s %d", attempts[0].Class, attempts[0].Status, attempts[0].Err, class, status)
	}
	return attempts[0]
}

// discreet fails the test if an error contains a secret.
func discreet(t testing.TB, err error) {
	t.Helper()
	if err == nil {
		t.Fatal("err = nil, want one")
	}
	text := err.Error()
	for _, secret := range []string{hidden, "/hooks", newSecret, oldSecret, strings.TrimPrefix(newSecret, "whsec_"), "person-1", "v1,", "\n", "\r"} {
		if strings.Contains(text, secret) {
			t.Errorf("the error contains %q: %q", secret, text)
		}
	}
}

// delivery is a received request.
type delivery struct {
	*http.Request
	body []byte
}

// verified fails the test unless the reference library accepts the signature.
func (d delivery) verified(t testing.TB, secret string) {
	t.Helper()
	if !d.accepts(t, secret) {
		t.Errorf("signature %q of %s is not accepted", d.Header.Get("webhook-signature"), d.body)
	}
}

func (d delivery) accepts(t testing.TB, secret string) bool {
	t.Helper()
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	err = hook.VerifyIgnoringTimestamp(d.body, d.Header)
	if err != nil && !errors.Is(err, standardwebhooks.ErrNoMatchingSignature) {
		t.Fatal(err)
	}
	return err == nil
}

// receiver records its requests, and responds as the test sets.
type receiver struct {
	*httptest.Server
	mu   sync.Mutex
	came []delivery
}

// newReceiver answers by handler; nil answers 204.
func newReceiver(t testing.TB, handler http.HandlerFunc) *receiver {
	t.Helper()
	r := unstarted(t, handler)
	r.Start()
	return r
}

func unstarted(t testing.TB, handler http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.mu.Lock()
		r.came = append(r.came, delivery{request, body})
		r.mu.Unlock()
		if handler == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		handler(w, request)
	}))
	t.Cleanup(r.Close)
	return r
}

// all returns the requests so far.
func (r *receiver) all() []delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.came)
}

// one fails the test unless exactly one notice came.
func (r *receiver) one(t testing.TB) delivery {
	t.Helper()
	came := r.all()
	if len(came) != 1 {
		t.Fatalf("%d notices came, want one", len(came))
	}
	return came[0]
}

// raw takes the connection of a request over, and closes it after f.
func raw(t testing.TB, f func(c io.Writer)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		hijacker, ok := w.(http.Hijacker)
		if !ok {
			t.Error("the connection cannot be taken over")
			return
		}
		c, _, err := hijacker.Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		f(c)
		_ = c.Close()
	}
}
