// Package runner takes due work from the queue and runs it in goroutines, within limits
// that tenants share. It holds the leases of the runs that this host drives. The engine
// knows what the work is: see Handler.
//
// One lock, Runner.mu, guards what goroutines share, and no other package can hold it. A
// method whose name ends in Locked needs the lock; every other method of Runner must be
// called without it. The timer of the loop and each lease have a lock of their own. The
// order is lease, Runner.mu, timer: a goroutine that holds one of them takes none before it.
package runner

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// The limits of a runner that are not in its Config.
const (
	jobsPerWorker   = 64  // runs in memory for each worker
	maxNotices      = 256 // notices being sent at once
	tenantNotices   = 32  // of one tenant to one receiver; no more are taken of a tenant with as many in all
	receiverNotices = 48  // to one receiver
	maxExpiries     = 64  // expiries being recorded at once
	tenantExpiries  = 16  // of one tenant
	maxRechecks     = 8   // runs whose cleared hits are checked again at once
	tenantRechecks  = 2   // of one tenant
	maxErasures     = 8   // runs of which something is being removed beside the store
	tenantErasures  = 4   // of one tenant
	// tenantShare divides a limit into the part that one tenant may use.
	tenantShare = 4
	// providerShare divides the calls into the part that one provider may use.
	providerShare = 2
)

// Handler carries out work. Each of its methods is called in a goroutine that Close waits
// for, without the lock of the runner. The context of a call is Runner.Context.
type Handler interface {
	// Drive drives a run that was taken from the queue, and ends with Runner.Driven.
	Drive(j *Job)
	// Do carries out short work of the kinds expire, recheck and erase. If it returns an error, it is
	// repeated when the lease of the work ends.
	Do(ctx context.Context, w store.Work) error
	// Webhook returns the URL that the notices of a workflow are sent to.
	Webhook(ctx context.Context, t verification.TenantID, id verification.WorkflowID) (string, error)
	// Notify makes one attempt to send a notice, and returns the error of the attempt.
	Notify(ctx context.Context, w store.Work, url string) error
	// Rescreen screens a batch of completed runs again, and returns the time of the next batch.
	Rescreen(began time.Time) (next time.Time)
}

// Config is what a runner needs. Every field is required unless it says otherwise.
type Config struct {
	Handler   Handler
	Queue     store.WorkQueue
	Clock     verification.Clock
	Activity  verification.ActivityTracker
	Log       *slog.Logger
	Deferred  func()                           // counts a batch of notices that went back to the queue
	Tried     func()                           // counts a run that is driven alone
	Providers map[string]verification.Provider // of all tenants; may be nil
	// TenantProviders come before those of Providers with the same name; may be nil.
	TenantProviders map[verification.TenantID]map[string]verification.Provider
	Workers         int // the runs that are worked on at once
	Calls           int // the calls of providers in flight
	Lease           time.Duration
	QueueInterval   time.Duration // the longest time between two queries of the queue; 0 for no limit
	Rescreens       bool          // Handler.Rescreen is called
}

// Runner owns the goroutines, timers and leases of an engine. A nil Runner is the runner of
// an engine that drives no runs: its work stays in the queue for other hosts. Reserve,
// CancelReservation, Due, Interrupt, Keeps, Leaves and Nudge accept it.
type Runner struct {
	cfg    Config
	timer  timer
	slots  slots
	trials trials

	base context.Context // ends when Close stops waiting
	halt context.CancelFunc
	open context.Context // ends when the host begins to stop
	shut context.CancelFunc

	mu        sync.Mutex // guards what follows
	jobs      map[verification.RunRef]*Job
	advances  intake
	notices   intake
	expiries  intake
	rechecks  intake
	erasures  intake
	receivers receivers
	batch     batch
	left      leftRuns
	handover  []verification.RunRef // to be released to other hosts
	active    int                   // jobs and notices that have a goroutine
	rounds    int                   // of the loop, under way
	closing   bool
	idle      *sync.Cond // signaled when a goroutine or a round ends
}

