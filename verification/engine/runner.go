// The runner carries out the work that use cases queue: it drives runs, calls
// providers, sends notices, records expiries and renews leases.

package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/verifyd/verifyd/internal/fair"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// The limits of a runner that are not options.
const (
	jobsPerWorker   = 64  // runs in memory for each worker
	maxNotices      = 256 // notices being sent at once
	tenantNotices   = 32  // of one tenant to one receiver; no more are taken of a tenant with as many in all
	receiverNotices = 48  // to one receiver
	maxExpiries     = 64  // expiries being recorded at once
	tenantExpiries  = 16  // of one tenant
	// tenantShare divides a limit into the part that one tenant may use.
	tenantShare = 4
	// providerShare divides the calls into the part that one provider may use.
	providerShare = 2
)

// runner owns the goroutines, timers and leases of an engine. An engine that drives
// no runs has a nil runner: its work stays in the queue for other hosts.
type runner struct {
	e     *Engine
	clock verification.ActivityTracker

	workers   *fair.Limiter // held while the engine works on a run
	calls     *fair.Limiter // held while a provider is called
	providers map[providerKey]providerSlots

	base context.Context // ends when Close stops waiting
	halt context.CancelFunc
	loop loop

	mu          sync.Mutex
	jobs        map[verification.RunRef]*job
	advances    intake
	notices     intake
	expiries    intake
	receivers   receivers
	rescreening rescreening
	left        leftRuns
	handover    []verification.RunRef // to be released to other hosts
	active      int                   // jobs and notices that have a goroutine
	rounds      int                   // of the loop, under way
	closing     bool
	idle        *sync.Cond // signaled when a goroutine or a round ends
}

func newRunner(e *Engine) *runner {
	o := e.opt
	jobs := o.Workers*jobsPerWorker + o.Calls
	r := &runner{
		e: e, clock: e.activity,
		workers:     fair.NewLimiter(o.Workers, max(1, o.Workers*3/4)),
		calls:       fair.NewLimiter(o.Calls, max(1, o.Calls/tenantShare)),
		providers:   map[providerKey]providerSlots{},
		jobs:        map[verification.RunRef]*job{},
		advances:    newIntake(store.WorkAdvance, jobs, max(1, jobs/tenantShare)),
		notices:     newIntake(store.WorkAnnounce, maxNotices, tenantNotices),
		expiries:    newIntake(store.WorkExpire, maxExpiries, tenantExpiries),
		receivers:   receivers{},
		left:        leftRuns{},
		rescreening: newRescreening(e.ports.Providers),
	}
	r.calls.OnWait(r.clock.Leave, r.clock.Enter)
	for name, p := range e.ports.Providers {
		r.addProvider(providerKey{name: name}, p)
	}
	for t, own := range e.ports.TenantProviders {
		for name, p := range own {
			r.addProvider(providerKey{t, name}, p)
		}
	}
	r.idle = sync.NewCond(&r.mu)
	r.base, r.halt = context.WithCancel(context.Background())
	return r
}

// begin counts a goroutine that starts; end must follow. The caller holds the lock.
func (r *runner) begin() {
	r.active++
	r.clock.Enter()
}

// end counts a goroutine that ends. The caller holds the lock.
func (r *runner) end() {
	r.active--
	r.clock.Leave()
	r.idle.Broadcast()
}

// close waits until all goroutines have ended, or cancels them when ctx ends first,
// and releases the remaining runs and the lists to other hosts.
func (r *runner) close(ctx context.Context) error {
	if r == nil {
		return nil
	}
	stop := context.AfterFunc(ctx, func() {
		r.halt()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.idle.Broadcast()
	})
	defer stop()
	r.mu.Lock()
	r.closing = true
	for _, j := range r.jobs {
		if j.queued {
			j.cancel() // this host will not make the call
		}
	}
	for (r.active > 0 || r.rounds > 0) && ctx.Err() == nil {
		r.idle.Wait()
	}
	remaining := slices.AppendSeq(slices.Clone(r.handover), maps.Keys(r.jobs)) // a call that ends now appends to handover
	screening := r.rescreening.busy
	r.mu.Unlock()
	r.halt()
	ctx = context.WithoutCancel(ctx)
	var err error
	if len(remaining) > 0 {
		work := make([]store.Work, len(remaining))
		for i, ref := range remaining {
			work[i] = store.Work{Kind: store.WorkAdvance, RunRef: ref}
		}
		err = r.e.ports.Store.Release(ctx, work, r.e.now())
	}
	if err == nil && !screening {
		r.releaseLists(ctx)
	}
	return err
}

// isClosing reports whether the host is stopping.
func (r *runner) isClosing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closing
}

// maxKeptWait is the longest wait that does not wake other hosts.
const maxKeptWait = 5 * time.Second

// keeps returns Kept if this host itself carries out work that is due at a time.
func (r *runner) keeps(at, now time.Time) store.Hold {
	if r != nil && at.Sub(now) <= maxKeptWait && r.loop.isServing() {
		return store.Kept
	}
	return store.NotHeld
}

// appended reacts to an append: it wakes the loop for the work that was queued.
func (r *runner) appended(c store.Commit) {
	for _, at := range c.Work {
		r.nudge(at)
	}
}

// errHandOver stops the driving of a run that another host will continue.
var errHandOver = errors.New("the host stops")
