// Traces: which parts of the engine's work are spans.

package engine

import (
	"context"

	"github.com/verifyd/verifyd/verification"
)

// Span is a part of the work on a run, for Options.Trace: a call of a provider, or an activation if Provider is empty.
// Nothing in it is personal data.
type Span struct {
	Run      verification.RunRef
	Step     verification.NodeID // of a call
	Provider string              // of a call
	// Cause is the context of the request that an activation follows from; nil if it was taken from the queue.
	Cause context.Context
}

// begin begins a span if spans are traced. It costs nothing if they are not.
func (o *Options) begin(ctx context.Context, s Span) (context.Context, func(outcome string)) {
	if o.Trace == nil {
		return ctx, untraced
	}
	return o.Trace(ctx, s)
}

func untraced(string) {}

// begin begins the span of an activation, unless it has begun.
func (j *job) begin() {
	if j.ended == nil {
		j.traced, j.ended = j.opt.begin(j.runner.Context(), Span{Run: j.ref, Cause: j.cause})
		j.cause = nil
	}
}

// end ends the span of an activation.
func (j *job) end() {
	j.ended("")
	j.ended = nil
}

// callContext returns the context of the calls of a pass, which has the span of the activation.
func (j *job) callContext() context.Context {
	if j.opt.Trace == nil {
		return j.Context()
	}
	return within{j.Context(), j.traced}
}

// within is a context that has the values of another one, too.
type within struct {
	context.Context
	values context.Context
}

// Value implements context.Context.
func (w within) Value(key any) any {
	if v := w.Context.Value(key); v != nil {
		return v
	}
	return w.values.Value(key)
}
