package clock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/verification"
)

var (
	_ verification.Clock           = (*clock.Manual)(nil)
	_ verification.ActivityTracker = (*clock.Manual)(nil)
)

func noon() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) }

// record is a list that many goroutines append to. Each line is the time since noon and
// what happened.
type record struct {
	clock *clock.Manual
	mu    sync.Mutex
	lines []string
}

func (r *record) add(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, r.clock.Now().Sub(noon()).String()+" "+what)
}

func (r *record) want(t *testing.T, lines ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if diff := cmp.Diff(lines, r.lines); diff != "" {
		t.Errorf("what happened differs (-want +got):\n%s", diff)
	}
}

func start() (*clock.Manual, *record) {
	c := clock.NewManual(noon())
	return c, &record{clock: c}
}

func advance(t *testing.T, c *clock.Manual, d time.Duration) {
	t.Helper()
	if err := c.Advance(t.Context(), d); err != nil {
		t.Fatalf("Advance(%v) = %v", d, err)
	}
}

// work calls Enter, runs f in a goroutine, and calls Leave when f returns.
func work(c *clock.Manual, f func()) {
	c.Enter()
	go func() {
		defer c.Leave()
		f()
	}()
}

func TestTimeStandsStillUntilItIsAdvanced(t *testing.T) {
	c, _ := start()
	if got := c.Now(); !got.Equal(noon()) {
		t.Errorf("Now() = %v, want %v", got, noon())
	}
	advance(t, c, 31*time.Minute)
	if got, want := c.Now(), noon().Add(31*time.Minute); !got.Equal(want) {
		t.Errorf("Now() after Advance(31m) = %v, want %v", got, want)
	}
}

func TestTimersFireInOrderOfTimeThenOfRegistration(t *testing.T) {
	c, r := start()
	for _, x := range []struct {
		name string
		in   time.Duration
	}{{"late", 3 * time.Second}, {"first", time.Second}, {"second", time.Second}, {"middle", 2 * time.Second}, {"third", time.Second}} {
		c.AfterFunc(x.in, func() { r.add(x.name) })
	}
	advance(t, c, time.Minute)
	r.want(t, "1s first", "1s second", "1s third", "2s middle", "3s late")
}

func TestAdvanceFiresExactlyWhatFallsDue(t *testing.T) {
	c, r := start()
	c.AfterFunc(time.Second, func() { r.add("due") })
	c.AfterFunc(time.Second+1, func() { r.add("a nanosecond later") })
	advance(t, c, time.Second-1)
	r.want(t)
	advance(t, c, 1)
	r.want(t, "1s due")
	advance(t, c, 0)
	r.want(t, "1s due")
	advance(t, c, 1)
	r.want(t, "1s due", "1.000000001s a nanosecond later")
}

func TestTimersSetDuringAdvanceFireInTheSameAdvance(t *testing.T) {
	c, r := start()
	var again func()
	again = func() {
		r.add("tick")
		c.AfterFunc(time.Second, again)
	}
	c.AfterFunc(time.Second, again)
	c.AfterFunc(2500*time.Millisecond, func() {
		r.add("outer")
		c.AfterFunc(time.Millisecond, func() { r.add("inner") })
		c.AfterFunc(time.Hour, func() { r.add("too late") })
	})
	advance(t, c, 3*time.Second)
	r.want(t, "1s tick", "2s tick", "2.5s outer", "2.501s inner", "3s tick")
}

func TestATimerThatIsDueNowFiresWithoutAdvance(t *testing.T) {
	c, r := start()
	c.AfterFunc(0, func() { r.add("now") })
	if err := c.Settle(t.Context()); err != nil {
		t.Fatalf("Settle() = %v", err)
	}
	r.want(t, "0s now")
	c.AfterFunc(-time.Hour, func() { r.add("long ago") })
	advance(t, c, time.Second)
	r.want(t, "0s now", "0s long ago")
}

func TestATimerSetDuringAdvanceFiresAtItsTime(t *testing.T) {
	c, r := start()
	c.AfterFunc(time.Second, func() { c.AfterFunc(0, func() { r.add("now") }) })
	c.AfterFunc(time.Second+1, func() { r.add("next") })
	advance(t, c, time.Minute)
	r.want(t, "1s now", "1.000000001s next")
}

func TestStopReportsWhetherItWasInTime(t *testing.T) {
	c, r := start()
	stop := c.AfterFunc(time.Second, func() { r.add("stopped") })
	late := c.AfterFunc(time.Second, func() { r.add("fired") })
	if !stop() {
		t.Error("stop() before its time = false, want true")
	}
	if stop() {
		t.Error("stop() for the second time = true, want false")
	}
	advance(t, c, time.Second)
	if late() {
		t.Error("stop() after its time = true, want false")
	}
	r.want(t, "1s fired")
}

