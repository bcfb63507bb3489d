// A receiver, as docs/webhooks.md shows it, and a notice that it takes.

package webhook_test

import (
	"context"
	"encoding/json"
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
)

// receive calls save once it knows that we were the sender.
func receive(hook *standardwebhooks.Webhook, save func(webhookID, runID, status string) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil || hook.Verify(body, r.Header) != nil {
			w.WriteHeader(http.StatusUnauthorized) // not from us, or too old
			return
		}
		var event struct{ Data struct{ ID, Status string } }
		err = json.Unmarshal(body, &event)
		if err != nil || save(r.Header.Get("webhook-id"), event.Data.ID, event.Data.Status) != nil {
			w.WriteHeader(http.StatusInternalServerError) // the host retries
		}
	}
}

func Example() {
	secret := webhook.NewSecret()
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		panic(err)
	}
	saved := map[string]bool{}
	client := httptest.NewServer(receive(hook, func(webhookID, runID, status string) error {
		if !saved[webhookID] { // it may come twice
			fmt.Println(runID, status)
			saved[webhookID] = true
		}
		return nil
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
	n := verification.Notice{
		ID: "run_0191f3c0-0000-7000-8000-000000000101", URL: client.URL, At: time.Now(),
		Run: verification.RunView{ID: "0191f3c0-0000-7000-8000-000000000101", Status: verification.StatusCompleted, CompletedAt: time.Now()},
	}
	for ; n.Attempt < 2; n.Attempt++ {
		if err := notifier.Notify(context.Background(), n); err != nil {
			panic(err)
		}
	}
	// Output:
	// 0191f3c0-0000-7000-8000-000000000101 completed
	// attempt 0 delivered 200
	// attempt 1 delivered 200
}

func TestTheReceiverInTheDocsIsTheExecutedOne(t *testing.T) {
	here, docs := read(t, "example_test.go"), read(t, "../../docs/webhooks.md")
	_, block, found := strings.Cut(docs, "```go\n")
	block, _, closed := strings.Cut(block, "```\n")
	if !found || !closed || !strings.HasPrefix(block, "func receive(") || !strings.Contains(here, block) {
		t.Errorf("the Go block of docs/webhooks.md is not the function receive of example_test.go:\n%s", block)
	}
	if lines := strings.Count(block, "\n"); lines > 15 {
		t.Errorf("the receiver has %d lines, and promises 15", lines)
	}
}

func TestTheBodyInTheDocsIsTheOneThatIsSent(t *testing.T) {
	docs := strings.Join(strings.Fields(read(t, "../../docs/webhooks.md")), "")
	if body := strings.Join(strings.Fields(read(t, "testdata/completed.json")), ""); !strings.Contains(docs, body) {
		t.Errorf("docs/webhooks.md does not show %s", body)
	}
}

func TestTheDocsNameEveryClass(t *testing.T) {
	docs := read(t, "../../docs/webhooks.md")
	for _, class := range []webhook.Class{
		webhook.ClassDelivered, webhook.ClassGone, webhook.ClassRefused, webhook.ClassServerError, webhook.ClassRedirected,
		webhook.ClassTimeout, webhook.ClassUnreachable, webhook.ClassBlocked, webhook.ClassUnsent,
	} {
		if !strings.Contains(docs, "`"+string(class)+"`") {
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
