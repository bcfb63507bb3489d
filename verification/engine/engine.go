// Package engine carries out the rules of package verification: it loads
// histories, decides, appends, and drives runs as far as they can go.
//
// [Engine] is one concrete type whose methods are the use cases of the
// service. An embedder fills [Ports], calls [New], and keeps [Engine.Serve]
// running; everything else is method calls. Errors that a client may be told
// are *verification.Error; anything else is a fault.
package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/fair"
)

// Ports are what the engine needs from outside. All but Printer, Notifier,
// Deliveries and Documents are required.
type Ports struct {
	Runs        verification.RunStore
	Queue       verification.WorkQueue
	Workflows   verification.WorkflowStore
	Tenants     verification.TenantStore
	Idempotency verification.IdempotencyStore
	// Providers by the name that definitions call them by.
	Providers   map[string]verification.Provider
	Expressions verification.ExpressionCompiler
	Links       verification.LinkSigner
	Clock       verification.Clock
	NewID       verification.NewID
	// Printer prints reports; without one, PrintReport is ErrUnavailable.
	Printer verification.ReportPrinter
	// Notifier tells clients that runs are over; without one, nobody is told.
	Notifier verification.Notifier
	// Deliveries is the ledger of what clients were told; without one, none
	// is kept, and Deliveries is ErrUnavailable.
	Deliveries verification.DeliveryStore
	// Documents stores what customers upload; without it, nothing can be
	// uploaded. Sanitize is required with it.
	Documents verification.DocumentStore
	// Sanitize checks and cleans an upload before it is stored.
	Sanitize verification.Sanitizer
}

// Options have defaults that suit a small host.
type Options struct {
	// PublicURL is the base of journey links, without a slash at its end.
	PublicURL string
	// StartWait is how long a start of an interactive workflow waits for the
	// run to park or end. 0 means 2 s; negative means not at all.
	StartWait time.Duration
	// Workers bounds the runs that are worked on at once; 0 means 16. A run holds
	// no worker while a provider is called.
	Workers int
	// Calls bounds the provider calls in flight on this host; 0 means 1024. One
	// provider takes up at most half of them, one tenant at most a quarter, and a
	// quarter of those of each provider. A large run counts as several calls.
	Calls int
	// Passive says that this engine drives nothing: it carries out use cases, and
	// other hosts on the same store do what follows from them.
	Passive bool
	// Lease is how long a run that is being driven is kept from other hosts
	// after each append; 0 means 20 s. It must be longer than the Notifier's
	// longest try, or a notice is sent twice.
	Lease time.Duration
	// Poll is for hosts that share one store: how long each waits at most before
	// it looks into the queue for what another has left. Deadlines are then
	// written down only when Sweep is called. 0 means that the engine is alone on
	// its store, and knows of everything by its own appends.
	Poll time.Duration
	// CacheBytes bounds the folded runs kept in memory, in bytes; 0 means 64 MiB.
	CacheBytes int
	// Log takes what operators need to know; nil drops it.
	Log *slog.Logger
	// Observer is told what happens, for metrics; nil tells nobody.
	Observer Observer
}

// Observer is told what happens, for metrics. Its methods must not block.
type Observer interface {
	// RunStarted counts a start.
	RunStarted()
	// RunEnded counts a run that reached a terminal status.
	RunEnded(s verification.Status)
	// ProviderCalled measures one call; outcome is passed, failed, pending or
	// error.
	ProviderCalled(provider, outcome string, took time.Duration)
	// NoticeSent counts an attempt to send a notice; outcome is delivered,
	// retried, dropped, or deferred when the receiver is paused or busy.
	NoticeSent(outcome string)
	// RunPoisoned counts a run that was ended because the hosts that drove it
	// kept stopping before they saved anything.
	RunPoisoned()
}

// Engine runs verification journeys. Make one with New; it is safe for
// concurrent use. Its methods are the use cases; what takes time, or goes on
// after a method has returned, is the runner's.
type Engine struct {
	ports    Ports
	opt      Options
	log      *slog.Logger
	activity activity

	programs  *cache[programKey, verification.Program]
	runs      *cache[verification.RunRef, verification.Run]
	strangers strangers
	watch     *watchers
	heavy     *fair.Limiter                     // slots for work on large runs, and for decisions that may take long
	large     *cache[verification.RunRef, bool] // the runs that were found to be large

	runner   *runner // nil for an engine that drives nothing
	external bool    // it works inside a transaction of its caller
	begun    sync.Once
	serving  chan struct{}
}

