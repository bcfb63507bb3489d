// Tests of webhooks, most of which adapters/webhook sends.

package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/verifyd/verifyd/adapters/client"
	"github.com/verifyd/verifyd/adapters/webhook"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// sent returns a request that adapters/webhook sent with these secrets.
func sent(t *testing.T, at time.Time, secrets ...string) (http.Header, []byte) {
	t.Helper()
	var header http.Header
	var body strings.Builder
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		header = r.Header
		if err := r.Write(&body); err != nil {
			t.Error(err)
		}
	}))
	defer receiver.Close()
	notifier, err := webhook.New(webhook.Options{
		Secrets: func(context.Context, verification.TenantID) ([]string, error) { return secrets, nil },
		Now:     time.Now, AllowPrivateNetworks: true,
	})
	must(t, err)
	must(t, notifier.Notify(t.Context(), rules.Notice{
		ID: "run_1", URL: receiver.URL, At: at, Run: rules.RunView{ID: "1", Status: rules.StatusFailed, CompletedAt: at},
	}))
	_, content, _ := strings.Cut(body.String(), "\r\n\r\n")
	return header, []byte(content)
}

func TestOnlyAuthenticWebhooksAreRead(t *testing.T) {
	at := time.Date(2026, time.November, 25, 12, 0, 0, 0, time.UTC)
	first, second, third := webhook.NewSecret(), webhook.NewSecret(), webhook.NewSecret()
	for _, test := range []struct {
		name     string
		signed   []string
		known    []string
		now      time.Duration // from the time of sending
		change   func(http.Header, *[]byte)
		accepted bool
	}{
		{"one secret", []string{first}, []string{first}, 0, nil, true},
		{"the host has a newer secret", []string{second, first}, []string{first}, 0, nil, true},
		{"the receiver has a newer secret", []string{first}, []string{second, first}, 0, nil, true},
		{"both have two", []string{second, first}, []string{third, first}, 0, nil, true},
		{"another secret", []string{first}, []string{second, third}, 0, nil, false},
		{"no secret", []string{first}, nil, 0, nil, false},
		{"five minutes late", []string{first}, []string{first}, client.WebhookTolerance, nil, true},
		{"later", []string{first}, []string{first}, client.WebhookTolerance + time.Second, nil, false},
		{"five minutes early", []string{first}, []string{first}, -client.WebhookTolerance, nil, true},
		{"earlier", []string{first}, []string{first}, -client.WebhookTolerance - time.Second, nil, false},
		{"another body", []string{first}, []string{first}, 0, func(_ http.Header, b *[]byte) { *b = append(*b, ' ') }, false},
		{"another id", []string{first}, []string{first}, 0, func(h http.Header, _ *[]byte) { h.Set("webhook-id", "run_2") }, false},
		{"no id", []string{first}, []string{first}, 0, func(h http.Header, _ *[]byte) { h.Del("webhook-id") }, false},
		{"another time", []string{first}, []string{first}, 0, func(h http.Header, _ *[]byte) { h.Set("webhook-timestamp", "1795608001") }, false},
		{"no time", []string{first}, []string{first}, 0, func(h http.Header, _ *[]byte) { h.Del("webhook-timestamp") }, false},
		{"no signature", []string{first}, []string{first}, 0, func(h http.Header, _ *[]byte) { h.Del("webhook-signature") }, false},
		{"an unknown version", []string{first}, []string{first}, 0, func(h http.Header, _ *[]byte) {
			h.Set("webhook-signature", strings.Replace(h.Get("webhook-signature"), "v1,", "v2,", 1))
		}, false},
		{"a signature among others", []string{first}, []string{first}, 0, func(h http.Header, _ *[]byte) {
			h.Set("webhook-signature", "v1a,x v1, "+h.Get("webhook-signature")+" v1,AAAA")
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			header, body := sent(t, at, test.signed...)
			if test.change != nil {
				test.change(header, &body)
			}
			got, err := client.VerifyWebhook(header, body, at.Add(test.now), test.known...)
			switch {
			case test.accepted && (err != nil || got.ID != "run_1" || got.Type != "run.failed" || got.Data.ID != "1"):
				t.Errorf("VerifyWebhook = %v, %v; want the webhook", got, err)
			case !test.accepted && (!errors.Is(err, client.ErrNotAuthentic) || got.ID != ""):
				t.Errorf("VerifyWebhook = %v, %v; want ErrNotAuthentic", got, err)
			}
		})
	}
}

func TestWebhooksOfTheReferenceLibraryAreRead(t *testing.T) {
	secret, now := webhook.NewSecret(), time.Now()
	hook, err := standardwebhooks.NewWebhook(secret)
	must(t, err)
	body := `{"type":"run.completed","timestamp":"2026-11-25T12:00:00Z","data":{"id":"1","status":"completed","a later member":1}}`
	signature, err := hook.Sign("run_1", now, []byte(body))
	must(t, err)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hooks", strings.NewReader(body))
	r.Header.Set("webhook-id", "run_1")
	r.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	r.Header.Set("webhook-signature", signature)
	if got, err := client.ReadWebhook(r, now, secret); err != nil || got.Data.Status != rules.StatusCompleted {
		t.Errorf("ReadWebhook = %v, %v; want the webhook", got, err)
	}
}

func TestAReceiverIsToldWhatIsWrong(t *testing.T) {
	now, secret := time.Now(), webhook.NewSecret()
	header, body := sent(t, now, secret)
	if _, err := client.VerifyWebhook(header, body, now, "whsec_short"); err == nil || errors.Is(err, client.ErrNotAuthentic) || strings.Contains(err.Error(), "whsec_short") {
		t.Errorf("VerifyWebhook with an invalid secret = %v, want another error, without the secret", err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hooks", strings.NewReader(strings.Repeat(" ", 1<<20+1)))
	if _, err := client.ReadWebhook(r, now, secret); err == nil || errors.Is(err, client.ErrNotAuthentic) {
		t.Errorf("ReadWebhook of a long body = %v, want another error", err)
	}
}
