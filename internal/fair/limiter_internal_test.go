package fair

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestAKeyWithoutSlotsIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(1, 1)
		release, _ := l.TryAcquireN("a", 1)
		ctx, leave := context.WithCancel(t.Context())
		for range 2 {
			go func() { _, _ = l.Acquire(ctx, "b") }()
		}
		synctest.Wait()
		leave()
		synctest.Wait()
		if len(l.keys) != 1 {
			t.Errorf("%d keys, want the one that holds the slot", len(l.keys))
		}
		if release(); len(l.keys) != 0 {
			t.Errorf("%d keys, want none", len(l.keys))
		}
	})
}
