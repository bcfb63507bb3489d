// Tests of the shares, the order and the cancellation of a Limiter.

package fair_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/verifyd/verifyd/internal/fair"
)

// hold acquires a slot that must be free.
func hold(t *testing.T, l *fair.Limiter, key string) (release func()) {
	t.Helper()
	release, err := l.Acquire(t.Context(), key)
	if err != nil {
		t.Fatalf("Acquire(%q): %v", key, err)
	}
	return release
}

// line records who is served, in order.
type line struct {
	mu     sync.Mutex
	served []string
}

// wait acquires in a goroutine, records the name once it is served, and releases.
// It returns once the goroutine waits.
func (o *line) wait(t *testing.T, l *fair.Limiter, key, name string) {
	go func() {
		release, err := l.Acquire(t.Context(), key)
		if err != nil {
			t.Errorf("Acquire(%q): %v", key, err)
			return
		}
		o.mu.Lock()
		o.served = append(o.served, name)
		o.mu.Unlock()
		release()
	}()
	synctest.Wait()
}

func TestKeysAreServedRoundRobin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := fair.NewLimiter(1, 1)
		release := hold(t, l, "z")
		var o line
		for _, name := range []string{"a1", "a2", "a3", "a4", "b1", "b2", "c1"} {
			o.wait(t, l, name[:1], name)
		}
		release()
		synctest.Wait()
		if want := []string{"a1", "b1", "c1", "a2", "b2", "a3", "a4"}; !slices.Equal(o.served, want) {
			t.Errorf("served %v, want %v", o.served, want)
		}
	})
}

func TestTheKeyThatHoldsTheFewestIsServedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := fair.NewLimiter(2, 2)
		first, second := hold(t, l, "a"), hold(t, l, "a")
		var o line
		o.wait(t, l, "a", "a3")
		o.wait(t, l, "b", "b1")
		first()
		synctest.Wait()
		if want := []string{"b1", "a3"}; !slices.Equal(o.served, want) {
			t.Errorf("served %v, want %v: b must wait for one slot, not for two", o.served, want)
		}
		second()
	})
}

func TestOneKeyHoldsNoMoreThanItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := fair.NewLimiter(3, 2)
		release := hold(t, l, "a")
		hold(t, l, "a")
		var o line
		o.wait(t, l, "a", "a3")
		if len(o.served) != 0 {
			t.Fatal("a third slot was given to a key whose share is 2")
		}
		hold(t, l, "b")()
		release()
		synctest.Wait()
		if want := []string{"a3"}; !slices.Equal(o.served, want) {
			t.Errorf("after a release, served %v, want %v", o.served, want)
		}
	})
}

func TestACallerThatLeavesLosesNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := fair.NewLimiter(1, 1)
		release := hold(t, l, "a")
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := l.Acquire(ctx, "b")
			failed <- err
		}()
		synctest.Wait()
		var o line
		o.wait(t, l, "b", "b2")
		cancel(gone)
		if err := <-failed; !errors.Is(err, gone) {
			t.Errorf("Acquire after its context ended = %v, want the cause", err)
		}
		release()
		release() // a second call has no effect
		synctest.Wait()
		if want := []string{"b2"}; !slices.Equal(o.served, want) {
			t.Errorf("served %v, want %v", o.served, want)
		}
		if _, err := l.Acquire(ctx, "a"); !errors.Is(err, gone) {
			t.Errorf("Acquire with a context that has ended = %v, want the cause", err)
		}
		held := hold(t, l, "c")
		if _, ok := l.TryAcquireN("d", 1); ok {
			t.Error("the second call of release has made another slot")
		}
		ctx, cancel = context.WithCancelCause(t.Context())
		cancel(gone)
		if _, err := l.Acquire(ctx, "d"); !errors.Is(err, gone) {
			t.Errorf("Acquire = %v, want the cause", err)
		}
		held()
		hold(t, l, "d")()
	})
}

