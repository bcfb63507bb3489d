// A notice that a receiver verifies with the library of Standard Webhooks, and what docs/webhooks.md promises.

package webhook_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/verifyd/verifyd/adapters/webhook"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

func Example() {
	secret := webhook.NewSecret()
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		panic(err)
	}
	client := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, 1<<20))
		if err != nil {
			panic(err)
		}
		fmt.Println(r.Header.Get("webhook-id"), hook.Verify(body, r.Header))
	}))
	defer client.Close()

	notifier, err := webhook.New(webhook.Options{
		Secrets: func(context.Context, verification.TenantID) ([]string, error) { return []string{secret}, nil },
		Now:     time.Now, AllowPrivateNetworks: true,
		Observe: func(_ context.Context, t webhook.Attempt) { fmt.Println("attempt", t.Number, t.Class, t.Status) },
	})
	if err != nil {
		panic(err)
	}
	n := rules.Notice{
		ID: "run_0191f3c0-0000-7000-8000-000000000101", URL: client.URL, At: time.Now(),
		Run: rules.RunView{ID: "0191f3c0-0000-7000-8000-000000000101", Status: rules.StatusCompleted, CompletedAt: time.Now()},
	}
	if err := notifier.Notify(context.Background(), n); err != nil {
		panic(err)
	}
	// Output:
	// run_0191f3c0-0000-7000-8000-000000000101 <nil>
	// attempt 0 delivered 200
}

func TestTheBodyInTheDocsIsTheOneThatIsSent(t *testing.T) {
	docs := strings.Join(strings.Fields(read(t, "../../docs/webhooks.md")), "")
	if body := strings.Join(strings.Fields(read(t, "testdata/completed.json")), ""); !strings.Contains(docs, body) {
		t.Errorf("docs/webhooks.md does not show %s", body)
	}
}

func TestTheDocsNameEveryClass(t *testing.T) {
	docs := read(t, "../../docs/webhooks.md")
	for _, class := range []string{
		webhook.ClassDelivered, webhook.ClassGone, webhook.ClassRefused, webhook.ClassServerError, webhook.ClassRedirected,
		webhook.ClassTimeout, webhook.ClassUnreachable, webhook.ClassBlocked, webhook.ClassUnsent,
	} {
		if !strings.Contains(docs, "`"+class+"`") {
			t.Errorf("docs/webhooks.md does not name %s", class)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
