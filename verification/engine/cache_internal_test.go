// Tests of the bounded map, from inside: what it drops is not seen outside.

package engine

import "testing"

func TestTheCacheDropsWhatWasUsedLongestAgo(t *testing.T) {
	c := newCache[int](2, 1, func(string) int { return 1 })
	c.put(1, "a")
	c.put(2, "b")
	c.get(1)
	c.put(3, "c")
	for key, want := range map[int]string{1: "a", 2: "", 3: "c"} {
		if got, _ := c.get(key); got != want {
			t.Errorf("get(%d) = %q, want %q", key, got, want)
		}
	}
	c.put(1, "z")
	if got, _ := c.get(1); got != "z" || len(c.entries) != 2 {
		t.Errorf("get(1) = %q of %d entries, want the new value of 2", got, len(c.entries))
	}
}

func TestTheCacheIsBoundedByTheSizesOfItsValues(t *testing.T) {
	c := newCache[int](10, 4, func(s string) int { return len(s) })
	for n := range 20 {
		c.put(n, "abc")
	}
	if len(c.entries) != 3 || c.total != 9 {
		t.Errorf("%d values of %d bytes are kept, want 3 of 9", len(c.entries), c.total)
	}
	c.put(19, "abcde")
	if _, ok := c.get(19); ok || c.total != 6 {
		t.Errorf("a value that is too large is kept: %t; %d bytes are kept, want 6", ok, c.total)
	}
}
