// Package engine carries out the rules of package verification: it loads
// histories, decides commands, appends events, and drives runs.
//
// The methods of [Engine] are the use cases of the service. An embedder fills
// [Ports], calls [New], and runs [Engine.Serve] in a goroutine. An error that may be
// shown to a client is a *verification.Error; any other error is internal.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/verifyd/verifyd/internal/fair"
	"github.com/verifyd/verifyd/internal/lru"
	"github.com/verifyd/verifyd/internal/uploadrate"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine/internal/runner"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Ports are what the engine needs from outside. Store, Expressions, Links, Clock and NewID
// are required.
type Ports struct {
	Store store.Store
	// Providers are the providers of all tenants, by the names that definitions use. Without
	// any, no workflow can have a check, unless the tenant has providers of its own.
	Providers map[string]verification.Provider
	// TenantProviders are providers that belong to one tenant each. They come before those
	// of Providers with the same name; other tenants do not see them.
	TenantProviders map[verification.TenantID]map[string]verification.Provider
	Expressions     workflow.ExpressionCompiler
	Links           verification.LinkSigner
	// Callbacks signs the callback URLs of dispatches; without it, they are empty, and
	// ReceiveCallback returns ErrNotFound.
	Callbacks verification.CallbackSigner
	// Clock may also be a verification.ActivityTracker.
	Clock verification.Clock
	NewID verification.NewID
	// Printer prints reports; without one, PrintReport returns ErrUnavailable.
	Printer report.Printer
	// Notifier notifies clients that runs are over; without one, no notice is sent.
	Notifier rules.Notifier
	// Documents stores what customers upload; without it, uploads fail with ErrUnavailable.
	// It requires Sanitize.
	Documents verification.DocumentStore
	// Sanitize checks and cleans an upload before it is stored.
	Sanitize verification.Sanitizer
	// Removals says when Store keeps nothing any more of what was removed; nil if it never does.
	Removals store.Removals
	// Ledger keeps which runs were redacted or deleted, apart from the store; without it, a store that is restored
	// from a backup has again what was removed since.
	Ledger verification.ErasureLedger
}

// Options have defaults that suit a small host.
type Options struct {
	// PublicURL is the base of journey links and callback URLs, without a trailing
	// slash.
	PublicURL string
	// StartWait is how long a start of an interactive workflow waits for the run to park
	// or end, and AnswerJourney after an answer. 0 means 2 s; a negative value means no
	// wait.
	StartWait time.Duration
	// Workers bounds the runs of up to 64 KiB that are driven at once; 0 means 16. Two larger
	// ones may be driven beside them. A run holds no worker while a provider is called.
	Workers int
	// Calls bounds the provider calls in flight on this host; 0 means 1024. At most half of
	// them are to one provider, and no more than MaxCalls to a CallLimiter. One tenant may
	// use a quarter of the calls, and a quarter of those to a provider of Ports.Providers
	// (three quarters if it is a CallLimiter), at least one. A run counts as one more call
	// for each 128 KiB of its size.
	Calls int
	// Passive makes an engine that drives no runs and sends no notices: other hosts
	// on the same store do.
	Passive bool
	// Lease is how long work that this host has taken is kept from other hosts; 0 means
	// 20 s. The host renews the lease of a run that it drives. It must be longer than the
	// longest attempt of the Notifier, or a notice is sent twice.
	Lease time.Duration
	// QueueInterval is the longest time between two queries of the queue on hosts that share
	// a store. 0 means that no other host uses the store.
	QueueInterval time.Duration
	// ProviderWait is how long a run waits for a host that has what its next check needs,
	// such as its provider or list, once a host without it has come to the check; 0 means
	// 1 h, a negative value no wait. Such a host leaves the run to other hosts meanwhile.
	// After the time, the check is unavailable.
	ProviderWait time.Duration
	// CacheBytes bounds the folded runs kept in memory, in bytes; 0 means 64 MiB. A run that nobody uses is
	// dropped within ten minutes.
	CacheBytes int
	// SearchKey is the key of the hashes by which runs are found: at least 32 bytes, the same on
	// all hosts that share a store. With another key, earlier runs are not found. nil means that
	// no run is found by its words.
	SearchKey []byte
	// KeepDeliveries, KeepMeasures, KeepAudit and KeepAuditReads are how long Retain keeps the deliveries of notices, the
	// measures of a day, audit entries, and those of store.AuditReads; 0 means for good.
	KeepDeliveries, KeepMeasures, KeepAudit, KeepAuditReads time.Duration
	// RetentionGrace is how long after a change of the policy that counts for a workflow nothing is removed that the
	// policy before keeps, up to 30 days; 0 means 24 h, a negative value no grace. It must be the same on all
	// hosts that share a store.
	RetentionGrace time.Duration
	// Log receives messages for operators; nil discards them.
	Log *slog.Logger
	// Observer receives events for metrics; nil discards them.
	Observer Observer
	// Trace begins a span, and returns the context for what belongs to it, and a function that ends it with
	// the outcome of a call; that of an activation is empty. nil traces nothing. Neither function must block.
	Trace func(ctx context.Context, s Span) (context.Context, func(outcome string))
}

