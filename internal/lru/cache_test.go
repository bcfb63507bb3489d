// Tests of the bounds and the order of a Cache.

package lru_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/verifyd/verifyd/internal/lru"
)

func TestTheLeastRecentlyUsedValueIsDropped(t *testing.T) {
	c := lru.New[int](2, 1, func(string) int { return 1 })
	c.Put(1, "a")
	c.Put(2, "b")
	c.Get(1)
	c.Put(3, "c")
	for key, want := range map[int]string{1: "a", 2: "", 3: "c"} {
		if got, _ := c.Get(key); got != want {
			t.Errorf("Get(%d) = %q, want %q", key, got, want)
		}
	}
	c.Put(1, "z")
	c.Put(4, "d")
	for key, want := range map[int]string{1: "z", 3: "", 4: "d"} {
		if got, _ := c.Get(key); got != want {
			t.Errorf("Get(%d) after 1 was replaced = %q, want %q", key, got, want)
		}
	}
}

func TestADeletedValueTakesNoSpace(t *testing.T) {
	c := lru.New[int](2, 1, func(string) int { return 1 })
	c.Put(1, "a")
	c.Put(2, "b")
	c.Delete(2)
	c.Delete(3) // no such key
	if _, ok := c.Get(2); ok {
		t.Error("a deleted value is kept")
	}
	c.Put(4, "d")
	if _, ok := c.Get(1); !ok {
		t.Error("a value was dropped although there was space")
	}
}

func TestTheSizesOfTheValuesAreBounded(t *testing.T) {
	c := lru.New[int](10, 4, func(s string) int { return len(s) })
	kept := func() (n int) {
		for key := range 20 {
			if _, ok := c.Get(key); ok {
				n++
			}
		}
		return n
	}
	for n := range 20 {
		c.Put(n, "abc")
	}
	if got := kept(); got != 3 {
		t.Errorf("%d values of 3 bytes are kept, want 3 in 10 bytes", got)
	}
	c.Put(19, "abcde")
	if _, ok := c.Get(19); ok {
		t.Error("a value that is too large is kept")
	}
	c.Put(0, "abcd")
	if got := kept(); got != 3 {
		t.Errorf("%d values of 3, 3 and 4 bytes are kept, want 3", got)
	}
	none := lru.New[int](0, 4, func(s string) int { return len(s) })
	none.Put(1, "a")
	if _, ok := none.Get(1); ok {
		t.Error("a cache of 0 bytes keeps a value")
	}
}

func TestUnusedValuesAgeInTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		after := func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
		c := lru.New[int](10, 1, func(string) int { return 1 }).Aging(after)
		has := func(key int) bool { _, ok := c.Get(key); return ok }
		c.Put(1, "a")
		for range 7 { // used again and again
			time.Sleep(4 * time.Minute) //nolint:forbidigo // of the bubble
			if !has(1) {
				t.Fatal("a value is gone that was used four minutes before")
			}
		}
		c.Put(2, "b")
		time.Sleep(5*time.Minute - time.Second) //nolint:forbidigo // of the bubble
		c.Put(3, "c")
		time.Sleep(2 * time.Second) //nolint:forbidigo // of the bubble
		c.Put(3, "d")
		time.Sleep(5 * time.Minute) //nolint:forbidigo // of the bubble
		if has(1) || has(2) || !has(3) {
			t.Errorf("after 5 to 10 minutes, there are %t, %t and %t, want only the third, used five minutes before", has(1), has(2), has(3))
		}
		time.Sleep(10*time.Minute + time.Second) //nolint:forbidigo // of the bubble
		if has(3) {
			t.Error("a value is there ten minutes after its last use")
		}
		c.Put(4, "e")                            // after it was empty
		time.Sleep(10*time.Minute + time.Second) //nolint:forbidigo // of the bubble
		if has(4) {
			t.Error("a value is there ten minutes after it was put into an empty cache")
		}
	})
}

func TestAClearedCacheHasRoomForAll(t *testing.T) {
	c := lru.New[int, int](10, 10, func(int) int { return 5 })
	for range 2 {
		c.Put(1, 1)
		c.Put(2, 2)
		if _, kept := c.Get(1); !kept {
			t.Error("a value was dropped although there is room")
		}
		c.Clear()
		if v, kept := c.Get(1); kept {
			t.Errorf("Get after Clear = %d", v)
		}
	}
}
