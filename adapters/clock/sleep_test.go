package clock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/clock"
)

func TestSleepersWakeInOrderAtTheirTimes(t *testing.T) {
	c, r := start()
	for _, x := range []struct {
		name string
		step time.Duration
	}{{"slow", 3 * time.Second}, {"quick", 2 * time.Second}} {
		work(c, func() {
			for range 2 {
				if err := c.Sleep(t.Context(), x.step); err != nil {
					t.Errorf("Sleep(%v) = %v", x.step, err)
				}
				r.add(x.name)
			}
		})
	}
	advance(t, c, time.Minute)
	r.want(t, "2s quick", "3s slow", "4s quick", "6s slow")
}

func TestManySleepersEachSeeTheirOwnTime(t *testing.T) {
	const sleepers, naps = 200, 20
	c, _ := start()
	type nap struct {
		Sleeper int
		At      time.Duration
	}
	var woken []nap // no lock: one is awake at a time
	for i := range sleepers {
		work(c, func() {
			step := time.Second + time.Duration(i) // no two at the same time
			for range naps {
				if err := c.Sleep(t.Context(), step); err != nil {
					t.Errorf("Sleep(%v) = %v", step, err)
				}
				woken = append(woken, nap{i, c.Now().Sub(noon())})
			}
		})
	}
	advance(t, c, time.Hour)
	var want []nap
	for n := range naps {
		for i := range sleepers {
			want = append(want, nap{i, time.Duration(n+1) * (time.Second + time.Duration(i))})
		}
	}
	if diff := cmp.Diff(want, woken); diff != "" {
		t.Errorf("naps differ (-want +got):\n%s", diff)
	}
}

func TestTheClockWaitsForTheWorkOfASleeperThatItWoke(t *testing.T) {
	c, r := start()
	work(c, func() {
		if err := c.Sleep(t.Context(), time.Second); err != nil {
			t.Errorf("Sleep(1s) = %v", err)
		}
		for range 100 {
			reached := c.Now() // the clock must not advance during work
			done := make(chan struct{})
			work(c, func() { close(done) })
			<-done
			if !c.Now().Equal(reached) {
				t.Error("the clock moved while work was under way")
			}
		}
		c.AfterFunc(1, func() { r.add("set by the sleeper") })
	})
	c.AfterFunc(time.Second+2, func() { r.add("next") })
	advance(t, c, time.Minute)
	r.want(t, "1.000000001s set by the sleeper", "1.000000002s next")
}

func TestSleepEndsWithItsContext(t *testing.T) {
	c, r := start()
	ctx, cancel := context.WithCancel(t.Context())
	work(c, func() { r.add(fmt.Sprint("sleep ended: ", c.Sleep(ctx, time.Hour))) })
	if err := c.Settle(t.Context()); err != nil {
		t.Fatalf("Settle() = %v", err)
	}
	cancel()
	advance(t, c, 0)
	r.want(t, "0s sleep ended: context canceled")
	advance(t, c, 2*time.Hour)
	r.want(t, "0s sleep ended: context canceled")
}

func TestASleeperCancelledByATimerIsAwakeAtOnce(t *testing.T) {
	for range 200 {
		c, r := start()
		ctx, cancel := context.WithCancel(t.Context())
		work(c, func() { r.add(fmt.Sprint("sleep ended: ", c.Sleep(ctx, time.Hour))) })
		c.AfterFunc(time.Second, cancel)
		c.AfterFunc(time.Second+1, func() { r.add("next") })
		advance(t, c, 2*time.Hour)
		r.want(t, "1s sleep ended: context canceled", "1.000000001s next")
	}
}

func TestSleepWithADoneContextOrNoDurationReturnsAtOnce(t *testing.T) {
	c, _ := start()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, d := range []time.Duration{-1, 0, time.Second} {
		if err := c.Sleep(ctx, d); !errors.Is(err, context.Canceled) {
			t.Errorf("Sleep(%v) with a done context = %v, want %v", d, err, context.Canceled)
		}
	}
	for _, d := range []time.Duration{-1, 0} {
		if err := c.Sleep(t.Context(), d); err != nil {
			t.Errorf("Sleep(%v) = %v", d, err)
		}
	}
}

func TestASleeperThatNeverEnteredIsNotCounted(t *testing.T) {
	c, r := start()
	sleeping := make(chan struct{})
	woken := make(chan error)
	go func() {
		close(sleeping)
		woken <- c.Sleep(t.Context(), time.Second)
	}()
	<-sleeping
	// It may not be asleep yet: each iteration gives it more time.
	for done := false; !done; {
		advance(t, c, time.Second)
		select {
		case err := <-woken:
			if err != nil {
				t.Errorf("Sleep(1s) = %v", err)
			}
			done = true
		default:
		}
	}
	reached := c.Now().Sub(noon())
	work(c, func() {
		if err := c.Sleep(t.Context(), time.Second); err != nil {
			t.Errorf("Sleep(1s) = %v", err)
		}
		r.add("worked")
	})
	advance(t, c, time.Minute)
	r.want(t, (reached+time.Second).String()+" worked")
}

func TestTheSameScheduleGivesTheSameHistory(t *testing.T) {
	history := func() []string {
		c, r := start()
		for i := range 20 {
			c.AfterFunc(time.Duration(i%5)*time.Second+1, func() {
				work(c, func() {
					r.add(fmt.Sprint(i, " begins"))
					if err := c.Sleep(t.Context(), time.Duration(i+1)*7*time.Millisecond); err != nil {
						t.Errorf("Sleep = %v", err)
					}
					r.add(fmt.Sprint(i, " ends"))
				})
			})
		}
		advance(t, c, time.Minute)
		return r.lines
	}
	first := history()
	for range 50 {
		if diff := cmp.Diff(first, history()); diff != "" {
			t.Fatalf("histories differ (-first +later):\n%s", diff)
		}
	}
}

func BenchmarkAdvance(b *testing.B) {
	c := clock.NewManual(noon())
	b.ReportAllocs()
	for b.Loop() {
		c.AfterFunc(time.Second, func() {})
		if err := c.Advance(b.Context(), time.Second); err != nil {
			b.Fatal(err)
		}
	}
}
