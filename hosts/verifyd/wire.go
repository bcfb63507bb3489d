// How the host is put together, from top to bottom.

package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/httpapi"
	"github.com/verifyd/verifyd/adapters/journey"
	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/adapters/pdf"
	"github.com/verifyd/verifyd/adapters/provider/sandbox"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/adapters/webhook"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

// turnable is a clock that the host can use.
type turnable interface {
	verification.Clock
	Sleep(ctx context.Context, d time.Duration) error
}

// host is a verifyd that is ready to serve.
type host struct {
	settings settings
	log      *slog.Logger
	engine   *engine.Engine
	api      listener
	admin    listener
	health   *health
	demo     *demo // nil when a bootstrap file says what to serve
}

// listener is one address and what answers there.
type listener struct {
	net.Listener
	handler http.Handler
}

func (l listener) url() string { return "http://" + l.Addr().String() }

// wire makes the host: it opens its addresses, so that its links can name
// them, and applies the bootstrap file or the demo.
func wire(ctx context.Context, s settings, getenv func(string) string, stderr io.Writer) (*host, error) {
	h := &host{settings: s, log: newLog(s, stderr), health: &health{}}
	var err error
	if h.api.Listener, err = listen(ctx, "addr", s.Addr); err != nil {
		return nil, err
	}
	if h.admin.Listener, err = listen(ctx, "admin-addr", s.AdminAddr); err != nil {
		return nil, err
	}
	if s.PublicURL == "" {
		s.PublicURL = h.api.url()
	}
	keys, err := signingKeys(s, h.log)
	if err != nil {
		return nil, err
	}
	printer, err := pdf.New(pdf.Options{FontDir: s.FontDir})
	if err != nil {
		return nil, fmt.Errorf("--font-dir (VERIFYD_FONT_DIR): %w", err)
	}
	used, manual := newClock(s)
	store, observed := memory.New(), newMetrics()
	documents, err := documentStore(s)
	if err != nil {
		return nil, err
	}
	notifier, err := webhook.New(webhook.Options{
		Secrets: secrets(store), Now: used.Now, AllowPrivateNetworks: s.AllowPrivate,
	})
	if err != nil {
		return nil, err
	}
	h.engine, err = engine.New(engine.Ports{
		Runs: store, Queue: store, Workflows: store, Tenants: store, StartKeys: store,
		Providers: map[string]verification.Provider{"sandbox": sandbox.New(used.Sleep)},
		Language:  expression.New(),
		Links:     token.NewLinks(keys),
		Clock:     used,
		NewID:     newID,
		Printer:   printer,
		Notifier:  notifier,
		Documents: documents, Deliveries: store,
	}, engine.Options{
		PublicURL: strings.TrimSuffix(s.PublicURL, "/"), StartWait: orNone(s.StartWait),
		Workers: s.Workers, Log: h.log, Observer: observed,
	})
	if err != nil {
		return nil, err
	}
	if h.demo, err = bootstrap(ctx, s, h.engine, store, getenv, stderr); err != nil {
		return nil, err
	}
	pages, err := journey.Handler(h.engine, h.log)
	if err != nil {
		return nil, err
	}
	h.api.handler = httpapi.New(h.engine, httpapi.Options{
		Log: h.log, Now: time.Now, RateLimit: s.RateLimit, Observe: observed.request,
		Bearers: bearers(keys, used),
		Mounts:  map[string]http.Handler{"/journey": pages},
	})
	h.admin.handler = adminHandler(h.health, observed, manual)
	return h, nil
}

func listen(ctx context.Context, name, addr string) (net.Listener, error) {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--%s (%s): %w", name, variable(name), err)
	}
	return l, nil
}

func newLog(s settings, stderr io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(s.LogLevel)) // the settings allow known levels alone
	o := &slog.HandlerOptions{Level: level}
	if s.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(stderr, o))
	}
	return slog.New(slog.NewTextHandler(stderr, o))
}

func signingKeys(s settings, log *slog.Logger) (*token.Keys, error) {
	if s.SigningKeyFile == "" {
		log.Warn("journey links are signed with a key made now: they stop working at a restart (set VERIFYD_SIGNING_KEY_FILE)")
		return token.NewKeys()
	}
	raw, err := os.ReadFile(s.SigningKeyFile)
	if err != nil {
		return nil, fmt.Errorf("--signing-key-file (VERIFYD_SIGNING_KEY_FILE): %w", err)
	}
	keys, err := token.ReadKeys(raw)
	if err != nil {
		return nil, fmt.Errorf("--signing-key-file (VERIFYD_SIGNING_KEY_FILE): %s: %w", s.SigningKeyFile, err)
	}
	return keys, nil
}

func newClock(s settings) (t turnable, manual *clock.Manual) {
	if s.Clock == "manual" {
		manual = clock.NewManual(time.Now().UTC().Truncate(time.Second))
		return manual, manual
	}
	return clock.System(), nil
}

// newID makes a UUID that sorts by the time it was made.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// orNone turns the setting's 0, which means no wait, into the engine's word
// for it.
func orNone(wait time.Duration) time.Duration {
	if wait == 0 {
		return -1
	}
	return wait
}

// memoryForDocuments bounds what uploads may hold without a BLOB_DIR, in bytes.
const memoryForDocuments = 512 << 20

func documentStore(s settings) (verification.DocumentStore, error) {
	if s.BlobDir == "" {
		return blob.Memory(memoryForDocuments), nil
	}
	folder, err := blob.Folder(s.BlobDir)
	if err != nil {
		return nil, fmt.Errorf("--blob-dir (VERIFYD_BLOB_DIR): %w", err)
	}
	return folder, nil
}

// secrets are those that sign a tenant's webhooks, the newest first.
func secrets(tenants verification.TenantStore) func(context.Context, verification.TenantID) ([]string, error) {
	return func(ctx context.Context, id verification.TenantID) ([]string, error) {
		t, err := tenants.Tenant(ctx, id)
		if err != nil {
			return nil, err
		}
		if t.PreviousWebhookSecret != "" {
			return []string{t.WebhookSecret, t.PreviousWebhookSecret}, nil
		}
		return []string{t.WebhookSecret}, nil
	}
}

// bearers opens the signals route to tokens that were signed with our keys.
func bearers(keys *token.Keys, clock verification.Clock) httpapi.Bearers {
	signed := token.NewBearers(keys)
	return func(_ context.Context, raw string) (verification.TenantID, string, error) {
		b, err := signed.Verify(raw, clock.Now())
		return b.Tenant, b.Reviewer, err
	}
}
