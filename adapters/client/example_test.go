// Examples of a program that calls a host, as docs/client.md shows them.

package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/verifyd/verifyd/adapters/client"
	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/httpapi"
	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/adapters/webhook"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
)

func Example() {
	host, workflow, ctx := startHost(), verification.WorkflowID("00000000-0000-7000-8000-00000000f001"), context.Background()
	defer host.Close()

	c := check(client.New(client.Options{BaseURL: host.URL, ClientID: "acme", APIKey: apiKey}))
	run := check(c.StartRun(ctx, workflow, client.StartRequest{ReferenceID: "person-1"}))
	waiting := check(c.WaitForRun(ctx, run.ID, client.Resting))
	fmt.Println(waiting.Status, waiting.ActionRequired.Type)

	check(c.GiveVerdict(ctx, run.ID, client.Verdict{Decision: rules.DecisionApprove})) // or a reviewer in the console
	ended := check(c.WaitForRun(ctx, run.ID, client.Ended))
	fmt.Println(ended.Status, *ended.Decision)
	// Output:
	// in_progress review
	// completed approve
}

func ExampleClient_Runs() {
	host, workflow, ctx := startHost(), verification.WorkflowID("00000000-0000-7000-8000-00000000f001"), context.Background()
	defer host.Close()
	c := check(client.New(client.Options{BaseURL: host.URL, ClientID: "acme", APIKey: apiKey}))
	for _, person := range []string{"person-1", "person-2"} {
		check(c.StartRun(ctx, workflow, client.StartRequest{ReferenceID: person}))
	}

	for run, err := range c.Runs(ctx, client.RunQuery{Decision: rules.DecisionReview}) {
		if err != nil {
			panic(err)
		}
		fmt.Println(run.ReferenceID, run.ActionRequired.SignalName)
	}
	// Output:
	// person-2 human_review_decision
	// person-1 human_review_decision
}

func ExampleError() {
	host, ctx := startHost(), context.Background()
	defer host.Close()
	c := check(client.New(client.Options{BaseURL: host.URL, ClientID: "acme", APIKey: apiKey}))

	_, err := c.StartRun(ctx, "00000000-0000-7000-8000-00000000dead", client.StartRequest{})
	if e, ok := errors.AsType[*client.Error](err); ok {
		fmt.Println(e.Status, e.Text, e.Fields)
	}
	_, err = c.StartRun(ctx, "00000000-0000-7000-8000-00000000dead", client.StartRequest{ReferenceID: "person-1"})
	fmt.Println(errors.Is(err, verification.ErrNotFound))
	// Output:
	// 400 The request is not valid. [{reference_id is required}]
	// true
}

// receive calls save once it knows that the host was the sender.
func receive(secret string, save func(client.Webhook) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		hook, err := client.ReadWebhook(r, time.Now(), secret)
		if err != nil {
			w.WriteHeader(http.StatusUnauthorized) // not from the host, or too old
			return
		}
		if save(hook) != nil {
			w.WriteHeader(http.StatusInternalServerError) // the host sends it again
		}
	}
}

func ExampleReadWebhook() {
	secret, seen := webhook.NewSecret(), map[string]bool{}
	receiver := httptest.NewServer(receive(secret, func(hook client.Webhook) error {
		if !seen[hook.ID] { // it may come twice
			seen[hook.ID] = true
			fmt.Println(hook.Type, hook.Data.ReferenceID, hook.Data.Status)
		}
		return nil
	}))
	defer receiver.Close()

	notifier := check(webhook.New(webhook.Options{
		Secrets: func(context.Context, verification.TenantID) ([]string, error) { return []string{secret}, nil },
		Now:     time.Now, AllowPrivateNetworks: true,
	}))
	n := rules.Notice{
		ID: "run_1", URL: receiver.URL, At: time.Now(),
		Run: rules.RunView{ReferenceID: "person-1", Status: rules.StatusCompleted, CompletedAt: time.Now()},
	}
	for range 2 {
		if err := notifier.Notify(context.Background(), n); err != nil {
			panic(err)
		}
	}
	// Output: run.completed person-1 completed
}

// startHost returns a host with one workflow, whose runs wait for a reviewer.
func startHost() *httptest.Server {
	const tenant = verification.TenantID("00000000-0000-7000-8000-0000000000aa")
	store := memory.New()
	e := check(engine.New(engine.Ports{
		Store: store, Expressions: expression.New(), Links: token.NewLinks(check(token.NewKeys())),
		Clock: clock.System{}, NewID: func() string { return uuid.Must(uuid.NewV7()).String() },
	}, engine.Options{PublicURL: "https://verify.example"}))
	definition := review()
	definition.ID = "00000000-0000-7000-8000-00000000f001"
	background := context.Background()
	for _, err := range []error{
		store.SaveTenant(background, verification.Tenant{ID: tenant, Name: "Acme"}),
		store.SaveAccount(background, verification.Account{
			ClientID: "acme", Tenant: tenant, KeyHash: verification.HashAPIKey(apiKey), Surfaces: verification.Surfaces(),
		}),
	} {
		if err != nil {
			panic(err)
		}
	}
	check(e.Apply(background, tenant, definition))
	return httptest.NewServer(httpapi.New(e, httpapi.Options{Log: slog.New(slog.DiscardHandler), Clock: clock.System{}}))
}

func check[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func TestTheCodeInTheDocsIsExecuted(t *testing.T) {
	here, err := os.ReadFile("example_test.go")
	must(t, err)
	for file, after := range map[string]string{"docs/client.md": "# ", "docs/webhooks.md": "# ", "README.md": "## Over HTTP\n"} {
		text, err := os.ReadFile("../../" + file)
		must(t, err)
		_, part, _ := strings.Cut(string(text), after)
		blocks := strings.Split(part, "```go\n")[1:]
		for _, block := range blocks {
			code, _, _ := strings.Cut(block, "```\n")
			if !strings.Contains(string(here), code) {
				t.Errorf("%s shows Go that no example executes:\n%s", file, code)
			}
		}
		if len(blocks) == 0 {
			t.Errorf("%s shows no Go", file)
		}
	}
}
