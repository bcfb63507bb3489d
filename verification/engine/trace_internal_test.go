// Tests that traces cost nothing while they are off, and that a call is within the activation of its run.

package engine

import (
	"context"
	"testing"
)

func TestASpanThatIsNotTracedAllocatesNothing(t *testing.T) {
	var o Options
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		_, end := o.begin(ctx, Span{Step: "pan", Provider: "registry"})
		end("passed")
	}); n > 0 {
		t.Errorf("a span allocates %v times", n)
	}
}

func TestACallHasItsOwnEndAndTheValuesOfItsActivation(t *testing.T) {
	type key struct{ of string }
	call, cancel := context.WithCancel(context.WithValue(t.Context(), key{"both"}, "call"))
	activation := context.WithValue(context.WithValue(t.Context(), key{"both"}, "activation"), key{"one"}, "activation")
	ctx, stop := context.WithCancel(within{call, activation})
	defer stop()
	if ctx.Value(key{"both"}) != "call" || ctx.Value(key{"one"}) != "activation" {
		t.Errorf("the values are %v and %v", ctx.Value(key{"both"}), ctx.Value(key{"one"}))
	}
	cancel()
	<-ctx.Done()
}
