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
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/clock"
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
	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/hosts/internal/scenario"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/internal/watchlist"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// host is the service on a store with a manual clock.
type host struct {
	url       string
	clock     *clock.Manual
	keys      *token.Keys
	bearers   *reviewer.Issuer
	bootstrap definitions.Bootstrap
	providers map[string]verification.Provider
	printer   pdf.Printer
	notifier  notifier
	handler   atomic.Pointer[http.Handler] // of the service that serves
	engine    atomic.Pointer[engine.Engine]
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

// DecideHit decides a hit.
func (h *host) DecideHit(ctx context.Context, run, entry, match, reviewer string) error {
	e, acme, id := h.engine.Load(), verification.TenantID(scenario.Names()["acme"]), verification.RunID(run)
	history, err := e.History(ctx, acme, id)
	if err != nil {
		return err
	}
	for _, card := range history.Report.Cards {
		for _, hit := range card.Hits() {
			if hit.ID == entry {
				return e.DecideHit(ctx, acme, id, rules.DecideHit{
					Node: card.NodeID, List: hit.List, Entry: hit.ID, Digest: hit.Digest, Match: rules.HitMatch(match), By: reviewer, Identity: reviewer,
				})
			}
		}
	}
	return fmt.Errorf("the run %s has no hit %s", run, entry)
}

// echo is a registry that repeats what it is asked.
type echo struct{}

func (echo) Check(_ context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	return verification.CheckResult{Outcome: verification.OutcomePassed, Data: r.With}, nil
}

// verify verifies an access token.
func (h *host) verify(_ context.Context, raw string) (verification.Reviewer, error) {
	b, err := h.bearers.Verify(raw, h.clock.Now())
	return b.Reviewer, err
}

// ServeHTTP passes a request to the service that serves.
func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) { (*h.handler.Load()).ServeHTTP(w, r) }

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

// newHost returns the service on a store.
func newHost(t testing.TB, store store.Store) scenario.Host {
	t.Helper()
	keys, err := token.NewKeys()
	check(t, err)
	h := listen(t, keys)
	stop := h.serve(t, store, blob.Memory(maxDocuments, maxDocuments))
	t.Cleanup(func() { check(t, stop(time.Minute)) })
	return h
}

// maxDocuments is the size of all documents of a tenant, in bytes.
const maxDocuments = 1 << 20

// listen returns a host that accepts connections, and has no service yet.
func listen(t testing.TB, keys *token.Keys) *host {
	t.Helper()
	h := &host{clock: clock.NewManual(time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC)), keys: keys, bearers: reviewer.NewIssuer(keys)}
	h.providers = map[string]verification.Provider{
		"sandbox": sandbox.New(h.clock.Sleep), screening.ProviderName: screensOnce{screening.NewProvider(lists(t), h.clock.Now)}, "echo": echo{},
	}
	var err error
	h.printer, err = pdf.New(pdf.Options{})
	check(t, err)
	raw, err := scenario.Bootstrap()
	check(t, err)
	h.bootstrap, err = definitions.ReadBootstrap("bootstrap.yaml", raw, nil, func(string) string { return "" })
	check(t, err)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

// expressions returns the compiler of all hosts: it keeps compiled schemas over their restarts.
var expressions = sync.OnceValue(expression.New)

// serve serves a store until stop is called. stop cancels work that does not end in time.
func (h *host) serve(t testing.TB, store store.Store, documents verification.DocumentStore) (stop func(timeout time.Duration) error) {
	t.Helper()
	links := token.NewLinks(h.keys)
	e, err := engine.New(engine.Ports{
		Store: store, Providers: h.providers, Expressions: expressions(), Links: links, Clock: h.clock,
		NewID: func() string { return uuid.Must(uuid.NewV7()).String() }, Printer: h.printer, Notifier: h.notifier,
		Documents: documents, Sanitize: media.Sanitize,
	}, engine.Options{PublicURL: h.url, StartWait: 50 * time.Millisecond, SearchKey: []byte(strings.Repeat("k", 32))})
	check(t, err)
	_, err = bootstrap.Apply(t.Context(), h.bootstrap, e, store, bootstrap.Options{}) // as at each start of a host
	check(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan struct{})
	go func() {
		defer close(served)
		e.Serve(ctx)
	}()
	<-e.Serving()
	handler := httpapi.New(e, httpapi.Options{Bearers: h.verify, Signer: token.NewReports(h.keys)})
	h.handler.Store(&handler)
	h.engine.Store(e)
	return func(timeout time.Duration) error {
		cancel()
		<-served
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer cancel()
		return e.Close(ctx)
	}
}

// screensOnce is a provider that does not know its lists. If it did, a host would look at them
// each minute, and conversations advance the clock by years.
type screensOnce struct{ verification.Rescreener }

// Describe implements verification.Describer.
func (s screensOnce) Describe() verification.ProviderDescription {
	return s.Rescreener.(verification.Describer).Describe() //nolint:errcheck,forcetypeassert // it is one
}

// ListVersions implements verification.Rescreener.
func (screensOnce) ListVersions() map[string]string { return nil }

// lists returns the list of the conversations.
func lists(t testing.TB) *screening.Lists {
	t.Helper()
	raw, err := scenario.List()
	check(t, err)
	all, err := screening.Open(t.Context(), []screening.Source{{
		Name: "fictional", Path: "list.csv", Files: fstest.MapFS{"list.csv": {Data: raw}}, Format: screening.Format{Type: watchlist.OpenSanctions},
	}}, screening.Options{Log: slog.New(slog.DiscardHandler), Now: time.Now})
	check(t, err)
	return all
}

// notifier posts lifecycle webhooks without a signature.
type notifier struct{ ids bool }

// Notify posts once, with a webhook-id if n has ids.
func (n notifier) Notify(ctx context.Context, about rules.Notice) error {
	body, err := json.Marshal(apitypes.NewEvent(about))
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, about.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if n.ids {
		r.Header.Set("Webhook-Id", about.ID)
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
