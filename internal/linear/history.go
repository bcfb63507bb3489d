// Histories: what the clients of one run asked, and what they were answered.

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

// History is a trial as it went.
type History struct {
	Plan       Plan
	Operations []porcupine.Operation
}

// Stage is where trials are played.
type Stage struct {
	Hosts []Host
	Clock *Clock
	// Wake has every host look for work that another has left.
	Wake func()
	// Honest tells how the check stands, whatever the hosts say.
	Honest Host
}

// ErrStuck is returned for a trial that does not end in time.
var ErrStuck = errors.New("the trial does not end")

const (
	// trialTimeout bounds a trial; even on a busy machine it takes seconds.
	trialTimeout = 2 * time.Minute
	// graceTimeout is how long operations may go on once their context is over.
	graceTimeout = 5 * time.Second
)

// Play runs all clients at the same time, and carries out the last operations
// once they have ended and the check has come to its end. It leaves operations
// behind that do not return in time, and names them in an ErrStuck.
func (s *Stage) Play(ctx context.Context, t Trial) (History, error) {
	return s.play(ctx, t, trialTimeout, graceTimeout)
}

func (s *Stage) play(ctx context.Context, t Trial, most, grace time.Duration) (History, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
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
	p.stuck(most)
	select {
	case <-done:
	case <-time.After(grace):
	}
	return p.history()
}

// play plays the trial to its end.
func (p *player) play(ctx context.Context, t Trial) {
	var clients sync.WaitGroup
	for c, ops := range t.Clients {
		clients.Go(func() { p.client(ctx, c, ops) })
	}
	clients.Wait()
	p.rest(ctx)
	p.client(ctx, len(t.Clients), t.Last(len(p.Hosts)))
}

// history is the history so far. What is recorded later is not part of it.
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
	return h, errors.Join(p.faults...)
}

// stuck adds the fault of a trial that does not end.
func (p *player) stuck(most time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var under []string
	for _, client := range slices.Sorted(maps.Keys(p.under)) {
		under = append(under, fmt.Sprintf("client %d: %s", client, p.under[client]))
	}
	p.faults = append(p.faults, fmt.Errorf("%w within %s; operations under way: %s", ErrStuck, most, strings.Join(under, ", ")))
}

// player records one trial.
type player struct {
	*Stage
	plan  Plan
	began time.Time
	calm  sync.RWMutex // held to read while an operation is under way

	mu         sync.Mutex
	under      map[int]Input // by client: the operation under way
	operations []porcupine.Operation
	faults     []error
}

func (p *player) client(ctx context.Context, number int, ops []Input) {
	for _, in := range ops {
		if ctx.Err() != nil {
			return
		}
		pause(ctx, in.Pause)
		p.calmly(ctx, in.Op, func() { p.operation(ctx, number, in) })
	}
}

// calmly lets an operation go on when it is its time.
func (p *player) calmly(ctx context.Context, op Op, f func()) {
	switch {
	case !p.plan.Calm:
	case op == OpTurn:
		p.calm.Lock()
		defer p.calm.Unlock()
		p.rest(ctx)
	default:
		p.calm.RLock()
		defer p.calm.RUnlock()
	}
	f()
}

// operation carries out one operation and writes it down.
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
		p.fault(fmt.Errorf("client %d: %s: %w", number, in, err))
	}
}

// parts splits a start that was answered into its operations. A client of
// porcupine does one thing at a time, so the added ones get clients of their own.
func parts(op porcupine.Operation, in Input, out Output) []porcupine.Operation {
	if in.Op != OpStart || out.Answer != Done {
		return []porcupine.Operation{op}
	}
	created, settled, shown := op, op, op
	times := Output{Answer: Done, From: out.From, To: out.To}
	first, last := times, times
	first.Started, last.Seen = out.Started, out.Seen
	created.Output, settled.Output, shown.Output = first, times, last
	settled.Input, shown.Input = Input{Op: OpSettled, Host: in.Host}, Input{Op: OpShown, Host: in.Host}
	settled.ClientId, shown.ClientId = op.ClientId+100, op.ClientId+200
	return []porcupine.Operation{created, settled, shown}
}

func (p *player) fault(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, err)
}

func (p *player) do(ctx context.Context, in Input) (Output, error) {
	if in.Op != OpTurn && in.Op != OpNap {
		return p.Hosts[in.Host].Do(ctx, in)
	}
	ahead := nap
	if in.Op == OpTurn {
		ahead = Past
	}
	p.Clock.Turn(ahead)
	p.Wake()
	return Output{Answer: Done}, nil
}

// restTimeout bounds the wait for a check, which takes less than a lease.
const restTimeout = 15 * time.Second

// rest waits until no check is under way.
func (p *player) rest(ctx context.Context) {
	for began := time.Now(); time.Since(began) < restTimeout; pause(ctx, time.Millisecond) {
		out, err := p.Honest.Do(ctx, Input{Op: OpRead})
		if err != nil {
			p.fault(err)
			return
		}
		if out.Seen.Completed != 0 || out.Seen.Check == "" || out.Seen.Check == "passed" {
			return
		}
	}
	p.fault(errors.New("the check does not come to its end"))
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

// Check says what porcupine makes of the history. Unknown means that it took
// longer than most.
func (h History) Check(most time.Duration) (porcupine.CheckResult, porcupine.LinearizationInfo) {
	return porcupine.CheckOperationsVerbose(h.Plan.Model(), h.Operations, most)
}

// String lists the operations by the moment they were called.
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
