// Histories: what the clients of one run asked, and what they were answered.

package linear

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// Play has all clients go at once, and asks the last questions once they have
// gone and the check has come to its end.
func (s *Stage) Play(ctx context.Context, t Trial) (History, error) {
	p := &player{Stage: s, plan: t.Plan, began: time.Now()}
	var clients sync.WaitGroup
	for c, ops := range t.Clients {
		clients.Go(func() { p.client(ctx, c, ops) })
	}
	clients.Wait()
	p.rest(ctx)
	p.client(ctx, len(t.Clients), t.Last(len(s.Hosts)))
	return History{t.Plan, p.operations}, errors.Join(p.faults...)
}

// player records one trial.
type player struct {
	*Stage
	plan  Plan
	began time.Time
	calm  sync.RWMutex // held to read while an operation is under way

	mu         sync.Mutex
	operations []porcupine.Operation
	faults     []error
}

func (p *player) client(ctx context.Context, number int, ops []Input) {
	for _, in := range ops {
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
	op := porcupine.Operation{ClientId: number, Input: in, Call: int64(time.Since(p.began))}
	from := p.Clock.Now()
	out, err := p.do(ctx, in)
	out.From, out.To = from.UnixMicro(), p.Clock.Now().UnixMicro()
	op.Output, op.Return = out, int64(time.Since(p.began))
	p.mu.Lock()
	p.operations = append(p.operations, op)
	p.mu.Unlock()
	if err != nil {
		p.fault(fmt.Errorf("client %d: %s: %w", number, in, err))
	}
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

// stuck is when nobody will go on with a check any more: sooner than a lease.
const stuck = 15 * time.Second

// rest waits until no check is under way.
func (p *player) rest(ctx context.Context) {
	for began := time.Now(); time.Since(began) < stuck; pause(ctx, time.Millisecond) {
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
