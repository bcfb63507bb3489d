// Wires the adapters to the engine.

package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/httpapi"
	"github.com/verifyd/verifyd/adapters/journey"
	"github.com/verifyd/verifyd/adapters/media"
	"github.com/verifyd/verifyd/adapters/pdf"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/adapters/provider/offline"
	"github.com/verifyd/verifyd/adapters/provider/rest"
	"github.com/verifyd/verifyd/adapters/provider/sandbox"
	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/adapters/webhook"
	boot "github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/operator"
	"github.com/verifyd/verifyd/hosts/verifyd/internal/demovendor"
	"github.com/verifyd/verifyd/hosts/verifyd/internal/traces"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
)

// hostClock is a clock with a Sleep method, for the sandbox.
type hostClock interface {
	verification.Clock
	Sleep(ctx context.Context, d time.Duration) error
}

type host struct {
	settings   Settings
	log        *slog.Logger
	level      slog.LevelVar // of the log
	storage    *storage
	keys       *token.Keys // that sign and verify
	documents  verification.DocumentStore
	engine     *engine.Engine
	lists      *screening.Lists
	accepted   *acceptances         // of the lists; nil for a host that keeps nothing
	membership *postgres.Membership // nil for a host that shares no database or is no worker
	api        listener             // without a listener if the host does not have the role api, or is mounted
	clients    *connections         // of the API; nil without a listener
	mounted    *mounted             // the API on the server of a program; nil on a server of its own
	admin      listener
	health     *health
	build      cli.Build
	me         postgres.Host          // this host, as the database lists it: see described
	applied    atomic.Pointer[string] // the hash of the bootstrap file; nil before it is applied
	opened     opened
	env        *environment
	facts      func(context.Context) cli.HostFacts
	skew       prometheus.Gauge // of the clock; nil for a manual clock and without a database
	names      boot.Names       // of the bootstrap file; empty without one
	operators  *operator.Held   // the data folder as operators see it; nil without one
	demo       *demo            // nil unless the host serves the demo
	vendor     listener         // of the demo; without a listener unless the host serves it
	erased     atomic.Int64     // runs that could not be erased again after the store was restored
	ledger     ledgerState
	metrics    *metrics
	traces     *traces.Traces            // nil for none
	now        func() time.Time          // of the clock of the engine
	manual     *manualWork               // nil for the clock of the system
	unretained atomic.Pointer[time.Time] // since when something is due that retention has not reached; nil or zero for nothing
	stopping   chan struct{}             // closed when requests are no longer accepted: streams end then
	closing    []func()
}

type listener struct {
	net.Listener
	handler http.Handler
}

// url returns the URL of the listener, or "none".
func (l listener) url() string {
	if l.Listener == nil {
		return "none"
	}
	return "http://" + l.Addr().String()
}

// opened holds the files and folders that the settings name.
type opened struct {
	printer   pdf.Printer
	documents verification.DocumentStore
	ledger    verification.ErasureLedger // nil for none
	keys      *token.Keys                // from the key file; nil without one
	searchKey []byte                     // nil for none
	demo      *demo                      // nil unless the host serves the demo
	bootstrap *definitions.Bootstrap     // nil only for a database without a bootstrap file
	providers boot.Providers
	warnings  []string
}

