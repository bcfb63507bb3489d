// Seats: which runs are driven on this host, and which wait for their turn.

package engine

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/verifyd/verifyd/verification"
)

// backlogPerWorker is how many runs may wait in memory for each worker before
// new ones are left to the queue.
const backlogPerWorker = 64

// job is the seat of one run that is driven on this host, or is about to be.
// The engine's lock guards it, but for run, program and work, which belong to
// whoever drives.
type job struct {
	ref     verification.RunRef
	run     verification.Run // without history while it is to be read first
	program verification.Program
	work    *verification.Work // what the queue handed out, when it did

	seated  bool // in the backlog or running, not only reserved
	running bool
	again   bool // the run changed while it was driven
	ctx     context.Context
	cancel  context.CancelFunc
	held    int // how often the clock is held for it besides

	saving sync.Mutex   // held while it saves, and while its lease is renewed
	leased atomic.Int64 // the start of its lease, in Unix nanoseconds; 0 for none
}

// room is how many more runs this host takes; the caller holds the lock.
func (e *Engine) room() int {
	if e.closing || e.opt.Workers < 0 {
		return 0
	}
	return e.opt.Workers*(1+backlogPerWorker) - len(e.jobs) - e.announcing
}

// reserve keeps a seat for a run that is about to need driving; nil when this
// host has no room. A run that has a seat already shares it.
func (e *Engine) reserve(ref verification.RunRef) *job {
	e.mu.Lock()
	defer e.mu.Unlock()
	if j := e.jobs[ref]; j != nil {
		return j
	}
	if e.room() <= 0 {
		return nil
	}
	j := &job{ref: ref}
	e.jobs[ref] = j
	return j
}

// giveBack frees a seat that was reserved and not needed.
func (e *Engine) giveBack(j *job) {
	if j == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case j.seated || e.jobs[j.ref] != j:
	case j.again && !e.closing: // the queue has handed it out meanwhile
		j.again = false
		e.enqueue(j)
	default:
		delete(e.jobs, j.ref)
	}
}

// sit has a run driven from its reserved seat, or tells the one who drives it
// already that it changed.
func (e *Engine) sit(j *job, run verification.Run, program verification.Program) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.jobs[j.ref] != j { // it was left or given back meanwhile
		if there := e.jobs[j.ref]; there != nil {
			j = there
		} else {
			j = &job{ref: j.ref}
			e.jobs[j.ref] = j
		}
	}
	switch {
	case j.running:
		j.again = true
	case j.seated:
		j.run = verification.Run{} // read it anew when its turn comes
	default:
		j.run, j.program = run, program
		e.enqueue(j)
	}
}

// enqueue seats a job: it runs now or when a worker is free. The caller holds
// the lock.
func (e *Engine) enqueue(j *job) {
	j.seated = true
	j.leased.Store(e.ports.Clock.Now().UnixNano())
	if e.running < e.opt.Workers {
		e.launch(j)
		return
	}
	e.backlog = append(e.backlog, j)
}

// launch starts the goroutine of a seat; the caller holds the lock.
func (e *Engine) launch(j *job) {
	e.running++
	j.running = true
	j.ctx, j.cancel = context.WithCancel(e.base)
	e.quiet.Enter()
	go func() {
		defer e.quiet.Leave()
		for again := true; again; again = e.left(j) {
			e.drive(j)
		}
	}()
}

// left ends a turn: it tells whether the run changed meanwhile and wants
// another one; otherwise the seat is free, and the next in line is launched.
func (e *Engine) left(j *job) (again bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for ; j.held > 0; j.held-- {
		e.quiet.Leave()
	}
	j.cancel()
	if j.again && e.base.Err() == nil {
		j.again, j.run = false, verification.Run{}
		j.ctx, j.cancel = context.WithCancel(e.base)
		return true
	}
	delete(e.jobs, j.ref)
	e.running--
	if e.base.Err() != nil {
		e.cut = append(e.cut, j.ref)
	}
	if len(e.backlog) > 0 && !e.closing {
		next := e.backlog[0]
		e.backlog = e.backlog[1:]
		e.launch(next)
	}
	e.feed()
	e.idle.Broadcast()
	return false
}

// feed asks the queue again once there is room after there was none; the
// caller holds the lock.
func (e *Engine) feed() {
	if !e.starving || len(e.jobs)+e.announcing >= e.opt.Workers*(1+backlogPerWorker/2) {
		return
	}
	e.starving = false
	e.nudge(e.now())
}

// interrupt ends the call that is under way for a run that is over.
func (e *Engine) interrupt(ref verification.RunRef) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if j := e.jobs[ref]; j != nil && j.running && j.ctx.Err() == nil {
		e.quiet.Enter()
		j.held++
		j.cancel()
	}
}

// taken seats a run that the queue handed out. One that has a seat here is
// being driven already and keeps its lease; it is looked at once more when its
// turn ends, which may be this very moment.
func (e *Engine) taken(w verification.Work) (seated bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if j := e.jobs[w.RunRef]; j != nil {
		j.again = true
		return false
	}
	j := &job{ref: w.RunRef, work: &w}
	e.jobs[w.RunRef] = j
	e.enqueue(j)
	return true
}
