package runner_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/verification/engine/internal/runner"
)

// activity counts the work that is under way.
type activity int

func (a *activity) Enter() { *a++ }
func (a *activity) Leave() { *a-- }

// Of the call, its timeout and the end of its context, only the first one counts.
func TestACallHasOneResponse(t *testing.T) {
	errEnded := errors.New("the run ended")
	type hands struct { // of the test, during the call
		fire func() // the timeout passes
		end  func() // the context ends
		late <-chan runner.Response[string]
	}
	for _, c := range []struct {
		name    string
		during  func(hands) runner.Response[string] // waits for the late response; zero for none
		here    bool
		err     error
		entered bool
	}{
		{"it returns in time", func(hands) runner.Response[string] { return runner.Response[string]{} }, true, nil, false},
		{"the timeout passes", func(h hands) runner.Response[string] { h.fire(); return <-h.late }, false, runner.ErrTimeout, true},
		{"its context ends", func(h hands) runner.Response[string] { h.end(); return <-h.late }, false, errEnded, false},
		{"the timeout passes, then its context ends", func(h hands) runner.Response[string] { h.fire(); h.end(); return <-h.late }, false, runner.ErrTimeout, true},
		{"its context ends, then the timeout passes", func(h hands) runner.Response[string] {
			h.end()
			r := <-h.late
			h.fire()
			return r
		}, false, errEnded, false},
	} {
		ctx, end := context.WithCancelCause(t.Context())
		var a activity
		h := hands{end: func() { end(errEnded) }}
		late := make(chan runner.Response[string], 2)
		h.late = late
		clock := &mock.ClockMock{AfterFuncFunc: func(_ time.Duration, f func()) func() bool {
			h.fire = f
			return func() bool { return true }
		}}
		var response runner.Response[string]
		r, here := runner.CallHere(ctx, runner.Timing{Clock: clock, Activity: &a, Timeout: time.Second},
			func(context.Context) (string, error) {
				response = c.during(h)
				return "done", nil
			}, func(r runner.Response[string]) { late <- r })
		h.fire() // too late, whatever came first
		if here {
			response = r
		}
		if here != c.here || !errors.Is(response.Err, c.err) || (response.Entry != nil) != c.entered || here && r.Result != "done" {
			t.Errorf("%s: %+v here: %t, want the error %v here: %t", c.name, response, here, c.err, c.here)
		}
		if want := map[bool]activity{true: 1}[c.entered]; a != want {
			t.Errorf("%s: Enter was called %d times, want %d", c.name, a, want)
		}
		response.Entry.Leave()
		response.Entry.Leave() // once is enough
		if a != 0 {
			t.Errorf("%s: after the entry has ended, %d remain", c.name, a)
		}
		if len(late) != 0 {
			t.Errorf("%s: there is a second late response: %+v", c.name, <-late)
		}
		end(nil)
	}
}

func TestAPanicOfAProviderIsAnError(t *testing.T) {
	clock := &mock.ClockMock{AfterFuncFunc: func(time.Duration, func()) func() bool { return func() bool { return true } }}
	var a activity
	r := runner.CallWithin(t.Context(), runner.Timing{Clock: clock, Activity: &a}, func(context.Context) (string, error) { panic("oops") })
	if r.Err == nil || !strings.Contains(r.Err.Error(), "the provider panicked: oops") {
		t.Errorf("the error is %v, want the panic", r.Err)
	}
}