// open opens the addresses, files and folders that the settings name. Its error has the
// problems of all of them; then it leaves no new data folder.
func (h *host) open(ctx context.Context, env *environment, added additions, clk hostClock) (o opened, _ error) {
	var p problems
	var err error
	s := h.settings
	if s.has(roleAPI) && !added.mounted {
		h.api.Listener, err = listen(ctx, "addr", s.Addr)
		p.wrap("addr", err)
	}
	h.admin.Listener, err = listen(ctx, "admin-addr", s.AdminAddr)
	p.wrap("admin-addr", err)
	o.printer, err = pdf.New(pdf.Options{FontDir: s.FontDir, InstalledFonts: true, Log: h.log, Clock: clock.System{}, CacheBytes: cacheMemory(16 << 20)})
	if err != nil {
		p.add("font-dir", "%s: %w", s.FontDir, err)
	}
	added.checkDocuments(s, &p)
	if folder := s.folder(); folder != "" {
		made, warning, err := folder.Create()
		if made {
			defer func() {
				if p.err() != nil {
					folder.Discard()
				}
			}()
		}
		p.wrap("data-dir", advise(folder, err))
		if p.of["addr"] || p.of["admin-addr"] { // perhaps by a host that has the folder
			p.wrap("data-dir", advise(folder, journal.Held(folder.Journal())))
		}
		if warning != "" {
			o.warnings = append(o.warnings, warning)
		}
	}
	if o.documents = added.documents; o.documents == nil && !p.of["data-dir"] {
		o.documents = o.openDocuments(s, &p)
	} else if folder := s.folder(); folder != "" {
		o.ledger = blob.LedgerFile(folder.Erasures())
	} else if l, ok := added.documents.(verification.ErasureLedger); ok {
		o.ledger = l
	}
	if o.ledger == nil && !s.Memory && s.S3Endpoint == "" {
		o.warnings = append(o.warnings, "no ledger of erasures: a database that is restored from a backup has again what was redacted since; set VERIFYD_BLOB_DIR or VERIFYD_S3_ENDPOINT")
	}
	if s.SigningKeyFile != "" {
		o.keys, err = cli.ReadKeys(s.SigningKeyFile)
		p.wrap("signing-key-file", err)
	}
	if s.LogLevelFile != "" {
		level, err := readLogLevel(s.LogLevelFile)
		p.wrap("log-level-file", err)
		h.level.Set(level)
	}
	o.searchKey = s.readSearchKey(&p)
	if s.isDemo() {
		h.vendor.Listener, err = listen(ctx, "addr", "127.0.0.1:0")
		if err != nil {
			return o, fmt.Errorf("listen for the vendor of the demo: %w", err)
		}
		o.demo = &demo{vendorAddr: h.vendor.Addr().String(), token: rand.Text(), hook: rand.Text()}
		h.demo, h.vendor.handler = o.demo, &demovendor.Vendor{Token: o.demo.token, Hook: o.demo.hook, Clock: clk, Log: h.log}
	}
	o.bootstrap = o.readBootstrap(ctx, s, env, &p)
	o.makeProviders(s, env, added, clk, &p)
	return o, p.err()
}

