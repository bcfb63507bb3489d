// One call of a provider: limited in time, and safe when the provider panics.

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// errTimeout ends a call that took longer than its node allows.
var errTimeout = errors.New("the provider did not respond in time")

// call calls the provider of the check that the run waits for, and turns the result
// into a command. A call that was interrupted before it began has no command. late and
// here are the results of callHere.
func (e *Engine) call(ctx context.Context, s *session, kind verification.TaskKind, late func(callResult)) (o callResult, here bool) {
	w := s.run.Wait
	n, _ := s.program.Node(w.Node)
	request, err := e.request(ctx, s)
	if ctx.Err() != nil {
		return callResult{}, true
	}
	if err != nil {
		return callResult{command: verification.Abort{Node: w.Node, Cause: "with: " + err.Error()}}, true
	}
	failed := func(err error) verification.RecordFailure {
		p, ok := errors.AsType[verification.PermanentError](err)
		f := verification.RecordFailure{Node: w.Node, Dispatch: w.Dispatch, Permanent: ok && p.Permanent()}
		if retry, ok := errors.AsType[*verification.RetryError](err); ok {
			f.RetryAt, err = retry.At, retry.Cause
		}
		f.Cause = err.Error()
		return f
	}
	p, _ := e.provider(s.ref.Tenant, w.Provider)
	call := providerCall(p, w, kind, request)
	began := e.ports.Clock.Now()
	command := func(r response[verification.CheckResult]) callResult {
		data, err := verification.NewData(r.result.Data)
		if err != nil {
			err = verification.Permanent(fmt.Errorf("the provider's data cannot be saved: %w", err))
		}
		if _, polled := p.(verification.Poller); err == nil && !polled && r.result.Outcome == verification.OutcomePending {
			err = verification.Permanent(fmt.Errorf("the provider %q returned a pending result and cannot be polled", w.Provider))
		}
		err = cmp.Or(r.err, err)
		lacking := verification.LackingOf(err)
		if lacking != nil {
			err = verification.Permanent(err)
		}
		e.opt.Observer.ProviderCalled(w.Provider, observedOutcome(r.result.Outcome, err), e.ports.Clock.Now().Sub(began))
		if err != nil {
			return callResult{command: failed(err), entered: r.entered, lacking: lacking}
		}
		return callResult{command: verification.RecordResult{
			Node: w.Node, Dispatch: w.Dispatch, Outcome: r.result.Outcome, Data: data, Screening: r.result.Screening,
			Handle: r.result.Handle, PollAfter: r.result.PollAfter,
		}, entered: r.entered}
	}
	r, here := callHere(ctx, e, n.Timeout(), call, func(r response[verification.CheckResult]) { late(command(r)) })
	if !here {
		return callResult{}, false
	}
	return command(r), true
}

// observedOutcome returns the outcome of a call for the Observer. An outcome that does not
// exist is an error, as it is for the run.
func observedOutcome(o verification.CheckOutcome, err error) string {
	if err == nil {
		switch o {
		case verification.OutcomePassed, verification.OutcomeFailed, verification.OutcomePending:
			return string(o)
		}
	}
	return "error"
}

// request renders the request to the provider. Templates over a large run wait for a
// slot, as in decide.
func (e *Engine) request(ctx context.Context, s *session) (verification.CheckRequest, error) {
	if s.run.Size() > heavyRun {
		release, err := e.admit(ctx, s)
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

// providerCall returns the call of a provider that a task needs. A provider that is polled
// is a Poller: see lacks.
func providerCall(
	p verification.Provider, w verification.Wait, kind verification.TaskKind, r verification.CheckRequest,
) func(context.Context) (verification.CheckResult, error) {
	return func(ctx context.Context) (verification.CheckResult, error) {
		if poller, ok := p.(verification.Poller); ok && kind == verification.TaskPoll {
			return poller.Poll(ctx, verification.PollRequest{CheckRequest: r, Handle: w.Handle})
		}
		return p.Check(ctx, r)
	}
}

// response is the result of a call. entered says that the timeout called Enter: Leave
// must follow once the result is saved.
type response[T any] struct {
	result  T
	entered bool
	err     error
}

// callHere makes a call in this goroutine, which costs less than one of its own. If the
// timeout passes or ctx ends before the call returns, callHere calls late with the error
// in another goroutine, which continues in place of this one. here is false then, once
// the call returns.
func callHere[T any](
	ctx context.Context, e *Engine, timeout time.Duration, call func(context.Context) (T, error), late func(response[T]),
) (r response[T], here bool) {
	var over atomic.Bool // set by the first of the call, the timeout and the end of ctx
	limited, cancel := context.WithCancelCause(ctx)
	stopTimer := e.ports.Clock.AfterFunc(timeout, func() {
		if over.CompareAndSwap(false, true) {
			e.activity.Enter()
			cancel(errTimeout)
			go late(response[T]{entered: true, err: errTimeout})
		}
	})
	stopWatch := context.AfterFunc(ctx, func() {
		if over.CompareAndSwap(false, true) {
			stopTimer()
			late(response[T]{err: context.Cause(ctx)})
		}
	})
	r.result, r.err = recovered(limited, call)
	stopWatch()
	if !over.CompareAndSwap(false, true) {
		return response[T]{}, false
	}
	stopTimer()
	cancel(nil)
	return r, true
}

// callWithin is callHere for a caller that waits: it returns after the timeout even if
// the provider ignores its context.
func callWithin[T any](ctx context.Context, e *Engine, timeout time.Duration, call func(context.Context) (T, error)) (T, bool, error) {
	responses := make(chan response[T], 1)
	respond := func(r response[T]) { responses <- r }
	go func() {
		if r, here := callHere(ctx, e, timeout, call, respond); here {
			respond(r)
		}
	}()
	r := <-responses
	return r.result, r.entered, r.err
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