// New returns a runner that takes no work until Serve.
func New(c Config) *Runner {
	jobs := c.Workers*jobsPerWorker + c.Calls
	r := &Runner{
		cfg:       c,
		slots:     newSlots(c),
		jobs:      map[verification.RunRef]*Job{},
		advances:  newIntake(store.WorkAdvance, jobs, max(1, jobs/tenantShare)),
		notices:   newIntake(store.WorkAnnounce, maxNotices, tenantNotices),
		expiries:  newIntake(store.WorkExpire, maxExpiries, tenantExpiries),
		rechecks:  newIntake(store.WorkRecheck, maxRechecks, tenantRechecks),
		erasures:  newIntake(store.WorkErase, maxErasures, tenantErasures),
		receivers: receivers{},
		left:      leftRuns{},
	}
	r.trials.gate.activity = c.Activity
	r.trials.factor = 1 + rand.Float64() //nolint:gosec // it protects nothing
	r.timer = timer{clock: c.Clock, round: r.round}
	r.idle = sync.NewCond(&r.mu)
	r.base, r.halt = context.WithCancel(context.Background())
	r.open, r.shut = context.WithCancel(r.base)
	return r
}

// Context returns the context of all work. It ends when Close stops waiting for the work.
func (r *Runner) Context() context.Context { return r.base }

// beginLocked counts a goroutine that starts; endLocked must follow.
func (r *Runner) beginLocked() {
	r.active++
	r.cfg.Activity.Enter()
}

// endLocked counts a goroutine that ends.
func (r *Runner) endLocked() {
	r.active--
	r.cfg.Activity.Leave()
	r.idle.Broadcast()
}

// Close waits until all goroutines have ended, or cancels them when ctx ends first,
// and releases the remaining runs to other hosts. idle reports that no batch of runs is
// being screened again.
func (r *Runner) Close(ctx context.Context) (idle bool, err error) {
	stop := context.AfterFunc(ctx, func() {
		r.halt()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.idle.Broadcast()
	})
	defer stop()
	remaining, idle := r.stop(ctx)
	r.halt()
	if len(remaining) == 0 {
		return idle, nil
	}
	work := make([]store.Work, len(remaining))
	for i, ref := range remaining {
		work[i] = store.Work{WorkKey: store.WorkKey{Kind: store.WorkAdvance}, RunRef: ref}
	}
	return idle, r.cfg.Queue.Release(context.WithoutCancel(ctx), work, r.now())
}

// stop starts no more work, and waits for the work under way until ctx ends. It returns the
// runs that remain, and whether no batch is under way.
func (r *Runner) stop(ctx context.Context) (remaining []verification.RunRef, idle bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closing = true
	r.shut()
	for _, j := range r.jobs {
		if j.queued {
			j.cancel() // this host will not make the call
		}
	}
	for (r.active > 0 || r.rounds > 0) && ctx.Err() == nil {
		r.idle.Wait()
	}
	// A call that ends now appends to handover.
	return slices.AppendSeq(slices.Clone(r.handover), maps.Keys(r.jobs)), !r.batch.busy
}

// Closing reports whether the host is stopping.
func (r *Runner) Closing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closing
}

// maxKeptWait is the longest wait that does not wake other hosts.
const maxKeptWait = 5 * time.Second

// Keeps returns Kept if this host itself carries out work that is due at a time.
func (r *Runner) Keeps(at, now time.Time) store.Hold {
	if r != nil && at.Sub(now) <= maxKeptWait && r.timer.isServing() {
		return store.Kept
	}
	return store.NotHeld
}

// now returns the current time as histories keep it: in UTC, to the microsecond.
func (r *Runner) now() time.Time { return r.cfg.Clock.Now().UTC().Truncate(time.Microsecond) }

// ErrHandOver stops the driving of a run that another host will continue.
var ErrHandOver = errors.New("the host stops")