// wire builds the host. It opens the addresses first, because the links contain
// them, then the store, and applies the bootstrap file or the demo. It returns
// the warnings even if err is not nil.
func wire(ctx context.Context, s Settings, env *environment, added additions, stderr io.Writer) (_ *host, warnings []string, err error) {
	h := &host{settings: s, build: cli.ReadBuild(), stopping: make(chan struct{})}
	h.log = newLog(s, &h.level, stderr)
	h.openTraces(ctx, env)
	defer func() {
		if err != nil {
			h.abandon()
			err = cmp.Or(h.storage.failure(), err)
		}
	}()
	h.me = h.self(time.Now())
	limitMemory(memlimit.FromCgroup, h.log)
	clk, manual := newClock(s)
	o, err := h.open(ctx, env, added, clk)
	if err != nil {
		return nil, o.warnings, err
	}
	h.me.Address = strings.TrimPrefix(cmp.Or(h.api, h.admin).url(), "http://")
	if s.PublicURL == "" {
		s.PublicURL = h.api.url()
	}
	if h.storage, err = openStorage(ctx, s, h.log); err != nil {
		return nil, o.warnings, err
	}
	h.storage.traces = h.traces
	h.closing = append(h.closing, h.storage.close)
	if db := h.storage.database; db != nil { // before it uses the database, so that no operator raises the level meanwhile
		h.closing = append(h.closing, func() { h.leave(db) })
		if err = db.SaveHost(ctx, h.described()); err != nil {
			return nil, o.warnings, cli.DatabaseError(err)
		}
	}
	if h.storage.folder != nil {
		if err = h.storage.folder.checkTenants(ctx, h.demo != nil, *o.bootstrap); err != nil {
			return nil, o.warnings, err
		}
	}
	h.health = &health{ping: h.storage.ping, silent: "the database does not answer", build: h.build, log: h.log}
	if h.storage.folder != nil {
		h.health.silent = "the disk does not answer"
	}
	keys := o.keys
	if keys == nil {
		if keys, err = h.storage.signingKeys(ctx); err != nil {
			return nil, o.warnings, err
		}
	}
	if o.searchKey == nil {
		if o.searchKey, err = h.storage.searchKey(ctx); err != nil {
			return nil, o.warnings, err
		}
	}
	h.keys, h.documents = keys, o.documents
	if added.documents == nil {
		shareDocuments(o.documents, h.tenantShare())
	}
	has, lacks := o.printer.Scripts()
	h.log.Info("fonts of reports", "scripts", has, "without", lacks)
	m := newMetrics(h.build)
	h.metrics = m
	if l, ok := stderr.(*lines); ok {
		m.registry.MustRegister(l.counter())
	}
	if c := h.storage.capacity; c != nil {
		m.registry.MustRegister(capacityGauges(c))
	}
	if h.api.Listener != nil {
		h.clients = newConnections(h.api.Listener, connectionLimit(s), h.log)
		h.clients.register(m.registry)
		h.api.Listener = h.clients
	}
	h.admin.Listener = newConnections(h.admin.Listener, adminConnections, h.log)
	m.registry.MustRegister(spaceGauges(h.disks()))
	if h.storage.database != nil {
		m.registry.MustRegister(databaseGauges(h.storage.database, clk.Now))
		if manual == nil {
			m.registry.MustRegister(m.skew)
			h.skew = m.skew
		}
	}
	h.operators = h.hold()
	h.accepted = h.acceptances()
	if h.lists, err = h.openLists(ctx, o.bootstrap, m); err != nil {
		return nil, o.warnings, err
	}
	o.providers.All[screening.ProviderName] = screening.NewProvider(h.lists, clk.Now)
	o.providers.All[screening.NameMatchName] = screening.NewNameMatch()
	links := token.NewLinks(keys)
	notifier, err := webhook.New(webhook.Options{
		Secrets: secrets(store.Tables{RowStore: h.storage}), Now: clk.Now, AllowPrivateNetworks: s.AllowPrivate,
	})
	if err != nil {
		return nil, o.warnings, err
	}
	if h.traces != nil {
		notifier = h.traces.Notifier(notifier)
	}
	h.engine, err = engine.New(engine.Ports{
		Store:     h.storage,
		Providers: o.providers.All, TenantProviders: o.providers.Tenant,
		Expressions: expression.New(),
		Links:       links,
		Callbacks:   links,
		Clock:       clk,
		NewID:       newID,
		Printer:     o.printer,
		Notifier:    notifier,
		Documents:   o.documents, Sanitize: media.Sanitize,
		Removals: h.storage.removals(), Ledger: o.ledger,
	}, options(s, h.storage, o.searchKey, h.log, m, h.traces))
	if err != nil {
		return nil, o.warnings, err
	}
	forget := func() {
		h.log.Warn("a standby of the database was promoted: runs in memory are dropped, and the ledger of erasures is applied again")
		h.engine.ForgetRuns()
	}
	h.storage.forget.Store(&forget)
	search, err := h.useSearchKey(ctx, o.searchKey)
	if err != nil {
		return nil, o.warnings, err
	}
	if err = h.applyErasures(ctx); err != nil {
		return nil, o.warnings, err
	}
	if err = h.noteKilled(ctx, clk.Now()); err != nil {
		return nil, o.warnings, err
	}
	h.opened, h.env = o, env
	h.facts = h.describe(s, o, search)
	h.now = clk.Now
	m.registry.MustRegister(queueGauges(h.engine), redactionGauges(h.engine, clk.Now), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "verifyd_retention_late_seconds", Help: "How long something is due that retention has not reached; 0 if nothing is.",
	}, func() float64 { return h.retentionLate().Seconds() }), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "verifyd_search_unkeyed_workflows", Help: "Workflows with runs whose search keys this host found in an earlier form, and has not made anew yet.",
	}, func() float64 { return float64(h.engine.UnkeyedWorkflows()) }))
	m.registry.MustRegister(h.ledgerGauges()...)
	if h.storage.keeps() {
		m.registry.MustRegister(backupGauge(h.storage, h.operators))
	}
	if len(h.lists.Names()) > 0 {
		m.registry.MustRegister(rescreenGauges(h.engine, clk.Now), listGauges(h.lists))
	}
	if h.membership, err = h.storage.join(s, h.engine, clk.Now, m.maintenanceFailed.Inc, h.log); err != nil {
		return nil, o.warnings, err
	}
	if o.bootstrap != nil {
		if _, err = h.apply(ctx, *o.bootstrap, o.providers); err != nil {
			return nil, o.warnings, err
		}
		h.names = boot.NamesOf(*o.bootstrap, o.providers)
	}
	if h.accepted != nil {
		h.accepted.save(ctx, h.log)
	}
	pages, err := journey.Handler(h.engine, h.log)
	if err != nil {
		return nil, o.warnings, err
	}
	r, err := newReviewers(s, keys, clk.Now, h.signOuts(), h.log)
	if err != nil {
		return nil, o.warnings, err
	}
	h.closing = append(h.closing, r.close)
	mounts := map[string]http.Handler{"/journey": pages}
	if s.has(roleAPI) {
		if mounts[cli.ConsolePath], err = r.console(h.engine, h.storage, h.documents, s, h.log, h.stopping); err != nil {
			return nil, o.warnings, err
		}
	}
	if h.demo != nil {
		h.demo.link = r.demoLink(s, o.bootstrap)
		if s.OIDCClientID == "" { // reviewers have no other way to sign in
			mounts[cli.ConsolePath] = h.demo.withLinks(mounts[cli.ConsolePath], stderr)
		}
	}
	apiOptions := httpapi.Options{
		Log: h.log, Clock: clock.System{}, RateLimit: s.RateLimit, Observe: m.request,
		Bearers: r.bearer, Signer: token.NewReports(keys),
		Mounts: mounts, CacheBytes: cacheMemory(16 << 20),
	}
	if h.traces != nil {
		apiOptions.Trace = h.traces.Request
	}
	h.api.handler = httpapi.New(h.engine, apiOptions)
	if added.mounted {
		h.mounted = newMounted(h.api.handler)
	}
	if manual != nil {
		h.manual = &manualWork{host: h, clock: manual}
	}
	h.admin.handler = adminHandler(h.health, m, h.manual)
	if err = h.serveOperators(ctx); err != nil {
		return nil, o.warnings, err
	}
	return h, o.warnings, nil
}