// The bounds of the caches, and of decisions that may take long.
const (
	maxPrograms  = 64 << 20 // bytes
	maxProgram   = 32 << 20 // bytes of one
	maxCachedRun = 64 << 10 // bytes; a larger run is read every time
	heavyRun     = 64 << 10 // bytes; expressions over a smaller run take little time and memory
	maxHeavy     = 2        // at once, one of a tenant
	heavyRests   = 3        // so a tenant has a quarter of a processor for them
	maxLarge     = 10_000   // runs that are known to be large
)

// New makes an engine, or says which required port is missing.
func New(p Ports, o Options) (*Engine, error) {
	required := map[string]bool{
		"Runs": p.Runs == nil, "Queue": p.Queue == nil, "Workflows": p.Workflows == nil,
		"Tenants": p.Tenants == nil, "Idempotency": p.Idempotency == nil, "Expressions": p.Expressions == nil,
		"Links": p.Links == nil, "Clock": p.Clock == nil, "NewID": p.NewID == nil,
		"Sanitize": p.Documents != nil && p.Sanitize == nil,
	}
	for _, name := range []string{"Runs", "Queue", "Workflows", "Tenants", "Idempotency", "Expressions", "Links", "Clock", "NewID", "Sanitize"} {
		if required[name] {
			return nil, errors.New("engine: the port " + name + " is required")
		}
	}
	defaults(&o)
	e := &Engine{
		ports: p, opt: o, log: o.Log, activity: activityOf(p.Clock),
		programs:  newCache[programKey](maxPrograms, maxProgram, verification.Program.Size),
		runs:      newRunCache(o.CacheBytes),
		strangers: newStrangers(),
		watch:     &watchers{},
		serving:   make(chan struct{}),
		heavy:     fair.NewLimiter(maxHeavy, 1),
		large:     newCache[verification.RunRef](maxLarge, 1, func(bool) int { return 1 }),
	}
	e.heavy.Rest(heavyRests, 0, p.Clock)
	if !o.Passive {
		e.runner = newRunner(e)
	}
	return e, nil
}

func newRunCache(bytes int) *cache[verification.RunRef, verification.Run] {
	return newCache[verification.RunRef](bytes, maxCachedRun, verification.Run.Size)
}

// Serve carries out queued work until ctx ends: it drives runs that are due,
// writes down deadlines that have passed, and sends notices. Runs that change on
// this host are driven without it, but nothing that waits is.
func (e *Engine) Serve(ctx context.Context) {
	begun := func() { e.begun.Do(func() { close(e.serving) }) }
	if e.runner == nil {
		begun()
		<-ctx.Done()
		return
	}
	e.runner.serve(ctx, begun)
}

// Serving is closed once Serve has begun.
func (e *Engine) Serving() <-chan struct{} { return e.serving }

// Close lets the steps that are under way end, calls of providers and notices
// included, or ctx if that is sooner, and hands over what is left. The engine
// starts nothing after it.
func (e *Engine) Close(ctx context.Context) error { return e.runner.close(ctx) }

// Wake has the queue looked at now, because another host may have left something
// in it. It reports whether this host takes work.
func (e *Engine) Wake() bool {
	if e.runner == nil || e.runner.isClosing() {
		return false
	}
	e.runner.nudge(e.now())
	return true
}

// Sweep writes down the deadlines that have passed and notifies the clients. It
// is for hosts that share a store, see Options.Poll; one at a time is enough.
func (e *Engine) Sweep(ctx context.Context) error {
	_, err := e.sweep(ctx, e.now())
	return err
}

func defaults(o *Options) {
	if o.StartWait == 0 {
		o.StartWait = 2 * time.Second
	}
	if o.Workers == 0 {
		o.Workers = 16
	}
	if o.Lease == 0 {
		o.Lease = 20 * time.Second
	}
	if o.Calls == 0 {
		o.Calls = 1024
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = 64 << 20
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Observer == nil {
		o.Observer = noop{}
	}
}

// now is the present time as histories keep it: UTC, to the microsecond.
func (e *Engine) now() time.Time { return e.ports.Clock.Now().UTC().Truncate(time.Microsecond) }

// activity is what a clock offers that is advanced by hand: it goes on only when
// nothing is under way between Enter and Leave.
type activity interface {
	Enter()
	Leave()
}

func activityOf(c verification.Clock) activity {
	if a, ok := c.(activity); ok {
		return a
	}
	return noop{}
}

// noop observes nothing.
type noop struct{}

func (noop) Enter()                                       {}
func (noop) Leave()                                       {}
func (noop) RunStarted()                                  {}
func (noop) RunEnded(verification.Status)                 {}
func (noop) ProviderCalled(string, string, time.Duration) {}
func (noop) NoticeSent(string)                            {}
func (noop) RunPoisoned()                                 {}