func TestATimerCanBeStoppedByTheOneThatFiresJustBefore(t *testing.T) {
	c, r := start()
	var stop func() bool
	c.AfterFunc(time.Second, func() { r.add(fmt.Sprint("stopped ", stop())) })
	stop = c.AfterFunc(time.Second, func() { r.add("fired") })
	advance(t, c, time.Minute)
	r.want(t, "1s stopped true")
}

func TestStopOfATimerDueNowAgreesWithWhatHappened(t *testing.T) {
	for range 1000 {
		c, r := start()
		stop := c.AfterFunc(0, func() { r.add("fired") })
		stopped := stop()
		if err := c.Settle(t.Context()); err != nil {
			t.Fatalf("Settle() = %v", err)
		}
		if stopped {
			r.want(t)
		} else {
			r.want(t, "0s fired")
		}
		if stop() {
			t.Fatal("stop() after Settle = true, want false")
		}
	}
}

func TestTheClockWaitsForWorkThatATimerStarted(t *testing.T) {
	c, r := start()
	for _, x := range []struct {
		name string
		in   time.Duration
	}{{"a", time.Second}, {"b", 2 * time.Second}} {
		c.AfterFunc(x.in, func() {
			work(c, func() {
				r.add(x.name + " begins")
				work(c, func() { r.add(x.name + " goes on") })
			})
		})
	}
	advance(t, c, time.Minute)
	r.want(t, "1s a begins", "1s a goes on", "2s b begins", "2s b goes on")
}

func TestAdvanceWaitsForTheWorkAlreadyUnderWay(t *testing.T) {
	c, r := start()
	release := make(chan struct{})
	work(c, func() {
		<-release
		c.AfterFunc(time.Second, func() { r.add("set before the clock moved") })
	})
	done := make(chan error)
	go func() { done <- c.Advance(t.Context(), time.Second) }()
	close(release)
	if err := <-done; err != nil {
		t.Fatalf("Advance(1s) = %v", err)
	}
	r.want(t, "1s set before the clock moved")
}

func TestAdvanceStopsWithItsContextAndContinuesLater(t *testing.T) {
	c, r := start()
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	c.AfterFunc(time.Second, func() {
		work(c, func() { <-release })
		cancel()
	})
	c.AfterFunc(2*time.Second, func() { r.add("fired") })
	if err := c.Advance(ctx, time.Minute); !errors.Is(err, context.Canceled) {
		t.Fatalf("Advance(1m) = %v, want %v", err, context.Canceled)
	}
	if got, want := c.Now(), noon().Add(time.Second); !got.Equal(want) {
		t.Errorf("Now() = %v, want %v", got, want)
	}
	if err := c.Settle(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Settle() = %v, want %v", err, context.Canceled)
	}
	r.want(t)
	close(release)
	advance(t, c, time.Second)
	r.want(t, "2s fired")
}

func TestTheClockCannotGoBack(t *testing.T) {
	c, _ := start()
	if err := c.Advance(t.Context(), -1); !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("Advance(-1ns) = %v, want %v", err, verification.ErrInvalid)
	}
}

func TestConcurrentAdvancesRunOneAfterAnother(t *testing.T) {
	c, r := start()
	running := 0 // no lock: the race detector would see two at once
	for i := range 100 {
		c.AfterFunc(time.Duration(i+1)*time.Second, func() {
			if running++; running != 1 {
				r.add("two at once")
			}
			running--
		})
	}
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			for range 10 {
				if err := c.Advance(t.Context(), time.Second); err != nil {
					t.Errorf("Advance(1s) = %v", err)
				}
			}
		})
	}
	all.Wait()
	r.want(t)
	if got, want := c.Now(), noon().Add(100*time.Second); !got.Equal(want) {
		t.Errorf("Now() after 100 Advance(1s) = %v, want %v", got, want)
	}
}

func TestWaitingForAnotherAdvanceEndsWithItsContext(t *testing.T) {
	c, _ := start()
	release := make(chan struct{})
	inside := make(chan struct{})
	c.AfterFunc(time.Second, func() { close(inside); <-release })
	done := make(chan error)
	go func() { done <- c.Advance(t.Context(), time.Second) }()
	<-inside
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Advance(ctx, time.Second); !errors.Is(err, context.Canceled) {
		t.Errorf("Advance(1s) = %v, want %v", err, context.Canceled)
	}
	close(release)
	if err := <-done; err != nil {
		t.Errorf("the first Advance(1s) = %v", err)
	}
}

func TestLeaveWithoutEnterPanics(t *testing.T) {
	c, _ := start()
	defer func() {
		if recover() == nil {
			t.Error("Leave() without Enter did not panic")
		}
	}()
	c.Leave()
}
