// Tests of a start that does not fit into the memory.

package server

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A host whose folder needs more memory than it may use says so and ends, before it is killed.
func TestAStartThatDoesNotFitSaysSo(t *testing.T) {
	large := make([]byte, 300<<20) // in place of what a folder has
	for i := range large {
		large[i] = 1
	}
	runtime.GC()
	ctx, done := fitting(t.Context(), 200<<20)
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Fatal("the context of a start that does not fit goes on")
	}
	done()
	runtime.KeepAlive(large)
	err := context.Cause(ctx)
	if _, ok := errors.AsType[*doesNotFit](err); !ok || !strings.Contains(err.Error(), "of the 200 MiB") || !strings.Contains(err.Error(), "verifyctl store copy") {
		t.Errorf("the start ends with %v, want the numbers and what to do", err)
	}
	if ctx, done := fitting(t.Context(), 0); ctx.Err() != nil {
		t.Errorf("without a limit the start ends with %v", context.Cause(ctx))
	} else {
		done()
	}
}
