// One call of a provider: bounded in time, and harmless when it panics.

package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// errTimeout ends a call that took longer than its node allows.
var errTimeout = errors.New("no answer in time")

// call calls the provider of the check that the run waits for, and turns what
// comes back into a command.
func (e *Engine) call(ctx context.Context, ref verification.RunRef, p verification.Program, run verification.Run, kind verification.TaskKind) outcome {
	w := run.Wait
	n, _ := p.Node(w.Node)
	request, err := e.request(ctx, ref.Tenant, p, run)
	if ctx.Err() != nil {
		return outcome{} // interrupted, and not called
	}
	if err != nil {
		return outcome{command: verification.Abort{Node: w.Node, Cause: "with: " + err.Error()}}
	}
	failed := func(err error) verification.RecordFailure {
		var p interface{ Permanent() bool }
		return verification.RecordFailure{
			Node: w.Node, Dispatch: w.Dispatch, Cause: err.Error(),
			Permanent: errors.As(err, &p) && p.Permanent(),
		}
	}
	ask, err := e.question(w, kind, request)
	if err != nil {
		return outcome{command: failed(verification.Permanent(err))}
	}
	began := e.ports.Clock.Now()
	result, held, err := e.bounded(ctx, n.Timeout(), ask)
	seen := "error"
	if err == nil {
		seen = string(result.Outcome)
	}
	e.opt.Observer.ProviderCalled(w.Provider, seen, e.ports.Clock.Now().Sub(began))
	if err != nil {
		return outcome{failed(err), held}
	}
	data, err := verification.NewData(result.Data)
	if err != nil {
		return outcome{failed(verification.Permanent(fmt.Errorf("the provider's data cannot be kept: %w", err))), held}
	}
	return outcome{verification.RecordResult{
		Node: w.Node, Dispatch: w.Dispatch, Outcome: result.Outcome, Data: data,
		Handle: result.Handle, PollAfter: result.PollAfter,
	}, held}
}

// request renders what the provider is sent. Templates over a large run wait for
// a slot, as decisions do.
func (e *Engine) request(ctx context.Context, t verification.TenantID, p verification.Program, run verification.Run) (verification.CheckRequest, error) {
	if run.Size() > heavyRun {
		release, err := e.heavy.Acquire(ctx, string(t))
		if err != nil {
			return verification.CheckRequest{}, err
		}
		defer release()
	}
	return p.Request(t, run)
}

type question func(context.Context) (verification.CheckResult, error)

func (e *Engine) question(w verification.Wait, kind verification.TaskKind, r verification.CheckRequest) (question, error) {
	p, ok := e.ports.Providers[w.Provider]
	if !ok {
		return nil, fmt.Errorf("there is no provider %q", w.Provider)
	}
	if kind == verification.TaskCheck {
		return func(ctx context.Context) (verification.CheckResult, error) { return p.Check(ctx, r) }, nil
	}
	poller, ok := p.(verification.Poller)
	if !ok {
		return nil, fmt.Errorf("the provider %q answered pending and cannot be polled", w.Provider)
	}
	handle := w.Handle
	return func(ctx context.Context) (verification.CheckResult, error) {
		return poller.Poll(ctx, verification.PollRequest{CheckRequest: r, Handle: handle})
	}, nil
}

// bounded asks, and gives up when the time is over even if the provider does
// not look at its context. held says that the timeout holds the clock, and
// that the caller must let it go once the timeout is written down.
func (e *Engine) bounded(ctx context.Context, limit time.Duration, ask question) (r verification.CheckResult, held bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var once sync.Mutex
	over, fired := false, false
	stop := e.ports.Clock.AfterFunc(limit, func() {
		once.Lock()
		defer once.Unlock()
		if !over {
			fired = true
			e.activity.Enter()
			cancel(errTimeout)
		}
	})
	type answer struct {
		r   verification.CheckResult
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		r, err := protected(ctx, ask)
		answered <- answer{r, err}
	}()
	var a answer
	select {
	case a = <-answered:
	case <-ctx.Done():
		a.err = context.Cause(ctx)
	}
	stop()
	once.Lock()
	defer once.Unlock()
	over = true
	if a.err != nil && errors.Is(context.Cause(ctx), errTimeout) {
		a.err = errTimeout
	}
	return a.r, fired, a.err
}

// protected turns a panic of the provider into an error of its dispatch.
func protected(ctx context.Context, ask question) (r verification.CheckResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the provider panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return ask(ctx)
}