func TestSharesHoldUnderLoad(t *testing.T) {
	const max, perKey, callers, rounds = 5, 2, 24, 200
	l := fair.NewLimiter(max, perKey)
	keys := []string{"a", "b", "c", "d"}
	var all atomic.Int64
	held := make([]atomic.Int64, len(keys))
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for n := range rounds {
				ctx, cancel := context.WithCancel(t.Context())
				if n%3 == 0 {
					go cancel() // some leave while they wait, or just as they are served
				}
				k := (i + n) % len(keys)
				release, err := l.Acquire(ctx, keys[k])
				if err == nil {
					if n := all.Add(1); n > max {
						t.Errorf("%d slots are held, want at most %d", n, max)
					}
					if n := held[k].Add(1); n > perKey {
						t.Errorf("%q holds %d slots, want at most %d", keys[k], n, perKey)
					}
					held[k].Add(-1)
					all.Add(-1)
					release()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	for range max { // none was lost
		hold(t, l, "x"+string(rune('0'+all.Add(1))))
	}
}

func TestACallerMayNeedSeveralSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := fair.NewLimiter(4, 4)
		one, another := hold(t, l, "a"), hold(t, l, "b")
		var mu sync.Mutex
		var served []string
		wait := func(key string, n int) {
			go func() {
				release, err := l.AcquireN(t.Context(), key, n)
				if err != nil {
					t.Errorf("AcquireN(%q, %d): %v", key, n, err)
					return
				}
				mu.Lock()
				served = append(served, key)
				mu.Unlock()
				release()
			}()
			synctest.Wait()
		}
		wait("large", 9) // counts as all 4
		wait("small", 1) // does not overtake it
		if len(served) != 0 {
			t.Fatalf("served %v while two slots are held, want none: 4 are needed", served)
		}
		one()
		synctest.Wait()
		another()
		synctest.Wait()
		if want := []string{"large", "small"}; !slices.Equal(served, want) {
			t.Errorf("served %v, want %v", served, want)
		}
	})
}

func TestWaitingIsObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := fair.NewLimiter(1, 1)
		waiting := 0 // under the lock of the Limiter
		l.OnWait(func() { waiting++ }, func() { waiting-- })
		release := hold(t, l, "a")
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = l.Acquire(ctx, "b") }()
		var o line
		o.wait(t, l, "c", "c")
		if waiting != 2 {
			t.Errorf("%d callers wait, want 2", waiting)
		}
		cancel()
		synctest.Wait()
		if waiting != 1 {
			t.Errorf("%d callers wait after one has left, want 1", waiting)
		}
		release()
		synctest.Wait()
		if waiting != 0 || len(o.served) != 1 {
			t.Errorf("%d callers wait after all were served, want none", waiting)
		}
		hold(t, l, "d")() // without waiting
		if waiting != 0 {
			t.Errorf("a caller that did not wait is counted")
		}
	})
}

func TestTryAcquireNDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := fair.NewLimiter(4, 3)
		release, ok := l.TryAcquireN("a", 2)
		if !ok {
			t.Fatal("free slots were not given")
		}
		if _, ok := l.TryAcquireN("a", 2); ok {
			t.Error("more than the share of a key was given")
		}
		if _, ok := l.TryAcquireN("b", 3); ok {
			t.Error("more slots were given than are free")
		}
		var o line
		go func() {
			release, err := l.AcquireN(t.Context(), "c", 3)
			if err == nil {
				o.served = append(o.served, "c")
				release()
			}
		}()
		synctest.Wait()
		if _, ok := l.TryAcquireN("b", 1); ok {
			t.Error("a caller that waits was overtaken")
		}
		release()
		synctest.Wait()
		if len(o.served) != 1 {
			t.Error("the caller that waited was not served")
		}
		if _, ok := l.TryAcquireN("b", 3); !ok {
			t.Error("slots were lost")
		}
	})
}

// wall is the clock of the synctest bubble of a test.
type wall struct{}

func (wall) Now() time.Time { return time.Now() }

func (wall) AfterFunc(d time.Duration, f func()) (stop func() bool) { return time.AfterFunc(d, f).Stop }

func TestKeyRestsAfterEachUse(t *testing.T) {
	for _, c := range []struct{ held, rest time.Duration }{
		{0, 0},
		{time.Millisecond, 0},
		{11 * time.Millisecond, 30 * time.Millisecond},
		{time.Minute, 5 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := fair.NewLimiter(1, 1)
			l.Rest(3, time.Millisecond, wall{})
			release := hold(t, l, "a")
			var o line
			o.wait(t, l, "b", "b")
			<-time.After(c.held)
			release()
			began := time.Now()
			synctest.Wait()
			if len(o.served) != 1 {
				t.Errorf("held for %v: another key waits, too", c.held)
			}
			hold(t, l, "a")
			if took := time.Since(began); took != c.rest {
				t.Errorf("held for %v: the key waits for %v, want %v", c.held, took, c.rest)
			}
			if _, ok := l.TryAcquireN("b", 1); ok {
				t.Errorf("held for %v: there is another slot after the rest", c.held)
			}
		})
	}
}

