// Calls: one call of a provider, limited in time, and safe when the provider panics.

package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// ErrTimeout ends a call that took longer than it may.
var ErrTimeout = errors.New("the provider did not respond in time")

// Timing is what limits a call in time.
type Timing struct {
	Clock    verification.Clock
	Activity verification.ActivityTracker
	Timeout  time.Duration
}

// Response is the result of a call.
type Response[T any] struct {
	Result T
	Entry  *Entry // of the timeout, until the result is saved; nil if there was none
	Err    error
}

// CallHere makes a call in the goroutine of its caller, which costs less than one for the
// call. A provider may ignore its context. So if the timeout passes or ctx ends before the
// call returns, another goroutine takes the place of the caller and goes on with the error:
//
//	                 the call returns in time      the timeout passes first
//
//	the caller       CallHere                      CallHere
//	                    |                             |
//	                  call ---- timer set           call ---- timer set
//	                    |         |                   |         |
//	                    |         |                   |       fires, cancels the call
//	                    |         |                   |         |
//	                  returns --- stopped             |       late(ErrTimeout)
//	                    |                             |         |
//	                  (r, true)                       |       goes on with what the caller did
//	                    |                           returns
//	                  goes on with r                  |
//	                                                (_, false): the caller must stop at once
//
// The end of ctx is like the timeout, with its cause as the error. The first of the three
// wins, so either CallHere returns true or late is called, once. After false, or once late
// was called, what the caller worked on belongs to the other goroutine.
func CallHere[T any](
	ctx context.Context, t Timing, call func(context.Context) (T, error), late func(Response[T]),
) (r Response[T], here bool) {
	var over atomic.Bool // set by the first of the call, the timeout and the end of ctx
	limited, cancel := context.WithCancelCause(ctx)
	stopTimer := t.Clock.AfterFunc(t.Timeout, func() {
		if over.CompareAndSwap(false, true) {
			entry := Enter(t.Activity)
			cancel(ErrTimeout)
			go late(Response[T]{Entry: entry, Err: ErrTimeout})
		}
	})
	stopWatch := context.AfterFunc(ctx, func() {
		if over.CompareAndSwap(false, true) {
			stopTimer()
			late(Response[T]{Err: context.Cause(ctx)})
		}
	})
	r.Result, r.Err = recovered(limited, call)
	stopWatch()
	if !over.CompareAndSwap(false, true) {
		return Response[T]{}, false
	}
	stopTimer()
	cancel(nil)
	return r, true
}

// CallWithin is CallHere for a caller that waits: it returns after the timeout even if
// the provider ignores its context.
func CallWithin[T any](ctx context.Context, t Timing, call func(context.Context) (T, error)) Response[T] {
	responses := make(chan Response[T], 1)
	respond := func(r Response[T]) { responses <- r }
	go func() {
		if r, here := CallHere(ctx, t, call, respond); here {
			respond(r)
		}
	}()
	return <-responses
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