// Observer receives events for metrics. Its methods must not block.
type Observer interface { //nolint:interfacebloat // one method for each metric
	// Counted has the measures of an append: starts, ends, verdicts, transitions and
	// results, as Numbers adds them up. It has no MeasureVerdictBy, which names people.
	Counted(found []store.Measure)
	// ProviderCalled measures one call; outcome is passed, failed, pending or
	// error.
	ProviderCalled(provider, outcome string, took time.Duration)
	// NoticeSent counts an attempt to send a notice, by outcome: delivered, retried or
	// dropped. With the outcome deferred it counts a batch of notices that went back to
	// the queue, because the receiver is paused or busy or its URL could not be read.
	NoticeSent(outcome string)
	// RunDrivenAlone counts a run that is driven alone on this host, because its leases ended
	// again and again before anything was saved.
	RunDrivenAlone()
	// RunPoisoned counts a run that was ended because the hosts that drove it alone
	// stopped before they saved anything.
	RunPoisoned()
	// RunLeft counts a run that this host left to other hosts, because it lacks what the
	// next step needs. A run may be left several times.
	RunLeft()
	// RunRescreened counts a completed run that was screened again against a list; outcome
	// is clear, flagged (it has a new hit) or failed.
	RunRescreened(list, outcome string)
	// RunRechecked counts a run with cleared hits whose decisions were looked up again; outcome
	// is clear, flagged (a hit is not cleared any more) or failed.
	RunRechecked(outcome string)
	// RejectionsUnknown counts a run that came to need a verdict while earlier rejections of its
	// person or company could not be looked up.
	RejectionsUnknown()
	// RunRetained counts a run that retention has deleted or redacted, or has looked at and kept; outcome is
	// deleted, redacted, live, held, restricted, verdict_owed, notice_pending or not_due.
	RunRetained(outcome string)
	// ReadsLost counts reads of accounts that were answered and are in the audit trail only as lost.
	ReadsLost(n int)
}

// Engine runs verification workflows. Make one with New; it is safe for concurrent
// use. Its methods are the use cases; work that outlives a call runs in
// goroutines of its own, which Close waits for.
type Engine struct {
	ports    Ports
	store    TxStore // of Ports, or of the caller's transaction
	opt      Options
	log      *slog.Logger
	activity verification.ActivityTracker

	programs    *lru.Cache[programKey, workflow.Program]
	workflows   *lru.Cache[workflowKey, workflow.Workflow]
	runs        runCache
	credentials *fair.Gate[credential, knownAccount]
	watch       *watchers
	lines       *limitedLog
	heavy       *fair.Limiter // slots for expensive work: see admission.go
	loads       *fair.Limiter // slots for reads of runs that are not in the cache
	lanes       *lanes        // of large runs
	zones       *lru.Cache[verification.TenantID, tenantZone]
	erasures    *erasures
	locations   *lru.Cache[string, *time.Location] // by the name of a zone
	uploads     *uploadrate.Rates
	auditing    *auditing

	retaining *retentionTurns

	runner      *runner.Runner // nil for an engine that drives nothing
	rescreening *rescreening   // of the runner
	external    bool           // the engine works inside a transaction of its caller
	begun       func()         // closes serving
	serving     chan struct{}
}

// The bounds of the cache of programs, in bytes.
const (
	maxPrograms = 64 << 20
	maxProgram  = 32 << 20 // of one
)

