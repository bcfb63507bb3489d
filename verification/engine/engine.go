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
)

// Ports are what the engine needs from outside. All but Printer, Notifier,
// Deliveries and Documents are required.
type Ports struct {
	Runs      verification.RunStore
	Queue     verification.WorkQueue
	Workflows verification.WorkflowStore
	Tenants   verification.TenantStore
	StartKeys verification.StartKeys
	// Providers by the name that definitions call them by.
	Providers map[string]verification.Provider
	Language  verification.Language
	Links     verification.LinkSigner
	Clock     verification.Clock
	NewID     verification.NewID
	// Printer prints reports; without one, PrintReport is ErrUnavailable.
	Printer verification.ReportPrinter
	// Notifier tells clients that runs are over; without one, nobody is told.
	Notifier verification.Notifier
	// Deliveries is the ledger of what clients were told; without one, none
	// is kept, and Deliveries is ErrUnavailable.
	Deliveries verification.DeliveryStore
	// Documents keeps what customers upload; without it, nothing can be
	// uploaded.
	Documents verification.DocumentStore
}

// Options have defaults that suit a small host.
type Options struct {
	// PublicURL is the base of journey links, without a slash at its end.
	PublicURL string
	// StartWait is how long a start of an interactive workflow waits for the
	// run to park or end. 0 means 2 s; negative means not at all.
	StartWait time.Duration
	// Workers bounds the runs that are driven at once; 0 means 16. Negative
	// means none: other hosts drive them.
	Workers int
	// Lease is how long a run that is being driven is kept from other hosts
	// after each append; 0 means 20 s. It must be longer than the Notifier's
	// longest try, or a notice is sent twice.
	Lease time.Duration
	// Poll is for hosts that share one store: how long each goes at most before
	// it asks the queue for what another has left. Deadlines are then written
	// down only when Sweep is called. 0 means that the engine is alone on its
	// store, and hears of everything by its own appends.
	Poll time.Duration
	// CachedRuns bounds the folded runs kept in memory; 0 means 10,000.
	CachedRuns int
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
	// NoticeSent counts a try of a notice; outcome is delivered, retried or
	// dropped.
	NoticeSent(outcome string)
}

// Engine runs verification journeys. Make one with New; it is safe for
// concurrent use.
type Engine struct {
	ports Ports
	opt   Options
	log   *slog.Logger
	quiet quiet

	programs *cache[programKey, verification.Program]
	runs     *cache[verification.RunRef, verification.Run]

	base context.Context // cancelled when Close gives up waiting
	halt context.CancelFunc

	watch   watchers
	loop    loop
	begun   sync.Once
	serving chan struct{}

	mu         sync.Mutex
	jobs       map[verification.RunRef]*job
	backlog    []*job
	cut        []verification.RunRef // left while the host went down
	running    int                   // jobs that have a worker
	announcing int                   // notices that are being sent
	rounds     int                   // of the loop that are under way
	closing    bool
	starving   bool       // the queue was not asked, for want of room
	idle       *sync.Cond // told whenever a worker is done
}

// New makes an engine, or says which required port is missing.
func New(p Ports, o Options) (*Engine, error) {
	required := map[string]bool{
		"Runs": p.Runs == nil, "Queue": p.Queue == nil, "Workflows": p.Workflows == nil,
		"Tenants": p.Tenants == nil, "StartKeys": p.StartKeys == nil, "Language": p.Language == nil,
		"Links": p.Links == nil, "Clock": p.Clock == nil, "NewID": p.NewID == nil,
	}
	for _, name := range []string{"Runs", "Queue", "Workflows", "Tenants", "StartKeys", "Language", "Links", "Clock", "NewID"} {
		if required[name] {
			return nil, errors.New("engine: the port " + name + " is required")
		}
	}
	defaults(&o)
	e := &Engine{
		ports: p, opt: o, log: o.Log, quiet: quietOf(p.Clock),
		programs: newCache[programKey, verification.Program](1000),
		runs:     newCache[verification.RunRef, verification.Run](o.CachedRuns),
		jobs:     map[verification.RunRef]*job{},
		serving:  make(chan struct{}),
	}
	e.idle = sync.NewCond(&e.mu)
	e.base, e.halt = context.WithCancel(context.Background())
	return e, nil
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
	if o.CachedRuns == 0 {
		o.CachedRuns = 10000
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Observer == nil {
		o.Observer = nobody{}
	}
}

// now is the present moment as histories keep it: UTC, to the microsecond.
func (e *Engine) now() time.Time { return e.ports.Clock.Now().UTC().Truncate(time.Microsecond) }

// quiet is what a clock that is turned by hand offers besides: it goes on only
// when nothing moves any more.
type quiet interface {
	Enter()
	Leave()
}

func quietOf(c verification.Clock) quiet {
	if q, ok := c.(quiet); ok {
		return q
	}
	return nobody{}
}

// nobody observes nothing.
type nobody struct{}

func (nobody) Enter()                                       {}
func (nobody) Leave()                                       {}
func (nobody) RunStarted()                                  {}
func (nobody) RunEnded(verification.Status)                 {}
func (nobody) ProviderCalled(string, string, time.Duration) {}
func (nobody) NoticeSent(string)                            {}
