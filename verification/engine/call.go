// One call of a provider: limited in time, and safe when the provider panics.

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
var errTimeout = errors.New("the provider did not respond in time")

// call calls the provider of the check that the run waits for, and turns the result
// into a command. A call that was interrupted before it began has no command.
func (e *Engine) call(ctx context.Context, s *session, kind verification.TaskKind) callResult {
	w := s.run.Wait
	n, _ := s.program.Node(w.Node)
	request, err := e.request(ctx, s)
	if ctx.Err() != nil {
		return callResult{}
	}
	if err != nil {
		return callResult{command: verification.Abort{Node: w.Node, Cause: "with: " + err.Error()}}
	}
	failed := func(err error) verification.RecordFailure {
		var p interface{ Permanent() bool }
		f := verification.RecordFailure{Node: w.Node, Dispatch: w.Dispatch, Permanent: errors.As(err, &p) && p.Permanent()}
		if retry, ok := errors.AsType[*verification.RetryError](err); ok {
			f.RetryAt, err = retry.At, retry.Cause
		}
		f.Cause = err.Error()
		return f
	}
	call, err := e.providerCall(w, kind, request)
	if err != nil {
		return callResult{command: failed(verification.Permanent(err))}
	}
	began := e.ports.Clock.Now()
	result, entered, err := callWithin(ctx, e, n.Timeout(), call)
	observed := "error"
	if err == nil {
		observed = string(result.Outcome)
	}
	e.opt.Observer.ProviderCalled(w.Provider, observed, e.ports.Clock.Now().Sub(began))
	if err != nil {
		return callResult{failed(err), entered}
	}
	data, err := verification.NewData(result.Data)
	if err != nil {
		return callResult{failed(verification.Permanent(fmt.Errorf("the provider's data cannot be saved: %w", err))), entered}
	}
	return callResult{verification.RecordResult{
		Node: w.Node, Dispatch: w.Dispatch, Outcome: result.Outcome, Data: data,
		Handle: result.Handle, PollAfter: result.PollAfter,
	}, entered}
}

// request renders the request to the provider. Templates over a large run wait for a
// slot, as in decide.
func (e *Engine) request(ctx context.Context, s *session) (verification.CheckRequest, error) {
	if s.run.Size() > heavyRun {
		_, release, err := e.acquireHeavy(ctx, s.ref.Tenant)
		if err != nil {
			return verification.CheckRequest{}, err
		}
		defer release()
	}
	r, err := s.program.Request(s.ref.Tenant, s.run)
	if err != nil {
		return r, err
	}
	r.CallbackURL, err = e.callbackURL(s)
	return r, err
}

// providerCall is one call of a method of a provider.
type providerCall func(context.Context) (verification.CheckResult, error)

func (e *Engine) providerCall(w verification.Wait, kind verification.TaskKind, r verification.CheckRequest) (providerCall, error) {
	p, _ := e.provider(r.Tenant, w.Provider)
	if p == nil {
		return nil, fmt.Errorf("there is no provider %q", w.Provider)
	}
	if kind == verification.TaskCheck {
		return func(ctx context.Context) (verification.CheckResult, error) { return p.Check(ctx, r) }, nil
	}
	poller, ok := p.(verification.Poller)
	if !ok {
		return nil, fmt.Errorf("the provider %q returned a pending result and cannot be polled", w.Provider)
	}
	handle := w.Handle
	return func(ctx context.Context) (verification.CheckResult, error) {
		return poller.Poll(ctx, verification.PollRequest{CheckRequest: r, Handle: handle})
	}, nil
}

// callWithin makes a call, and returns after the timeout even if the provider
// ignores its context. entered reports whether the timeout called Enter; the caller
// calls Leave once the result is saved.
func callWithin[T any](ctx context.Context, e *Engine, timeout time.Duration, call func(context.Context) (T, error)) (r T, entered bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex // guards done and entered
	done := false
	stop := e.ports.Clock.AfterFunc(timeout, func() {
		mu.Lock()
		defer mu.Unlock()
		if !done {
			entered = true
			e.activity.Enter()
			cancel(errTimeout)
		}
	})
	type response struct {
		r   T
		err error
	}
	responses := make(chan response, 1)
	go func() {
		r, err := recovered(ctx, call)
		responses <- response{r, err}
	}()
	var got response
	select {
	case got = <-responses:
	case <-ctx.Done():
		got.err = context.Cause(ctx)
	}
	stop()
	mu.Lock()
	defer mu.Unlock()
	done = true
	if got.err != nil && errors.Is(context.Cause(ctx), errTimeout) {
		got.err = errTimeout
	}
	return got.r, entered, got.err
}

// recovered makes a call, and turns a panic of the provider into an error.
func recovered[T any](ctx context.Context, call func(context.Context) (T, error)) (r T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the provider panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return call(ctx)
}