func TestNumbersOutOfRangeCountAsTheNearestInIt(t *testing.T) {
	for _, c := range []struct{ max, perKey, n, first, second int }{ // the slots that two keys get with calls for n
		{0, 0, 1, 1, 0},
		{2, 0, 1, 2, 0},
		{2, 5, 1, 2, 0},
		{2, 1, 1, 1, 1},
		{3, 2, 0, 2, 1},
		{4, 4, 9, 1, 0},
		{5, 2, 9, 1, 1},
	} {
		l := fair.NewLimiter(c.max, c.perKey)
		count := func(key string) (n int) {
			for n < 10 {
				if _, ok := l.TryAcquireN(key, c.n); !ok {
					break
				}
				n++
			}
			return n
		}
		if first, second := count("a"), count("b"); first != c.first || second != c.second {
			t.Errorf("NewLimiter(%d, %d): %d and %d calls for %d slots succeed, want %d and %d", c.max, c.perKey, first, second, c.n, c.first, c.second)
		}
	}
}

func TestASlotThatIsGrantedToACallerThatLeavesIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := fair.NewLimiter(1, 1)
		ctx, leave := context.WithCancel(t.Context())
		l.OnWait(func() {}, leave) // at the same time
		release := hold(t, l, "a")
		failed := make(chan error, 1)
		go func() {
			_, err := l.Acquire(ctx, "b")
			failed <- err
		}()
		synctest.Wait()
		release()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("Acquire = %v, want it cancelled", err)
		}
		if _, ok := l.TryAcquireN("c", 1); !ok {
			t.Error("the slot is lost")
		}
	})
}

func TestAKeyMovesUpWhenItReleasesASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := fair.NewLimiter(2, 2)
		release := hold(t, l, "a")
		hold(t, l, "b")
		var o line
		o.wait(t, l, "b", "b2")
		o.wait(t, l, "a", "a2")
		release()
		synctest.Wait()
		if want := []string{"a2", "b2"}; !slices.Equal(o.served, want) {
			t.Errorf("served %v, want %v: a holds nothing any more", o.served, want)
		}
	})
}

func TestACallerIsServedWhenALargerOneBeforeItLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := fair.NewLimiter(2, 2)
		hold(t, l, "a")
		ctx, leave := context.WithCancel(t.Context())
		go func() { _, _ = l.AcquireN(ctx, "large", 2) }()
		synctest.Wait()
		var o line
		o.wait(t, l, "small", "small")
		leave()
		synctest.Wait()
		if len(o.served) != 1 {
			t.Error("the free slot is not used")
		}
	})
}

func TestSlotsReleasedTogetherServeSeveralCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := fair.NewLimiter(2, 2)
		release, _ := l.TryAcquireN("a", 2)
		var served atomic.Int64
		for range 2 {
			go func() {
				if _, err := l.Acquire(t.Context(), "b"); err == nil {
					served.Add(1)
				}
			}()
		}
		synctest.Wait()
		release()
		synctest.Wait()
		if n := served.Load(); n != 2 {
			t.Errorf("%d callers are served, want 2", n)
		}
	})
}

func TestTryAcquireNDoesNotOvertakeCallersOfItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := fair.NewLimiter(3, 2)
		hold(t, l, "a")
		ctx, leave := context.WithCancel(t.Context())
		go func() { _, _ = l.AcquireN(ctx, "a", 2) }() // more than the key may have now
		synctest.Wait()
		if _, ok := l.TryAcquireN("a", 1); ok {
			t.Error("a caller of the key was overtaken")
		}
		leave()
	})
}

func TestAKeyThatReleasesOneOfItsSlotsKeepsTheOthers(t *testing.T) {
	l := fair.NewLimiter(3, 2)
	hold(t, l, "a")
	hold(t, l, "a")()
	hold(t, l, "a")
	if _, ok := l.TryAcquireN("a", 1); ok {
		t.Error("a third slot was given to a key whose share is 2")
	}
}
