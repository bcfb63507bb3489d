// The runner carries out what the use cases leave behind: it drives runs, calls
// providers, sends notices, writes deadlines down and keeps leases.

package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/fair"
)

// The bounds of a runner besides its options.
const (
	jobsPerWorker   = 64  // runs that wait in memory for each worker
	maxNotices      = 256 // notices being sent at once
	tenantNotices   = 32  // of one tenant
	receiverNotices = 32  // to one receiver
	// share is the part of a bound that one tenant may take up: a quarter.
	share = 4
	// providerShare is the part of the calls that one provider may take up.
	providerShare = 2
)

// runner does the work of an engine that takes time: everything with a
// goroutine, a timer or a lease. A nil runner is one of an engine that drives
// nothing; what it leaves in the queue is for other hosts.
type runner struct {
	e     *Engine
	clock activity

	workers   *fair.Limiter // held while the engine works on a run
	calls     *fair.Limiter // held while a provider is called
	providers map[string]*fair.Limiter

	base context.Context // ends when Close gives up waiting
	halt context.CancelFunc
	loop loop

	mu        sync.Mutex
	jobs      map[verification.RunRef]*job
	advances  intake
	notices   intake
	receivers receivers
	handover  []verification.RunRef // left while the host stops
	active    int                   // jobs and notices that have a goroutine
	rounds    int                   // rounds of the loop under way
	closing   bool
	idle      *sync.Cond // signaled when something ends
}

func newRunner(e *Engine) *runner {
	o := e.opt
	jobs := o.Workers*jobsPerWorker + o.Calls
	r := &runner{
		e: e, clock: e.activity,
		workers:   fair.NewLimiter(o.Workers, max(1, o.Workers*3/4)),
		calls:     fair.NewLimiter(o.Calls, o.Calls/share),
		providers: map[string]*fair.Limiter{},
		jobs:      map[verification.RunRef]*job{},
		advances:  newIntake(verification.WorkAdvance, jobs, max(1, jobs/share)),
		notices:   newIntake(verification.WorkAnnounce, maxNotices, tenantNotices),
		receivers: receivers{},
	}
	r.calls.OnWait(r.clock.Leave, r.clock.Enter)
	for name := range e.ports.Providers {
		n := max(1, o.Calls/providerShare)
		l := fair.NewLimiter(n, n/share)
		l.OnWait(r.clock.Leave, r.clock.Enter)
		r.providers[name] = l
	}
	r.idle = sync.NewCond(&r.mu)
	r.base, r.halt = context.WithCancel(context.Background())
	return r
}

// begin counts a goroutine and reports whether it may start; end must follow.
// The caller holds the lock.
func (r *runner) begin() {
	r.active++
	r.clock.Enter()
}

// end is the counterpart of begin; the caller holds the lock.
func (r *runner) end() {
	r.active--
	r.clock.Leave()
	r.idle.Broadcast()
}

// close lets the steps that are under way end, calls of providers and notices
// included, or ctx if that is sooner, and hands over what is left.
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
			j.cancel() // it waits for a call that this host will not make
		}
	}
	for (r.active > 0 || r.rounds > 0) && ctx.Err() == nil {
		r.idle.Wait()
	}
	left := r.handover
	for ref := range r.jobs {
		left = append(left, ref)
	}
	r.mu.Unlock()
	r.halt()
	if len(left) == 0 {
		return nil
	}
	work := make([]verification.Work, len(left))
	for i, ref := range left {
		work[i] = verification.Work{Kind: verification.WorkAdvance, RunRef: ref}
	}
	return r.e.ports.Queue.Release(context.WithoutCancel(ctx), work, r.e.now())
}

// isClosing reports whether the host is stopping.
func (r *runner) isClosing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closing
}

// keptWait is the longest wait that a host keeps to itself, as long as it lives.
const keptWait = 5 * time.Second

// keeps reports whether this host sees to what falls due at a time, so that no
// other has to be woken.
func (r *runner) keeps(at, now time.Time) bool {
	return r != nil && at.Sub(now) <= keptWait && r.loop.isServing()
}

// appended follows up on an append: it wakes the loop for what was queued, and
// ends the call of a run that has ended.
func (r *runner) appended(ref verification.RunRef, before, after verification.Run, a verification.Commit) {
	if r == nil {
		return
	}
	if before.Seq == 0 {
		if deadline := after.Deadline(); !deadline.IsZero() {
			r.nudge(deadline.Add(time.Microsecond)) // it has passed only after it
		}
	}
	if after.Ended != "" && before.Ended == "" {
		r.interrupt(ref)
	}
	if !a.HistoryOnly {
		r.nudge(a.AdvanceAt)
	}
	r.nudge(a.AnnounceAt)
}

// errHandOver ends the driving of a run that another host is to go on with.
var errHandOver = errors.New("the host stops")