// New makes an engine, or returns an error that names a missing port.
func New(p Ports, o Options) (*Engine, error) {
	for _, port := range []struct {
		name    string
		missing bool
	}{
		{"Store", p.Store == nil},
		{"Expressions", p.Expressions == nil},
		{"Links", p.Links == nil},
		{"Clock", p.Clock == nil},
		{"NewID", p.NewID == nil},
		{"Sanitize", p.Documents != nil && p.Sanitize == nil},
	} {
		if port.missing {
			return nil, errors.New("engine: the port " + port.name + " is required")
		}
	}
	if o.SearchKey != nil && len(o.SearchKey) < minSearchKey {
		return nil, fmt.Errorf("engine: the option SearchKey has %d bytes, and must have at least %d", len(o.SearchKey), minSearchKey)
	}
	defaults(&o)
	activity, ok := p.Clock.(verification.ActivityTracker)
	if !ok {
		activity = noop{}
	}
	serving, lanes := make(chan struct{}), newLanes()
	e := &Engine{
		ports: p, opt: o, log: o.Log, activity: activity,
		store:       wholeOf(p.Store),
		programs:    lru.New[programKey](maxPrograms, maxProgram, workflow.Program.Size),
		workflows:   newWorkflowCache(),
		runs:        newRunCache(o.CacheBytes, lanes),
		credentials: newCredentialGate(),
		watch:       &watchers{},
		lines:       newLimitedLog(o.Log, p.Clock.Now),
		heavy:       fair.NewLimiter(maxHeavy, 1),
		loads:       fair.NewLimiter(maxLoads, tenantLoads),
		lanes:       lanes,
		zones:       newZones(),
		erasures:    &erasures{of: map[verification.RunRef]erasing{}},
		locations:   lru.New[string](maxLocations, 1, func(*time.Location) int { return 1 }),
		uploads:     uploadrate.New(verification.MaxDocumentBytes),
		retaining:   &retentionTurns{},
		auditing:    newAuditing(),
		begun:       sync.OnceFunc(func() { close(serving) }),
		serving:     serving,
	}
	e.runs.Aging(p.Clock.AfterFunc)
	if _, manual := p.Clock.(verification.ActivityTracker); !manual { // whose time does not measure work
		e.heavy.Rest(heavyRests, 0, p.Clock)
	}
	if !o.Passive {
		e.rescreening = newRescreening(e, p.Providers)
		e.runner = newRunner(e)
	}
	return e, nil
}

// Serve carries out queued work until ctx ends: it drives runs that are due, records
// the expiry of overdue runs, and sends notices. Without
// Serve, only runs that change on this host are driven, until they wait.
func (e *Engine) Serve(ctx context.Context) {
	if e.runner == nil {
		e.begun()
		<-ctx.Done()
		return
	}
	e.runner.Serve(ctx, e.begun)
}

// Serving returns a channel that is closed once Serve has begun.
func (e *Engine) Serving() <-chan struct{} { return e.serving }

// Close starts no more work and waits for the work under way, including provider
// calls and notices. When ctx ends, it cancels that work. It releases all other work
// to other hosts. It also saves how often accounts have read runs.
func (e *Engine) Close(ctx context.Context) error {
	defer e.auditing.close(context.WithoutCancel(ctx), e)
	if e.runner == nil {
		return nil
	}
	idle, err := e.runner.Close(ctx)
	if err == nil && idle {
		e.rescreening.releaseLists(context.WithoutCancel(ctx))
	}
	return err
}

// Wake makes the engine query the queue now, because another host may have
// added work. It reports whether this host takes work at all: false
// if the engine is passive or closing.
func (e *Engine) Wake() bool {
	if e.runner == nil || e.runner.Closing() {
		return false
	}
	e.runner.Wake()
	return true
}

func defaults(o *Options) {
	o.StartWait = cmp.Or(o.StartWait, 2*time.Second)
	o.Workers = cmp.Or(o.Workers, 16)
	o.Lease = cmp.Or(o.Lease, 20*time.Second)
	o.ProviderWait = max(0, cmp.Or(o.ProviderWait, time.Hour))
	if o.RetentionGrace = cmp.Or(o.RetentionGrace, defaultRetentionGrace); o.RetentionGrace < 0 {
		o.RetentionGrace = 0
	}
	o.RetentionGrace = min(o.RetentionGrace, maxRetentionGrace)
	o.Calls = cmp.Or(o.Calls, 1024)
	o.CacheBytes = cmp.Or(o.CacheBytes, 64<<20)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Observer == nil {
		o.Observer = noop{}
	}
}

// now returns the current time as histories keep it: in UTC, to the microsecond.
func (e *Engine) now() time.Time { return e.ports.Clock.Now().UTC().Truncate(time.Microsecond) }

// noop is an Observer and a verification.ActivityTracker without effect.
type noop struct{}

func (noop) Enter()                                       {}
func (noop) Leave()                                       {}
func (noop) Counted([]store.Measure)                      {}
func (noop) ProviderCalled(string, string, time.Duration) {}
func (noop) NoticeSent(string)                            {}
func (noop) RunDrivenAlone()                              {}
func (noop) RunPoisoned()                                 {}
func (noop) RunLeft()                                     {}
func (noop) RunRescreened(string, string)                 {}
func (noop) RunRechecked(string)                          {}
func (noop) RejectionsUnknown()                           {}
func (noop) RunRetained(string)                           {}
func (noop) ReadsLost(int)                                {}
