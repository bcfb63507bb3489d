package clock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/verification"
)

var _ verification.Clock = clock.System{}

func TestTheSystemClockReturnsTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if got, want := (clock.System{}).Now(), time.Now(); !got.Equal(want) {
			t.Errorf("Now() = %v, want %v", got, want)
		}
	})
}

func TestTheSystemClockCallsBackLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		fired := make(chan time.Duration)
		stop := clock.System{}.AfterFunc(time.Minute, func() { fired <- time.Since(began) })
		if got := <-fired; got != time.Minute {
			t.Errorf("called back after %v, want 1m", got)
		}
		if stop() {
			t.Error("stop() after its time = true, want false")
		}
		if stop := (clock.System{}).AfterFunc(time.Minute, func() { t.Error("a stopped timer fired") }); !stop() {
			t.Error("stop() before its time = false, want true")
		}
	})
}

func TestTheSystemClockSleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := (clock.System{}).Sleep(t.Context(), time.Minute); err != nil {
			t.Errorf("Sleep(1m) = %v", err)
		}
		if got := time.Since(began); got != time.Minute {
			t.Errorf("slept %v, want 1m", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := (clock.System{}).Sleep(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Sleep(1m) = %v, want %v", err, context.DeadlineExceeded)
		}
		if got := time.Since(began); got != time.Minute+time.Second {
			t.Errorf("slept until %v, want 1m1s", got)
		}
		if err := (clock.System{}).Sleep(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Sleep(0) with a done context = %v, want %v", err, context.DeadlineExceeded)
		}
		if err := (clock.System{}).Sleep(t.Context(), 0); err != nil {
			t.Errorf("Sleep(0) = %v", err)
		}
	})
}