// makeProviders makes the built-in providers and the providers of the bootstrap file, and
// adds the providers of the program.
func (o *opened) makeProviders(s Settings, env *environment, added additions, clk hostClock, p *problems) {
	secret, err := cli.Secrets(env.get, s.SecretsDir)
	if err != nil {
		p.wrap("secrets-dir", err)
		return
	}
	if o.demo != nil {
		secret = o.demo.secret
	}
	var file definitions.Bootstrap
	if o.bootstrap != nil {
		file = *o.bootstrap
	}
	// The second sandbox is for demonstrating a fallback.
	builtIn := offline.Checks()
	builtIn["sandbox"], builtIn["sandbox_2"] = sandbox.New(clk.Sleep), sandbox.New(clk.Sleep)
	added.addTo(builtIn, p)
	o.providers, err = boot.MakeProviders(file, builtIn, rest.Options{
		Expressions: expression.New(), Secret: secret, Documents: o.documents, Now: clk.Now,
		AllowPrivateNetworks: s.AllowPrivate || o.demo != nil, // the vendor of the demo is on this machine
	})
	p.other(err)
}

// abandon closes a host that cannot start, and its listeners.
func (h *host) abandon() {
	h.close()
	for _, l := range []listener{h.api, h.admin, h.vendor} {
		if l.Listener != nil {
			_ = l.Close() // no connection was accepted
		}
	}
}

// close closes everything that the host has opened, except its listeners.
func (h *host) close() {
	for _, done := range slices.Backward(h.closing) {
		done()
	}
}

func options(s Settings, store *storage, searchKey []byte, log *slog.Logger, m *metrics, t *traces.Traces) engine.Options {
	o := engine.Options{
		PublicURL: strings.TrimSuffix(s.PublicURL, "/"), StartWait: cmp.Or(s.StartWait, -1), // 0 means no wait here
		ProviderWait: cmp.Or(s.ProviderWait, -1), Workers: s.Workers, Calls: s.Calls, Log: log, Observer: m, Passive: !s.has(roleWorker),
		SearchKey: searchKey, KeepDeliveries: s.KeepDeliveries, KeepMeasures: s.KeepMeasures, KeepAudit: s.KeepAudit, KeepAuditReads: s.KeepAuditReads,
		RetentionGrace: cmp.Or(s.RetentionGrace, -1), CacheBytes: cacheMemory(64 << 20),
	}
	if t != nil {
		o.Trace = t.Engine
	}
	if store.shared(s) {
		o.QueueInterval = poll
	}
	return o
}

func listen(ctx context.Context, flag, addr string) (net.Listener, error) {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use: set %s to another address; 127.0.0.1:0 picks a free port", addr, cli.Variable(flag))
	}
	return l, err
}

// openTraces begins the traces that the environment asks for. A host whose traces cannot be exported serves without them.
func (h *host) openTraces(ctx context.Context, env *environment) {
	var err error
	if h.traces, err = traces.Open(ctx, env.get, h.build.Version, h.log); err != nil {
		h.log.Warn("no traces", "error", err)
	}
	if h.traces != nil {
		h.log = traces.Log(h.log)
		h.closing = append(h.closing, h.traces.Close)
	}
}

func newClock(s Settings) (c hostClock, manual *clock.Manual) {
	if s.Clock == "manual" {
		manual = clock.NewManual(time.Now().UTC().Truncate(time.Second))
		return manual, manual
	}
	return clock.System{}, nil
}

// newID returns a UUID that sorts by its creation time.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// secrets returns a function that returns the webhook secrets of a tenant, the
// newest first.
func secrets(tenants store.Tables) func(context.Context, verification.TenantID) ([]string, error) {
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
