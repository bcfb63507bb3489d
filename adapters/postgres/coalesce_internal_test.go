package postgres

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAResultIsNeverOlderThanItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stored, reads atomic.Int64
		c := newCoalescer(func(context.Context, string) (int64, error) {
			reads.Add(1)
			seen := stored.Load()
			pass(time.Second)
			return seen, nil
		})
		var all sync.WaitGroup
		get := func(want int64) {
			all.Go(func() {
				if got, err := c.get(t.Context(), "workflow"); got != want || err != nil {
					t.Errorf("get = %d, %v; want %d", got, err, want)
				}
			})
		}
		get(0)
		pass(100 * time.Millisecond)
		stored.Store(1)
		for range 50 {
			get(1)
		}
		pass(time.Second)
		stored.Store(2)
		get(2)
		all.Wait()
		if got := reads.Load(); got != 3 {
			t.Errorf("the function ran %d times, want 3", got)
		}
		synctest.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.running) != 0 {
			t.Errorf("%d calls are left", len(c.running))
		}
	})
}

func TestResultsBelongToTheirKeys(t *testing.T) {
	c := newCoalescer(func(_ context.Context, key string) (string, error) { return key, errors.New(key) })
	for _, key := range []string{"a", "b"} {
		if got, err := c.get(t.Context(), key); got != key || err.Error() != key {
			t.Errorf("get(%s) = %s, %v", key, got, err)
		}
	}
}

func TestACallerMayGiveUpAndTheOthersGetTheResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCoalescer(func(ctx context.Context, _ int) (int, error) {
			pass(time.Second)
			return 7, ctx.Err()
		})
		leaving, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				if got, err := c.get(t.Context(), 1); got != 7 || err != nil {
					t.Errorf("get = %d, %v", got, err)
				}
			})
		}
		synctest.Wait()
		all.Go(func() {
			if _, err := c.get(leaving, 1); !errors.Is(err, context.Canceled) {
				t.Errorf("get of a caller who left = %v", err)
			}
		})
		synctest.Wait()
		leave()
		all.Wait()
	})
}

// pass lets time pass in a bubble of synctest.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // of synctest's clock
}
