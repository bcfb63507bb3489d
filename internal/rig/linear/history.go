// Histories: the requests of the clients of one run and their responses.

package linear

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// History is the record of a trial.
type History struct {
	Plan       Plan
	Operations []porcupine.Operation
}

// Stage runs trials.
type Stage struct {
	Hosts []Host
	Clock *Clock
	// Wake makes every host look for work that another host has left.
	Wake func()
	// Honest reports the status of the check; the hosts may lie.
	Honest Host
}

// ErrStuck is returned when a trial does not end in time.
var ErrStuck = errors.New("the trial does not end")

const (
	// trialTimeout bounds a trial, which takes seconds on a busy machine.
	trialTimeout = 2 * time.Minute
	// graceTimeout bounds operations after their context is done.
	graceTimeout = 5 * time.Second
)

// Play runs all clients concurrently and then, when the check has completed, the
// last operations. If operations do not return in time, it abandons them and names
// them in an ErrStuck.
func (s *Stage) Play(ctx context.Context, t Trial) (History, error) {
	return s.play(ctx, t, trialTimeout, graceTimeout)
}

func (s *Stage) play(ctx context.Context, t Trial, timeout, grace time.Duration) (History, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	p := &player{Stage: s, plan: t.Plan, began: time.Now(), under: map[int]Input{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.play(ctx, t)
	}()
	select {
	case <-done:
		return p.history()
	case <-ctx.Done():
	}
	p.stuck(timeout)
	select {
	case <-done:
	case <-time.After(grace):
	}
	return p.history()
}

// play runs the trial to its end.
func (p *player) play(ctx context.Context, t Trial) {
	var clients sync.WaitGroup
	for c, ops := range t.Clients {
		clients.Go(func() { p.client(ctx, c, ops) })
	}
	clients.Wait()
	p.rest(ctx)
	p.client(ctx, len(t.Clients), t.Last(len(p.Hosts)))
}

// history returns the history until now.
func (p *player) history() (History, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := History{Plan: p.plan, Operations: slices.Clone(p.operations)}
	for _, op := range h.Operations {
		if out, ok := op.Output.(Output); ok && out.Started != 0 {
			h.Plan.Deadline = out.Started + ttl.Microseconds()
			break
		}
	}
	return h, errors.Join(p.errs...)
}

// stuck records that the trial does not end.
func (p *player) stuck(timeout time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var under []string
	for _, client := range slices.Sorted(maps.Keys(p.under)) {
		under = append(under, fmt.Sprintf("client %d: %s", client, p.under[client]))
	}
	p.errs = append(p.errs, fmt.Errorf("%w within %s; operations under way: %s", ErrStuck, timeout, strings.Join(under, ", ")))
}

// player records one trial.
type player struct {
	*Stage
	plan  Plan
	began time.Time
	calm  sync.RWMutex // read-locked during an operation

	mu         sync.Mutex
	under      map[int]Input // the current operation of each client
	operations []porcupine.Operation
	errs       []error
}

func (p *player) client(ctx context.Context, number int, ops []Input) {
	for _, in := range ops {
		if ctx.Err() != nil {
			return
		}
		pause(ctx, in.Pause)
		p.quietly(ctx, in.Op, func() { p.operation(ctx, number, in) })
	}
}

// quietly runs f; in a quiescent plan, the clock advances only while nothing else runs.
func (p *player) quietly(ctx context.Context, op Op, f func()) {
	switch {
	case !p.plan.Quiescent:
	case op == OpAdvance:
		p.calm.Lock()
		defer p.calm.Unlock()
		p.rest(ctx)
	default:
		p.calm.RLock()
		defer p.calm.RUnlock()
	}
	f()
}

// operation runs one operation and records it.
func (p *player) operation(ctx context.Context, number int, in Input) {
	p.mu.Lock()
	p.under[number] = in
	p.mu.Unlock()
	op := porcupine.Operation{ClientId: number, Input: in, Call: int64(time.Since(p.began))}
	from := p.Clock.Now()
	out, err := p.do(ctx, in)
	out.From, out.To = from.UnixMicro(), p.Clock.Now().UnixMicro()
	op.Output, op.Return = out, int64(time.Since(p.began))
	p.mu.Lock()
	p.operations = append(p.operations, parts(op, in, out)...)
	delete(p.under, number)
	p.mu.Unlock()
	if err != nil {
		p.fail(fmt.Errorf("client %d: %s: %w", number, in, err))
	}
}

// parts splits a completed start into its operations. A client of porcupine does one
// thing at a time, so the added operations get their own clients.
func parts(op porcupine.Operation, in Input, out Output) []porcupine.Operation {
	if in.Op != OpStart || out.Answer != Done {
		return []porcupine.Operation{op}
	}
	created, settled, shown := op, op, op
	times := Output{Answer: Done, From: out.From, To: out.To}
	first, last := times, times
	first.Started, last.View = out.Started, out.View
	created.Output, settled.Output, shown.Output = first, times, last
	settled.Input, shown.Input = Input{Op: OpSettled, Host: in.Host}, Input{Op: OpShown, Host: in.Host}
	settled.ClientId, shown.ClientId = op.ClientId+100, op.ClientId+200
	return []porcupine.Operation{created, settled, shown}
}

func (p *player) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.errs = append(p.errs, err)
}

func (p *player) do(ctx context.Context, in Input) (Output, error) {
	if in.Op != OpAdvance && in.Op != OpPassLease {
		return p.Hosts[in.Host].Do(ctx, in)
	}
	ahead := leaseJump
	if in.Op == OpAdvance {
		ahead = Past
	}
	p.Clock.Advance(ahead)
	p.Wake()
	return Output{Answer: Done}, nil
}

// restTimeout bounds the wait for a check, which takes less than a lease.
const restTimeout = 15 * time.Second

// rest waits until no check is running.
func (p *player) rest(ctx context.Context) {
	for began := time.Now(); time.Since(began) < restTimeout; pause(ctx, time.Millisecond) {
		out, err := p.Honest.Do(ctx, Input{Op: OpRead})
		if err != nil {
			p.fail(err)
			return
		}
		if out.View.Completed != 0 || out.View.Check == "" || out.View.Check == "passed" {
			return
		}
	}
	p.fail(errors.New("the check does not complete"))
}

func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Check reports whether the history is linearizable; it is Unknown after the
// timeout.
func (h History) Check(timeout time.Duration) (porcupine.CheckResult, porcupine.LinearizationInfo) {
	return porcupine.CheckOperationsVerbose(h.Plan.Model(), h.Operations, timeout)
}

// String returns the operations in the order of their calls.
func (h History) String() string {
	ops := slices.SortedFunc(slices.Values(h.Operations), func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	var b strings.Builder
	fmt.Fprintf(&b, "%+v\n", h.Plan)
	for _, op := range ops {
		fmt.Fprintf(&b, "%9.3f..%9.3f ms  client %2d  host %v -> %v\n",
			float64(op.Call)/1e6, float64(op.Return)/1e6, op.ClientId, op.Input, op.Output)
	}
	return b.String()
}
