// Hosts for the tests.

package scenario_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/definition"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/httpapi"
	"github.com/verifyd/verifyd/adapters/media"
	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/adapters/pdf"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/adapters/provider/sandbox"
	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/adapters/token/reviewer"
	"github.com/verifyd/verifyd/internal/pgtest"
	"github.com/verifyd/verifyd/internal/scenario"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
)

// host is the service on a store with a manual clock.
type host struct {
	url     string
	clock   *clock.Manual
	bearers *reviewer.Issuer
}

// URL returns its base URL.
func (h *host) URL() string { return h.url }

// Advance advances its clock.
func (h *host) Advance(ctx context.Context, d time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	return h.clock.Advance(ctx, d)
}

// Bearer issues an access token.
func (h *host) Bearer(reviewer string) (string, error) {
	return h.bearers.Issue(verification.Reviewer{Tenant: verification.TenantID(scenario.Names()["acme"]), Name: reviewer, Role: verification.RoleReviewer}, 24*time.Hour, h.clock.Now())
}

// verify verifies an access token.
func (h *host) verify(_ context.Context, raw string) (verification.Reviewer, error) {
	b, err := h.bearers.Verify(raw, h.clock.Now())
	return b.Reviewer, err
}

// newMemoryHost returns the service with a store in memory.
func newMemoryHost(t testing.TB) scenario.Host {
	t.Helper()
	return newHost(t, memory.New())
}

// newPostgresHost returns the service with its own database.
func newPostgresHost(t testing.TB) scenario.Host {
	t.Helper()
	store, err := postgres.Open(t.Context(), pgtest.Database(t), postgres.Options{SingleHost: true})
	check(t, err)
	t.Cleanup(store.Close)
	return newHost(t, store)
}

func newHost(t testing.TB, store store.Store) scenario.Host {
	t.Helper()
	keys, err := token.NewKeys()
	check(t, err)
	printer, err := pdf.New(pdf.Options{})
	check(t, err)
	h := &host{clock: clock.NewManual(time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC)), bearers: reviewer.NewIssuer(keys)}
	server := httptest.NewUnstartedServer(nil)
	h.url = "http://" + server.Listener.Addr().String()
	e, err := engine.New(engine.Ports{
		Store: store,
		Providers: map[string]verification.Provider{
			"sandbox": sandbox.New(h.clock.Sleep), screening.ProviderName: screensOnce{screening.NewProvider(lists(t), h.clock.Now)},
		},
		Expressions: expression.New(), Links: token.NewLinks(keys), Clock: h.clock,
		NewID: func() string { return uuid.Must(uuid.NewV7()).String() }, Printer: printer, Notifier: notifier{},
		Documents: blob.Memory(1<<20, 1<<20), Sanitize: media.Sanitize,
	}, engine.Options{PublicURL: h.url, StartWait: 50 * time.Millisecond})
	check(t, err)
	bootstrap(t, e, store)
	serve(t, e)
	server.Config.Handler = httpapi.New(e, httpapi.Options{Bearers: h.verify, Signer: token.NewReports(keys)})
	server.Start()
	t.Cleanup(server.Close)
	return h
}

// screensOnce is a provider without the methods for screening again. With them, a host looks
// at its lists each minute, and conversations advance the clock by years.
type screensOnce struct{ verification.Provider }

// lists returns the list of the conversations.
func lists(t testing.TB) *screening.Lists {
	t.Helper()
	raw, err := scenario.List()
	check(t, err)
	all, err := screening.Open(t.Context(), []screening.Source{{
		Name: "fictional", Path: "list.csv", Files: fstest.MapFS{"list.csv": {Data: raw}}, Format: screening.Format{Type: screening.OpenSanctions},
	}}, screening.Options{Log: slog.New(slog.DiscardHandler), Now: time.Now})
	check(t, err)
	return all
}

func bootstrap(t testing.TB, e *engine.Engine, store store.TenantStore) {
	t.Helper()
	raw, err := scenario.Bootstrap()
	check(t, err)
	b, err := definition.ReadBootstrap("bootstrap.yaml", raw, nil, func(string) string { return "" })
	check(t, err)
	for _, tenant := range b.Tenants {
		check(t, store.SaveTenant(t.Context(), tenant.Tenant))
		for _, a := range tenant.Accounts {
			check(t, store.SaveAccount(t.Context(), a))
		}
		for _, w := range tenant.Workflows {
			if _, err := e.Apply(t.Context(), tenant.Tenant.ID, w.Definition); err != nil {
				t.Fatal(w.Explain(err))
			}
		}
	}
}

// serve runs the engine's loop until the test ends.
func serve(t testing.TB, e *engine.Engine) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan struct{})
	go func() {
		defer close(served)
		e.Serve(ctx)
	}()
	<-e.Serving()
	t.Cleanup(func() {
		stop()
		<-served
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		check(t, e.Close(ctx))
	})
}

// notifier posts lifecycle webhooks without a signature.
type notifier struct{}

// Notify posts once.
func (notifier) Notify(ctx context.Context, n verification.Notice) error {
	body, err := json.Marshal(apitypes.NewEvent(n))
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, n.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		return errors.New(fmt.Sprint("status ", response.StatusCode))
	}
	return nil
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
