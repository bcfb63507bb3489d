// Tests of a trial that does not end.

package linear_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/linear"
)

// hung is a host whose lists return only when it is released, even if their context
// is done.
type hung struct {
	linear.Host

	released chan struct{}
}

func (h hung) Do(ctx context.Context, in linear.Input) (linear.Output, error) {
	if in.Op == linear.OpList {
		<-h.released
	}
	return h.Host.Do(ctx, in)
}

func TestATrialThatHangsEndsAndNamesWhatHangs(t *testing.T) {
	h := inMemory(t)
	trial := linear.Trial{Plan: linear.Plan{Path: linear.Paths()[0], Script: "pass"}, Clients: [][]linear.Input{
		{{Op: linear.OpStart}, {Op: linear.OpRead}}, {{Op: linear.OpList, Status: "expired"}},
	}}
	running := h.prepare(t, trial.Plan)
	slow := hung{running[0], make(chan struct{})}
	defer close(slow.released)
	history, err := linear.PlayWithin(t.Context(), h.stage(running[0], slow), trial, 2*time.Second, time.Millisecond)
	if !errors.Is(err, linear.ErrStuck) || !strings.Contains(err.Error(), "client 1: 0 list expired") || strings.Contains(err.Error(), "client 0") {
		t.Errorf("the trial = %v, want ErrStuck that names the list of client 1", err)
	}
	if len(history.Operations) == 0 {
		t.Error("the history has none of the operations that returned")
	}
}
